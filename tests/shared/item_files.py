"""Items of a benchmark as a file, and the settings of a job that makes them."""

import gzip
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS


def item_settings(**changes: Any) -> dict[str, Any]:
    """Of the benchmark `sums`: rows with a question `q` and a reference `a`."""
    source = {"dataset": None, "configs": [], "split": "test", "revision": None, "path": None}
    mapping = {"question": ["{q}"], "reference": ["{a}"], "reference_after": None, "only_if_empty": []}
    return {"version": 1, "benchmark": "sums", **source, **mapping, "limit": None, "seed": 42, **changes}


def write_items(folder: Path, ids: Sequence[str], **columns: Sequence[Any]) -> str:
    """The path of a file of items; an id is also the question and the reference where no column says otherwise."""
    items = {"item_id": ids, "question": ids, "reference": ids, "duplicate_of": ids} | columns
    BENCHMARKS.write(BENCHMARKS.frame(items), folder / "items.parquet", {})
    return str(folder / "items.parquet")


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a file of the kind that its name says, packed if it ends with .gz."""
    frame, content = pl.DataFrame(rows), BytesIO()
    write = {".jsonl": frame.write_ndjson, ".csv": frame.write_csv, ".parquet": frame.write_parquet}
    write[Path(path.name.removesuffix(".gz")).suffix](content)
    path.write_bytes(gzip.compress(content.getvalue()) if path.suffix == ".gz" else content.getvalue())
    return str(path)
