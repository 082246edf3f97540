"""`reference/commands.md`: every command of `entropy-sentinel` with its options, from Typer."""

from collections.abc import Iterator
from typing import Any

import typer

from entropy_sentinel.cli.main import app
from made.markdown import code, paragraphs, plain, table

HEAD = """# Every command

This page is generated from the commands; `entropy-sentinel COMMAND --help` prints the same text. Exit status 0 means
success, 1 an error with a message that says what to do, and 2 a wrong option or argument. A command with further exit
statuses lists them.

"""


def page() -> str:
    """The page as Markdown."""
    root = typer.main.get_command(app)
    return HEAD + "\n".join(_described(root, root.make_context("entropy-sentinel", [], resilient_parsing=True)))


def _described(command: Any, context: Any) -> Iterator[str]:
    """Yield a command's usage, text and options, then those of its subcommands."""
    if context.parent is not None:
        yield f"## {context.command_path.removeprefix('entropy-sentinel ')}\n"
    yield f"```\n{command.get_usage(context).removeprefix('Usage: ')}\n```\n"
    text, _, example = (command.help or "").partition("\b\n")
    yield paragraphs(text) + "\n"
    if example:
        yield f"```\n{example.strip()}\n```\n"
    records = [one.get_help_record(context) for one in command.get_params(context) if one.name != "help"]
    rows = [[code(names), plain(meaning)] for names, meaning in filter(None, records)]
    if rows:
        yield table(["argument or option", "meaning"], rows)
    for name, inner in getattr(command, "commands", {}).items():
        yield from _described(inner, type(context)(inner, info_name=name, parent=context))
