"""Convert the rows of a benchmark to items: question, reference, and the options of a multiple-choice question.

Data sets give options as a list, in one column each, or by letter, and name the right option by letter, number or text.
Items have a single form: options are `A. text` lines below the question, for models and for the judge `choice`, and
the reference is the letter of the right option, `(A)`.
"""

import hashlib
import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, TypedDict

import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.study.items.benchmark_rows import find_suffix, read_local_rows
from entropy_sentinel.study.items.benchmark_settings import READINGS, ItemsSettings, Reading, list_columns
from entropy_sentinel.study.items.row_fields import (
    Row,
    fill_first,
    get_column,
    is_empty,
    look_up,
    read_answers,
    read_counts,
    to_text,
)

LETTERS = "ABCDEFGHIJ"  # the letters that the judge `choice` reads
_WORDS = dict(zip(READINGS, ("letter", "number from 0", "number from 1", "text"), strict=True))
# Number of rows that planning checks in a local file.
FIRST_ROWS = 100


def read_options(columns: Sequence[str], row: Row, where: str) -> list[str]:
    """The options of a row, each as a single line, without empty options at the end; [] if all are empty.

    Raises InputError, starting with `where` (file and row), for a single option, for more options than letters, for an
    empty option before others, and for a value that is neither text nor a number.
    """
    values: list[Any] = []
    for name in columns:
        values += _list_options(look_up(name, row, where), f"{where}: '{name}'")
    while values and is_empty(values[-1]):
        values.pop()
    subject = f"{where}: options ({', '.join(columns)})"
    if values and not 2 <= len(values) <= len(LETTERS):
        raise InputError(f"{subject} must be 2 to {len(LETTERS)}, got {len(values)}")
    for letter, value in zip(LETTERS, values, strict=False):
        if is_empty(value):
            raise InputError(f"{subject} must not have gaps; {letter} is empty")
    return [" ".join(to_text(value, subject).split()) for value in values]


def _list_options(value: Any, where: str) -> Sequence[Any]:
    """The options in one column: a list, one text, or texts by letter, {"A": ..., "B": ...}."""
    if isinstance(value, Mapping):
        if [str(key).upper() for key in value] != list(LETTERS[: len(value)]):
            keys = ", ".join(map(str, value))
            raise InputError(f"{where} must be a list, or options by the letters A, B, ..., has {keys}")
        return list(value.values())
    return value if isinstance(value, list) else [value]


def append_options(question: str, options: Sequence[str]) -> str:
    """The question with a line for each option below it."""
    lines = [f"{letter}. {text}" for letter, text in zip(LETTERS, options, strict=False)]
    return "\n".join([question, *lines])


def match_references(
    references: Sequence[str | None],
    options: Sequence[Sequence[str]],
    reading: Reading | None,
    where_by_item: Sequence[str],
) -> list[int | None]:
    """For each item the number (from 0) of the option that its reference names; None if either is missing.

    `reading` is how references name options: letter, index (from 0), number (from 1) or text; None finds the reading
    that fits all items. Raises InputError (starting with the item's file and row, from `where_by_item`) for a reference
    that names no option, and if several readings fit but disagree.
    """
    rows = [
        (index, reference) for index, reference in enumerate(references) if reference is not None and options[index]
    ]
    numbers_by_reading = {}
    for name in [reading] if reading else READINGS:
        read = _READERS[name]
        numbers_by_reading[name] = [read(reference, options[index]) for index, reference in rows]
    # A reading fits if it finds an option for every reference.
    fitting = {name: numbers for name, numbers in numbers_by_reading.items() if None not in numbers}
    if not fitting:
        # The error is about the reading that fails in the fewest rows, and the first of these.
        closest = min(numbers_by_reading, key=lambda name: numbers_by_reading[name].count(None))
        misfit, reference = rows[numbers_by_reading[closest].index(None)]
        raise InputError(
            f"{where_by_item[misfit]}: reference '{reference}' is not the {_WORDS[closest]} of one of the "
            f"{len(options[misfit])} options; correct the row, or set reference_is to how references name options: "
            f"{', '.join(READINGS)}"
        )
    (first, numbers), *rest = fitting.items()
    for name, rest_numbers in rest:
        if rest_numbers != numbers:
            raise InputError(
                f"{where_by_item[rows[0][0]]}: in all {len(rows)} rows the reference could be either the "
                f"{_WORDS[first]} or the {_WORDS[name]} of an option; set reference_is to one of {', '.join(READINGS)}"
            )
    right_options: list[int | None] = [None] * len(references)
    for (index, _), number in zip(rows, numbers, strict=True):
        right_options[index] = number
    return right_options


def draw_order(n_options: int, seed: int, item_id: str) -> list[int]:
    """The option numbers in a random order for the item; the same seed gives the same order."""

    def hash_option(option: int) -> bytes:
        return hashlib.blake2b(f"{seed} {item_id} option {option}".encode()).digest()

    return sorted(range(n_options), key=hash_option)


# Each reader gives the number (from 0) of the option that a reference names in its way, or None if it names none.
def _read_letter(reference: str, options: Sequence[str]) -> int | None:
    letter = re.fullmatch(r"\(?([A-Za-z])[).]?", reference.strip())
    return _check_range(string.ascii_uppercase.index(letter[1].upper()), options) if letter else None


def _make_number_reader(first: int) -> Callable[[str, Sequence[str]], int | None]:
    """The reader of references that count options from `first`."""

    def read(reference: str, options: Sequence[str]) -> int | None:
        digits = reference.strip()
        return _check_range(int(digits) - first, options) if re.fullmatch(r"\d{1,3}", digits) else None

    return read


def _find_text(reference: str, options: Sequence[str]) -> int | None:
    for index, text in enumerate(options):
        if _normalise_option(text) == _normalise_option(reference):
            return index
    return None


