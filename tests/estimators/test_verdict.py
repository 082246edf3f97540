"""The verdict: by hand from chi-squared quantiles, and whether it and the intervals beside it can be believed."""

import math
import re

import numpy as np
import pytest
from scipy import stats

from entropy_sentinel.estimators.verdict import decide_verdict, explain_verdict
from entropy_sentinel.estimators.verdict_limits import Limits
from entropy_sentinel.statistics.estimate_errors import evaluate_estimates
from entropy_sentinel.statistics.slice_intervals import Residuals

MANY = 10**9
TOO_FEW = "too few domains to say"


def judged(errors: list[float], true: list[float] | None = None, n: int = MANY):
    true = [0.3 + 0.4 * place / len(errors) for place in range(len(errors))] if true is None else true
    estimated = np.add(true, errors).tolist()
    residuals = Residuals(estimated, true, [n] * len(errors), len(errors))
    result = evaluate_estimates(estimated, true)
    names = [f"d{place}" for place in range(len(errors))]
    return explain_verdict(names, residuals, result.aee, result.rho, float(np.mean(errors)))


def numbers(reason: str) -> list[str]:
    return re.findall(r"\d+(?:\.\d+)?", reason)


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
    result, most, least = judged(errors), most_by_hand(errors), most_by_hand(errors, 0.1)
    assert result.verdict == verdict
    assert result.error_at_most == pytest.approx(most, rel=3e-3)
    assert result.error_at_least == pytest.approx(least, rel=3e-3)
    if verdict != TOO_FEW:
        assert (most <= 0.1) == (verdict == "usable")
        assert (least > 0.1) == (verdict != "usable")
    else:
        assert least < 0.1 < most


def test_reasons_have_the_numbers() -> None:
    errors = [0.05] * 8 + [0.06]
    result = judged(errors)
    assert [numbers(reason) for reason in result.reasons] == [
        ["0.051", "9"],
        [f"{most_by_hand(errors):.3f}", "90", "0.10"],
        # Nine domains that are not far off, and a prior of a fifth of eight (tests/statistics/test_far_off.py).
        ["0.25", "0", "9", "5", f"{100 * stats.beta.cdf(0.05, 0.2, 7.8 + 9):.1f}", "90"],
        # The last of .3, .344, ...: .3 + .4 * 8 / 9.
        ["0.060", "8", "0.716", "0.656"],
        ["0.051"],
        ["1.000", "0.7"],
    ]
    assert ("d8" in result.reasons[3], "too high" in result.reasons[4]) == (True, True)
    assert "at least" in judged([0.3, -0.3, 0.3, -0.3]).reasons[1]
    equal = judged([0.05] * 9, [0.5] * 9)
    assert (equal.verdict, numbers(equal.reasons[5])) == ("usable", [])
    assert numbers(judged([0.0] * 3).reasons[5]) == ["3", "5"]


def test_a_few_domains_far_off_are_not_usable_however_good_the_others_are() -> None:
    far = judged([0.02] * 30 + [0.3] * 3)
    assert far.error_at_most < 0.1
    assert far.verdict == TOO_FEW
    assert numbers(far.reasons[2])[:4] == ["0.25", "3", "33", "5"]
    assert judged([0.02] * 60 + [0.3] * 8).verdict == "ranking only"
    # One domain in eighty is within what `usable` allows.
    assert judged([0.02] * 79 + [0.26]).verdict == "usable"


@pytest.mark.parametrize("k", [20, 40, 80, 160])
def test_more_domains_make_an_estimator_without_error_usable_whatever_their_labels(k: int) -> None:
    """Of 40 domains with 20 labels each, the largest error was above .25 by chance alone in 42 %: "do not use"."""
    verdicts = [
        decide_verdict(Residuals(true[:-1], seen[:-1], [20] * k, k), None)
        for _, true, seen in zip(*draws(0.0, k, 60, labels=20), strict=True)
    ]
    assert "do not use" not in verdicts
    if k >= 40:
        # 86, 96 and 98 % in benchmarks/bench_verdict.py; three standard errors less.
        assert verdicts.count("usable") >= {40: 43, 80: 53, 160: 55}[k]


@pytest.mark.parametrize("k", [20, 40])
def test_one_domain_in_ten_far_off_is_seldom_usable(k: int) -> None:
    """At most one time in ten: the confidence that is told; 3 to 8 % in benchmarks/bench_verdict.py."""
    estimated, true, seen = draws(0.02, k, 100, labels=50)
    far = np.random.default_rng(k).random(true.shape) < 0.1
    estimated = np.where(far, true + np.where(true > 0.5, -0.35, 0.35), estimated)
    usable = [
        decide_verdict(Residuals(*sides, [50] * k, k), None) == "usable"
        for sides in zip(estimated[:, :k], seen[:, :k], strict=True)
    ]
    assert sum(usable) <= 10


def test_how_many_more_domains_it_takes_at_least() -> None:
    # By hand: the fewest domains without error whose limit is .10, of two of which errors of .1 have been seen.
    errors = [0.1, -0.1, 0.1]
    message = judged(errors)
    fewest = next(more for more in range(1, 50) if most_by_hand([*errors, *[0.0] * more]) <= 0.1)
    assert message.verdict == TOO_FEW
    assert numbers(message.reasons[-2]) == [str(fewest), "0.10", "50"]
    assert judged([*errors, *[0.0] * fewest]).verdict == "usable"
    assert judged([*errors, *[0.0] * (fewest - 1)]).verdict == TOO_FEW
    far = judged([0.02] * 30 + [0.3] * 3)
    assert numbers(far.reasons[-2]) == ["50"]


