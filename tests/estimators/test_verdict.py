"""The verdict: by hand from chi-squared quantiles, and whether it and the intervals beside it can be believed."""

import math

import numpy as np
import pytest
from scipy import stats

from entropy_sentinel.estimators.verdict import decide, verdict_of
from entropy_sentinel.statistics.errors import evaluate
from entropy_sentinel.statistics.intervals import Residuals

MANY = 10**9
TOO_FEW = "too few domains to say"


def judged(errors: list[float], true: list[float] | None = None, n: int = MANY):
    true = [0.3 + 0.4 * place / len(errors) for place in range(len(errors))] if true is None else true
    estimated = np.add(true, errors).tolist()
    residuals = Residuals(estimated, true, [n] * len(errors), len(errors))
    found = evaluate(estimated, true)
    names = [f"d{place}" for place in range(len(errors))]
    return verdict_of(names, residuals, found.aee, found.rho, float(np.mean(errors)))


def most_by_hand(errors: list[float], confidence: float = 0.9) -> float:
    """The limit of the mean error: errors normal, one and a half domains more that were off by .18."""
    quantile = stats.chi2.ppf(1 - confidence, len(errors) + 1.5)
    return math.sqrt(2 / math.pi) * math.sqrt((1.5 * 0.18**2 + np.sum(np.square(errors))) / quantile)


@pytest.mark.parametrize(
    ("errors", "verdict"),
    [
        ([0.0] * 3, TOO_FEW),
        ([0.0] * 5, TOO_FEW),
        ([0.0] * 6, "usable"),
        ([0.05] * 9, "usable"),
        ([0.08] * 9, TOO_FEW),
        ([0.08] * 40, "usable"),
        ([0.16, -0.16, 0.16, -0.16], TOO_FEW),
        ([0.3, -0.3, 0.3, -0.3], "do not use"),
        # Right in order, off by .2 each.
        ([0.2] * 9, "ranking only"),
    ],
)
def test_the_verdict_follows_from_the_limits_of_the_mean_error(errors: list[float], verdict: str) -> None:
    found, most, least = judged(errors), most_by_hand(errors), most_by_hand(errors, 0.1)
    assert found.verdict == verdict
    assert found.error_at_most == pytest.approx(most, rel=3e-3)
    assert found.error_at_least == pytest.approx(least, rel=3e-3)
    if verdict != TOO_FEW:
        assert (most <= 0.1) == (verdict == "usable")
        assert (least > 0.1) == (verdict != "usable")
    else:
        assert least < 0.1 < most


def test_reasons_have_the_numbers() -> None:
    errors = [0.05] * 8 + [0.06]
    found = judged(errors)
    assert found.reasons[:3] == (
        "off by 0.051 in the mean over 9 domains that it had not seen",
        f"on new domains off by at most {most_by_hand(errors):.3f} in the mean, with 90% confidence (usable up to "
        "0.10)",
        # The last of .3, .344, ...: .3 + .4 * 8 / 9.
        "worst in d8: 0.716 estimated, 0.656 true (usable up to 0.25, is 0.060)",
    )
    assert found.reasons[3:] == (
        "estimates are too high by 0.051 in the mean",
        "rank correlation with the truth 1.000 (a ranking from 0.7)",
    )
    assert "on new domains off by at least" in judged([0.3, -0.3, 0.3, -0.3]).reasons[1]
    equal = judged([0.05] * 9, [0.5] * 9)
    assert (equal.verdict, equal.reasons[4][:18]) == ("usable", "there is no order:")
    assert judged([0.0] * 3).reasons[4] == "the order of 3 domains shows nothing: a ranking needs 5"


def test_one_domain_that_is_far_off_is_no_use_however_good_the_others_are() -> None:
    errors = [0.02] * 30 + [0.26]
    found = judged(errors)
    assert found.error_at_most < 0.1
    assert found.verdict == "ranking only"
    assert judged([*errors[:-1], 0.24]).verdict == "usable"


@pytest.mark.parametrize(("error", "end"), [(0.0, "make it usable"), (0.16, "show that it is not usable")])
def test_how_many_more_domains_it_takes_is_said_and_right(error: float, end: str) -> None:
    said = judged([error] * 3)
    assert said.verdict == TOO_FEW
    more = next(more for more in range(1, 50) if judged([error] * (3 + more)).verdict != TOO_FEW)
    assert said.reasons[-1] == f"about {more} more labelled domains with errors like these would {end}"


def test_errors_at_the_limit_are_decided_by_no_number_of_domains() -> None:
    # Of a normal error of this deviation the mean distance is .10.
    assert "50 more domains would not decide it" in judged([0.1 * math.sqrt(math.pi / 2)] * 4).reasons[-1]


def test_the_fewer_the_labels_the_less_is_sure() -> None:
    assert judged([0.05] * 9).verdict == "usable"
    assert judged([0.05] * 9, n=20).verdict == TOO_FEW


def draws(aee: float, k: int, n_draws: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Worlds of normal errors of this mean distance, 100 labels per domain: the last domain is new."""
    rng = np.random.default_rng(k)
    true = rng.uniform(0.15, 0.85, (n_draws, k + 1))
    estimated = np.clip(true + aee * math.sqrt(math.pi / 2) * rng.normal(size=true.shape), 0, 1)
    return estimated, true, rng.binomial(100, true) / 100


def simulated(aee: float, k: int, n_draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Whether each draw is usable, and whether its intervals of 80, 90 and 95 % hold the new domain, (n_draws, 3)."""
    estimated, _, seen = draws(aee, k, n_draws)
    usable, inside = np.zeros(n_draws, dtype=bool), np.zeros((n_draws, 3), dtype=bool)
    for at in range(n_draws):
        residuals = Residuals(estimated[at, :k], seen[at, :k], [100] * k, k)
        usable[at] = decide(residuals, None) == "usable"
        for place, level in enumerate((0.8, 0.9, 0.95)):
            lower, upper, _ = residuals.intervals(estimated[at, k:], [100], level)
            inside[at, place] = lower[0] <= seen[at, k] <= upper[0]
    return usable, inside


def holds(inside: np.ndarray) -> bool:
    """Whether coverage is short of its level by no more than 3 points, three standard errors aside; of few, nothing."""
    if len(inside) < 50:
        return True
    level = np.array([0.8, 0.9, 0.95])
    return bool((inside.mean(axis=0) >= level - 0.03 - 3 * np.sqrt(level * (1 - level) / len(inside))).all())


@pytest.mark.parametrize("k", [3, 4, 9, 19])
@pytest.mark.parametrize("aee", [0.02, 0.12, 0.2])
def test_intervals_hold_whatever_the_verdict_in_shifted_and_unshifted_worlds(aee: float, k: int) -> None:
    """Where the error is .12, 38, 37, 24 and 12 % were "usable" by errors alone, and 80 % held 67 to 70 %."""
    usable, inside = simulated(aee, k, 400)
    assert holds(inside)
    assert holds(inside[~usable])
    if aee == 0.02:
        assert usable.mean() > 0.5 if k >= 9 else not usable.any()
        assert holds(inside[usable])
    else:
        assert usable.mean() < 0.02


def test_intervals_hold_for_cards_that_are_usable_where_a_part_of_them_is() -> None:
    usable, inside = simulated(0.08, 19, 1000)
    assert 0.15 < usable.mean() < 0.4
    assert holds(inside[usable])
    assert holds(inside[~usable])
