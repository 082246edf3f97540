"""Look up the probability of the verdict `usable`, by the number of labelled domains and labels.

benchmarks/bench_usable.py simulates it for a grid of domains, labels per domain and mean errors, and writes TABLE.
With a judge, labels count as many more (`labels_with_judge`).
"""

import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.interpolate import RegularGridInterpolator
from scipy.special import expit, logit

from entropy_sentinel.estimators.verdict import FEWEST_LABELS

TABLE = Path(__file__).with_name("usable_probability.csv")
# What the table assumes, and how far it is off otherwise (`make bench-usable ARGS="--errors heavy"`, `one-sided`).
ASSUMES = (
    "These chances assume normally distributed errors, accuracies from 0.15 to 0.85, and the default limits of the "
    "verdict. A few large errors lower a chance by up to 39 points; errors that all have one direction raise it by up "
    "to 50 points. They hold for a single validation."
)


def read_table() -> pl.DataFrame:
    """The share of `usable` validations for each mean `error`, number of `domains`, and `labels` per domain."""
    return pl.read_csv(TABLE).sort("error", "domains", "labels")


class _Axes(NamedTuple):
    """The values of the table's columns for which it has cells, ascending."""

    errors: np.ndarray
    domains: np.ndarray
    labels: np.ndarray


@cache
def _make_interpolator(column: str = "usable") -> tuple[RegularGridInterpolator, _Axes]:
    """A column of the table as a function of (error, domains, labels), linear between cells, and its axes."""
    cells = read_table()
    axes = _Axes(*(cells[name].unique().sort().to_numpy() for name in ("error", "domains", "labels")))
    values = cells[column].to_numpy().reshape([len(axis) for axis in axes])
    return RegularGridInterpolator(axes, values), axes


def list_errors() -> list[float]:
    """The mean errors on new domains for which the table has cells."""
    _, axes = _make_interpolator()
    return list(map(float, axes.errors))


def probability_of_usable(error: float, domains: int, labels: int) -> float:
    """The probability of `usable` for an estimator with mean error `error` and `labels` labels per domain.

    It is 0 if there are fewer domains than in the table, or too few labels for a domain to count; numbers above the
    table's largest count as that.
    """
    interpolate, axes = _make_interpolator()
    if domains < axes.domains[0] or labels < FEWEST_LABELS:
        return 0.0
    return float(interpolate([[error, min(domains, axes.domains[-1]), min(labels, axes.labels[-1])]])[0])


# The share of the variance of "correct" within a domain that P(correct) explains; of real domains it is .09 to .24.
EXPLAINED_SHARE = 0.12
# The standard deviation of the logits of a judge's rates between domains.
SPREAD = 0.7
# With a judge: labels and verdicts in a domain. Without: labels, of which fewer do not count.
LABELS_WITH_JUDGE, VERDICTS, _LABELS_ALONE = (10, 15, 20), 200, (20, 30, 40)
# The probability of `usable` for which a budget is named; from which labels are drawn for it; and below which it is not
# worth a line.
PROBABLE, WORTHWHILE, NEGLIGIBLE = 0.8, 0.2, 0.05
# The mean error of an estimator for which the slices are chosen.
TYPICAL_ERROR = 0.04


class JudgeQuality(NamedTuple):
    """A judge's sensitivity and specificity."""

    sensitivity: float
    specificity: float


class LabelCount(NamedTuple):
    """Numbers of domains and of labels in each."""

    domains: int
    labels: int

    @property
    def total(self) -> int:
        """The number of labels."""
        return self.domains * self.labels


