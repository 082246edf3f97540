"""Whatever a message recommends to type can be typed: subcommands, options, rules, make targets."""

import re
import shlex
from collections.abc import Iterator
from fnmatch import fnmatch

import click
import pytest
import typer
from prose import ROOT, strings

from entropy_sentinel.cli.main import app

APP = typer.main.get_command(app)
TYPED = r"(?:entropy-sentinel|snakemake|make) [^`;{}\n)]*"


def recommended() -> Iterator[str]:
    """The commands in backticks, or after a colon at the end, of all messages."""
    for _, text in strings(code=True):
        for match in re.finditer(rf"`({TYPED})`|: ({TYPED})$", text):
            yield (match[1] or match[2]).strip(" .")


def options(command: click.Command) -> set[str]:
    """The options of a command and of its subcommands."""
    own = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return own.union(*map(options, getattr(command, "commands", {}).values()))


COMMANDS = sorted({*recommended()})


def test_messages_recommend_commands_of_each_tool() -> None:
    assert {command.split()[0] for command in COMMANDS} == {"entropy-sentinel", "snakemake", "make"}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_recommended_command_exists(command: str) -> None:
    tool, *words = shlex.split(command)
    if tool == "entropy-sentinel":
        given = {word.partition("=")[0] for word in words[1:] if re.match("--?[a-z]", word)}
        assert given <= options(APP.commands[words[0]])
    elif tool == "make":
        targets = re.findall(r"^([\w%-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert any(fnmatch(words[0], target.replace("%", "*")) for target in targets)
    elif not words[0].startswith("-"):
        rules = "\n".join(path.read_text() for path in (ROOT / "Snakefile", *(ROOT / "workflow").rglob("*.smk")))
        assert words[0] in re.findall(r"^\s*rule (\w+)", rules, re.MULTILINE)


def test_options_named_in_messages_exist() -> None:
    """Words of a sentence; a sentence about another program may name the options of that."""
    named = {
        option
        for _, text in strings(code=True)
        if len(text.split()) > 3 and not re.search("snakemake|vLLM|llama|inspect (?:log|eval)", text)
        for option in re.findall(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*", text)
    }
    assert len(named) > 30
    assert named <= options(APP) | {"--help"}
