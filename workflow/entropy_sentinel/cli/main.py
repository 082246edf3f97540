"""The command `entropy-sentinel`: the subcommands that the package and its extensions declare, and its help.

A subcommand is a Typer function or a Typer app. It imports heavy modules inside the function: `--help` then answers at
once, and no subcommand needs another's packages. Help is in sections, by the panels of options and subcommands, and the
same on a terminal and in a pipe.
"""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from entropy_sentinel import __version__
from entropy_sentinel import cli as commands
from entropy_sentinel.core import extensions
from entropy_sentinel.core.errors import ConfigError, EntropySentinelError
from entropy_sentinel.core.extension_guard import guard_command
from entropy_sentinel.core.option_texts import naming_command_options
from entropy_sentinel.core.printable import make_printable
from entropy_sentinel.core.registry_entries import describe_place, is_built_in
from entropy_sentinel.core.secrets import mask_keys

_HelpSections = dict[str, list[tuple[str, str]]]
_SUMMARY_WIDTH = 60  # of a subcommand's summary


class Command(TyperCommand):
    """A subcommand with its options in sections."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the options of each panel, and the options without a panel."""
        _write_sections(_group_by_panel(self.get_params(ctx), ctx), formatter)


class CommandGroup(TyperGroup):
    """The command with its subcommands in sections."""

    def invoke(self, ctx: Any) -> Any:
        """Run a subcommand, whose messages name options of the command."""
        with naming_command_options():
            return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the subcommands of each panel, and the options."""
        sections: _HelpSections = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            sentence = command.get_short_help_str(_SUMMARY_WIDTH)
            sections.setdefault(command.rich_help_panel or "Commands", []).append((name, sentence))
        _write_sections(sections | _group_by_panel(self.get_params(ctx), ctx), formatter)


def _group_by_panel(parameters: Iterable[Any], context: Any) -> _HelpSections:
    """The help of each parameter, pairs of its name and text, by section: arguments, panels, other options."""
    sections: _HelpSections = {"Arguments": []}
    other_options: _HelpSections = {"Options": []}
    for parameter in parameters:
        record = parameter.get_help_record(context)
        if record is None:
            continue
        if parameter.param_type_name == "argument":
            name, text = record
            # Typer adds the type, such as <list[str]>, which is Python's word and not the reader's.
            sections["Arguments"].append((name.removesuffix(f" {parameter.display_type(context)}"), text))
        elif parameter.rich_help_panel is None:
            other_options["Options"].append(record)
        else:
            sections.setdefault(parameter.rich_help_panel, []).append(record)
    return sections | other_options


def _write_sections(sections: _HelpSections, formatter: Any) -> None:
    """Write the sections of the help that have an entry, with Click's formatter."""
    for title, records in sections.items():
        if records:
            with formatter.section(title):
                formatter.write_dl(records)


# Sections of the help, and the subcommands of the first; all others are of the second.
_LOGS, _STUDIES = "Logs of a deployed model", "Studies"
_LOG_COMMANDS = {"features", "fit", "estimate", "compare", "score", "monitor", "sample", "judge"}
# The function of each subcommand by name, or the app if it has subcommands; first those of this folder.
_COMMANDS: dict[str, Callable[..., None] | typer.Typer] = extensions.load_declarations("commands")
_NAMES = sorted(_COMMANDS, key=lambda name: extensions.get_module_name("commands", name) != commands.__name__)
COMMANDS = {name: _COMMANDS[name] for name in _NAMES}

app = typer.Typer(
    name="entropy-sentinel",
    cls=CommandGroup,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _add_command(parent: typer.Typer, name: str, command: Callable[..., None] | typer.Typer) -> None:
    """Add a subcommand in its section of the help; errors of the package's own functions get a guard."""
    section = _LOGS if name in _LOG_COMMANDS else _STUDIES
    if not isinstance(command, typer.Typer) and is_built_in("commands", name):
        command = guard_command(command)
    if isinstance(command, typer.Typer):
        parent.add_typer(command, name=name, rich_help_panel=section)
    else:
        parent.command(name, cls=Command, rich_help_panel=section)(command)


def _check_command(name: str, command: Any) -> None:
    """Raise ConfigError if Typer cannot take a subcommand of an extension."""
    where, trial = describe_place("commands", name), typer.Typer()
    if not callable(command) or isinstance(command, type):
        raise ConfigError(f"{where} must be a function or a typer.Typer, got {command!r:.100}")
    try:
        _add_command(trial, name, command)
        typer.main.get_command(trial)
    except Exception as error:
        raise ConfigError(f"{where}: {type(error).__name__}: {error}") from error


for name, command in COMMANDS.items():
    if not is_built_in("commands", name):
        _check_command(name, command)
    _add_command(app, name, command)


def _show_version(wanted: bool) -> None:
    """Print the version and exit, if the option `--version` is given."""
    if wanted:
        typer.echo(f"entropy-sentinel {__version__}")
        raise typer.Exit


@app.callback()
def show_about(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    """Estimate how accurate a language model is on each kind of question, without labels."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; exit with 0, with 1 for an error that a user can fix, or with 2 for a usage error."""
    _make_output_lossy()
    try:
        app(arguments, prog_name=app.info.name)
    except SystemExit:
        failures = extensions.list_failures()
        if failures:
            _print_error("\n".join(failures))
        raise
    except (EntropySentinelError, OSError) as error:
        if isinstance(error, extensions.TooLateError) and arguments is None:
            # The study has extensions. The command has done nothing yet, and begins again with them: the raiser has
            # added them to the environment, which the new process reads.
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
        _print_error(extensions.append_failures(f"{type(error).__name__}: {error}"))
        sys.exit(1)


def _print_error(text: str) -> None:
    typer.echo(make_printable(mask_keys(text)), err=True)


def _make_output_lossy() -> None:
    """Escape characters that the terminal cannot show, and discard output to a closed stream."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
