"""A file that a monitor is given: features, or a log that is read as it was asked for."""

from collections.abc import Collection, Sequence
from pathlib import Path

import polars as pl

from entropy_sentinel.features.feature_frame import FEATURE_FRAME
from entropy_sentinel.frames.contract import PROVENANCE_KEY, given, read_provenance
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.generation import LOGPROBS
from entropy_sentinel.monitor.reading.settings import Slicing
from entropy_sentinel.sources.logs.reading import Logs
from entropy_sentinel.sources.logs.settings import FormatOptions
from entropy_sentinel.verbs.reading import open_logs

# Files whose columns an error names.
_LOOKED_AT = 3
_NO_SLICES = {*FEATURE_FRAME.schema, *LOGPROBS}


def check_columns(
    reading: Slicing, seen: Collection[str], sources: Sequence[str | Path | pl.DataFrame], any_responses: bool
) -> None:
    """InputError for a column of `reading` that is not `seen`, with those that are there.

    Where there are `any_responses`, the columns of slices and time; those of `where` in any case.
    """
    wanted = [pair.partition("=")[0] for pair in reading.where] + [*(reading.columns if any_responses else ())]
    for name in wanted:
        if sources and name not in seen:
            there = dict.fromkeys(column for source in sources[:_LOOKED_AT] for column in _columns_of(source))
            raise InputError(f"no response has a value in column '{name}'; columns there: {', '.join(there) or 'none'}")


def _columns_of(source: str | Path | pl.DataFrame) -> Sequence[str]:
    """The columns of the first responses that can make slices."""
    if not isinstance(source, pl.DataFrame) and not Path(source).is_file():
        return []
    if isinstance(source, pl.DataFrame) or holds_features(str(source)):
        names = source.columns if isinstance(source, pl.DataFrame) else pl.read_parquet_schema(source)
        return [name for name in names if name in ("model", "benchmark") or name not in _NO_SLICES]
    logs = open_logs(source)
    first = next(iter(logs), None)
    return ["model", "benchmark", *logs.summary.columns] if first is not None else []


def holds_features(path: str) -> bool:
    """Whether this is a file of features."""
    if Path(path).suffix != ".parquet":
        return False
    with given(path):
        own = PROVENANCE_KEY in pl.read_parquet_metadata(path)
        return own and bool(read_provenance(path)["stage"] == FEATURE_FRAME.stage)


def opened_log(path: str, reading: Slicing, strict: bool, more: Sequence[str] = ()) -> Logs:
    """The responses of a log, with the columns of slices and time and those in `more`, each with its place."""
    options = {name: getattr(reading, name) for name in FormatOptions.model_fields if hasattr(reading, name)}
    columns = tuple(dict.fromkeys((*reading.columns, *more)))
    return open_logs(path, **{**options, "strict": strict, "columns": columns, "places": True})
