"""Items of a benchmark as a file, and the settings of a job that makes them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from entropy_sentinel.frames.benchmark import BENCHMARKS


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
