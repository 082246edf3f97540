"""Tables of medians and interquartile ranges (3, 4, 5, 9, 10), and what they are made of."""

import polars as pl
import pytest
from frames import DEFAULT, GROUPS, cell, domains, sweep_rows, table_inputs

from entropy_sentinel.estimators.estimator_registry import CONFIGURATIONS
from entropy_sentinel.study.analyses.accuracy.sweep_aggregation import bin_errors, compute_group_accuracies
from entropy_sentinel.study.analyses.accuracy.tables_of_groups import (
    table_3_simple_estimators,
    table_4_by_size,
    table_5_design_choices,
    table_9_best_and_worst_groups,
    table_10_leave_one_out,
)


def test_table_3_medians_and_iqrs_of_three_models():
    # Quartiles at positions (3 + 1) / 4 = 1 and 3 of three sorted values: the range is largest minus smallest.
    sweep = pl.concat(
        [
            sweep_rows([0.30, 0.10, 0.14], [0.5, 0.9, 1.0]),
            sweep_rows([0.20, 0.21, 0.25], [0.4, None, 0.6], estimator="baseline-max"),
        ]
    )
    table = table_3_simple_estimators(table_inputs(sweep=sweep, groups=GROUPS, headline_group="extremes"))
    assert table.frame["Estimator"].to_list() == ["Default", "SE max"]
    default = {"Estimator": "Default"}
    assert cell(table, default, "Median AEE, unseen") == 0.14
    assert cell(table, default, "IQR of AEE, unseen") == pytest.approx(0.20)
    assert cell(table, default, "Median rho, unseen") == 0.9
    assert cell(table, default, "IQR of rho, unseen") == pytest.approx(0.5)
    # rho of two models is left: their median is the mean, and two values have no IQR.
    assert cell(table, {"Estimator": "SE max"}, "Median rho, unseen") == pytest.approx(0.5)
    assert cell(table, {"Estimator": "SE max"}, "IQR of rho, unseen") is None
    # The smallest median AEE first.
    assert table.frame["Median AEE, unseen"].is_sorted()
    assert cell(table, default, "Median AEE, all") is None


def test_table_3_gives_no_iqr_of_a_single_model():
    table = table_3_simple_estimators(
        table_inputs(sweep=sweep_rows([0.1], [0.9], ["a"]), groups=GROUPS, headline_group="extremes")
    )
    assert table.cells() == [["Default", "0.100", "-", "0.900", "-", "-", "-", "-", "-"]]


def full_sweep(group: str = "arithmetic+words") -> pl.DataFrame:
    """All 48 configurations for three models: AEE is 0.1, 0.2, 0.3, and 0.1 less for a forest."""
    frames = []
    for configuration in CONFIGURATIONS:
        shift = 0.1 if configuration.classifier == "forest" else 0.0
        aee = [0.1 - shift, 0.2 - shift, 0.3 - shift]
        frames.append(sweep_rows(aee, [0.5, 0.6, 0.7], group=group, estimator=configuration.name))
    return pl.concat(frames)


def test_table_4_tells_all_configurations_from_the_default():
    other = sweep_rows([0.5, 0.6, 0.8], [1.0, 1.0, 1.0], group="logic")
    table = table_4_by_size(table_inputs(sweep=pl.concat([full_sweep(), other]), default=DEFAULT))
    # Model b: 16 forests at 0.1 and 32 others at 0.2.
    everything = {"Model": "b", "Estimators": "All 48", "Domains": "unseen"}
    assert cell(table, everything, "k = 2: median AEE") == pytest.approx(0.2)
    assert cell(table, everything, "k = 2: IQR") == pytest.approx(0.1)
    assert cell(table, everything, "k = 1: median AEE") is None
    default = {"Model": "b", "Estimators": "Default", "Domains": "unseen"}
    assert cell(table, default, "k = 2: median AEE") == pytest.approx(0.1)
    assert cell(table, default, "k = 1: median AEE") == 0.6
    assert "Training groups of the rows 'All 48': 1 of size 2." in table.notes
    assert "Training groups of the rows 'Default': 1 of size 1, 1 of size 2." in table.notes


def test_table_4_says_what_its_medians_leave_out():
    table = table_4_by_size(
        table_inputs(
            sweep=pl.concat([full_sweep(), sweep_rows([0.5, None, 0.8], [1.0] * 3, group="logic")]), default=DEFAULT
        )
    )
    # 48 configurations and one more group's default, three models each; the default of the first group counts once.
    left_out = [note for note in table.notes if "shown as -" in note]
    assert len(left_out) == 1
    assert "in 1 of 147 results (b 1)" in left_out[0]


def test_table_5_main_effects_are_over_fully_swept_groups_only():
    other = sweep_rows([0.9, 0.9, 0.9], [0.0, 0.0, 0.0], group="logic")
    table = table_5_design_choices(table_inputs(sweep=pl.concat([full_sweep(), other])))
    assert len(table.frame) == 3 + 2 + 2 + 4
    forest = {"Factor": "Classifier", "Setting": "Random forest"}
    assert cell(table, forest, "Median AEE, unseen") == pytest.approx(0.1)
    # 16 values each of 0.0, 0.1 and 0.2: the quartiles lie in the first and the last sixteen.
    assert cell(table, forest, "IQR of AEE, unseen") == pytest.approx(0.2)
    assert cell(table, {"Factor": "Classifier", "Setting": "MLP"}, "Median AEE, unseen") == pytest.approx(0.2)
    assert cell(table, {"Factor": "Features", "Setting": "3D"}, "Median rho, unseen") == pytest.approx(0.6)
    assert "(arithmetic, words)" in table.caption


