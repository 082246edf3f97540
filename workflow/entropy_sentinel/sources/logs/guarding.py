"""What goes wrong with a record ends here: it is a bad record, known by its place, and the next ones follow."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
import polars as pl

from entropy_sentinel.frames.errors import InputError

# Whatever a record makes a reader or a library raise; what is written in Rust panics with an error of its own.
ANY_ERROR = (Exception, pl.exceptions.PanicException)


class WholeFileError(InputError):
    """What is wrong with a file as a whole, and with none of its records."""


Rows = TypeVar("Rows", list[Any], np.ndarray)


def frames(
    rows: Rows, build: Callable[[Rows], pl.DataFrame], bad: Callable[[Rows, BaseException], None]
) -> Iterator[pl.DataFrame]:
    """The frame that `build` makes of `rows`; or where it cannot, those of their halves, and so on.

    A row of which no frame can be made is given to `bad`, alone, with the error: one of 1,000 is found in 20 tries.
    WholeFileError passes.
    """
    try:
        made = build(rows)
    except WholeFileError:
        raise
    except ANY_ERROR as error:
        problem = error
    else:
        yield made
        return
    if len(rows) == 1:
        bad(rows, problem)
        return
    _check_without_rows(rows, build)
    middle = len(rows) // 2
    yield from frames(rows[:middle], build, bad)
    yield from frames(rows[middle:], build, bad)


def _check_without_rows(rows: Rows, build: Callable[[Rows], pl.DataFrame]) -> None:
    """Raise WholeFileError where no frame can be made of nothing either: it is the columns, and no row is to blame."""
    try:
        build(rows[:0])
    except ANY_ERROR as error:
        raise WholeFileError(said(error)) from None


def said(error: BaseException) -> str:
    """An error in words for the person whose log it is."""
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, KeyError):
        return f"has no {error}, which its format must have"
    return f"has not the form of its format: {' '.join(str(error).split()) or type(error).__name__}"[:300]
