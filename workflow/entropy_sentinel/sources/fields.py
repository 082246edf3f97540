"""Fields of a row from outside, and format strings over them. What is neither text nor a number is refused."""

import math
import re
import reprlib
import string
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.settings import FIELD

Row = Mapping[str, Any]


def fill_first(templates: Iterable[str], row: Row, where: str) -> str | None:
    """The first format string whose columns are all filled, filled in and stripped; None if there is none.

    `{column[part]}` is a part of a column: of one with named parts by its name, of a list by its number from 0. A list
    is joined with commas. Raises InputError, beginning with `where` (file and row), for a column or part that is not
    there, and for what is neither text nor a number.
    """
    return next((text for template in templates if (text := _fill(template, row, where)) is not None), None)


def column(row: Row, name: str, where: str) -> Any:
    """One column of a row; InputError where it has none of this name."""
    if name not in row:
        raise InputError(f"{where} has no column '{name}'; columns there: {_names(row)}")
    return row[name]


def is_empty(value: Any) -> bool:
    """Whether a field holds nothing: null, NaN, blank text, and lists or structs (pictures) of nothing."""
    waiting = [value]
    while waiting:  # not by recursion, for rows may be nested as deep as Python's stack
        value = waiting.pop()
        if isinstance(value, Mapping):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        elif value.strip() if isinstance(value, str) else value is not None and value != b"" and value == value:
            return False
    return True


def _fill(template: str, row: Row, where: str) -> str | None:
    pieces = []
    for literal, name, _, _ in string.Formatter().parse(template):
        pieces.append(literal)
        if name is not None:
            value = look_up(name, row, where)
            if is_empty(value):
                return None
            pieces.append(_text(value, f"{where}: '{name}'"))
    return "".join(pieces).strip()


def look_up(name: str, row: Row, where: str) -> Any:
    """What stands at `column` or `column[part][part]`; None for a part of nothing."""
    match = FIELD.fullmatch(name)
    if match is None:
        raise InputError(f"{where}: '{name}' must be a column, or a part of one as in column[part]")
    value = column(row, match[1], where)
    for part in re.findall(r"\[(.+?)\]", match[2]):
        if is_empty(value):
            return None
        if isinstance(value, list) and part.isdecimal():
            value = value[int(part)] if int(part) < len(value) else None
        elif isinstance(value, Mapping) and part in value:
            value = value[part]
        else:
            raise InputError(f"{where} has no '{name}': {_parts(value)}")
    return value


def _parts(value: Any) -> str:
    """What parts a value has, for the message about one that it lacks."""
    if isinstance(value, Mapping):
        return f"its parts are {_names(value)}"
    if isinstance(value, list):
        return f"a list has parts 0 to {len(value) - 1}"
    return f"{reprlib.repr(value)} has no parts"


def _text(value: Any, where: str) -> str:
    """A filled field as text; several answers are joined with a comma."""
    if isinstance(value, list):
        return ", ".join(one_text(part, where) for part in value if not is_empty(part))
    if isinstance(value, Mapping):
        raise InputError(f"{where} has parts, {_names(value)}; name one, as in {{column[part]}}")
    return one_text(value, where)


def one_text(value: Any, where: str) -> str:
    """A text or number as text, stripped; InputError, beginning with `where`, for anything else."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InputError(f"{where} must be text, has half a character: {reprlib.repr(value)}") from None
        return value.strip()
    if isinstance(value, int) or (isinstance(value, float | Decimal) and math.isfinite(value)):
        return str(value)
    raise InputError(
        f"{where} must be text, a number or a list of these, was {type(value).__name__}: {reprlib.repr(value)}; "
        "convert it, or name another column"
    )


def _names(fields: Mapping[str, Any]) -> str:
    """Their names for a message, which must be storable whatever the row holds."""
    return ", ".join(fields).encode(errors="backslashreplace").decode()