def test_how_many_more_domains_are_enough_is_reported_where_that_is_probable() -> None:
    """By drawing what would follow: a spread from the posterior, errors of that spread, and the verdict again."""
    errors = [0.0] * 5
    # Six domains without error are just enough (the first test).
    least, more = map(int, numbers(judged(errors).reasons[-2]))
    assert least == 1
    spread = Residuals([0.5] * 5, [0.5] * 5, [MANY] * 5, 5).spread
    rng = np.random.default_rng(0)
    deviations = np.array([spread.mean_error_limit(level) for level in rng.random(300)]) * math.sqrt(math.pi / 2)
    for n, enough in ((more, True), (more - 1, False)):
        drawn = np.clip(rng.normal(size=(300, n)) * deviations[:, None], -0.4, 0.4)
        usable = [
            decide_verdict(Residuals([*errors, *one], [0.0] * (5 + n), [MANY] * (5 + n), 5 + n), None) == "usable"
            for one in drawn
        ]
        # Three standard errors of 300 draws.
        assert (np.mean(usable) > 0.6) == enough or abs(np.mean(usable) - 0.6) < 0.085


def test_one_domain_among_many_cannot_make_the_mean_error_large() -> None:
    """Twelve of 326 are far off: one more that is not makes it usable, and even an error of 1 would be one."""
    assert stats.beta.cdf(0.05, 0.2 + 12, 7.8 + 314) < 0.9 < stats.beta.cdf(0.05, 0.2 + 12, 7.8 + 315)
    result = judged([0.02] * 314 + [0.3] * 12)
    assert result.verdict == TOO_FEW
    assert numbers(result.reasons[-2])[0] == "1"


def test_intervals_beside_too_few_domains_say_how_often_they_hold_if_the_error_is_large() -> None:
    """At a mean error of .16, 80/90/95 % intervals beside this verdict hold 72/85/92 % of new domains."""
    errors = [0.05, -0.05, 0.1]
    message = judged(errors)
    scale = math.sqrt((1.5 * 0.18**2 + np.sum(np.square(errors))) / 4.5)
    deviation = message.error_at_most * math.sqrt(math.pi / 2)
    held = [2 * stats.norm.cdf(stats.t.ppf((1 + level) / 2, 4.5) * scale / deviation) - 1 for level in (0.8, 0.9, 0.95)]
    shown = [f"{100 * share:.0f}" for share in held]
    assert numbers(message.reasons[-1]) == [f"{message.error_at_most:.3f}", "80", "90", "95", *shown]


def test_the_fewer_the_labels_the_less_is_sure() -> None:
    assert judged([0.05] * 9).verdict == "usable"
    assert judged([0.05] * 9, n=20).verdict == TOO_FEW


def draws(aee: float, k: int, n_draws: int, labels: int = 100) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Estimated, true and seen accuracies in worlds of normal errors of this mean distance; the last domain is new."""
    rng = np.random.default_rng(k)
    true = rng.uniform(0.15, 0.85, (n_draws, k + 1))
    estimated = np.clip(true + aee * math.sqrt(math.pi / 2) * rng.normal(size=true.shape), 0, 1)
    return estimated, true, rng.binomial(labels, true) / labels


def simulated(aee: float, k: int, n_draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Whether each draw is usable, and whether its intervals of 80, 90 and 95 % hold the new domain, (n_draws, 3)."""
    estimated, _, seen = draws(aee, k, n_draws)
    usable, inside = np.zeros(n_draws, dtype=bool), np.zeros((n_draws, 3), dtype=bool)
    for at in range(n_draws):
        residuals = Residuals(estimated[at, :k], seen[at, :k], [100] * k, k)
        usable[at] = decide_verdict(residuals, None) == "usable"
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


def test_limits_of_your_own_change_the_verdict_and_are_stated() -> None:
    errors = [0.05] * 9
    true = [0.3 + 0.4 * place / 9 for place in range(9)]
    residuals = Residuals(np.add(true, errors).tolist(), true, [MANY] * 9, 9)
    assert decide_verdict(residuals, 1.0) == "usable"
    # The limit of the mean error by hand at 99 %, above .1.
    assert most_by_hand(errors, 0.99) > 0.1 > most_by_hand(errors, 0.9)
    assert decide_verdict(residuals, 1.0, Limits(confidence=0.99)) == TOO_FEW
    # At 90 % confidence it is above .055, so no estimator with these errors is usable up to .04.
    assert most_by_hand(errors, 0.1) > 0.04
    strict = explain_verdict([f"d{place}" for place in range(9)], residuals, 0.05, 1.0, 0.05, Limits(usable_error=0.04))
    assert strict.verdict == "ranking only"
    assert strict.reasons[1].endswith("it must be at most 0.04")
    near = explain_verdict(
        [f"d{place}" for place in range(9)], residuals, 0.05, 1.0, 0.05, Limits(far_off=0.045, confidence=0.875)
    )
    assert near.verdict != "usable"
    assert near.reasons[2].startswith("errors above 0.045: 9 of 9 domains")
    assert near.reasons[2].endswith("must be at least 87.5%")
