"""Stage `benchmarks`: any source of questions becomes items with a question and a reference answer."""

import hashlib
import logging
import string
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.frames.benchmark import BENCHMARKS
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.rows import folder_rows, local_rows

log = logging.getLogger(__name__)

# Row numbers that the log names of what is left out or odd; the provenance has the counts.
SHOWN_ROWS = 5

Row = Mapping[str, Any]


def write_benchmark(settings: Mapping[str, Any], output: str) -> None:
    """Load one benchmark by its settings (`config.study.benchmark_settings`) and write its items.

    `output` is `results/<study>/benchmarks/{benchmark}.parquet`; the commits of data sets on the hub are recorded in
    `results/<study>/revisions`. Rows that are left out and duplicate questions are counted in the file's provenance
    and in the log. Raises InputError for a source that cannot be read, for a row without a column that is asked for,
    and for a benchmark without any usable row.
    """
    rows, origin = open_source(settings, Path(output).parents[1] / "revisions")
    source = origin["source"]
    items, left_out = read_items(rows, settings, source)
    counts = {reason: len(numbers) for reason, numbers in left_out.items()}
    if not items:
        raise InputError(f"{source}: no row has a question and a reference; left out: {counts}")
    for reason, numbers in left_out.items():
        log.warning("%s: %d rows left out: %s (%s)", source, len(numbers), reason, _first(numbers))
    chosen = items if settings["limit"] is None else draw(items, settings["limit"], settings["seed"])
    frame = BENCHMARKS.frame(chosen).with_columns(duplicate_of=pl.col("item_id").first().over("question"))
    duplicates = frame.filter(pl.col("duplicate_of") != pl.col("item_id"))["item_id"].to_list()
    if duplicates:
        log.warning("%s: %d questions asked before, kept: %s", source, len(duplicates), _first(duplicates))
    provenance = {
        "benchmark": settings["benchmark"],
        **origin,
        "items_in_source": len(items),
        "left_out": counts,
        "duplicate_questions": len(duplicates),
    }
    BENCHMARKS.write(frame, output, provenance)


def open_source(settings: Mapping[str, Any], revisions: Path) -> tuple[Iterable[Row], dict[str, str | None]]:
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
) -> tuple[list[dict[str, str]], dict[str, list[int]]]:
    """Map rows to items by the settings' format strings; also the numbers of the rows left out, by reason.

    An item's id carries its row number in the source, so that a filter or a limit never renames an item.
    """
    items: list[dict[str, str]] = []
    left_out: dict[str, list[int]] = {}
    mark = settings["reference_after"]
    for number, row in enumerate(rows):
        where = f"{source}: row {number}"
        fields = _Fields(where)
        picture = any(not _is_empty(fields.get_value(column, (), row)) for column in settings["only_if_empty"])
        question = fields.fill_first(settings["question"], row)
        reference = fields.fill_first(settings["reference"], row)
        if mark and reference:
            reference = reference.rpartition(mark)[2].strip() if mark in reference else None
        reasons = {"a picture is needed": picture, "no question": not question, "no reference": not reference}
        reason = next((reason for reason, holds in reasons.items() if holds), None)
        if reason:
            left_out.setdefault(reason, []).append(number)
        else:
            item_id = f"{settings['benchmark']}-{number:05d}"
            items.append({"item_id": item_id, "question": question, "reference": reference, "duplicate_of": item_id})
    return items, left_out


def draw(items: list[dict[str, str]], limit: int, seed: int) -> list[dict[str, str]]:
    """`limit` items drawn by a hash of seed and item id, in benchmark order: a smaller draw is part of a larger one."""
    chosen = sorted(items, key=lambda item: hashlib.blake2b(f"{seed} {item['item_id']}".encode()).digest())[:limit]
    return sorted(chosen, key=lambda item: item["item_id"])


class _NotFilled(Exception):
    """A column that a format string asks for holds nothing in this row."""


class _Fields(string.Formatter):
    """Format strings over the columns of one row: `{column}`, or `{column[field]}` and `{column[0]}` for a part."""

    def __init__(self, where: str) -> None:
        self._where = where

    def fill_first(self, templates: Iterable[str], row: Row) -> str | None:
        """The first format string whose columns are all filled, filled in and stripped; None if there is none."""
        for template in templates:
            try:
                return self.vformat(template, (), row).strip()
            except _NotFilled:
                continue
        return None

    def get_value(self, key: int | str, args: Sequence[Any], row: Row) -> Any:
        if key not in row:
            raise InputError(f"{self._where} has no column '{key}'; columns there: {', '.join(row)}")
        return row[key]

    def get_field(self, field_name: str, args: Sequence[Any], row: Row) -> Any:
        try:
            return super().get_field(field_name, args, row)
        except (IndexError, TypeError):  # a part of an empty list, or of null
            raise _NotFilled from None
        except (KeyError, AttributeError):
            raise InputError(f"{self._where} has no '{field_name}'") from None

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Mapping):
            raise InputError(f"{self._where}: a column has parts, {', '.join(value)}; name one: {{column[part]}}")
        if _is_empty(value):
            raise _NotFilled
        return _text(value)


def _text(value: Any) -> str:
    """A field as text; several answers are joined with a comma."""
    if isinstance(value, list):
        return ", ".join(_text(part) for part in value if not _is_empty(part))
    return str(value).strip()


def _is_empty(value: Any) -> bool:
    """Whether a field holds nothing: null, NaN, blank text, and lists or structs (pictures) of nothing."""
    if isinstance(value, Mapping):
        return all(map(_is_empty, value.values()))
    if isinstance(value, list):
        return all(map(_is_empty, value))
    if isinstance(value, str):
        return not value.strip()
    return value is None or value == b"" or value != value


def _first(things: Sequence[Any]) -> str:
    shown = ", ".join(map(str, things[:SHOWN_ROWS]))
    what = "rows from 0: " if isinstance(things[0], int) else ""
    return f"{what}{shown}{', ...' if len(things) > SHOWN_ROWS else ''}"
