"""Facts that several documents, messages and the help repeat are the same everywhere."""

import re
import tomllib
from functools import cache
from typing import get_args

import typer.main
from documented import DOCUMENTS, GUIDE, ROOT

from entropy_sentinel.cli.main import app
from entropy_sentinel.cli.monitor_command import PRECEDENCE
from entropy_sentinel.core.extras import Extra, install_command
from entropy_sentinel.schemas.generation_schema import TOP_K


@cache
def read_texts() -> dict[str, str]:
    """The documents, also those of extensions, and the modules with messages and help, by place."""
    paths = [*DOCUMENTS, ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for folder, suffix in (("examples", "md"), ("examples", "py"), ("papers", "py"), ("workflow", "py")):
        paths += (ROOT / folder).rglob(f"*.{suffix}")
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in paths}


def find_facts(pattern: str) -> list[tuple[str, str]]:
    """The place of each match, and its group."""
    return [(place, found[1]) for place, text in read_texts().items() for found in re.finditer(pattern, text)]


def test_the_precedence_of_exit_statuses() -> None:
    """The guide and the help of `monitor` state it, and the guide's table has exactly these statuses."""
    order = ", ".join(map(str, PRECEDENCE))
    stated = find_facts(r"precedence\s+is\s+(\d(?:,\s+\d)+)")
    assert {" ".join(text.split()) for _, text in stated} == {order}
    assert "docs/monitor.md" in dict(stated)
    assert f"precedence is {order}" in " ".join(typer.main.get_command(app).commands["monitor"].help.split())
    table = GUIDE.read_text("utf-8").partition("| Exit status |")[2].partition("\n\n")[0]
    assert {int(status) for status in re.findall(r"^\| (\d) \|", table, re.MULTILINE)} == {0, *PRECEDENCE}


def test_the_number_of_alternatives_to_request() -> None:
    found = find_facts(r"top_logprobs(?:_num)?`?\"?[:=] ?(\d+)")
    assert len(found) > 20
    # What the package itself asks of a judge is another number.
    others = [place for place, number in found if number != str(TOP_K)]
    assert others == ["workflow/entropy_sentinel/judges/judgement_reading.py"]


def test_the_package_is_installed_from_its_repository() -> None:
    """No index has it: its name would install what somebody else published."""
    assert find_facts(r"(pip install[^\n`]*[ '\"]entropy[-_]sentinel\b[^\n`]*)") == []
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    documented = {extra for _, extra in find_facts(r"pip install '\.\[(\w+)\]'")}
    assert {"judge", "cloud"} <= documented <= set(extras)
    assert set(get_args(Extra)) <= set(extras)
    assert install_command("judge") == "pip install '.[judge]' in the repository's folder"
