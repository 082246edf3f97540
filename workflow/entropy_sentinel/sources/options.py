"""Options of multiple-choice questions: written below the question, and the one that a reference names.

Data sets give them as a list, as a column for each, or by letter; and name the right one by its letter, its number or
its text. An item has them in one form: `A. text` lines, which models are asked and the judge `choice` reads, and the
letter of the right one, `(A)`, as its reference.
"""

import hashlib
import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.fields import Row, is_empty, look_up, one_text
from entropy_sentinel.sources.settings import READINGS, Reading

LETTERS = "ABCDEFGHIJ"  # those that the judge `choice` knows


def read_options(columns: Sequence[str], row: Row, where: str) -> list[str]:
    """The options of a row, each on one line; none where they are all empty. Empty ones at the end are left out.

    Raises InputError, beginning with `where` (file and row), for one option, for more than there are letters, for an
    empty one before others, and for what is neither text nor a number.
    """
    values = [value for name in columns for value in _several(look_up(name, row, where), f"{where}: '{name}'")]
    while values and is_empty(values[-1]):
        values.pop()
    named = f"{where}: options ({', '.join(columns)})"
    if values and not 2 <= len(values) <= len(LETTERS):
        raise InputError(f"{named} must be 2 to {len(LETTERS)}, were {len(values)}")
    if empty := [LETTERS[place] for place, value in enumerate(values) if is_empty(value)]:
        raise InputError(f"{named} must be filled up to the last, {empty[0]} is empty")
    return [" ".join(one_text(value, named).split()) for value in values]


def _several(value: Any, where: str) -> Sequence[Any]:
    """The options in one column: a list, one text, or texts by letter, {"A": ..., "B": ...}."""
    if isinstance(value, Mapping):
        if [str(key).upper() for key in value] != list(LETTERS[: len(value)]):
            keys = ", ".join(map(str, value))
            raise InputError(f"{where} must be a list, or options by the letters A, B, ..., has {keys}")
        return list(value.values())
    return value if isinstance(value, list) else [value]


def lettered(question: str, options: Sequence[str]) -> str:
    """The question with a line for each option below it."""
    lines = [f"{letter}. {text}" for letter, text in zip(LETTERS, options, strict=False)]
    return "\n".join([question, *lines])


def right_options(
    references: Sequence[str | None], options: Sequence[Sequence[str]], reading: Reading | None, places: Sequence[str]
) -> list[int | None]:
    """For each item the number, from 0, of the option that its reference names; None without a reference or options.

    `reading` is one of READINGS; without it the one that fits all items. `places` are what errors begin with, by item.
    Raises InputError for a reference that names no option, and where more readings than one fit and differ.
    """
    asked = [(place, known) for place, known in enumerate(references) if known is not None and options[place]]
    readings = [reading] if reading else READINGS
    named = {one: [_READ[one](known, options[place]) for place, known in asked] for one in readings}
    fitting = {one: found for one, found in named.items() if None not in found}
    if not fitting:
        closest = max(named, key=lambda one: sum(place is not None for place in named[one]))
        misfit, known = asked[named[closest].index(None)]
        raise InputError(
            f"{places[misfit]}: reference '{known}' is no {_WORDS[closest]} of its {len(options[misfit])} "
            "options; mend the row, or say with reference_is how references name options: " + ", ".join(READINGS)
        )
    (first, found), *others = fitting.items()
    if differing := [one for one, other in others if other != found]:
        raise InputError(
            f"{places[asked[0][0]]}: in all {len(asked)} rows the reference can be the {_WORDS[first]} or the "
            f"{_WORDS[differing[0]]} of an option; set reference_is to one of {', '.join(READINGS)}"
        )
    right: list[int | None] = [None] * len(references)
    for (place, _), one in zip(asked, found, strict=True):
        right[place] = one
    return right


def drawn_order(n_options: int, seed: int, item_id: str) -> list[int]:
    """The numbers of the options in an order that is drawn for the item, the same for the same seed."""

    def lot(option: int) -> bytes:
        return hashlib.blake2b(f"{seed} {item_id} option {option}".encode()).digest()

    return sorted(range(n_options), key=lot)


def _letter(reference: str, options: Sequence[str]) -> int | None:
    found = re.fullmatch(r"\(?([A-Za-z])[).]?", reference.strip())
    return _within(string.ascii_uppercase.index(found[1].upper()), options) if found else None


def _number(first: int) -> Callable[[str, Sequence[str]], int | None]:
    def read(reference: str, options: Sequence[str]) -> int | None:
        plain = reference.strip()
        return _within(int(plain) - first, options) if re.fullmatch(r"\d{1,3}", plain) else None

    return read


def _text(reference: str, options: Sequence[str]) -> int | None:
    alike = [place for place, text in enumerate(options) if _plain(text) == _plain(reference)]
    return alike[0] if alike else None


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _within(place: int, options: Sequence[str]) -> int | None:
    return place if 0 <= place < len(options) else None


_READ: Mapping[Reading, Callable[[str, Sequence[str]], int | None]] = dict(
    zip(READINGS, (_letter, _number(0), _number(1), _text), strict=True)
)
_WORDS = dict(zip(READINGS, ("letter", "number from 0", "number from 1", "text"), strict=True))