def _normalise_option(text: str) -> str:
    return " ".join(text.split()).casefold()


def _check_range(index: int, options: Sequence[str]) -> int | None:
    return index if 0 <= index < len(options) else None


_READERS: Mapping[Reading, Callable[[str, Sequence[str]], int | None]] = dict(
    zip(READINGS, (_read_letter, _make_number_reader(0), _make_number_reader(1), _find_text), strict=True)
)


class Item(TypedDict):
    """A row of contract BENCHMARKS."""

    item_id: str
    question: str
    reference: str | None
    duplicate_of: str
    group: str | None
    answers: list[list[str]] | None
    counts: list[float] | None


def read_items(rows: Iterable[Row], settings: ItemsSettings, source: str) -> tuple[list[Item], dict[str, list[int]]]:
    """Convert rows to items by the settings' format strings; also return the numbers of dropped rows, by reason.

    If a row has no reference, the item's reference is None. An item's id contains its row number in the source, so
    filters and limits never rename items. Options are written below the question, and the reference becomes a letter.
    """
    items, options, left_out = _convert_rows(rows, settings, source)
    if settings.get("options"):
        _write_options(items, options, settings, source)
    return items, left_out


def build_items_frame(items: list[Item], settings: ItemsSettings) -> pl.DataFrame:
    """The items that a study uses, according to its limit, as a frame of contract BENCHMARKS.

    `duplicate_of` is the first of them with the same question, so an item's own id if there is none before it.
    """
    chosen = items if settings["limit"] is None else draw_items(items, settings["limit"], settings["seed"])
    return BENCHMARKS.frame(chosen).with_columns(duplicate_of=pl.col("item_id").first().over("question"))


def check_first_rows(settings: ItemsSettings) -> None:
    """Raise InputError if the first rows of a local file lack columns or values that the settings require.

    A table must have all named columns. Lines of JSON may have different columns, so only the columns that a row uses
    are checked.
    """
    path = settings["path"]
    assert path is not None
    rows = list(islice(read_local_rows(path, FIRST_ROWS), FIRST_ROWS))
    if rows and find_suffix(path) != ".jsonl":
        for name in list_columns(settings):
            get_column(rows[0], name, path)
    _convert_rows(rows, settings, path)


def _convert_rows(
    rows: Iterable[Row], settings: ItemsSettings, source: str
) -> tuple[list[Item], list[list[str]], dict[str, list[int]]]:
    """The items, each item's options in the order of the row, and the numbers of dropped rows by reason."""
    items: list[Item] = []
    options: list[list[str]] = []
    left_out: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        where = f"{source}: row {number}"
        item = _convert_row(number, row, settings, where)
        if isinstance(item, str):
            left_out.setdefault(item, []).append(number)
            continue
        items.append(item)
        options.append(read_options(settings.get("options") or [], row, where))
    return items, options, left_out


def _convert_row(number: int, row: Row, settings: ItemsSettings, where: str) -> Item | str:
    """A row as an item, or the reason to drop it."""
    for name in settings["only_if_empty"]:  # columns of pictures
        if not is_empty(get_column(row, name, where)):
            return "a picture is needed"
    question = fill_first(settings["question"], row, where)
    if not question:
        return "no question"
    answers = read_answers(settings["answers"], row, where) if "answers" in settings else None
    only_counted = settings.get("only_if_counted", False)
    counts = None
    if "counts" in settings:
        # Rows with a count of 0 are dropped below; without `only_if_counted`, it is an error.
        counts = read_counts(settings["counts"], answers, row, where, zero=only_counted)
    has_all_counts = counts is not None and all(counts)
    if only_counted and not has_all_counts:
        return "an answer without a count"
    item_id = f"{settings['benchmark']}-{number:05d}"
    return {
        "item_id": item_id,
        "question": question,
        "reference": _read_reference(row, settings, where),
        "duplicate_of": item_id,  # until all items are known (`build_items_frame`)
        "group": fill_first(settings.get("group") or [], row, where),
        "answers": answers,
        "counts": counts,
    }


def _write_options(items: list[Item], options: list[list[str]], settings: ItemsSettings, source: str) -> None:
    """Add the options of each item to its question, and replace its reference with the letter of the right option."""
    # An item's id ends with the number of its row.
    where_by_item = [f"{source}: row {int(item['item_id'].rpartition('-')[2])}" for item in items]
    references = [item["reference"] for item in items]
    right_options = match_references(references, options, settings.get("reference_is"), where_by_item)
    for item, row_options, right_option in zip(items, options, right_options, strict=True):
        order = list(range(len(row_options)))  # the numbers of the options, as they are shown
        if settings.get("shuffle_options"):
            order = draw_order(len(row_options), settings["seed"], item["item_id"])
        item["question"] = append_options(item["question"], [row_options[number] for number in order])
        if right_option is not None:
            item["reference"] = f"({LETTERS[order.index(right_option)]})"


def _read_reference(row: Row, settings: ItemsSettings, where: str) -> str | None:
    """The reference answer of a row, or None; if the settings name a mark, only the text after its last use."""
    reference = fill_first(settings["reference"], row, where)
    if reference and (mark := settings["reference_after"]):
        reference = reference.rpartition(mark)[2].strip() if mark in reference else None
    return reference or None


def draw_items(items: list[Item], limit: int, seed: int) -> list[Item]:
    """Draw `limit` items by a hash of seed and id, in benchmark order; a smaller draw is a subset of a larger one."""
    chosen = sorted(items, key=lambda item: hashlib.blake2b(f"{seed} {item['item_id']}".encode()).digest())[:limit]
    return sorted(chosen, key=lambda item: item["item_id"])
