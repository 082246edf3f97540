"""Calls into the code of extensions: whatever it raises becomes an error that names the extension.

Its code may call `sys.exit()`, which would end the monitor with its status, and nobody would know that it stopped.
"""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from typing import ParamSpec, TypeVar

from entropy_sentinel.core.errors import EntropySentinelError, InputError
from entropy_sentinel.core.extension_import import describe_failure
from entropy_sentinel.core.extensions import get_home
from entropy_sentinel.core.registry_entries import describe_place, is_built_in

P = ParamSpec("P")
R = TypeVar("R")


class ExtensionError(InputError):
    """The code of an extension failed; the message names its file and line."""


@contextlib.contextmanager
def guard_extension(kind: str, name: str, what: str, expected: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turn what a block raises into an ExtensionError that begins with `what`, if an extension declares `name`.

    `kind` is that of the declaration, such as `judges`. An interrupt, errors for users, `expected` errors, and errors
    of the package's own declarations stay as they are.
    """
    passed: tuple[type[BaseException], ...] = (KeyboardInterrupt, GeneratorExit, EntropySentinelError, *expected)
    try:
        yield
    except passed:
        raise
    except BaseException as error:  # also SystemExit and panics of Polars
        if is_built_in(kind, name):
            raise
        raise ExtensionError(describe_failure(what, error, describe_place(kind, name), get_home(kind, name))) from error


def guard_function(kind: str, name: str, what: str, function: Callable[P, R]) -> Callable[P, R]:
    """A function that an extension declares, in a `guard_extension`; the package's own functions stay as they are."""
    if is_built_in(kind, name):
        return function

    @functools.wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> R:
        with guard_extension(kind, name, what):
            return function(*args, **options)

    return call


def guard_command(command: Callable[P, R]) -> Callable[P, R]:
    """A subcommand of the package that no code in it can end; only `typer.Exit` sets its exit status."""

    @functools.wraps(command)
    def call(*args: P.args, **options: P.kwargs) -> R:
        try:
            return command(*args, **options)
        except SystemExit as error:
            if isinstance(error.__context__, BrokenPipeError):
                raise  # the reader of the output has closed it, as `head` does
            raise ExtensionError(describe_failure("the command was ended", error, "an unknown place")) from error

    return call


@contextlib.contextmanager
def print_to_stderr() -> Iterator[None]:
    """Let `print` in a block write to standard error, because a command's output may be JSON."""
    with contextlib.redirect_stdout(sys.stderr):
        yield
