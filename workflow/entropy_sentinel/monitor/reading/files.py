"""A file that a monitor is given: features, or a log that is read as it was asked for."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from entropy_sentinel.features.feature_frame import FEATURE_FRAME
from entropy_sentinel.frames.contract import PROVENANCE_KEY, given, read_provenance
from entropy_sentinel.monitor.reading.settings import Reading
from entropy_sentinel.sources.logs.reading import Logs
from entropy_sentinel.sources.logs.settings import LogOptions
from entropy_sentinel.verbs.reading import open_logs

# The model of a response whose log does not name it.
UNNAMED = "(not named)"


def columns_of(path: str) -> Sequence[str]:
    """The columns of a file's first responses that can make slices, for an error that names them."""
    if holds_features(path):
        return list(pl.read_parquet_schema(path))
    logs = open_logs(path)
    first = next(iter(logs), None)
    return ["model", "benchmark", *logs.summary.columns] if first is not None else []


def holds_features(path: str) -> bool:
    """Whether this is a file of features."""
    if Path(path).suffix != ".parquet":
        return False
    with given(path):
        own = PROVENANCE_KEY in pl.read_parquet_metadata(path)
        return own and bool(read_provenance(path)["stage"] == FEATURE_FRAME.stage)


def opened_log(path: str, reading: Reading, strict: bool, more: Sequence[str] = ()) -> Logs:
    """The responses of a log, with the columns of slices and time and those in `more`, each with its place."""
    options = {name: getattr(reading, name) for name in LogOptions.model_fields}
    options |= {"model": reading.model or UNNAMED, "strict": strict}
    return open_logs(path, columns=_wanted(path, [*reading.columns, *more]), places=True, **options)


def _wanted(path: str, names: Sequence[str]) -> list[str]:
    """The columns to keep of a log; of a Parquet file those that it has, for a look into each row takes its time."""
    names = list(dict.fromkeys(names))
    if Path(path).suffix == ".parquet":
        with given(path):
            there = pl.read_parquet_schema(path)
        names = [name for name in names if name in there or name.split(".")[0] in there]
    return names
