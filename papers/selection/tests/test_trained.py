"""Accuracy after training on each selection: differences by pairs, beside the published table."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from entropy_sentinel.core.errors import InputError
from trained import RUNS, differences, published, table_3_selection, write_trained

# Accuracies by strategy, one for each of the seeds 0 to 3.
ACCURACIES = {
    "before": (0.50, 0.50, 0.50, 0.50),
    "eas": (0.60, 0.58, 0.63, 0.59),
    "random": (0.55, 0.56, 0.57, 0.52),
    "longest": (0.50, 0.57, 0.55, 0.50),
}


def runs(accuracies: dict[str, tuple[float, ...]] = ACCURACIES) -> pl.DataFrame:
    """Runs in an order that says nothing: by seed, from the last one on."""
    rows = [
        (strategy, seed, 0 if strategy == "before" else 8, values[seed])
        for seed in (3, 1, 0, 2)
        for strategy, values in accuracies.items()
        if seed < len(values)
    ]
    return pl.DataFrame(rows, schema=RUNS, orient="row")


def test_differences_are_of_pairs_with_students_interval() -> None:
    random, longest, eas = differences(runs()).rows(named=True)
    assert [row["strategy"] for row in (random, longest, eas)] == ["random", "longest", "eas"]
    assert (random["pass_at_1"], random["difference"]) == (pytest.approx(0.55), None)
    # 5, 2, 6 and 7 points: mean 5, standard deviation sqrt(14 / 3), t of 0.975 with 3 degrees of freedom 3.182446.
    assert eas["difference"] == pytest.approx(0.05)
    half = 3.182446 * np.sqrt(14 / 3) / 2 / 100
    assert (eas["lower"], eas["upper"]) == (pytest.approx(0.05 - half), pytest.approx(0.05 + half))
    same = stats.ttest_rel(ACCURACIES["longest"], ACCURACIES["random"]).confidence_interval(0.95)
    assert (longest["lower"], longest["upper"]) == (pytest.approx(same.low), pytest.approx(same.high))
    assert longest["lower"] < 0 < longest["upper"]


def test_one_seed_has_no_interval() -> None:
    (_, eas) = differences(runs({"random": (0.5,), "eas": (0.75,)})).rows(named=True)
    assert (eas["difference"], eas["lower"], eas["upper"], eas["seeds"]) == (0.25, None, None, 1)


def test_runs_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(InputError, match="must have the strategy 'random'"):
        differences(runs({"eas": (0.5, 0.5)}))
    with pytest.raises(InputError, match="the same seeds, seed 2 is not there for all"):
        differences(runs({"random": (0.5, 0.5, 0.5), "eas": (0.5, 0.5)}))


def test_the_table_is_in_per_cent_beside_the_published_one(tmp_path: Path) -> None:
    table = table_3_selection(runs(), "tiny", "20 steps")
    assert table.cells()[2] == ["Highest EAS", "8", "4", "60.00", "5.00", "1.56", "8.44"]
    assert table.cells()[0][4:] == ["-", "-", "-"]
    assert "Before training: 50.00." in table.notes
    theirs = published().frame
    assert theirs.row(0) == ("deepseek-r1-distill-llama-8b", 1, 56.8, 1.4, -2.5, 2.1)
    text = write_trained(runs(), "tiny", tmp_path, "20 steps")
    assert "| deepseek-r1-distill-qwen-14b" in text
    names = {path.name for path in tmp_path.iterdir()}
    assert names > {"runs.csv", "table_3_selection.csv", "table_3_selection_published.csv", "figure_3_selection.png"}
