"""Read the fields of an external row: format strings over its columns, the right answers and their counts.

A value that is neither text nor a number is an error.
"""

import json
import math
import re
import reprlib
import string
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.printable import describe_json
from entropy_sentinel.study.items.benchmark_settings import FIELD

Row = Mapping[str, Any]
# Keeps the sign and the decimal point of a number: -5 is not 5, and 3.5 is not 35. Group 1 is what is removed.
_PUNCTUATION = re.compile(rf"(?<!\w)-(?=\d)|(?<=\d)\.(?=\d)|([{re.escape(string.punctuation)}])")


def fill_first(templates: Iterable[str], row: Row, where: str) -> str | None:
    """Fill in the first format string whose columns all have a value; return the stripped text, or None without one.

    `{column[part]}` is a part of a column: a named part, or an element of a list by its number from 0. A list is joined
    with commas. Raises InputError for a missing column or part, and for a value that is neither text nor a number; the
    message begins with `where` (file and row).
    """
    for template in templates:
        text = _fill_template(template, row, where)
        if text is not None:
            return text
    return None


def get_column(row: Row, name: str, where: str) -> Any:
    """One column of a row; raises InputError if the row does not have it."""
    if name not in row:
        raise InputError(f"{where} has no column '{name}'; columns: {_join_names(row)}")
    return row[name]


def is_empty(value: Any) -> bool:
    """Whether a field is empty: null, NaN, blank text, or a list or struct (picture) of empty fields."""
    waiting = [value]
    while waiting:  # not recursive: rows may be nested deeper than Python's stack allows
        value = waiting.pop()
        if isinstance(value, Mapping):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, str):
            if value.strip():
                return False
        elif value is not None and value != b"" and value == value:  # NaN differs from itself
            return False
    return True


def _fill_template(template: str, row: Row, where: str) -> str | None:
    """The template with the values of a row for its `{column}`; None if one of them is empty."""
    pieces = []
    for literal, name, _, _ in string.Formatter().parse(template):
        pieces.append(literal)
        if name is not None:
            value = look_up(name, row, where)
            if is_empty(value):
                return None
            pieces.append(_format_value(value, f"{where}: '{name}'"))
    return "".join(pieces).strip()


def look_up(name: str, row: Row, where: str) -> Any:
    """The value at `column` or `column[part][part]`; None for a part of an empty field."""
    match = FIELD.fullmatch(name)
    if match is None:
        raise InputError(f"{where}: '{name}' must be a column, or a part of one such as column[part]")
    value = get_column(row, match[1], where)
    for part in re.findall(r"\[(.+?)\]", match[2]):
        if is_empty(value):
            return None
        if isinstance(value, list) and part.isdecimal():
            value = value[int(part)] if int(part) < len(value) else None
        elif isinstance(value, Mapping) and part in value:
            value = value[part]
        else:
            raise InputError(f"{where} has no '{name}': {_describe_parts(value)}")
    return value


def _describe_parts(value: Any) -> str:
    """A description of a value's parts, for the message about a missing part."""
    if isinstance(value, Mapping):
        return f"its parts are {_join_names(value)}"
    if isinstance(value, list):
        return f"a list has parts 0 to {len(value) - 1}"
    return f"{reprlib.repr(value)} has no parts"


def _format_value(value: Any, where: str) -> str:
    """A non-empty field as text; a list is joined with commas."""
    if isinstance(value, list):
        texts = []
        for part in value:
            if not is_empty(part):
                texts.append(to_text(part, where))
        return ", ".join(texts)
    if isinstance(value, Mapping):
        raise InputError(f"{where} has the parts {_join_names(value)}; name one, such as {{column[part]}}")
    return to_text(value, where)


