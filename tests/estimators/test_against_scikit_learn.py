"""All 48 configurations, search and calibration included, against the obvious way with scikit-learn."""

from dataclasses import asdict

import numpy as np
import polars as pl
import pytest
from obvious import fit_obvious
from rows import SETTINGS, rows

from entropy_sentinel.estimators.estimator_registry import CONFIGURATIONS, parse_configuration
from entropy_sentinel.estimators.training_rows import TrainingRows
from entropy_sentinel.features.feature_registry import FEATURE_SETS

pytestmark = pytest.mark.slow

FEATURES, LABELS = rows(160, seed=2)
OTHERS, _ = rows(120, seed=3)
TRAINING = TrainingRows(FEATURES, LABELS, SETTINGS)
# Where the trees draw nothing that matters (one feature) and no rounding decides between equal splits (no weights).
EXACT = [one.name for one in CONFIGURATIONS if one.classifier != "forest" or one.name.startswith("forest-1d-unb")]


def obvious(name: str, training: TrainingRows, others: pl.DataFrame, *folds: int) -> np.ndarray:
    features = FEATURE_SETS[parse_configuration(name).features]
    fitted = fit_obvious(name, training.scaled(features), training.y, asdict(training.settings), *folds)
    return fitted.predict_proba(training.scaling(features)(others))[:, 1]


@pytest.mark.parametrize("name", EXACT)
def test_scores_are_those_of_the_obvious_way(name: str) -> None:
    result = TRAINING.fit(name).p_correct(OTHERS)
    assert np.abs(result - obvious(name, TRAINING, OTHERS)).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("forest-10d-balanced-isotonic", marks=[pytest.mark.long, pytest.mark.nightly]),
        "forest-3d-unbalanced-uncalibrated",
    ],
)
def test_forests_are_no_further_from_the_obvious_way_than_its_other_seeds(name: str) -> None:
    """Estimates of eight domains under six seeds of forests on the same folds, setting chosen by either search."""
    features, labels = rows(500, seed=4)
    grid = {"trees": 100, "max_depth": [3, 10], "min_samples_split": [2]}
    domains = [rows(150, seed=seed)[0] * (0.6 + 0.1 * seed) for seed in range(8)]
    ours, theirs = np.empty((2, 6, 8))
    for seed in range(6):
        training = TrainingRows(features, labels, SETTINGS | grid | {"seed": seed})
        training.folds.random_state = 42
        estimator = training.fit(name)
        ours[seed] = [estimator.accuracy(domain) for domain in domains]
        theirs[seed] = [p.mean() for p in np.split(obvious(name, training, pl.concat(domains), 42), 8)]
    own_spread = np.abs(theirs[:, None] - theirs)[~np.eye(6, dtype=bool)]
    assert abs((ours - theirs).mean()) < 0.003
    assert np.median(np.abs(ours - theirs)) <= np.median(own_spread)
    assert np.quantile(np.abs(ours - theirs), 0.95) <= np.quantile(own_spread, 0.95)
