"""Look up the probability of the verdict `usable`, by the number of labelled domains and labels.

benchmarks/bench_usable.py simulates it for a grid of domains, labels per domain and mean errors, and writes TABLE.
"""

from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
from scipy.interpolate import RegularGridInterpolator

TABLE = Path(__file__).with_name("usable.csv")
# What the table assumes, and how far it is off otherwise (`make bench-usable ARGS="--errors heavy"`, `one-sided`).
ASSUMES = (
    "These chances assume normally distributed errors, accuracies from 0.15 to 0.85, and the default limits of the "
    "verdict. A few large errors lower a chance by up to 39 points; errors that all have one direction raise it by up "
    "to 53 points. They hold for a single validation."
)


def read_table() -> pl.DataFrame:
    """Return the share of `usable` validations for each mean `error`, number of `domains`, and `labels` per domain."""
    return pl.read_csv(TABLE).sort("error", "domains", "labels")


@cache
def _interpolator() -> tuple[RegularGridInterpolator, list[np.ndarray]]:
    """Return the table as a function of (error, domains, labels), linear between cells, and the axes of its grid."""
    cells = read_table()
    axes = [cells[name].unique().sort().to_numpy() for name in ("error", "domains", "labels")]
    values = cells["usable"].to_numpy().reshape([len(axis) for axis in axes])
    return RegularGridInterpolator(axes, values), axes


def errors() -> list[float]:
    """Return the mean errors on new domains for which the table has cells."""
    return list(map(float, _interpolator()[1][0]))


def probability_of_usable(error: float, domains: int, labels: int) -> float:
    """Return the probability of `usable` for an estimator with mean error `error` and `labels` labels per domain.

    It is 0 if there are fewer domains or labels than in the table; numbers above the table's largest count as that.
    """
    interpolate, (_, least_domains, least_labels) = _interpolator()
    if domains < least_domains[0] or labels < least_labels[0]:
        return 0.0
    return float(interpolate([[error, min(domains, least_domains[-1]), min(labels, least_labels[-1])]])[0])


def prospects(domains: int, labels: int, budget: int) -> pl.DataFrame:
    """Return the probability of `usable` by `domains`, `labels` per domain and mean `error`, first for this choice.

    The other rows have the table's numbers of domains, with as many labels per domain as the budget allows.
    """
    plans = {(domains, labels): None}
    _, (_, table_domains, table_labels) = _interpolator()
    for n in map(int, table_domains):
        labels_each = min(budget // n, labels)
        if labels_each >= table_labels[0]:
            plans[n, labels_each] = None
    rows = []
    for plan in plans:
        for error in errors():
            rows.append((*plan, error, probability_of_usable(error, *plan)))
    return pl.DataFrame(rows, schema=["domains", "labels", "error", "usable"], orient="row")
