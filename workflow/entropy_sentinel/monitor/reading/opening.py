"""What a monitor is given: an estimator and logs."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from entropy_sentinel.estimators.saved import SavedEstimator
from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.monitor.summing.collecting import Source
from entropy_sentinel.verbs.estimation import saved_estimator
from entropy_sentinel.verbs.files import log_files, named
from entropy_sentinel.verbs.frames import features_table, is_table

Logs = str | Path | pl.DataFrame | Sequence[str | Path]


def loaded(estimator: SavedEstimator | str | Path, state: str | Path | None) -> tuple[SavedEstimator, str]:
    """The estimator and the SHA-256 of its file; the latter empty where there is no file."""
    if not isinstance(estimator, SavedEstimator):
        return saved_estimator(estimator), hashlib.sha256(Path(estimator).read_bytes()).hexdigest()
    if state is not None:
        raise ConfigError("state: is tied to an estimator's file; save the estimator, and give its path in its place")
    return estimator, ""


def sources(logs: Logs, state: str | Path | None = None) -> list[Source]:
    """Frames, states of parts of the logs, and logs, each path once; without the run's own `state` and its journal."""
    if is_table(logs):
        return [features_table(logs)]
    own = set() if state is None else {Path(state).resolve(), Path(f"{state}-journal").resolve()}
    paths: dict[Path, Source] = {}
    for path in log_files(named(logs)):
        if path.resolve() not in own:
            paths.setdefault(path.absolute(), path)
    return list(paths.values())
