"""Files of responses, features and labels as frames."""

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.features.compute import compute_features
from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.feature import FEATURE_FRAME
from entropy_sentinel.frames.generation import GENERATIONS, SIGNAL, scan_traces

Paths = str | Path | Sequence[str | Path]
# What identifies a response; labels may have less of it.
KEY = ("model", "benchmark", "item_id", "sample")


@dataclass(frozen=True)
class Example:
    """Files that come with the package: a tiny model's responses to 160 arithmetic problems, and their labels."""

    traces: Path
    labels: Path


def example() -> Example:
    """Where the example's files are.

    >>> example().labels.name
    'labels.parquet'
    """
    folder = Path(__file__).parents[1] / "example"
    return Example(folder / "traces", folder / "labels.parquet")


def read_logs(paths: Paths) -> pl.DataFrame:
    """Responses with their log-probabilities, from files of stage `generations`, folders of such, or patterns.

    Columns are those of GENERATIONS, with `model`, `benchmark`, and the signal: `logprobs_mode`, `top_k_returned`.
    Raises InputError where there is no file, ContractError for a file of another kind.

    >>> traces = read_logs(example().traces)
    >>> traces.height, traces["logprobs_mode"].unique().to_list()
    (160, ['raw_logprobs'])
    """
    return pl.concat([_with_signal(scan_traces(path), read_provenance(path)) for path in files(paths)])


def read_features(paths: Paths) -> pl.DataFrame:
    """Features from files of stage `features` or, computed now, of stage `generations`, with the columns of the signal.

    Raises as `read_logs` does.

    >>> read_features(example().traces).height
    160
    """
    return pl.concat([_features_of(path) for path in files(paths)])


def _features_of(path: Path) -> pl.DataFrame:
    origin = read_provenance(path)
    if origin["stage"] == GENERATIONS.stage:
        return compute_features(read_logs(path))
    if origin["stage"] == FEATURE_FRAME.stage:
        return _with_signal(FEATURE_FRAME.scan(path), origin)
    raise InputError(f"{path}: must hold features or generations, holds {origin['stage']}")


def read_labels(paths: Paths) -> pl.DataFrame:
    """Labels from files of stage `labels`, or any Parquet or CSV file with columns `item_id` and `label` (true, false).

    `model`, `benchmark` and `sample` are kept where they are there. Raises InputError for a file without the two.

    >>> read_labels(example().labels)["label"].mean()
    0.59375
    """
    return pl.concat([_labels_of(path) for path in files(paths)])


def _labels_of(path: Path) -> pl.DataFrame:
    try:
        found = pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{path}: must be a Parquet or CSV file of labels: {error}") from None
    if absent := {"item_id", "label"} - set(found.columns):
        raise InputError(f"{path}: column '{min(absent)}' is missing; columns there: {', '.join(found.columns)}")
    if found["label"].dtype not in (pl.Boolean, pl.Null):
        raise InputError(f"{path}: column 'label' must be true, false or empty, was {found['label'].dtype}")
    return found.select([name for name in KEY if name in found.columns] + ["label"]).cast({"label": pl.Boolean})


def files(paths: Paths) -> list[Path]:
    """The files that paths, folders and patterns name, in their order; InputError for one that names none."""
    found: list[Path] = []
    for path in [paths] if isinstance(paths, str | Path) else paths:
        if Path(path).is_dir():
            matches = sorted(Path(path).rglob("*.parquet"))
        else:
            matches = [Path(path)] if Path(path).is_file() else sorted(map(Path, glob.glob(str(path), recursive=True)))
        if not matches:
            raise InputError(f"{path}: is no file, no folder with Parquet files, and no pattern that a file matches")
        found += matches
    return found


def _with_signal(rows: pl.LazyFrame, origin: Mapping[str, Any]) -> pl.DataFrame:
    return rows.with_columns(**{name: pl.lit(origin.get(name)) for name in SIGNAL}).collect()


def write_features(features: pl.DataFrame, path: str | Path) -> None:
    """Write features with the columns of their signal to a file that `read_features` reads.

    Raises InputError for features of several signals: they do not compare.
    """
    signals = features.select(SIGNAL).unique(maintain_order=True)
    if len(signals) > 1:
        raise InputError(f"features: {', '.join(SIGNAL)} must be the same in all rows, were {signals.rows()}")
    origin = signals.row(0, named=True) if len(signals) else dict.fromkeys(SIGNAL)
    FEATURE_FRAME.write(features.select(FEATURE_FRAME.schema.names()), path, origin)
