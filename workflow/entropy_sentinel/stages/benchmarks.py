"""Stage `benchmarks`: any source of questions becomes items with a question and a reference answer."""

import hashlib
import logging
import string
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.adapters.rows import hub_rows, local_rows
from entropy_sentinel.contracts.benchmarks import BENCHMARKS
from entropy_sentinel.contracts.errors import InputError

log = logging.getLogger(__name__)


def write_benchmark(settings: Mapping[str, Any], output: str) -> None:
    """Load one benchmark by its settings (`contracts.study.benchmark_settings`) and write its items.

    Rows that are left out are counted by reason in the file's provenance and in the log. Raises InputError for a
    column that no row has, and for a benchmark without any usable row.
    """
    source = settings["path"] or settings["dataset"]
    if settings["path"]:
        rows = local_rows(settings["path"])
    else:
        rows = hub_rows(settings["dataset"], settings["configs"], settings["split"], settings["revision"])
    items, left_out = read_items(rows, settings, source)
    if not items:
        raise InputError(f"{source}: no row has a question and a reference; left out: {dict(left_out)}")
    expected = settings["expected_items"]
    if expected is not None and len(items) != expected:
        log.warning("%s: %d items, the published count is %d", source, len(items), expected)
    chosen = items if settings["limit"] is None else draw(items, settings["limit"], settings["seed"])
    frame = BENCHMARKS.frame(chosen).with_columns(duplicate_of=pl.col("item_id").first().over("question"))
    for reason, count in left_out.items():
        log.warning("%s: %d rows left out: %s", source, count, reason)
    duplicates = frame.filter(pl.col("duplicate_of") != pl.col("item_id")).height
    provenance = {
        "benchmark": settings["benchmark"],
        "source": source if settings["dataset"] else Path(source).name,
        "revision": settings["revision"] or (None if settings["dataset"] else _file_hash(source)),
        "items_in_source": len(items),
        "left_out": dict(left_out),
        "duplicate_questions": duplicates,
    }
    BENCHMARKS.write(frame, output, provenance)


def read_items(
    rows: Iterable[Mapping[str, Any]], settings: Mapping[str, Any], source: str
) -> tuple[list[dict[str, str]], Counter[str]]:
    """Map rows to items by the settings' format strings; also count the rows left out, by reason.

    An item's id carries its row number in the source, so that a filter or a limit never renames an item.
    """
    items, left_out = [], Counter()
    for number, row in enumerate(rows):
        picture = any(not _is_empty(_field(row, column, source, number)) for column in settings["only_if_empty"])
        question = fill_first(settings["question"], row, source, number)
        reference = fill_first(settings["reference"], row, source, number)
        if (mark := settings["reference_after"]) and reference is not None:
            reference = reference.rpartition(mark)[2].strip() if mark in reference else None
        reasons = {"a picture is needed": picture, "no question": not question, "no reference": not reference}
        reason = next((reason for reason, holds in reasons.items() if holds), None)
        if reason:
            left_out[reason] += 1
        else:
            item_id = f"{settings['benchmark']}-{number:05d}"
            items.append({"item_id": item_id, "question": question, "reference": reference, "duplicate_of": item_id})
    return items, left_out


def draw(items: list[dict[str, str]], limit: int, seed: int) -> list[dict[str, str]]:
    """`limit` items drawn by a hash of seed and item id, in benchmark order: a smaller draw is part of a larger one."""
    chosen = sorted(items, key=lambda item: hashlib.blake2b(f"{seed} {item['item_id']}".encode()).digest())[:limit]
    return sorted(chosen, key=lambda item: item["item_id"])


def fill_first(templates: Iterable[str], row: Mapping[str, Any], source: str, number: int) -> str | None:
    """The first format string whose columns are all filled, filled in and stripped; None if there is none."""
    for template in templates:
        columns = [column for _, column, _, _ in string.Formatter().parse(template) if column]
        values = {column: _text(_field(row, column, source, number)) for column in columns}
        if all(values.values()):
            return template.format_map(values).strip()
    return None


def _field(row: Mapping[str, Any], column: str, source: str, number: int) -> Any:
    if column not in row:
        raise InputError(f"{source}: row {number} has no column '{column}'; columns there: {', '.join(row)}")
    return row[column]


def _text(value: Any) -> str:
    """A field as text; several answers are joined with a comma."""
    if isinstance(value, list):
        return ", ".join(_text(part) for part in value if not _is_empty(part))
    return "" if value is None else str(value).strip()


def _is_empty(value: Any) -> bool:
    """Whether a field holds nothing: null, "" and [] alike."""
    return value is None or value == "" or value == []


def _file_hash(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]
