"""The right answers to a question that may have several, with their names, and how often each is seen."""

import json
import math
from collections.abc import Sequence
from typing import Any

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.fields import Row, is_empty, look_up, one_text


def read_answers(columns: str | Sequence[str], row: Row, where: str) -> list[list[str]] | None:
    """The right answers of a row, each with all its names, the one that is shown first; None where it has none.

    They are the list in one column, or those of several columns, one in each. An answer is a text or a list of its
    names. Tables of text have a list as its JSON text. Raises InputError, beginning with `where` (file and row), for an
    answer without a name, and for what is neither text nor a number.
    """
    if isinstance(columns, str):
        named = f"{where}: answers ({columns})"
        values = _several(look_up(columns, row, where), named)
    else:
        named = f"{where}: answers ({', '.join(columns)})"
        values = [value for name in columns if not is_empty(value := look_up(name, row, where))]
    return [_names(value, f"{named}: answer {number}") for number, value in enumerate(values, start=1)] or None


def read_counts(
    column: str, answers: Sequence[Sequence[str]] | None, row: Row, where: str, zero: bool
) -> list[float] | None:
    """How often each of a row's `answers` is seen, as its `column` says; None where that is empty.

    Raises InputError, beginning with `where`, for another number of counts than of answers, for what is no number of 0
    or more, and, unless `zero` is allowed, for a 0.
    """
    named = f"{where}: counts ({column})"
    counts = _several(look_up(column, row, where), named)
    if not counts:
        return None
    if len(counts) != len(answers or []):
        raise InputError(f"{named} must be one for each of the {len(answers or [])} answers, were {len(counts)}")
    for name, count in zip((names[0] for names in answers or []), counts, strict=True):
        if isinstance(count, bool) or not isinstance(count, int | float) or not 0 <= count < math.inf:
            raise InputError(f"{named} must be numbers above 0, that of '{name}' was {count!r}; mend the row")
        if count == 0 and not zero:
            raise InputError(
                f"{named} must be above 0, that of '{name}' was 0; mend the row, or drop such rows with only_if_counted"
            )
    return [float(count) for count in counts]


def _several(value: Any, named: str) -> list[Any]:
    """A list as it is or as its JSON text says it; what is none as the only one; nothing where there is nothing."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{named} begins as the JSON text of a list, but is none: {error}") from None
    if isinstance(value, list):
        return value
    return [] if is_empty(value) else [value]


def _names(answer: Any, named: str) -> list[str]:
    """The names of one answer, each once."""
    names = _several(answer, named)
    if not names or any(is_empty(name) for name in names):
        raise InputError(f"{named} must be a text or a list of its names, none of them empty, was {answer!r}"[:300])
    return list(dict.fromkeys(one_text(name, named) for name in names))
