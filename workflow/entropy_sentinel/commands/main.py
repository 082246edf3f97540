"""The command `entropy-sentinel`: a function per subcommand, in this folder or in that of an analysis.

Adding one is a Typer function, or a Typer app, and its place in `_OWN`; in the folder of an analysis it is the function
`command` of `command_NAME.py`, and needs no entry. What computes is imported inside the function, so that `--help`
answers at once and no subcommand needs another's packages.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import typer

from entropy_sentinel import __version__
from entropy_sentinel.frames.errors import EntropySentinelError
from entropy_sentinel.frames.printable import printable
from entropy_sentinel.frames.secrets import without_keys

_OWN = {
    "init": "init.command",
    **{name: f"training.{name}" for name in ("features", "fit")},
    **{name: f"responses.{name}" for name in ("estimate", "score")},
    "monitor": "monitor.command",
    "sample": "responses.sample",
    **{name: f"studies.{name}" for name in ("plan", "progress", "serve")},
    "audit": "audit.app",
    **{name: f"studies.{name}" for name in ("schema", "show")},
}
_ANALYSES = Path(__file__).parents[1] / "analyses"

# The function of each subcommand, by name, or the app of one with subcommands of its own.
COMMANDS = {name: f"entropy_sentinel.commands.{place}" for name, place in _OWN.items()} | {
    path.stem.removeprefix("command_"): f"entropy_sentinel.analyses.{path.parent.name}.{path.stem}.command"
    for path in sorted(_ANALYSES.glob("*/command_*.py"))
}

app = typer.Typer(
    name="entropy-sentinel",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    # Frames around the help are for people; a pipe gets plain text.
    rich_markup_mode="rich" if sys.stdout and sys.stdout.isatty() else None,
    pretty_exceptions_enable=False,
)
for name, place in COMMANDS.items():
    module, _, attribute = place.rpartition(".")
    command = getattr(import_module(module), attribute)
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name)
    else:
        app.command(name)(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"entropy-sentinel {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    """How accurate is a language model on each kind of question, when nobody labels the answers?"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; exits with 0, with 1 for an error that a user can act on, with 2 for a wrong call."""
    _take_any_text()
    try:
        app(arguments)
    except (EntropySentinelError, OSError) as error:
        typer.echo(printable(without_keys(f"{type(error).__name__}: {error}")), err=True)
        sys.exit(1)


def _take_any_text() -> None:
    """What the terminal has no letters for is shown as Python writes it; what is closed takes all and shows nothing."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