def to_text(value: Any, where: str) -> str:
    """A text or number as stripped text; raises InputError (starting with `where`) for any other value."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InputError(f"{where} must be text, but has an incomplete character: {reprlib.repr(value)}") from None
        return value.strip()
    if isinstance(value, int) or (isinstance(value, float | Decimal) and math.isfinite(value)):
        return str(value)
    raise InputError(
        f"{where} must be text, a number or a list of these, got {type(value).__name__}: {reprlib.repr(value)}; "
        "convert it, or name another column"
    )


def _join_names(fields: Mapping[str, Any]) -> str:
    """A list of the names for a message, with names that are not valid Unicode escaped."""
    return ", ".join(fields).encode(errors="backslashreplace").decode()


def read_answers(columns: str | Sequence[str], row: Row, where: str) -> list[list[str]] | None:
    """A row's right answers, each as a list of names with the displayed name first; None without answers.

    The answers are the list in one column, or the values of several columns. An answer is a text or a list of its
    names; in tables of text, lists are JSON. Answers whose names are equal after `normalise_answer`, such as `Paris`
    and `PARIS!`, become one answer. Raises InputError for an answer without a name, and for a value that is neither
    text nor a number; the message begins with `where` (file and row).
    """
    if isinstance(columns, str):
        subject = f"{where}: answers ({columns})"
        values = _parse_list(look_up(columns, row, where), subject)
    else:
        subject = f"{where}: answers ({', '.join(columns)})"
        values = []
        for name in columns:
            value = look_up(name, row, where)
            if not is_empty(value):
                values.append(value)
    answers = [_list_answer_names(value, f"{subject}: answer {number}") for number, value in enumerate(values, start=1)]
    return _merge_answers(answers) or None


def read_counts(
    column: str, answers: Sequence[Sequence[str]] | None, row: Row, where: str, zero: bool
) -> list[float] | None:
    """How often each of a row's `answers` occurs, from the list in `column`; None if the list is empty.

    Raises InputError (starting with `where`) if the numbers of counts and answers differ, for a count that is not a
    number of at least 0, and for 0 unless `zero` allows it.
    """
    subject = f"{where}: counts ({column})"
    counts = _parse_list(look_up(column, row, where), subject)
    if not counts:
        return None
    if len(counts) != len(answers or []):
        raise InputError(
            f"{subject} must be one for each of the {len(answers or [])} answers, got {len(counts)}; answers "
            "that differ only in case, punctuation or an article count as one, so list them once"
        )
    for names, count in zip(answers or [], counts, strict=True):
        if isinstance(count, bool) or not isinstance(count, int | float) or not 0 <= count < math.inf:
            raise InputError(
                f"{subject} must be numbers above 0, got {describe_json(count)} for '{names[0]}'; correct the row"
            )
        if count == 0 and not zero:
            raise InputError(
                f"{subject} must be above 0, got 0 for '{names[0]}'; correct the row, or drop such rows with "
                "only_if_counted"
            )
    return [float(count) for count in counts]


def _parse_list(value: Any, subject: str) -> list[Any]:
    """A list (which may be JSON text) unchanged, an empty value as [], and any other value in a list."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{subject} begins like a JSON list, but is not valid: {error}") from None
    if isinstance(value, list):
        return value
    return [] if is_empty(value) else [value]


def _list_answer_names(answer: Any, subject: str) -> list[str]:
    """The distinct names of one answer."""
    names = _parse_list(answer, subject)
    if not names or any(is_empty(name) for name in names):
        raise InputError(
            f"{subject} must be a text or a list of its non-empty names, got {describe_json(answer)}"[:300]
        )
    return list(dict.fromkeys(to_text(name, subject) for name in names))


def _merge_answers(answers: Iterable[list[str]]) -> list[list[str]]:
    """Merge two answers if all names of one are also names of the other."""
    distinct: list[list[str]] = []
    for names in answers:
        texts = set(map(normalise_answer, names))
        for index, merged_names in enumerate(distinct):
            merged_texts = set(map(normalise_answer, merged_names))
            if texts <= merged_texts or merged_texts <= texts:
                distinct[index] = list(dict.fromkeys([*merged_names, *names]))
                break
        else:
            distinct.append(names)
    return distinct


def normalise_answer(text: str) -> str:
    """A text in lower case, without punctuation, the articles a, an, the, and repeated white space.

    This is the normalisation of SQuAD's evaluation (Rajpurkar et al., 2016), except that it keeps the sign and the
    decimal point of a number. If nothing would be left, as for the option "A", it returns the text in lower case.
    """
    lower = " ".join(text.lower().split())
    without_punctuation = _PUNCTUATION.sub(lambda match: "" if match[1] else match[0], lower)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", without_punctuation).split()) or lower
