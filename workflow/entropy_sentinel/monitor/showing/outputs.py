"""A monitor's rows as files: CSV, Parquet, JSON, Prometheus text; its alerts as JSON."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.frames.contract import PROVENANCE_KEY
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.files import whole_file, write_whole
from entropy_sentinel.frames.printable import write_csv
from entropy_sentinel.monitor.result import Monitored
from entropy_sentinel.monitor.showing.metrics import metrics

_STAGE = "monitor"


def write_rows(found: Monitored, path: str | Path) -> None:
    """Write `found.frame`, by the end of the name: .csv; .parquet, with the provenance; .json, with all there is."""
    target = Path(path)
    check_rows_path(target)
    with whole_file(target) as partial:
        _WRITERS[target.suffix](found, partial)


def check_rows_path(path: Path) -> None:
    """InputError where the name of a file for rows does not say its form."""
    if path.suffix not in _WRITERS:
        raise InputError(f"output: must end with {', '.join(_WRITERS)}, was '{path}'")


def write_alerts(found: Monitored, path: str | Path) -> None:
    """Write the alerts, an empty list too, with the provenance."""
    _write_json({"alerts": found.alerts, "provenance": found.provenance}, Path(path))


def write_metrics(found: Monitored, path: str | Path) -> None:
    """Write Prometheus text in one step: the textfile collector never reads half a file."""
    write_whole(path, metrics(found))


def plain(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows whose windows are text, as 2026-11-01T00:00Z."""
    times = [name for name in ("window", "window_from") if name in rows.columns]
    return rows.with_columns(pl.col(times).dt.strftime("%Y-%m-%dT%H:%MZ"))


def _csv(found: Monitored, path: Path) -> None:
    write_csv(plain(found.frame).with_columns(pl.col("flags", "reasons").list.join("; ")), path)


def _parquet(found: Monitored, path: Path) -> None:
    said = json.dumps({**found.provenance, "stage": _STAGE}, sort_keys=True)
    found.frame.write_parquet(path, compression="zstd", metadata={PROVENANCE_KEY: said})


def _json(found: Monitored, path: Path) -> None:
    rows = {"slices": plain(found.slices).to_dicts()}
    if found.windows is not None and found.recent is not None:
        rows |= {"windows": plain(found.windows).to_dicts(), "recent": plain(found.recent).to_dicts()}
    path.write_text(json.dumps({**rows, "alerts": found.alerts, "provenance": found.provenance}, indent=1))


def _write_json(content: dict[str, Any], path: Path) -> None:
    with whole_file(path) as partial:
        partial.write_text(json.dumps(content, indent=1))


_WRITERS: dict[str, Callable[[Monitored, Path], None]] = {".csv": _csv, ".parquet": _parquet, ".json": _json}
