"""Which of the responses of slices to label, by P(correct): how many of each slice, how many of each stratum, which.

A slice has strata of P(correct), and a stratum as many labels as its size times the standard deviation of a label says
(Neyman 1934): most where P(correct) is near 1/2, for there a label says most.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.statistics.allocation import apportion
from entropy_sentinel.statistics.prediction_powered import binomial_interval, effective_labels

# Strata of a slice: at most so many, and each with room for so many labels.
MOST_STRATA, LABELS_A_STRATUM, FEWEST_IN_STRATUM = 4, 4, 2
# An estimator may be wrong where it is sure: no stratum is taken for surer than an accuracy of this, or 1 less it.
SUREST = 0.95


@dataclass(frozen=True)
class Drawn:
    """The responses of one slice that are to be labelled.

    `rows` are their places in the slice, (n,); `strata` is the stratum of each response of the slice, (n_responses,),
    0 where the model is least likely to be correct; `sizes` and `counts` are the responses and the labels of each
    stratum, (n_strata,).
    """

    rows: np.ndarray
    strata: np.ndarray
    sizes: np.ndarray
    counts: np.ndarray

    @property
    def inclusion(self) -> np.ndarray:
        """The probability with which each chosen response was to be chosen, (n,)."""
        found: np.ndarray = (self.counts / self.sizes)[self.strata[self.rows]]
        return found

    def expected_width(self, p: np.ndarray, level: float) -> float | None:
        """The width of the slice's interval with these labels and P(correct), (n_responses,), if that is calibrated."""
        n, total, mean = int(self.counts.sum()), len(p), float(p.mean())
        if not n:
            return None
        u = self.sizes / self.counts * n / total
        within = np.array([np.mean(p[self.strata == one] * (1 - p[self.strata == one])) for one in range(len(u))])
        right = np.array([np.mean(p[self.strata == one]) for one in range(len(u))])
        about_mean = right * (1 - mean) ** 2 + (1 - right) * mean**2
        left, alone = (float(np.sum(self.counts * u**2 * square)) for square in (within, about_mean))
        uneven = float(np.sum(self.counts * u**3) / n)
        size = effective_labels(n, total, n * mean * (1 - mean), alone, left, uneven, level)
        lower, upper = binomial_interval(mean, size, level)
        return upper - lower


def counts_of(p: np.ndarray, slices: Sequence[np.ndarray], budget: int, per_slice: int) -> np.ndarray:
    """Labels of each slice: as sqrt(size) times the standard deviation of a label (power allocation: Bankier 1988).

    So that small slices become known too, and not the total alone. `p` is (n_responses,), a slice the places of its
    responses. InputError where not every slice can get `per_slice`.
    """
    sizes = [len(place) for place in slices]
    least = np.minimum(per_slice, sizes)
    if least.sum() > budget:
        raise InputError(
            f"budget: {budget} labels are fewer than {per_slice} for each of {len(sizes)} slices, {least.sum()}: raise "
            "it, ask for fewer per slice (--per-slice), or make fewer slices"
        )
    shares = [np.sqrt(len(place)) * _deviation(p[place].mean()) for place in slices]
    return apportion(shares, least, sizes, budget)


def draw(p: np.ndarray, order: np.ndarray, n: int) -> Drawn:
    """`n` of one slice's responses: the first of each stratum by `order`; both are (n_responses,)."""
    strata = _strata(p, n)
    sizes = np.bincount(strata)
    shares = [size * _deviation(p[strata == one]) for one, size in enumerate(sizes)]
    counts = apportion(shares, np.minimum(min(FEWEST_IN_STRATUM, n), sizes), sizes, int(n))
    rows = [np.flatnonzero(strata == one) for one in range(len(sizes))]
    taken = [place[np.argsort(order[place], kind="stable")[:count]] for place, count in zip(rows, counts, strict=True)]
    return Drawn(np.concatenate(taken), strata, sizes, counts)


def _strata(p: np.ndarray, n: int) -> np.ndarray:
    """(n_responses,) the stratum of each, from 0: as many responses in each, where P(correct) tells them apart."""
    count = max(1, min(MOST_STRATA, n // LABELS_A_STRATUM))
    edges = np.unique(np.quantile(p, np.arange(1, count) / count))
    return np.unique(np.searchsorted(edges, p, side="left"), return_inverse=True)[1]


def _deviation(p: np.ndarray | float) -> float:
    """The standard deviation of a label of which P(correct) is known, root mean square."""
    sure = np.clip(p, 1 - SUREST, SUREST)
    return float(np.sqrt(np.mean(sure * (1 - sure))))


def width_alone(p: np.ndarray, n: int, level: float) -> float | None:
    """The width of the interval of n labels, drawn without strata, without predictions."""
    if not n:
        return None
    lower, upper = binomial_interval(float(p.mean()), float(n), level)
    return upper - lower
