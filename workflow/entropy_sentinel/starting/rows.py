"""A file of benchmark rows: which of its columns are the question, the reference and the options, by their names."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.fields import fill_first, is_empty
from entropy_sentinel.sources.items import read_options, right_options
from entropy_sentinel.sources.rows import local_rows
from entropy_sentinel.sources.settings import FORMATS

# Names that data sets use, the likeliest first; letters' case does not matter.
QUESTION = ("question", "problem", "prompt", "query", "question_concat", "input", "instruction", "text", "q")
REFERENCE = (
    *(
        "answer",
        "reference",
        "reference_answer",
        "correct_answer",
        "final_answer",
        "expected_answer",
        "expected",
        "gold",
    ),
    *("target", "solution", "label", "output", "a"),
)
OPTIONS = ("options", "choices")
# What stands before the final answer in references that reason first, as in GSM8K.
MARK = "####"
# Rows that are looked at.
_ROWS = 500


@dataclass(frozen=True)
class Rows:
    """A file of rows and its columns: `reference` and `options` are None where there are none.

    `reference_is` is set where the rows alone do not say which option a reference names; `marked` says that final
    answers stand after MARK; `n` is the number of rows, at most 500.
    """

    path: str
    n: int
    question: str
    reference: str | None
    marked: bool
    options: str | None
    reference_is: str | None


def look_at(path: str, question: str | None = None, reference: str | None = None) -> Rows:
    """What the first rows of a file say; `question` and `reference` are columns that the user names.

    Raises InputError for a file that cannot be read, has no rows, or no column for the question.
    """
    rows = list(islice(local_rows(path), _ROWS))
    if not rows:
        raise InputError(f"{path}: must have rows, has none")
    columns = list(dict.fromkeys(name for row in rows for name in row))
    for name in filter(None, (question, reference)):
        if name not in columns:
            raise InputError(f"{path}: has no column '{name}'; columns there: {', '.join(columns)}")
    asked = question or _named(columns, QUESTION)
    if asked is None:
        raise InputError(f"{path}: which column is the question? Name it with --question; there: {', '.join(columns)}")
    offered = _options(rows, _named(columns, OPTIONS))
    answered = reference or _named([name for name in columns if name not in (asked, offered)], REFERENCE)
    texts = [fill_first([f"{{{answered}}}"], row, path) for row in rows if answered in row] if answered else []
    known = [text for text in texts if text]
    return Rows(
        path,
        len(rows),
        asked,
        answered if known else None,
        sum(MARK in text for text in known) > len(known) / 2,
        offered,
        _reading(rows, offered, answered, path) if offered and answered and known else None,
    )


def name_of(path: str) -> str:
    """A name for a benchmark or model by that of its file: without its ends, and without what no name may have."""
    stem = Path(path).name
    for end in (".gz", *FORMATS, ".json", ".yaml", ".yml"):
        stem = stem.removesuffix(end)
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "-" for char in stem)
    return kept.strip("._-")[:80] or "rows"


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name, with a number where it is taken."""
    names = list(taken)
    numbered = (name if number == 1 else f"{name}-{number}" for number in range(1, len(names) + 2))
    return next(one for one in numbered if one not in names)


def _named(columns: Sequence[str], likely: Sequence[str]) -> str | None:
    """The column with the likeliest name; one whose name no format string can hold does not count."""
    found = {name.casefold(): name for name in columns if not set(name) & set("{}[].:!")}
    return next((found[name] for name in likely if name in found), None)


def _options(rows: Sequence[Mapping[str, Any]], column: str | None) -> str | None:
    """The column with the options, or the part of it that is a list."""
    values = [row.get(column) for row in rows if not is_empty(row.get(column))] if column else []
    if not values:
        return None
    if all(isinstance(value, Mapping) and isinstance(value.get("text"), list) for value in values):
        return f"{column}[text]"
    return column if all(isinstance(value, list | Mapping) for value in values) else None


def _reading(rows: Sequence[Mapping[str, Any]], options: str, reference: str, path: str) -> str | None:
    """What `reference_is` must be: None where the rows say it; `index`, to be checked, where they allow it and more."""
    full = [row for row in rows if reference in row]
    offered = [read_options([options], row, path) for row in full]
    references = [fill_first([f"{{{reference}}}"], row, path) for row in full]
    try:
        right_options(references, offered, None, [path] * len(full))
    except InputError:
        right_options(references, offered, "index", [path] * len(full))
        return "index"
    return None
