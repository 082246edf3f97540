"""The recommendation in simulated worlds, whose generator is known; all of it is in `make bench-methods`."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from observations import SETTINGS
from worlds import EASIEST, world

from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_measures import compute_sweep
from entropy_sentinel.study.stages.estimate_stage import estimate_group


def test_a_world_has_the_accuracies_of_its_generator() -> None:
    result = (
        world(3, n=4_000, n_domains=2).group_by("benchmark", maintain_order=True).agg(pl.col("label").mean())["label"]
    )
    shifts = 0.3 * np.random.default_rng(3).normal(size=2)
    draws = np.random.default_rng(0).normal(size=200_000)
    for accuracy, mean in zip(result, np.array([-EASIEST, EASIEST]) + shifts, strict=True):
        # The standard error of a share of 4,000 is at most .008.
        assert accuracy == pytest.approx((1 / (1 + np.exp(-1.3 * (mean + draws)))).mean(), abs=0.025)


@pytest.mark.slow
@pytest.mark.parametrize(("distortion", "cost", "share_of_floor"), [(0.0, 0.05, 0.35), (0.25, 0.01, 0.8)])
def test_the_recommendation_is_not_far_above_one_threshold_and_better_than_the_floor(
    distortion: float, cost: float, share_of_floor: float
) -> None:
    """Without distortion one threshold is exactly right, and a median of estimators of several kinds costs accuracy."""
    settings = SETTINGS | {"estimators": ["recommended", "atc-max", "group-accuracy"]}
    frame = world(0, distortion)
    groups = ["+".join(names) for names in combinations(sorted(frame["benchmark"].unique()), 3)][::6]
    errors = pl.concat([compute_sweep(estimate_group(frame, group, settings)) for group in groups]).filter(
        scope="held_out"
    )
    medians = dict(errors.group_by("estimator").agg(pl.col("aee").median()).iter_rows())
    assert medians["recommended"] <= medians["atc-max"] + cost
    assert medians["recommended"] <= medians["group-accuracy"] * share_of_floor