def test_table_5_without_a_fully_swept_group():
    table = table_5_design_choices(table_inputs(sweep=sweep_rows([0.1, 0.2, 0.3], [0.5, 0.6, 0.7])))
    assert "(none)" in table.caption
    assert table.cells()[0][2:] == ["-"] * 8


def test_weighted_accuracy_of_a_group():
    frame = domains([("a", "x", 8, 2, 0.8), ("b", "x", 4, 6, 0.4), ("a", "y", 3, 27, 0.1), ("b", "y", 9, 21, 0.3)])
    result = dict(compute_group_accuracies(frame, ["x", "x+y"]).iter_rows())
    # x: mean accuracy 0.6, 10 rows; y: mean accuracy 0.2, 30 rows.
    assert result["x"] == pytest.approx(0.6)
    assert result["x+y"] == pytest.approx((10 * 0.6 + 30 * 0.2) / 40)


def test_weighted_accuracy_is_null_where_a_benchmark_has_none():
    frame = domains([("a", "x", 8, 2, 0.8), ("a", "y", 0, 0, None)])
    assert dict(compute_group_accuracies(frame, ["x+y"]).iter_rows()) == {"x+y": None}


def test_table_9_best_and_worst_group():
    sweep = pl.concat(
        [
            sweep_rows([0.1, 0.2, 0.6], [1.0] * 3, group="x", scope="all"),
            sweep_rows([0.4, 0.5, 0.5], [1.0] * 3, group="x"),
            sweep_rows([0.3, 0.3, 0.3], [1.0] * 3, group="y", scope="all"),
            sweep_rows([0.3, 0.3, 0.4], [1.0] * 3, group="y"),
            sweep_rows([0.0, 0.0], [1.0] * 2, ["a", "b"], group="z", scope="all"),
            sweep_rows([0.7, 0.7, 0.7], [1.0] * 3, group="x+y", scope="all"),
        ]
    )
    frame = domains([("a", "x", 8, 2, 0.8), ("a", "y", 3, 27, 0.1), ("a", "z", 1, 1, 0.5)])
    table = table_9_best_and_worst_groups(table_inputs(sweep=sweep, domains=frame, default=DEFAULT))
    assert table.frame.select("Rank", "k", "Training group").rows() == [
        ("best", 1, "x"),
        ("worst", 1, "y"),
        ("only one", 2, "x, y"),
    ]
    assert table.cells()[0][3:] == ["0.200", "0.500", "0.500", "0.100", "-", "0.800"]
    assert "1 groups without an AEE for every model are left out." in table.notes


def test_table_9_ranks_no_group_on_some_of_the_models():
    sweep = pl.concat(
        [
            sweep_rows([0.1, 0.2, 0.6], [None] * 3, group="x", scope="all"),
            sweep_rows([0.01, None, None], [1.0] * 3, group="y", scope="all"),
            sweep_rows([0.01, 0.01, 0.01], [1.0] * 3, group="y"),
            sweep_rows([0.3, 0.3, 0.3], [1.0] * 3, group="z", scope="all"),
        ]
    )
    table = table_9_best_and_worst_groups(
        table_inputs(sweep=sweep, domains=domains([("a", name, 1, 1, 0.5) for name in "xyz"]), default=DEFAULT)
    )
    assert table.frame.select("Rank", "Training group").rows() == [("best", "x"), ("worst", "z")]
    assert "1 groups without an AEE for every model are left out." in table.notes
    # 4 sets of 3 rows; the undefined rho is not a column of this table.
    left_out = [note for note in table.notes if "shown as -" in note]
    assert len(left_out) == 1
    assert "AEE is shown as - and left out of medians in 2 of 12 results (b 1, c 1)" in left_out[0]


def test_table_10_is_over_the_groups_that_leave_one_out():
    groups = ["x+y", "x+z", "y+z"]
    sweep = pl.concat(
        [
            sweep_rows([aee], [rho], ["a"], group, scope="all")
            for group, aee, rho in zip(groups, (0.1, 0.4, 0.2), (1.0, 0.5, 0.5), strict=True)
        ]
        + [sweep_rows([aee], [None], ["a"], group) for group, aee in zip(groups, (0.3, 0.6, 0.0), strict=True)]
        + [sweep_rows([0.9], [0.9], ["a"], "x", scope="all")]
    )
    frame = domains([*(("a", name, 5, 5, 0.5) for name in "xyz"), ("a", "unlabelled", 0, 0, None)])
    table = table_10_leave_one_out(table_inputs(sweep=sweep, domains=frame, default=DEFAULT))
    assert table.cells() == [["a", "3", "0.200", "0.300", "0.300", "0.600", "0.500", "0.500"]]
    assert not [note for note in table.notes if "shown as -" in note], "rho of one left-out domain is not asked for"


def test_bins_of_equal_width():
    points = pl.DataFrame({"group_accuracy": [0.0, 0.1, 0.2, 1.0], "aee": [0.1, 0.2, 0.6, 0.4]})
    binned = bin_errors(points, 2)
    assert binned["centre"].to_list() == [0.25, 0.75]
    assert binned["n"].to_list() == [3, 1]
    assert binned["median"].to_list() == [0.2, 0.4]
    assert binned["lower"].to_list() == [0.1, 0.4]
    assert binned["upper"].to_list() == [0.6, 0.4]
