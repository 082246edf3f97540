"""Measure the value of a few labels: coverage and width of the improved interval, over draws of fully known slices.

Each row is a kind of predictions, an accuracy and a number of labels: how often the interval contains the accuracy,
from labels only and with predictions, and the ratio of the mean widths. For comparison, `normal` is the interval of the
same power-tuned estimate in `ppi-python`, from the normal quantile. Run by `make bench-labels`; the last line is one
JSON object.
"""

import argparse
import json
import time
from itertools import product
from typing import Any

import numpy as np
from labelled_slices import KINDS, labelled_slice
from scipy.stats import norm
from tabulate import tabulate

from entropy_sentinel.monitor.labelling.label_corrected_estimates import improve_accuracy
from entropy_sentinel.monitor.labelling.neyman_sampling import draw_slice
from entropy_sentinel.statistics.monitoring.prediction_powered import labelled_mean, prediction_powered_mean

ACCURACIES, SIZES, LEVELS = (0.01, 0.03, 0.1, 0.5, 0.9, 0.97, 0.99), (30, 100), (0.9, 0.95)
RESPONSES, BUDGET = 600, 40


def measure(kind: str, accuracy: float, n: int, level: float, draws: int) -> dict[str, Any]:
    """Coverages and widths over draws of RESPONSES responses with n labels."""
    rng = np.random.default_rng([n, round(1000 * accuracy), round(100 * level)])
    ends = np.empty((draws, 3, 2))
    for place in range(draws):
        correct, predicted = labelled_slice(kind, accuracy, RESPONSES, rng)
        given = correct[:n], predicted[:n], predicted
        result = prediction_powered_mean(*given, level)
        alone = labelled_mean(correct[:n], level)
        ends[place] = [(alone.lower, alone.upper), (result.lower, result.upper), normal(*given, result.power, level)]
    inside = ((ends[:, :, 0] <= accuracy) & (accuracy <= ends[:, :, 1])).mean(axis=0)
    widths = (ends[:, :, 1] - ends[:, :, 0]).mean(axis=0)
    names = ("alone", "predictions", "normal")
    return {
        **{"kind": kind, "accuracy": accuracy, "n": n, "level": level},
        **{name: round(float(one), 3) for name, one in zip(names, inside, strict=True)},
        "width_alone": round(float(widths[0]), 4),
        "width_ratio": round(float(widths[1] / widths[0]), 4),
    }


def normal(
    labels: np.ndarray, on_labelled: np.ndarray, on_all: np.ndarray, power: float, level: float
) -> tuple[float, float]:
    """The interval of ppi-python's `ppi_mean_ci` with the power rescaled to its definition."""
    others, power = on_all[len(labels) :], power * (1 - len(labels) / len(on_all))
    left = labels - power * on_labelled
    middle = left.mean() + power * others.mean()
    half = norm.ppf((1 + level) / 2) * np.sqrt(left.var() / len(labels) + power**2 * others.var() / len(others))
    return middle - half, middle + half


def stratified(accuracy: float, draws: int) -> dict[str, Any]:
    """The same for BUDGET labels chosen like `sample`, and the width that it predicts."""
    rng, ends, foretold = np.random.default_rng(round(1000 * accuracy)), np.empty((draws, 2)), 0.0
    for place in range(draws):
        correct, p = labelled_slice("calibrated", accuracy, RESPONSES, rng)
        drawn = draw_slice(p, rng.permutation(RESPONSES).astype(np.uint64), BUDGET)
        result = improve_accuracy(correct[drawn.rows], p[drawn.rows], p, 1 / drawn.inclusion, LEVELS[0]).improved
        ends[place] = result.lower, result.upper
        foretold += drawn.expected_width(p, LEVELS[0]) / draws
    width = float((ends[:, 1] - ends[:, 0]).mean())
    covered = float(((ends[:, 0] <= accuracy) & (accuracy <= ends[:, 1])).mean())
    return {
        **{"accuracy": accuracy, "n": BUDGET, "level": LEVELS[0], "covered": round(covered, 3)},
        **{"width": round(width, 4), "foretold": round(foretold, 4)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    draws, start, cpu = parser.parse_args().draws, time.perf_counter(), time.process_time()
    rows = [measure(*case, draws) for case in product(KINDS, ACCURACIES, SIZES, LEVELS)]
    chosen = [stratified(accuracy, draws) for accuracy in ACCURACIES]
    print(tabulate(rows, headers="keys"), tabulate(chosen, headers="keys"), sep="\n\n")
    worst = max(rows, key=lambda row: row["width_ratio"])
    short = max(row["level"] - row["predictions"] for row in rows)
    print(
        json.dumps(
            {
                "benchmark": "labels",
                "ratio": worst["width_ratio"],
                "of": "mean width with predictions over that with labels only: the largest of all rows",
                "where": worst,
                "most_short_of_level": round(short, 3),
                "alone_most_short": round(max(row["level"] - row["alone"] for row in rows), 3),
                "normal_most_short": round(max(row["level"] - row["normal"] for row in rows), 3),
                "reached": worst["width_ratio"] <= 1.02 and short <= 0.02,
                "draws": draws,
                "cpu_s": round(time.process_time() - cpu, 1),
                "wall_s": round(time.perf_counter() - start, 1),
                "stratified": chosen,
            }
        )
    )


if __name__ == "__main__":
    main()
