"""What the page on selection says of the differences to random."""

import polars as pl

from made.selection import verdict
from trained import RUNS, differences

# Accuracies by strategy, one for each of the seeds 0 to 3.
ACCURACIES = {
    "random": (0.55, 0.56, 0.57, 0.52),
    "longest": (0.50, 0.57, 0.55, 0.50),
    "pass-rate": (0.45, 0.45, 0.47, 0.43),
    "eas": (0.60, 0.58, 0.63, 0.59),
}


def test_above_below_and_neither_go_by_the_interval() -> None:
    rows = [(name, seed, 8, value) for name, values in ACCURACIES.items() for seed, value in enumerate(values)]
    runs = pl.DataFrame([("before", 0, 0, 0.5), *rows], schema=RUNS, orient="row")
    longest, pass_rate, eas, random = verdict(differences(runs), runs).splitlines()
    # Differences: -5, 1, -2, -2; -10, -11, -10, -9; 5, 2, 6, 7 points.
    assert longest.startswith("- **Longest** is not clearly different from random: -2.00 points (")
    assert pass_rate == "- **Lowest pass rate** is below random: -10.00 points (-11.30 to -8.70)."
    assert eas == "- **Highest EAS** is above random: +5.00 points (+1.56 to +8.44)."
    assert random == "- Training on random itself moves pass@1 from 50.00 to 55.00 per cent."
