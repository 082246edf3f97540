"""The commands that the Makefile recommends at its end, and those of Snakemake in the pages, can be pasted."""

import re
import shlex

import pytest
import typer
import yaml
from documented import DOCUMENTS, ROOT

from entropy_sentinel.cli.main import app

COMMAND = typer.main.get_command(app)
MAKEFILE = (ROOT / "Makefile").read_text()
PRINTED = [line for line in MAKEFILE.splitlines() if line.startswith("\t@echo")]
RECOMMENDED = [
    found.strip() for line in PRINTED for found in re.findall(r"\$\(BIN\)/entropy-sentinel ([^;,']+?)(?=[;,']|$)", line)
]
# Snakemake is called in blocks, and named in sentences.
CALLS = {
    f"{page.name}: {call}": call
    for page in DOCUMENTS
    for call in re.findall(r"(?:^|`)(snakemake [^`#\n]*)", page.read_text().replace("\\\n", " "), flags=re.MULTILINE)
}


def parsed(words: list[str]) -> None:
    """Parse a call of the command without running it; raise if an argument is missing or unknown."""
    command, context = COMMAND, COMMAND.make_context("entropy-sentinel", list(words))
    while hasattr(command, "resolve_command"):
        if not (rest := [*getattr(context, "_protected_args", ()), *context.args]):
            return  # a command that also runs alone
        name, command, rest = command.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context)


@pytest.mark.parametrize("line", RECOMMENDED)
def test_what_the_makefile_recommends_has_all_its_arguments(line: str) -> None:
    assert len(RECOMMENDED) >= 4
    words = shlex.split(line)
    parsed(words)
    config = ROOT / words[words.index("-c") + 1]
    assert config.exists()
    if words[0] == "show":
        study, (model, benchmark) = yaml.safe_load(config.read_text()), words[-2:]
        assert model in study["models"]
        assert benchmark in study["benchmarks"]


def test_the_check_notices_a_missing_argument() -> None:
    with pytest.raises(Exception, match="Missing parameter: model"):
        parsed(["show", "-c", "demo/config.yaml"])


@pytest.mark.parametrize("call", CALLS)
def test_snakemake_is_called_with_what_it_requires(call: str) -> None:
    """A run needs cores or a profile that names them; what runs no job does not."""
    words = CALLS[call].split()
    targets = {"generations", "labels", "features", "estimates", "estimators"}
    if len(words) > 1 and not targets & set(words) and "..." not in words:
        assert {"--cores", "--profile", "-j", "--lint", "--touch", "--dry-run", "--report"} & set(words), CALLS[call]
