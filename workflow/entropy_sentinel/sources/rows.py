"""Rows of a benchmark, from a data set of the hub or from a local file. The only module that imports datasets."""

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.frames.errors import InputError

FORMATS = (".jsonl", ".csv", ".parquet")


def local_rows(path: str) -> Iterator[dict[str, Any]]:
    """Rows of a local file: JSON Lines, CSV (all values text) or Parquet; `.gz` for the first two.

    Raises InputError naming file and row for a line that is no JSON object, and for a file of another kind.
    """
    kind = next((suffix for suffix in Path(path).suffixes if suffix in FORMATS), None)
    try:
        if kind == ".jsonl":
            yield from _json_lines(path)
        elif kind == ".csv":
            yield from pl.read_csv(path, infer_schema=False).iter_rows(named=True)
        elif kind == ".parquet":
            yield from pl.read_parquet(path).iter_rows(named=True)
        else:
            raise InputError(f"{path}: must be one of {', '.join(FORMATS)} (or .gz of it); convert it to one of these")
    except (pl.exceptions.PolarsError, OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as {kind}: {error}") from None


def _json_lines(path: str) -> Iterator[dict[str, Any]]:
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise InputError(f"{path}: line {number} must be a JSON object: {error}") from None
            if not isinstance(row, dict):
                raise InputError(f"{path}: line {number} must be a JSON object, was {type(row).__name__}")
            yield row


def folder_rows(folder: str, configs: Iterable[str], split: str, dataset: str) -> Iterator[dict[str, Any]]:
    """Rows of a data set's configurations, one after the other; `folder` has the files of one commit of it.

    From its folder and not by its id: offline, `datasets` takes whichever commit was cached last, without a word.
    Pictures stay undecoded, {"bytes": ..., "path": ...}. Raises InputError for an unknown configuration or split.
    """
    import datasets  # heavy, and not needed for local files

    for name in configs or [None]:
        try:
            rows = datasets.load_dataset(folder, name, split=split)
        except (ValueError, OSError, datasets.exceptions.DatasetsError) as error:
            place = f"configuration {name or 'default'}, split {split}"
            raise InputError(f"dataset {dataset}: {place} cannot be loaded: {error}") from None
        for table in rows.with_format("arrow").iter(batch_size=1000):
            yield from table.to_pylist()
