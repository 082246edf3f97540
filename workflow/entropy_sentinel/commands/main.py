"""The command `entropy-sentinel`: a function per subcommand, in this folder or in that of an analysis.

To add one, write a Typer function or a Typer app and add its place to `_SECTIONS`. In the folder of an analysis it is
the function `command` of `command_NAME.py` and needs no entry. Import heavy modules inside the function: `--help` then
answers at once, and no subcommand needs another's packages.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import typer

from entropy_sentinel import __version__
from entropy_sentinel.commands.help import Command, Group
from entropy_sentinel.frames.errors import EntropySentinelError
from entropy_sentinel.frames.printable import printable
from entropy_sentinel.frames.secrets import without_keys

_STUDIES = "Studies"
# The subcommands by section of the help.
_SECTIONS = {
    "Logs of a deployed model": {
        **{name: f"training.{name}" for name in ("features", "fit")},
        **{name: f"responses.{name}" for name in ("estimate", "compare", "score")},
        "monitor": "monitor.command",
        "sample": "responses.sample",
    },
    _STUDIES: {
        "init": "init.command",
        **{name: f"studies.{name}" for name in ("plan", "progress", "show", "serve", "schema")},
        "audit": "audit.app",
    },
}
_ANALYSES = Path(__file__).parents[1] / "analyses"

# The function of each subcommand by name, or the app if it has subcommands, and its section.
COMMANDS: dict[str, str] = {}
_SECTION: dict[str, str] = {}
for section, places in _SECTIONS.items():
    COMMANDS |= {name: f"entropy_sentinel.commands.{place}" for name, place in places.items()}
    _SECTION |= dict.fromkeys(places, section)
COMMANDS |= {
    path.stem.removeprefix("command_"): f"entropy_sentinel.analyses.{path.parent.name}.{path.stem}.command"
    for path in sorted(_ANALYSES.glob("*/command_*.py"))
}

app = typer.Typer(
    name="entropy-sentinel",
    cls=Group,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for name, place in COMMANDS.items():
    module, _, attribute = place.rpartition(".")
    command = getattr(import_module(module), attribute)
    section = _SECTION.get(name, _STUDIES)
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name, rich_help_panel=section)
    else:
        app.command(name, cls=Command, rich_help_panel=section)(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"entropy-sentinel {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    """Estimate how accurate a language model is on each kind of question, without labels."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; exit with 0, with 1 for an error that a user can fix, or with 2 for a usage error."""
    _take_any_text()
    try:
        app(arguments, prog_name=app.info.name)
    except (EntropySentinelError, OSError) as error:
        typer.echo(printable(without_keys(f"{type(error).__name__}: {error}")), err=True)
        sys.exit(1)


def _take_any_text() -> None:
    """Escape characters that the terminal cannot show, and discard output to a closed stream."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
