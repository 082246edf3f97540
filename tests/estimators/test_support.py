"""Out of support: histograms that add up, the distance from a mix of training domains, and when it is worth a flag."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pydantic import TypeAdapter
from rows import SETTINGS, rows
from scipy.optimize import minimize
from scipy.stats import ks_2samp, kstwobign

from entropy_sentinel.estimators.fit_metadata import describe_fit
from entropy_sentinel.estimators.training_rows import TrainingRows
from entropy_sentinel.estimators.training_support import NOISE, QUANTILES, Support, SupportComparison

# Features and labels of a tiny model (tests/shared/support_data.py).
RESPONSES = Path(__file__).parent / "data" / "support.parquet"


def entropies(*values: float) -> pl.DataFrame:
    return pl.DataFrame({"max": np.array(values, dtype=float)})


def counts(support: Support, features: pl.DataFrame) -> np.ndarray:
    """The state of one slice."""
    return support.counts(features, np.zeros(len(features), dtype=int), 1)[0]


def compare(support: Support, *slices: pl.DataFrame) -> SupportComparison:
    return support.compare(np.stack([counts(support, slice_) for slice_ in slices]))


def flag(support: Support, features: pl.DataFrame, estimated: float) -> str | None:
    return support.flags(counts(support, features)[None], np.array([estimated]))[0]


def drawn(mean: float, n: int, seed: int) -> np.ndarray:
    """Entropies around a mean: some domain's."""
    return np.random.default_rng(seed).gamma(4, mean / 4, n)


MEANS = {"easy": 0.2, "medium": 0.8, "hard": 2.0}
TRAINING = {name: drawn(mean, 300, seed) for seed, (name, mean) in enumerate(MEANS.items())}
SUPPORT = Support.fit(entropies(*np.concatenate(list(TRAINING.values()))), np.repeat(list(TRAINING), 300))


def test_counts_by_hand() -> None:
    # Of 0 to 100 the quantiles are 0, 1, 10, 20, ..., 90, 99 and 100; an edge belongs to the bin above it.
    support = Support.fit(entropies(*range(101)), ["one"] * 101)
    assert support.edges[:-1].tolist() == pytest.approx([0, 1, *range(10, 100, 10), 99])
    slice_ = entropies(-1, 0, 0.5, 1, 9.9, 10, 55, 98, 99, 100, 100.1, 500)
    assert counts(support, slice_).tolist() == [1, 2, 2, 1, 0, 0, 0, 1, 0, 0, 0, 1, 2, 2]
    assert support.domains.tolist() == [[0, 1, 9, *[10] * 8, 9, 2, 0]]


def test_states_are_those_of_numpy_and_of_slices_one_by_one() -> None:
    values, slices = drawn(1.0, 500, 9), np.random.default_rng(1).integers(0, 4, 500)
    states = SUPPORT.counts(entropies(*values), slices, 6)
    edges = [-np.inf, *SUPPORT.edges, np.inf]
    for one in range(6):
        assert states[one].tolist() == np.histogram(values[slices == one], edges)[0].tolist()
        assert states[one].tolist() == counts(SUPPORT, entropies(*values[slices == one])).tolist()
    assert states[4:].sum() == 0


def test_the_distance_from_one_domain_is_that_of_kolmogorov_and_smirnov() -> None:
    # All of scipy's steps are at edges: training rows have ten values, and edges are at each of them.
    known, slice_ = np.repeat(np.arange(10.0), 10), np.array([0, 0, 1, 2, 2, 2, 3, 5, 7, 9.0])
    support = Support.fit(entropies(*known), ["one"] * 100)
    result = compare(support, entropies(*slice_))
    assert abs(result.distance[0]) == pytest.approx(ks_2samp(known, slice_).statistic)
    assert abs(result.distance[0]) == pytest.approx(0.3)  # by hand: below 3, 6 of 10 and 30 of 100
    assert result.noise[0] == pytest.approx(1.628 * np.sqrt(1 / 10 + 1 / 100))


def test_the_nearest_mix_is_that_of_a_general_optimiser() -> None:
    slice_ = np.concatenate([drawn(0.5, 60, 5), drawn(3.0, 40, 6)])
    below = np.array([[(one < edge).mean() for edge in SUPPORT.edges] for one in (*TRAINING.values(), slice_)])
    known, target = below[:3], below[3]
    best = minimize(
        lambda shares: ((shares @ known - target) ** 2).sum(),
        np.full(3, 1 / 3),
        bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda shares: shares.sum() - 1},
        options={"ftol": 1e-14},
    ).x
    # The order of the domains is that of their names.
    assert list(TRAINING) == ["easy", "medium", "hard"]
    result = compare(SUPPORT, entropies(*slice_))
    assert abs(result.distance[0]) == pytest.approx(np.abs(best @ known - target).max(), abs=1e-4)
    assert result.noise[0] == pytest.approx(1.628 * np.sqrt(1 / 100 + (best**2).sum() / 300), abs=1e-4)


