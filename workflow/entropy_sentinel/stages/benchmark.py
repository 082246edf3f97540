"""Stage `benchmarks`: any source of questions becomes items with a question and a reference answer."""

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

import polars as pl

from entropy_sentinel.frames.benchmark import BENCHMARKS
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.fields import Row, column, fill_first, is_empty
from entropy_sentinel.sources.options import LETTERS, drawn_order, lettered, read_options, right_options
from entropy_sentinel.sources.rows import folder_rows, local_rows

log = logging.getLogger(__name__)

# Row numbers that the log names of what is left out or odd; the provenance has the counts.
SHOWN_ROWS = 5


class Origin(TypedDict):
    """What identifies a source."""

    source: str
    revision: str | None
    commit: str | None


class Item(TypedDict):
    """A row of contract BENCHMARKS."""

    item_id: str
    question: str
    reference: str | None
    duplicate_of: str


def write_benchmark(settings: Mapping[str, Any], output: str) -> None:
    """Load one benchmark by its settings (`config.study.benchmark_settings`) and write its items.

    `output` is `results/<study>/benchmarks/{benchmark}.parquet`; the commits of data sets on the hub are recorded in
    `results/<study>/revisions`. Rows that are left out, items without a reference and duplicate questions are counted
    in the file's provenance and in the log. Raises InputError for a source that cannot be read, for a row without a
    column that is asked for or with one that is neither text nor a number, and for a benchmark without any question.
    """
    rows, origin = open_source(settings, Path(output).parents[1] / "revisions")
    source = origin["source"]
    items, left_out = read_items(rows, settings, source)
    counts = {reason: len(numbers) for reason, numbers in left_out.items()}
    if not items:
        raise InputError(f"{source}: no row has a question that can be asked; left out: {counts}")
    for reason, numbers in left_out.items():
        log.warning("%s: %d rows left out: %s (%s)", source, len(numbers), reason, _first(numbers))
    if settings["reference"] and all(item["reference"] is None for item in items):
        log.warning("%s: no row has a reference; see benchmarks.%s.reference", source, settings["benchmark"])
    chosen = items if settings["limit"] is None else draw(items, settings["limit"], settings["seed"])
    frame = BENCHMARKS.frame(chosen).with_columns(duplicate_of=pl.col("item_id").first().over("question"))
    duplicates = frame.filter(pl.col("duplicate_of") != pl.col("item_id"))["item_id"].to_list()
    if duplicates:
        log.warning("%s: %d questions asked before, kept: %s", source, len(duplicates), _first(duplicates))
    without = frame["reference"].null_count()
    if without:
        log.info("%s: %d of %d items have no reference, their answers get no label", source, without, len(frame))
    provenance = {
        "benchmark": settings["benchmark"],
        **origin,
        "items_in_source": len(items),
        "left_out": counts,
        "duplicate_questions": len(duplicates),
    }
    if without:  # a key of zero would give files of older versions other bytes, and generate their responses again
        provenance["without_reference"] = without
    BENCHMARKS.write(frame, output, provenance)


def open_source(settings: Mapping[str, Any], revisions: Path) -> tuple[Iterable[Row], Origin]:
    """The rows of a benchmark's source, and what identifies it: file hash, or revision and commit on the hub."""
    if path := settings["path"]:
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]
        return local_rows(path), {"source": Path(path).name, "revision": digest, "commit": None}
    from entropy_sentinel.sources import hub  # heavy, and not needed for local files

    dataset, revision = settings["dataset"], settings["revision"]
    commit = hub.pinned_commit("dataset", dataset, revision, revisions)
    rows = folder_rows(hub.snapshot("dataset", dataset, commit), settings["configs"], settings["split"], dataset)
    return rows, {"source": dataset, "revision": revision, "commit": commit}


def read_items(
    rows: Iterable[Row], settings: Mapping[str, Any], source: str
) -> tuple[list[Item], dict[str, list[int]]]:
    """Map rows to items by the settings' format strings; also the numbers of the rows left out, by reason.

    A row without a reference is an item whose reference is None. An item's id carries its row number in the source, so
    that a filter or a limit never renames an item. Options stand below the question, and the reference is a letter.
    """
    items: list[Item] = []
    options: list[list[str]] = []
    left_out: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        where = f"{source}: row {number}"
        picture = any(not is_empty(column(row, name, where)) for name in settings["only_if_empty"])
        question = fill_first(settings["question"], row, where)
        if picture or not question:
            left_out.setdefault("a picture is needed" if picture else "no question", []).append(number)
            continue
        item_id = f"{settings['benchmark']}-{number:05d}"
        reference = _reference(row, settings, where)
        items.append({"item_id": item_id, "question": question, "reference": reference, "duplicate_of": item_id})
        options.append(read_options(settings.get("options") or [], row, where))
    if settings.get("options"):
        _offer(items, options, settings, source)
    return items, left_out


def _offer(items: list[Item], options: list[list[str]], settings: Mapping[str, Any], source: str) -> None:
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


def _reference(row: Row, settings: Mapping[str, Any], where: str) -> str | None:
    """The reference answer of a row: what follows the last mark, where the settings name one; None if there is none."""
    reference = fill_first(settings["reference"], row, where)
    if reference and (mark := settings["reference_after"]):
        reference = reference.rpartition(mark)[2].strip() if mark in reference else None
    return reference or None


def draw(items: list[Item], limit: int, seed: int) -> list[Item]:
    """`limit` items drawn by a hash of seed and item id, in benchmark order: a smaller draw is part of a larger one."""
    chosen = sorted(items, key=lambda item: hashlib.blake2b(f"{seed} {item['item_id']}".encode()).digest())[:limit]
    return sorted(chosen, key=lambda item: item["item_id"])


def _first(things: Sequence[Any]) -> str:
    shown = ", ".join(map(str, things[:SHOWN_ROWS]))
    what = "rows from 0: " if isinstance(things[0], int) else ""
    return f"{what}{shown}{', ...' if len(things) > SHOWN_ROWS else ''}"
