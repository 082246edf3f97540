"""All responses of logs in one frame, as `score` and `sample` need them: those of a monitor, with nothing kept."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from entropy_sentinel.estimators.saved import SavedEstimator
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.monitor.reading.files import check_columns
from entropy_sentinel.monitor.reading.inputs import Inputs
from entropy_sentinel.monitor.reading.problems import Problems
from entropy_sentinel.monitor.reading.settings import Slicing

Source = str | Path | pl.DataFrame


class Read(NamedTuple):
    """Rows of `Inputs.frames`, what could not be used, and what was `taken` that is of something else, counted."""

    rows: pl.DataFrame
    problems: Problems
    taken: Mapping[str, int]


def read_whole(saved: SavedEstimator, sources: Sequence[Source], options: Slicing, texts: bool = False) -> Read:
    """The responses of files and frames of features, for an estimator.

    Raises InputError where there is none, or none has a value in a column that is asked for, and ProvenanceError where
    all are of another model or other log-probabilities.
    """
    problems = Problems(options.strict)
    inputs = Inputs(saved.about, options, problems, texts=texts)
    named = [source if isinstance(source, pl.DataFrame) else str(source) for source in sources]
    frames = [frame for source in named for frame in inputs.frames(source)]
    check_columns(options, inputs.seen, sources, bool(frames))
    if not frames:
        raise InputError(f"there is no response in the logs{''.join(f'; {line}' for line in problems.lines())}")
    rows = pl.concat(frames)
    inputs.excluding.check(len(rows))
    return Read(rows, problems, inputs.excluding.taken)
