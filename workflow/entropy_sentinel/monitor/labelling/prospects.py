"""What a number of labelled domains can show: the probability that a validation of them says `usable`.

benchmarks/bench_usable.py simulates it once for a grid of domains, labels of each and mean errors, and writes TABLE.
"""

from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
from scipy.interpolate import RegularGridInterpolator

TABLE = Path(__file__).with_name("usable.csv")


def read_table() -> pl.DataFrame:
    """A row per cell: the share `usable` of validations by mean `error`, `domains` and `labels` of each."""
    return pl.read_csv(TABLE).sort("error", "domains", "labels")


@cache
def _interpolator() -> tuple[RegularGridInterpolator, list[np.ndarray]]:
    """The table as a function of (error, domains, labels), linear between its cells; and the axes of its grid."""
    cells = read_table()
    axes = [cells[name].unique().sort().to_numpy() for name in ("error", "domains", "labels")]
    values = cells["usable"].to_numpy().reshape([len(axis) for axis in axes])
    return RegularGridInterpolator(axes, values), axes


def errors() -> list[float]:
    """The mean errors on new domains that the table has."""
    return list(map(float, _interpolator()[1][0]))


def probability_of_usable(error: float, domains: int, labels: int) -> float:
    """The probability of `usable` for an estimator of this mean error, with so many domains of so many labels each.

    0 with fewer domains or labels than the table begins with; with more than it ends with, its last ones count.
    """
    interpolate, (_, least_domains, least_labels) = _interpolator()
    if domains < least_domains[0] or labels < least_labels[0]:
        return 0.0
    return float(interpolate([[error, min(domains, least_domains[-1]), min(labels, least_labels[-1])]])[0])


def prospects(domains: int, labels: int, budget: int) -> pl.DataFrame:
    """The probability `usable` by `domains`, `labels` of each and mean `error`: of this choice first, then of others.

    The others are the numbers of domains of the table whose labels, as many of each, are no more than the budget.
    """
    plans = {(domains, labels): None}
    for other in map(int, _interpolator()[1][1]):
        if (each := min(budget // other, labels)) >= _interpolator()[1][2][0]:
            plans[other, each] = None
    rows = [(*plan, error, probability_of_usable(error, *plan)) for plan in plans for error in errors()]
    return pl.DataFrame(rows, schema=["domains", "labels", "error", "usable"], orient="row")
