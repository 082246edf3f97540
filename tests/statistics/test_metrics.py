"""Metrics against hand-worked values, the definition of the AUROC, and the paper's published tables."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from entropy_sentinel.statistics.auroc import measure_auroc
from entropy_sentinel.statistics.estimate_errors import (
    evaluate_estimates,
    evaluate_groups,
    interquartile_range,
    measure_aee,
    measure_rho,
    median_value,
)

DATA = Path(__file__).parents[1] / "data"


def test_aee_is_the_mean_absolute_difference():
    assert measure_aee([0.5, 0.9, 0.2], [0.6, 0.6, 0.2]) == pytest.approx((0.1 + 0.3 + 0.0) / 3, abs=1e-15)


@pytest.mark.parametrize(
    ("estimated", "true", "expected"),
    [
        # Ranks 1 2 3 4 against 2 1 3 4: 1 - 6 * (1 + 1) / (4 * 15).
        ([0.1, 0.2, 0.3, 0.4], [0.5, 0.4, 0.6, 0.9], 0.8),
        # One of the published steps over ten domains.
        ([*range(8), 9, 8], range(10), 1 - 2 / 165),
        # Ties have their mean rank, 1.5 1.5 3 against 1 2 3: Pearson's of the ranks is 1.5 / sqrt(1.5 * 2).
        ([0.2, 0.2, 0.7], [0.1, 0.3, 0.5], 0.75**0.5),
        ([0.1, 0.2], [0.3, 0.9], 1),
        ([0.1, 0.2], [0.9, 0.3], -1),
    ],
)
def test_rho_by_hand(estimated, true, expected):
    assert measure_rho(estimated, true) == (pytest.approx(expected, abs=1e-12), None)


@pytest.mark.parametrize(
    ("estimated", "true", "reason"),
    [
        ([], [], "fewer than 2 domains"),
        ([0.5], [0.4], "fewer than 2 domains"),
        ([0.5, 0.5, 0.5], [0.1, 0.2, 0.3], "estimated accuracies are all equal"),
        ([0.1, 0.2, 0.3], [0.5, 0.5, 0.5], "true accuracies are all equal"),
        ([0.63, 0.63 + 1e-16, 0.63 - 1e-16], [0.1, 0.2, 0.3], "estimated accuracies are all equal"),
    ],
)
def test_rho_is_null_with_its_reason(estimated, true, reason):
    assert measure_rho(estimated, true) == (None, reason)


def test_evaluation_leaves_out_domains_without_labels_or_without_an_estimate():
    result = evaluate_estimates([0.9, 0.5, 0.4, float("nan"), 0.7], [0.8, 0.2, 0.6, 0.3, float("nan")])
    assert result.aee == pytest.approx((0.1 + 0.3 + 0.2) / 3)
    assert result.rho == pytest.approx(0.5)  # ranks 3 2 1 against 3 1 2: 1 - 6 * 2 / (3 * 8)
    assert (result.n_domains, result.reason) == (3, None)


def test_evaluation_of_one_domain_and_of_none():
    assert evaluate_estimates([0.5], [0.25]) == (0.25, None, 1, "fewer than 2 domains")
    assert evaluate_estimates([0.5], [float("nan")]) == (None, None, 0, "no domain with labels and an estimate")
    assert evaluate_estimates([], []) == (None, None, 0, "no domain with labels and an estimate")


VALUES, CORRECT = [1.0, 2.0, 2.0, 3.0, 0.5], [True, True, False, False, True]


def test_auroc_is_the_share_of_pairs_in_which_the_incorrect_response_scores_higher():
    incorrect = [v for v, c in zip(VALUES, CORRECT, strict=True) if not c]
    correct = [v for v, c in zip(VALUES, CORRECT, strict=True) if c]
    pairs = [(i > c) + 0.5 * (i == c) for i in incorrect for c in correct]
    assert measure_auroc(VALUES, CORRECT, larger_is_confident=False) == (pytest.approx(sum(pairs) / len(pairs)), None)


@pytest.mark.parametrize(
    ("correct", "reason"),
    [
        ([True, True], "no incorrect response"),
        ([False, False], "no correct response"),
        ([], "no response with a label and features"),
    ],
)
def test_auroc_of_one_class_is_null_with_its_reason(correct, reason):
    assert measure_auroc([0.1, 0.2][: len(correct)], correct, larger_is_confident=False) == (None, reason)


def test_quartile_range_takes_the_quartiles_at_n_plus_one_times_p():
    # Nine values: positions 2.5 and 7.5, hence 25 and 75; the rule "inclusive" would give 40.
    assert interquartile_range([10, 20, 30, 40, 50, 60, 70, 80, 90]) == 50
    assert interquartile_range([0.3]) == 0


def test_published_table_3_follows_from_the_rows_of_table_8():
    """All 40 cells follow within the half unit of the last published digit; none is an exception.

    Nine models put the quartiles half way between two published values, so an IQR that ends in 5 is rounded.
    """
    by_model = pl.read_csv(DATA / "table_8_baselines_by_model.csv")
    rows = pl.read_csv(DATA / "table_3_baselines.csv").rows(named=True)
    assert len(rows) == 10
    for row in rows:
        models = by_model.filter(method=row["method"])
        assert len(models) == 9
        for column in ("spearman", "aee"):
            values = models[column].to_list()
            assert abs(median_value(values) - row[f"{column}_median"]) < 1e-9, (row["method"], column)
            assert abs(interquartile_range(values) - row[f"{column}_iqr"]) < 0.005 + 1e-9, (row["method"], column)


def test_all_at_once_are_as_one_by_one():
    """Groups of few domains with ties, constants, gaps, and accuracies that differ in their last bits."""
    rng = np.random.default_rng(0)
    n = 3000
    frame = pl.DataFrame({"group": rng.integers(600, size=n), "of": rng.integers(2, size=n)}).with_columns(
        estimated=pl.Series(rng.choice([0.1, 0.3, 0.3 + 1e-15, 0.5, np.nan], n)).fill_nan(None),
        true=pl.Series(rng.choice([0.2, 0.4, 0.8, rng.random(), np.nan], n)).fill_nan(None),
    )
    result = evaluate_groups(frame, ("group", "of"))
    assert result.select("group", "of").equals(frame.select("group", "of").unique(maintain_order=True))
    for group, of, *errors in result.rows():
        rows = frame.filter(group=group, of=of)
        expected = evaluate_estimates(rows["estimated"].to_numpy(), rows["true"].to_numpy())
        assert errors == pytest.approx(list(expected), abs=1e-12)
    assert set(result["reason"]) == {None, "fewer than 2 domains", "no domain with labels and an estimate"} | {
        f"{name} accuracies are all equal" for name in ("estimated", "true")
    }
