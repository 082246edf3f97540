"""Stage `benchmarks`: convert any source of questions to items with a question and a reference answer."""

import hashlib
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypedDict

import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.study.items.benchmark_rows import read_folder_rows, read_local_rows
from entropy_sentinel.study.items.benchmark_settings import ItemsSettings
from entropy_sentinel.study.items.item_conversion import build_items_frame, read_items
from entropy_sentinel.study.items.row_fields import Row

log = logging.getLogger(__name__)

# Largest number of skipped or unusual rows that the log names; the provenance has the counts.
MAX_LOGGED_ROWS = 5


class Origin(TypedDict):
    """The identity of a source: its name, and a hash of the local file, or the requested revision and the commit."""

    source: str
    revision: str | None
    commit: str | None


def write_benchmark(settings: ItemsSettings, output: str) -> None:
    """Load one benchmark by its settings and write its items.

    `output` is `results/<study>/benchmarks/{benchmark}.parquet`; the commits of data sets on the hub are recorded in
    `results/<study>/revisions`. Rows that are left out, items without a reference and duplicate questions are counted
    in the file's provenance and in the log. Raises InputError for a source that cannot be read, for a row without a
    requested column or with one that is neither text nor a number, and for a benchmark without any question.
    """
    rows, origin = open_source(settings, Path(output).parents[1] / "revisions")
    source = origin["source"]
    items, left_out = read_items(rows, settings, source)
    counts = {reason: len(numbers) for reason, numbers in left_out.items()}
    if not items:
        raise InputError(f"{source}: no row has a question that can be asked; left out: {counts}")
    for reason, numbers in left_out.items():
        log.warning("%s: %d rows left out: %s (%s)", source, len(numbers), reason, _format_first(numbers))
    if settings["reference"] and all(item["reference"] is None for item in items):
        log.warning("%s: no row has a reference; see benchmarks.%s.reference", source, settings["benchmark"])
    frame = build_items_frame(items, settings)
    duplicates = frame.filter(pl.col("duplicate_of") != pl.col("item_id"))["item_id"].to_list()
    if duplicates:
        log.warning("%s: kept %d duplicate questions: %s", source, len(duplicates), _format_first(duplicates))
    n_without_reference = frame["reference"].null_count()
    if n_without_reference:
        log.info(
            "%s: %d of %d items have no reference; their answers get no label", source, n_without_reference, len(frame)
        )
    if settings.get("answers"):
        answered = frame.filter(pl.col("answers").is_not_null())
        log.info(
            "%s: %d of %d items have right answers, %d of these without counts: their answers count as equally likely",
            source,
            len(answered),
            len(frame),
            answered["counts"].null_count(),
        )
    provenance = {
        "benchmark": settings["benchmark"],
        **origin,
        "items_in_source": len(items),
        "left_out": counts,
        "duplicate_questions": len(duplicates),
    }
    if n_without_reference:  # a key with 0 would change the bytes of existing files, and regenerate their responses
        provenance["without_reference"] = n_without_reference
    BENCHMARKS.write(frame, output, provenance)


def open_source(settings: ItemsSettings, revisions: Path) -> tuple[Iterable[Row], Origin]:
    """The rows of a benchmark's source, and its identity: file hash, or revision and commit on the hub.

    The folder `revisions` records the commit of each data set, to which the study then keeps.
    """
    path = settings["path"]
    if path:
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]
        return read_local_rows(path), {"source": Path(path).name, "revision": digest, "commit": None}
    from entropy_sentinel.hub import hub_files as hub  # heavy, and not needed for local files

    dataset, revision = settings["dataset"], settings["revision"]
    assert dataset is not None  # the config has checked that it is one of the two
    commit = hub.pin_commit("dataset", dataset, revision, revisions)
    rows = read_folder_rows(
        hub.download_snapshot("dataset", dataset, commit), settings["configs"], settings["split"], dataset
    )
    return rows, {"source": dataset, "revision": revision, "commit": commit}


def _format_first(values: Sequence[Any]) -> str:
    """The first few of `values`, numbers of rows or ids of items, for the log."""
    text = ", ".join(map(str, values[:MAX_LOGGED_ROWS]))
    prefix = "rows from 0: " if isinstance(values[0], int) else ""
    end = ", ..." if len(values) > MAX_LOGGED_ROWS else ""
    return f"{prefix}{text}{end}"
