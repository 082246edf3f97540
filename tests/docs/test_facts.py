"""Facts that several documents, messages and the help repeat are the same everywhere."""

import re
import tomllib
from functools import cache
from typing import get_args

import typer.main
from documented import DOCUMENTS, GUIDE, ROOT
from prose import strings

from entropy_sentinel.cli.main import app
from entropy_sentinel.cli.monitor_command import PRECEDENCE
from entropy_sentinel.core.extras import Extra, install_command
from entropy_sentinel.schemas.generation_schema import TOP_K


@cache
def texts() -> list[tuple[str, str]]:
    """The place and text of each document, also of extensions, and of each message."""
    pages = {*DOCUMENTS, ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")}
    of_pages = [(str(page.relative_to(ROOT)), page.read_text("utf-8")) for page in sorted(pages)]
    return [*of_pages, *strings(code=True)]


def matches(pattern: str) -> list[tuple[str, str]]:
    """The place of each match, and its group."""
    return [(place, found[1]) for place, text in texts() for found in re.finditer(pattern, text)]


def test_the_precedence_of_exit_statuses() -> None:
    """The guide and the help of `monitor` state it, and the guide's table has exactly these statuses."""
    order = ", ".join(map(str, PRECEDENCE))
    stated = matches(r"precedence is (\d(?:, \d)+)")
    assert {text for _, text in stated} == {order}
    assert "docs/monitor.md" in dict(stated)
    assert f"precedence is {order}" in " ".join(typer.main.get_command(app).commands["monitor"].help.split())
    table = GUIDE.read_text("utf-8").partition("| Exit status |")[2].partition("\n\n")[0]
    assert {int(status) for status in re.findall(r"^\| (\d) \|", table, re.MULTILINE)} == {0, *PRECEDENCE}


def test_the_number_of_alternatives_to_request() -> None:
    found = matches(r"top_logprobs(?:_num)?`?\"?[:=] ?(\d+)")
    assert len(found) > 20
    # An expression in a message reads as 0.
    assert [(place, number) for place, number in found if number not in ("0", str(TOP_K))] == []


def test_the_package_is_installed_from_its_repository() -> None:
    """No index has it: its name would install what somebody else published."""
    assert matches(r"(pip install[^\n`]*[ '\"]entropy[-_]sentinel\b[^\n`]*)") == []
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {extra for _, extra in matches(r"pip install '\.\[(\w+)\]'")}
    assert {"judge", "cloud"} <= named <= {*extras, "0"}  # an expression reads as 0
    assert set(get_args(Extra)) <= set(extras)
    assert install_command("judge") == "pip install '.[judge]' in the repository's folder"
