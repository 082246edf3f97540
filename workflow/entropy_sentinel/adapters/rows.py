"""Rows of a benchmark, from the Hugging Face hub or from a local file. The only module that imports datasets."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.contracts.errors import InputError

FORMATS = (".jsonl", ".csv", ".parquet")


def local_rows(path: str) -> Iterator[dict[str, Any]]:
    """Rows of a local file: JSON Lines, CSV (all values text) or Parquet; `.gz` for the first two.

    Raises InputError naming file and row for a line that is no JSON object, and for another kind of file.
    """
    kind = next((suffix for suffix in Path(path).suffixes if suffix in FORMATS), None)
    if kind == ".jsonl":
        yield from _json_lines(path)
    elif kind == ".csv":
        yield from pl.read_csv(path, infer_schema=False).iter_rows(named=True)
    elif kind == ".parquet":
        yield from pl.read_parquet(path).iter_rows(named=True)
    else:
        raise InputError(f"{path}: must be one of {', '.join(FORMATS)} (or .gz of it); convert it to one of these")


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


def hub_rows(dataset: str, configs: list[str], split: str, revision: str | None) -> Iterator[dict[str, Any]]:
    """Rows of a data set on the hub, its configurations one after the other; images are not decoded."""
    import datasets  # heavy, and not needed for local files

    for name in configs or [None]:
        rows = datasets.load_dataset(dataset, name, split=split, revision=revision)
        for column, feature in rows.features.items():
            if isinstance(feature, datasets.Image):
                rows = rows.cast_column(column, datasets.Image(decode=False))
        yield from rows