@cache
def labels_with_judge(labels: int, judge: JudgeQuality, verdicts: int = VERDICTS) -> float:
    """How many labels of a domain, without a judge, tell as much as `labels` of them with its verdicts.

    It is that of `statistics.witness_powers` for accuracies from .15 to .85 and a P(correct) that explains
    EXPLAINED_SHARE. The judge's rates differ between domains, as in benchmarks/judged_worlds.py: by leniency, skill
    and how hard they are.
    """
    # Leniency and skill are normal: their quadrature nodes, with the accuracies in front, (71, 7, 7).
    nodes, weights = np.polynomial.hermite_e.hermegauss(7)
    weights = weights / weights.sum()
    accuracy, leniency, skill = np.linspace(0.15, 0.85, 71)[:, None, None], nodes[:, None], nodes
    harder = accuracy - 0.5 + SPREAD / 2 * skill
    sensitivity = expit(_compute_logit(judge.sensitivity) + SPREAD * math.sqrt(3 / 4) * leniency + harder)
    specificity = expit(_compute_logit(judge.specificity) - SPREAD * math.sqrt(3 / 4) * leniency + harder)

    def mean(values: np.ndarray) -> float:
        """The mean over domains."""
        return float(weights @ values.mean(axis=0) @ weights)

    # The share of responses that the judge calls correct.
    says = sensitivity * accuracy + (1 - specificity) * (1 - accuracy)
    label_variances = accuracy * (1 - accuracy) * np.ones_like(says)
    # Variances and covariances within domains of a label y, a verdict z and P(correct) p.
    y, z, zy = mean(label_variances), mean(says * (1 - says)), mean((sensitivity + specificity - 1) * label_variances)
    p, zp = EXPLAINED_SHARE * y, EXPLAINED_SHARE * zy
    squares, products = np.array([[p, zp], [zp, z]]), np.array([p, zy])
    powers = np.clip(np.linalg.lstsq(squares, products, rcond=None)[0], 0, 1)
    residual = y - 2 * powers @ products + powers @ squares @ powers
    left = np.array([1 - powers[0], -powers[1]])
    variance = residual / labels + left @ squares @ left / verdicts
    # Labels alone share their responses with the estimate, whose P(correct) explains a part of them.
    return float((y - p) / variance)


def _compute_logit(share: float) -> float:
    """The logit of a share; that of a perfect judge is finite."""
    return float(logit(min(share, 0.9999)))


def probability_with_judge(
    error: float, domains: int, labels: int, judge: JudgeQuality, verdicts: int = VERDICTS
) -> float:
    """The probability of `usable` at a mean `error`, with so many labels and verdicts of this judge per domain.

    It is 0 for numbers that the table lacks, and if the judge sees only the labelled responses and adds nothing:
    callers take the larger one of this and the probability with labels alone.
    """
    interpolate, axes = _make_interpolator("usable_with_judge")
    if domains < axes.domains[0] or labels < LABELS_WITH_JUDGE[0] or verdicts <= labels:
        return 0.0
    n_alone = labels_with_judge(labels, judge, verdicts)
    if n_alone < axes.labels[0]:
        return 0.0
    return float(interpolate([[error, min(domains, axes.domains[-1]), min(n_alone, axes.labels[-1])]])[0])


def labels_for_usable(error: float, judge: JudgeQuality | None = None) -> LabelCount | None:
    """The fewest labels with which `usable` is probable; null if the table has none."""
    _, axes = _make_interpolator()
    enough = []
    for labels in _LABELS_ALONE if judge is None else LABELS_WITH_JUDGE:
        for domains in range(int(axes.domains[0]), int(axes.domains[-1]) + 1):
            if judge is None:
                probability = probability_of_usable(error, domains, labels)
            else:
                probability = probability_with_judge(error, domains, labels, judge)
            if probability >= PROBABLE:
                enough.append(LabelCount(domains, labels))
                break
    return min(enough, key=lambda count: count.total, default=None)


def compute_prospects(
    domains: int, labels: int, budget: int, judge: JudgeQuality, verdicts: int = VERDICTS
) -> pl.DataFrame | None:
    """The probability of `usable` for several plans: `domains` and `labels` in each; this choice is the first.

    A plan has a row per mean `error` of `list_errors`. `usable_with_judge` is the probability with so many `verdicts`
    of this judge per domain, too. The other plans have the table's numbers of domains, with as many labels per domain
    as the budget allows. Plans without a chance have no rows; null if this choice has none.
    """
    plans = [LabelCount(domains, labels)]
    _, axes = _make_interpolator()
    for n in map(int, axes.domains):
        plan = LabelCount(n, min(budget // n, labels))
        if plan.labels >= FEWEST_LABELS and plan not in plans:
            plans.append(plan)
    rows = []
    for plan in plans:
        chances = [_compute_chances(error, plan, judge, verdicts) for error in list_errors()]
        largest_chance = max(chance for pair in chances for chance in pair)
        if largest_chance >= NEGLIGIBLE:
            rows += [(*plan, verdicts, error, *pair) for error, pair in zip(list_errors(), chances, strict=True)]
        elif not rows:
            return None
    schema = ["domains", "labels", "verdicts", "error", "usable", "usable_with_judge"]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _compute_chances(error: float, plan: LabelCount, judge: JudgeQuality, verdicts: int) -> tuple[float, float]:
    """The probabilities of `usable` without the judge, and with it."""
    alone = probability_of_usable(error, *plan)
    return alone, max(alone, probability_with_judge(error, *plan, judge, verdicts))
