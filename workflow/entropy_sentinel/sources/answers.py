"""The right answers to a question that may have several, with their names, and how often each is seen."""

import json
import math
import re
import string
from collections.abc import Iterable, Sequence
from typing import Any

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.fields import Row, is_empty, look_up, one_text

# The sign and the point of a number stay: -5 is not 5, and 3.5 not 35.
_PUNCTUATION = re.compile(rf"(?<!\w)-(?=\d)|(?<=\d)\.(?=\d)|([{re.escape(string.punctuation)}])")


def read_answers(columns: str | Sequence[str], row: Row, where: str) -> list[list[str]] | None:
    """The right answers of a row, each with all its names, the one that is shown first; None where it has none.

    They are the list in one column, or those of several columns, one in each. An answer is a text or a list of its
    names. Tables of text have a list as its JSON text. Answers whose names are the same after `normalised` become one
    answer: `Paris` and `PARIS!`. Raises InputError, beginning with `where` (file and row), for an
    answer without a name, and for what is neither text nor a number.
    """
    if isinstance(columns, str):
        named = f"{where}: answers ({columns})"
        values = _several(look_up(columns, row, where), named)
    else:
        named = f"{where}: answers ({', '.join(columns)})"
        values = [value for name in columns if not is_empty(value := look_up(name, row, where))]
    return _distinct(_names(value, f"{named}: answer {number}") for number, value in enumerate(values, start=1)) or None


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
        raise InputError(
            f"{named} must be one for each of the {len(answers or [])} answers, were {len(counts)}; answers that "
            "differ only in case, punctuation or an article are one: list it once"
        )
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


def _distinct(answers: Iterable[list[str]]) -> list[list[str]]:
    """Each answer once: one whose names are all names of an earlier answer, or the other way round, is joined to it."""
    distinct: list[list[str]] = []
    for names in answers:
        texts = set(map(normalised, names))
        for place, earlier in enumerate(distinct):
            others = set(map(normalised, earlier))
            if texts <= others or others <= texts:
                distinct[place] = list(dict.fromkeys([*earlier, *names]))
                break
        else:
            distinct.append(names)
    return distinct


def normalised(text: str) -> str:
    """Text without case, punctuation, the articles a, an, the, and runs of white space.

    As SQuAD's evaluation has it (Rajpurkar et al., 2016), but that the sign and the point of a number stay, and that a
    text of which nothing would be left, such as the option "A", stays as it is, in lower case.
    """
    lower = " ".join(text.lower().split())
    bare = _PUNCTUATION.sub(lambda found: "" if found[1] else found[0], lower)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split()) or lower
