"""Arguments and functions that several subcommands share."""

import contextlib
import inspect
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from pydantic.fields import FieldInfo

from entropy_sentinel.core.errors import EntropySentinelError, InputError
from entropy_sentinel.core.extension_guard import print_to_stderr
from entropy_sentinel.core.option_classes import (
    Options,
    Panel,
    format_meaning,
    get_cli_option,
    is_list,
    list_choices,
    sort_options,
)
from entropy_sentinel.core.printable import make_one_line
from entropy_sentinel.logs.format_registry import SUFFIXES

if TYPE_CHECKING:
    from entropy_sentinel.monitor.reading.problem_collection import Problems

Command = TypeVar("Command", bound=Callable[..., None])

# Exit status if some records or responses could not be used.
INCOMPLETE_STATUS = 3
# Exit status if the budget or the server ended the requests, and the file has only a part of the answers.
INTERRUPTED_STATUS = 6
# Exit status after Ctrl-C, as of a process that SIGINT ends.
STOPPED_BY_USER = 130
# Seconds without output after which a command says on a terminal what it is doing.
PATIENCE_S = 2.0

Json = Annotated[bool, typer.Option("--json", help="Print only JSON to standard output.")]

_LOGS = f"({', '.join(SUFFIXES)}, .gz): files, folders, patterns, URLs, - for standard input."
LogFiles = Annotated[list[str], typer.Argument(metavar="FILES", help=f"Logs or traces {_LOGS}")]
RESPONSES = f"Logs, traces or features {_LOGS}"
ResponseFiles = Annotated[list[str], typer.Argument(metavar="FILES", help=RESPONSES)]


def take_options(options: type[Options], *outputs: inspect.Parameter, **defaults: Any) -> Callable[[Command], Command]:
    """A decorator that replaces a command's `**options` by one option per field of the class, plus `outputs`.

    Options are sorted by panel. `defaults` replace the defaults of the class; ... makes an option required.

    A command has no typed dict like a verb (api/verb_options.py): only Typer calls it, and its `outputs` also
    come from extensions.
    """

    def decorate(command: Command) -> Command:
        command_parameters = inspect.signature(command, eval_str=True).parameters.values()
        parameters = [*outputs, *command_parameters]
        for name, field in sort_options(options).items():
            parameters.append(_make_parameter(options, name, field, defaults))
        keyword_parameters = []
        for parameter in parameters:
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
                keyword_parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
        keyword_parameters.sort(key=_rank_panel)
        command.__signature__ = inspect.Signature(keyword_parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in keyword_parameters}
        return command

    return decorate


def _rank_panel(parameter: inspect.Parameter) -> int:
    """The position of a parameter's panel; arguments and parameters without a panel come first."""
    return [None, *Panel].index(parameter.annotation.__metadata__[0].rich_help_panel)


def _make_parameter(
    options: type[Options], name: str, field: FieldInfo, defaults: Mapping[str, Any]
) -> inspect.Parameter:
    """The command's option for the field `name`; `defaults` replace that of the class, ... makes it required."""
    cli_option, is_switch = get_cli_option(field), field.annotation is bool
    names = [f"--{name.replace('_', '-')}"]
    if cli_option.singular:
        names.insert(0, f"--{cli_option.singular}")
    if cli_option.short:
        names.append(cli_option.short)
    accepted = list_choices(field)

    def complete(incomplete: str) -> list[str]:
        return [choice for choice in accepted if choice.startswith(incomplete)]

    metavar = cli_option.metavar
    if not metavar and accepted:
        metavar = f"<{'|'.join(accepted)}>"
    declared = typer.Option(
        *names,
        metavar=metavar or None,
        parser=None if is_switch else _make_parser(options, name),
        rich_help_panel=cli_option.panel,
        autocompletion=complete if accepted else None,
        help=format_meaning(field) + (" Repeat it for more." if is_list(field) else ""),
    )
    kind: Any = bool
    if not is_switch:  # as text, which the parser of the class converts
        kind = list[str] if is_list(field) else str | None
    default = defaults.get(name, field.default)
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is ... else default,
        annotation=Annotated[kind, declared],
    )


def _make_parser(options: type[Options], name: str) -> Callable[[Any], Any]:
    """A function that parses an option's text and raises BadParameter with the message of the class."""

    def parse(text: Any) -> Any:
        try:
            return options.parse_value(name, text)
        except EntropySentinelError as error:
            raise typer.BadParameter(str(error).removeprefix(f"{name}: ")) from None

    return parse


def print_line(text: str, err: bool = False) -> None:
    """Print one line; control characters and line breaks in it are escaped."""
    typer.echo(make_one_line(text), err=err)


# Colours of verdicts on a terminal; a verdict with another word has none.
_COLOURS = {"usable": "green", "ranking only": "yellow", "do not use": "red"}


def print_verdict(verdict: str, scope: str) -> None:
    """Print a verdict and what it is about, in colour on a terminal unless NO_COLOR is set."""
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    word = typer.style(verdict, fg=_COLOURS.get(verdict), bold=True) if coloured else verdict
    typer.echo(f"{word}{make_one_line(scope)}")


@contextlib.contextmanager
def announce_work(activity: str) -> Iterator[None]:
    """Say on a terminal what a block works on, if it takes longer than PATIENCE_S; what it prints goes to stderr."""
    timer = threading.Timer(PATIENCE_S, lambda: typer.echo(f"{activity} ...", err=True))
    timer.daemon = True
    if sys.stderr.isatty():
        timer.start()
    try:
        with print_to_stderr():
            yield
    finally:
        timer.cancel()


@contextlib.contextmanager
def show_progress(on: str, module: str) -> Iterator[None]:
    """Say on a terminal, every PATIENCE_S at most, how far a block is: `on` and the last record of a module's log."""
    logger = logging.getLogger(module)
    level, progress = logger.level, _Progress(on)
    if sys.stderr.isatty():
        logger.addHandler(progress)
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(progress)
        logger.setLevel(level)


class _Progress(logging.Handler):
    """Prints records if the last one was printed PATIENCE_S ago."""

    def __init__(self, on: str) -> None:
        super().__init__()
        self._on, self._last = on, time.monotonic()

    def emit(self, record: logging.LogRecord) -> None:
        """Print the record after the name of the work, unless another was printed a moment ago."""
        if time.monotonic() - self._last >= PATIENCE_S:
            self._last = time.monotonic()
            typer.echo(f"{self._on}: {record.getMessage()}", err=True)


def print_json(content: Mapping[str, Any]) -> None:
    """Print a JSON object."""
    typer.echo(json.dumps(content, indent=1))


def show_problems(problems: "Problems") -> None:
    """Report the unusable parts of the logs on standard error."""
    from entropy_sentinel.rendering.terminal_text import print_parts

    print_parts(map(make_one_line, problems.lines()), sys.stderr)


def exit_with_problems(problems: "Problems") -> None:
    """Report the unusable parts of the logs on standard error; exit with INCOMPLETE if there are any."""
    show_problems(problems)
    if problems.counts:
        raise typer.Exit(INCOMPLETE_STATUS)


def check_table_path(path: Path, suffixes: Sequence[str]) -> None:
    """Raise InputError if the name of a table's file does not end with one of `suffixes`."""
    if path.suffix not in suffixes:
        raise InputError(f"--output: must end with {', '.join(suffixes)}, got '{path}'")
