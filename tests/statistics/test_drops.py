"""Drops of an accuracy: the evidence from its definition, and the promised rate of false alarms by simulation."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from scipy.stats import t as student

from entropy_sentinel.statistics.monitoring import change_points
from entropy_sentinel.statistics.monitoring.change_points import (
    DROP_SCALE,
    Drop,
    DropRule,
    WindowSeries,
    find_series_drops,
    unit_variances,
)


def mean_of(means: np.ndarray) -> np.ndarray:
    """The accuracy is the mean of the estimator's values."""
    return means.mean(axis=1)


def series(
    accuracies: Sequence[float], n: int | Sequence[int] = 60, n_reference: int = 7, spread: float = 0.2
) -> WindowSeries:
    """Windows with exactly these accuracies, of responses whose values have the variance `spread`."""
    counts = np.full(len(accuracies), n) if isinstance(n, int) else np.array(n)
    values = (np.array(accuracies) * counts)[:, None]
    return WindowSeries(counts, values, np.full(len(accuracies), spread), n_reference, mean_of)


def steady(n_windows: int, seed: int, n: int = 60, accuracy: float = 0.7, between: float = 0.0) -> WindowSeries:
    """Windows whose responses have Beta-distributed values, by chance alone or with days that differ."""
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(n_windows):
        mean = np.clip(accuracy + between * rng.standard_normal(), 0.05, 0.95)
        parts.append(rng.beta(1.2 * mean, 1.2 * (1 - mean), n))
    counts, sums = np.full(n_windows, n), np.array([[part.sum()] for part in parts])
    products = np.array([[[part @ part]] for part in parts])
    return WindowSeries(counts, sums, unit_variances(counts, sums, products, mean_of), 7, mean_of)


RULE = DropRule(false_alarm_windows=150, least_responses=30, smallest_drop=0.02)


@pytest.mark.parametrize(("difference", "variance"), [(0.0, 0.01), (0.08, 0.002), (-0.1, 0.003), (0.4, 0.01)])
def test_the_evidence_is_the_ratio_of_two_likelihoods(difference: float, variance: float) -> None:
    deviation = np.sqrt(variance)
    with_drop, _ = quad(
        lambda size: norm.pdf(difference, size, deviation) * 2 * norm.pdf(size, 0, DROP_SCALE),
        0,
        2,
        points=[0, difference],
    )
    expected = np.log(with_drop / norm.pdf(difference, 0, deviation))
    found = change_points._log_evidence(np.array([difference]), np.array([variance]))
    assert found[0] == pytest.approx(expected, abs=1e-6)


def test_the_evidence_is_1_on_average_without_a_drop() -> None:
    """So the statistic, a sum over windows, grows by 1 a window."""
    deviation = 0.03
    mean, _ = quad(
        lambda difference: (
            norm.pdf(difference, 0, deviation)
            * np.exp(change_points._log_evidence(np.array([difference]), np.array([deviation**2])))[0]
        ),
        *(-0.5, 0.5),
        points=[0, 0.1, 0.2],
    )
    assert mean == pytest.approx(1, abs=1e-3)


def test_a_t_is_turned_into_a_normal_number_of_the_same_probability() -> None:
    for freedom in (3, 6, 20, 1000):
        for t in (-3.0, 0.0, 1.0, 2.5, 5.0):
            expected = norm.isf(student.sf(t, freedom))
            assert change_points._normalise_t(np.array([t]), np.array([freedom]))[0] == pytest.approx(
                expected, abs=0.07
            )


def test_the_unit_variance_of_a_mean_is_the_variance_of_the_responses() -> None:
    rng = np.random.default_rng(0)
    windows = [rng.random((size, 2)) for size in (40, 25, 60)]
    n = np.array([len(part) for part in windows])
    values = np.array([part.sum(axis=0) for part in windows])
    products = np.array([part.T @ part for part in windows])
    found = unit_variances(n, values, products, mean_of)
    # After the first 40 responses, each window adds more than a tenth.
    for last in range(3):
        together = np.concatenate(windows[: last + 1]).mean(axis=1)
        assert found[last] == pytest.approx(together.var(ddof=1), rel=1e-9)


def test_the_unit_variance_of_a_median_is_simulated() -> None:
    """Of three equal, independent values: the variance of the median of three normal numbers is .4487."""
    rng = np.random.default_rng(1)
    part = rng.normal(0.5, 0.1, (4000, 3))
    part += 0.5 - part.mean(axis=0)
    found = unit_variances(
        np.array([4000]), part.sum(axis=0)[None], (part.T @ part)[None], lambda means: np.median(means, axis=1)
    )
    assert found[0] == pytest.approx(0.4487 * 0.01, rel=0.15)


def test_the_variance_between_windows_is_half_the_mean_square_of_successive_differences() -> None:
    """Days differ by .02 in turn, and have so many responses that chance and the prior hardly count."""
    days = series([0.6, 0.62] * 40, n=10**7)
    between, _ = change_points._DropFinder(days, RULE)._window_variances()
    assert between[-1] == pytest.approx(0.02**2 / 2, rel=0.1)


