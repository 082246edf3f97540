"""Rows of a benchmark as its items: the config's format strings filled in, options written out, a limit drawn."""

import hashlib
from collections.abc import Iterable
from itertools import islice
from typing import TypedDict

import polars as pl

from entropy_sentinel.frames.benchmark import BENCHMARKS
from entropy_sentinel.sources.answers import read_answers, read_counts
from entropy_sentinel.sources.fields import Row, column, fill_first, is_empty
from entropy_sentinel.sources.options import LETTERS, drawn_order, lettered, read_options, right_options
from entropy_sentinel.sources.rows import kind_of, local_rows
from entropy_sentinel.sources.settings import ItemsSettings, named_columns


class Item(TypedDict):
    """A row as contract BENCHMARKS has it."""

    item_id: str
    question: str
    reference: str | None
    duplicate_of: str
    group: str | None
    answers: list[list[str]] | None
    counts: list[float] | None


# Rows of a local file that are looked at when a study is planned.
FIRST_ROWS = 100


def read_items(rows: Iterable[Row], settings: ItemsSettings, source: str) -> tuple[list[Item], dict[str, list[int]]]:
    """Map rows to items by the settings' format strings; also the numbers of the rows left out, by reason.

    A row without a reference is an item whose reference is None. An item's id carries its row number in the source, so
    that a filter or a limit never renames an item. Options stand below the question, and the reference is a letter.
    """
    items, options, left_out = _mapped(rows, settings, source)
    if settings.get("options"):
        _offer(items, options, settings, source)
    return items, left_out


def items_frame(items: list[Item], settings: ItemsSettings) -> pl.DataFrame:
    """The items that a study has of all of a benchmark's, by its limit, as a frame of contract BENCHMARKS."""
    chosen = items if settings["limit"] is None else draw(items, settings["limit"], settings["seed"])
    return BENCHMARKS.frame(chosen).with_columns(duplicate_of=pl.col("item_id").first().over("question"))


def check_first_rows(settings: ItemsSettings) -> None:
    """Raise InputError where a local file's first rows have not what the settings name, or lack a table's column.

    Lines of JSON may each have columns of their own, so of these only what their rows are asked for must be there.
    """
    path = settings["path"]
    assert path is not None
    rows = list(islice(local_rows(path, FIRST_ROWS), FIRST_ROWS))
    if rows and kind_of(path) != ".jsonl":
        for name in named_columns(settings):
            column(rows[0], name, path)
    _mapped(rows, settings, path)


def _mapped(
    rows: Iterable[Row], settings: ItemsSettings, source: str
) -> tuple[list[Item], list[list[str]], dict[str, list[int]]]:
    """Items and the options of each, as the rows give them, and the numbers of the rows left out, by reason."""
    items: list[Item] = []
    options: list[list[str]] = []
    left_out: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        where = f"{source}: row {number}"
        item = _item(number, row, settings, where)
        if isinstance(item, str):
            left_out.setdefault(item, []).append(number)
            continue
        items.append(item)
        options.append(read_options(settings.get("options") or [], row, where))
    return items, options, left_out


def _item(number: int, row: Row, settings: ItemsSettings, where: str) -> Item | str:
    """A row as an item, or why it is left out."""
    if any(not is_empty(column(row, name, where)) for name in settings["only_if_empty"]):
        return "a picture is needed"
    question = fill_first(settings["question"], row, where)
    if not question:
        return "no question"
    answers = read_answers(settings["answers"], row, where) if "answers" in settings else None
    counted = settings.get("only_if_counted", False)
    counts = read_counts(settings["counts"], answers, row, where, zero=counted) if "counts" in settings else None
    if counted and not all(counts or [0]):
        return "an answer without a count"
    item_id = f"{settings['benchmark']}-{number:05d}"
    return {
        "item_id": item_id,
        "question": question,
        "reference": _reference(row, settings, where),
        "duplicate_of": item_id,
        "group": fill_first(settings.get("group") or [], row, where),
        "answers": answers,
        "counts": counts,
    }


def _offer(items: list[Item], options: list[list[str]], settings: ItemsSettings, source: str) -> None:
    """Write the options of each item below its question, and the letter of the right one in place of its reference."""
    places = [f"{source}: row {int(item['item_id'].rpartition('-')[2])}" for item in items]
    right = right_options([item["reference"] for item in items], options, settings.get("reference_is"), places)
    for item, offered, correct in zip(items, options, right, strict=True):
        order = list(range(len(offered)))
        if settings.get("shuffle_options"):
            order = drawn_order(len(offered), settings["seed"], item["item_id"])
        item["question"] = lettered(item["question"], [offered[place] for place in order])
        if correct is not None:
            item["reference"] = f"({LETTERS[order.index(correct)]})"


def _reference(row: Row, settings: ItemsSettings, where: str) -> str | None:
    """The reference answer of a row: what follows the last mark, where the settings name one; None if there is none."""
    reference = fill_first(settings["reference"], row, where)
    if reference and (mark := settings["reference_after"]):
        reference = reference.rpartition(mark)[2].strip() if mark in reference else None
    return reference or None


def draw(items: list[Item], limit: int, seed: int) -> list[Item]:
    """`limit` items drawn by a hash of seed and item id, in benchmark order: a smaller draw is part of a larger one."""
    chosen = sorted(items, key=lambda item: hashlib.blake2b(f"{seed} {item['item_id']}".encode()).digest())[:limit]
    return sorted(chosen, key=lambda item: item["item_id"])