def test_any_mix_of_the_training_domains_is_in_support() -> None:
    slices = [np.concatenate([TRAINING["easy"][:90], TRAINING["hard"][:10]]), TRAINING["medium"], TRAINING["easy"]]
    assert (np.abs(compare(SUPPORT, *(entropies(*slice_) for slice_ in slices)).distance) < [0.1, 1e-6, 1e-6]).all()
    assert [flag(SUPPORT, entropies(*slice_), 0.5) for slice_ in slices] == [None] * 3


def test_noise_is_the_quantile_of_the_limiting_distribution() -> None:
    assert pytest.approx(kstwobign.ppf(0.99), abs=5e-4) == NOISE


def test_slices_drawn_from_a_domain_are_more_than_noise_away_less_than_once_in_a_hundred() -> None:
    result = compare(SUPPORT, *(entropies(*drawn(MEANS["medium"], 50, 100 + seed)) for seed in range(1000)))
    assert 0 <= (np.abs(result.distance) > result.noise).mean() < 0.01


@pytest.mark.parametrize(
    ("values", "estimated", "flagged"),
    [
        ([50.0] * 100, 0.5, True),  # wholly outside: 1 x 4 x .5 x .5
        ([50.0] * 100, 0.945, True),  # 4 x .945 x .055 is .208, above .2
        ([50.0] * 100, 0.06, True),  # .226
        ([50.0] * 100, 0.05, False),  # .19
        ([50.0] * 100, 1.0, False),
        ([50.0] * 2, 0.5, False),  # two responses: 1 is less than the noise, 1.628 x sqrt(1/2 + ...)
        ([50.0] * 3, 0.5, True),  # noise of .945
        ([0.0] * 100, 0.5, True),
        (TRAINING["medium"][:100], 0.5, False),
    ],
)
def test_a_flag_needs_a_distance_and_an_estimate_that_can_be_far_off(values, estimated: float, flagged: bool) -> None:
    assert (flag(SUPPORT, entropies(*values), estimated) is not None) is flagged


def test_the_reason_says_which_way_and_how_far() -> None:
    harder, easier = (flag(SUPPORT, entropies(*[value] * 100), 0.5) for value in (50.0, 0.0))
    assert ("larger" in harder, "distance 1.00 of 1" in harder, "smaller" in easier) == (True, True, True)


def test_a_slice_without_rows_or_estimate_is_not_flagged() -> None:
    far = counts(SUPPORT, entropies(*[50.0] * 100))
    states = np.stack([np.zeros_like(far), far])
    assert SUPPORT.flags(states, np.array([np.nan, np.nan])) == [None, None]
    assert np.isnan(SUPPORT.compare(states).distance).tolist() == [True, False]
    assert SUPPORT.flags(states[:0], np.array([])) == []


def test_one_response_for_all_and_one_domain() -> None:
    support = Support.fit(entropies(0.7, 0.7, 0.7), [""] * 3)
    assert counts(support, entropies(0.7, 0.6, 0.8)).tolist() == [1, *[0] * (len(QUANTILES) - 2), 1, 1]
    assert compare(support, entropies(0.7)).distance.tolist() == [0]


def test_a_file_keeps_it() -> None:
    features, labels = rows()
    domains = np.repeat(["a", "b"], 100)
    training = TrainingRows(features, labels, SETTINGS, domains=domains)
    kept = json.loads(json.dumps(describe_fit(training.fit("atc-max"), training).to_dict()))["support"]
    loaded, made = TypeAdapter(Support).validate_python(kept), Support.fit(features, domains)
    assert loaded.edges.tolist() == made.edges.tolist()
    assert loaded.domains.tolist() == made.domains.tolist()
    assert len(json.dumps(kept)) < 1000


def test_an_estimator_that_could_not_be_fitted_has_none() -> None:
    features, labels = rows(20)
    training = TrainingRows(features, np.ones_like(labels), SETTINGS)
    assert describe_fit(training.fit("baseline-max"), training).support is None


def test_a_hard_domain_that_is_estimated_far_too_high_is_flagged() -> None:
    responses = pl.read_parquet(RESPONSES).filter(model="tiny-1m").cast({pl.Float32: pl.Float64})
    known = responses.filter(pl.col("training"), pl.col("benchmark").is_in(["averages", "one-digit-addition"]))
    training = TrainingRows(known, known["label"].to_numpy(), SETTINGS, domains=known["benchmark"])
    estimator, support = training.fit("log-3d"), Support.fit(known, known["benchmark"])
    unseen = responses.filter(~pl.col("training"), pl.col("temperature") > 0.8, pl.col("temperature") < 1)
    hard, own = (unseen.filter(benchmark=name) for name in ("remainders", "averages"))
    assert estimator.accuracy(hard) > 0.7
    assert hard["label"].mean() < 0.2
    assert "larger than in any mixture" in flag(support, hard, estimator.accuracy(hard))
    assert abs(estimator.accuracy(own) - own["label"].mean()) < 0.1
    assert flag(support, own, estimator.accuracy(own)) is None