def test_a_drop_has_its_beginning_and_its_sides() -> None:
    (drop,) = find_series_drops(series([0.7] * 7 + [0.7] * 5 + [0.5] * 6), RULE)
    assert (drop.first_window, drop.worse_windows, drop.end_window) == (12, (), None)
    assert 12 <= drop.alarm_window <= 14
    assert drop.previous_accuracy == pytest.approx(0.7)


def test_a_drop_becomes_worse_and_is_over() -> None:
    levels = [0.8] * 14 + [0.6] * 12 + [0.3] * 12 + [0.8] * 12
    (drop,) = find_series_drops(series(levels, n=120), RULE)
    assert drop.first_window == 14
    (worse,) = drop.worse_windows
    assert 26 <= worse <= 28
    assert 38 <= drop.end_window <= 40


def test_an_accuracy_that_recovers_in_part_stays_a_drop() -> None:
    levels = [0.9] * 14 + [0.4] * 12 + [0.7] * 12
    (drop,) = find_series_drops(series(levels, n=120), RULE)
    assert (drop.end_window, drop.level_window) == (None, 26)


def test_a_second_drop_is_another_one() -> None:
    levels = [0.8] * 14 + [0.5] * 8 + [0.8] * 10 + [0.5] * 8
    first, second = find_series_drops(series(levels, n=120), RULE)
    assert (first.first_window, second.first_window) == (14, 32)
    assert first.end_window is not None
    assert second.end_window is None


def test_a_slow_decline_is_found() -> None:
    levels = [*([0.8] * 7), *np.linspace(0.8, 0.6, 40)]
    (drop,) = find_series_drops(series(levels, n=120), RULE)
    assert drop.alarm_window < 30


@pytest.mark.parametrize(
    ("accuracies", "n", "rule"),
    [
        ([0.7] * 7 + [0.8] * 9, 60, RULE),
        ([0.7] * 7 + [0.66] * 20, 3000, DropRule(150, 30, 0.05)),
        ([0.7] * 7 + [0.2], 60, DropRule(150, 61, 0.02)),
        ([0.7] * 7, 60, RULE),
    ],
)
def test_no_drop(accuracies: list[float], n: int, rule: DropRule) -> None:
    """A rise; a fall that is sure and too small; too few responses after it; nothing after the reference."""
    assert find_series_drops(series(accuracies, n), rule) == []


def test_after_a_thin_reference_nothing_is_told() -> None:
    assert find_series_drops(series([0.9, 0.1, 0.1], n=[29, 60, 60], n_reference=1), RULE) == []
    assert find_series_drops(series([0.9] * 5 + [0.1] * 5, n=[29, *[60] * 9], n_reference=1), RULE) == []


def test_thin_windows_are_evidence_together() -> None:
    (drop,) = find_series_drops(series([0.8] * 7 + [0.3] * 12, n=6), RULE)
    assert (drop.first_window, drop.alarm_window >= 7 + 4) == (7, True)


def rate(runs: Sequence[WindowSeries], rule: DropRule) -> float:
    """The number of false alarms in a window."""
    alarms = sum(len(find_series_drops(run, rule)) for run in runs)
    return alarms / sum(len(run.n) - run.n_reference for run in runs)


@pytest.mark.parametrize("between", [0.0, 0.03])
def test_false_alarms_are_as_rare_as_promised(between: float) -> None:
    """One in 40 windows or fewer; days that differ by .03 would otherwise raise more."""
    runs = [steady(67, seed, between=between) for seed in range(60)]
    assert rate(runs, DropRule(40, 30, 0)) <= 1 / 40


def test_a_drop_is_told_at_once_although_days_differ() -> None:
    """Without the variance between days, few degrees of freedom would seem to be left, and hide most drops."""
    for seed in range(6):
        run = steady(60, seed, n=300, between=0.03)
        fallen = run.values * np.where(np.arange(60) < 30, 1, 1 - 0.15 / 0.7)[:, None]
        told = [drop.alarm_window for drop in find_series_drops(run._replace(values=fallen), RULE)]
        assert told in ([30], [31])


def test_the_batches_of_looks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = [*([0.8] * 7), *np.linspace(0.8, 0.6, 40), *([0.8] * 20)]
    expected = find_series_drops(series(levels), RULE)
    monkeypatch.setattr(change_points, "_BATCH", 5)
    assert find_series_drops(series(levels), RULE) == expected
    assert isinstance(expected[0], Drop)


def test_what_comes_later_does_not_change_what_was_told() -> None:
    """The nightly run computes everything again: an alarm stays what and when it was."""
    run = steady(120, 3, between=0.04)
    fallen = run.values * np.where(np.arange(120) < 60, 1, 0.8)[:, None]
    run = run._replace(values=fallen)
    whole = find_series_drops(run, RULE)
    for end in range(20, 120, 7):
        part = WindowSeries(run.n[:end], run.values[:end], run.variance[:end], 7, mean_of)
        expected = [(drop.first_window, drop.alarm_window) for drop in whole if drop.alarm_window < end]
        assert [(drop.first_window, drop.alarm_window) for drop in find_series_drops(part, RULE)] == expected
