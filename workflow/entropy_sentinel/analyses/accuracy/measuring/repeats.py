"""Stage `repeats`: the named groups fitted again under other seeds, to see how far the seed alone moves the errors.

The seed is that of folds, forests and networks; the rows stay the same, and so does the split into train and test.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from entropy_sentinel.analyses.accuracy.frames import REPEATS
from entropy_sentinel.analyses.accuracy.measuring.sweep import sweep
from entropy_sentinel.estimators.settings import EstimationSettings
from entropy_sentinel.signals.observation_frame import OBSERVATIONS
from entropy_sentinel.stages.estimate import estimate


def write_repeats(
    observations: str,
    groups: Mapping[str, Sequence[str]],
    settings: EstimationSettings,
    seeds: Sequence[int],
    output: str,
) -> None:
    """AEE and rho of the estimators of each group, by id, under each seed; all of one model.

    Other seeds and estimators take the place of those of `settings`.
    """
    rows = OBSERVATIONS.read(observations)
    REPEATS.write(repeats(rows, groups, settings, seeds), output, {"seeds": list(seeds), "settings": dict(settings)})


def repeats(
    observations: pl.DataFrame, groups: Mapping[str, Sequence[str]], settings: EstimationSettings, seeds: Sequence[int]
) -> pl.DataFrame:
    """A frame of contract REPEATS."""
    parts = [
        sweep(estimate(observations, group, {**settings, "seed": seed, "estimators": list(names)})).with_columns(
            seed=pl.lit(seed, pl.UInt32)
        )
        for group, names in groups.items()
        for seed in seeds
    ]
    return pl.concat(parts).select(REPEATS.schema.names())
