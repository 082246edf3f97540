"""What a monitor is given: an estimator, logs, a state."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from entropy_sentinel.estimators.saved import SavedEstimator
from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.jobs.ownership import Ownership
from entropy_sentinel.monitor.reading.settings import Reading
from entropy_sentinel.monitor.summing.collecting import Source
from entropy_sentinel.monitor.summing.folder import is_state
from entropy_sentinel.monitor.summing.state import State
from entropy_sentinel.sources.logs.records import SUFFIXES
from entropy_sentinel.verbs.estimation import saved_estimator
from entropy_sentinel.verbs.files import files, named
from entropy_sentinel.verbs.frames import features_table, is_table

Logs = str | Path | pl.DataFrame | Sequence[str | Path]


def loaded(estimator: SavedEstimator | str | Path, state: str | Path | None) -> tuple[SavedEstimator, str]:
    """The estimator and the SHA-256 of its file; the latter empty where there is no file."""
    if not isinstance(estimator, SavedEstimator):
        return saved_estimator(estimator), hashlib.sha256(Path(estimator).read_bytes()).hexdigest()
    if state is not None:
        raise ConfigError("state: is tied to an estimator's file; save the estimator, and give its path in its place")
    return estimator, ""


def sources(logs: Logs) -> Iterator[Source]:
    """Frames, states and files, each path once."""
    if is_table(logs):
        yield features_table(logs)
        return
    seen = set()
    for one in named(logs):
        for path in [one] if is_state(one) else files(one, SUFFIXES):
            place = Path(path).absolute()
            # A state may lie among the logs; its files are no logs.
            if place not in seen and not any(map(is_state, place.parents[:2])):
                seen.add(place)
                yield path


@contextmanager
def opened(folder: str | Path | None, saved: SavedEstimator, checksum: str, reading: Reading) -> Iterator[State]:
    """The state, ours alone as long as the block lasts; without a folder one that goes with it.

    Raises ConfigError where a file is in its place.
    """
    if folder is None:
        with TemporaryDirectory() as temporary:
            yield State(Path(temporary), saved.estimator.name, checksum, reading)
        return
    if Path(folder).exists() and not Path(folder).is_dir():
        raise ConfigError(f"state: must be a folder, was the file {folder}")
    with Ownership(Path(folder)):
        yield State(Path(folder), saved.estimator.name, checksum, reading)
