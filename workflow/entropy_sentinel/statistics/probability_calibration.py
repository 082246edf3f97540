"""Calibration of probabilities: whether 70 % of the responses with P(correct) 0.7 are correct.

The sums of each of BINS equal parts of [0, 1] add up over domains. The Brier score is the mean squared difference of
probability and truth (Brier 1950). The expected calibration error is the mean distance of a bin's mean probability from
its share of correct responses, weighted by responses (Naeini, Cooper and Hauskrecht 2015).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from entropy_sentinel.statistics.array_types import Numbers

BINS = 10


class Bin(NamedTuple):
    """Responses with a probability from `lower` to `upper`: their number, mean probability, and share correct."""

    lower: float
    upper: float
    n: int
    predicted: float
    correct: float


@dataclass(frozen=True)
class Calibration:
    """The bins with responses, the Brier score, and the expected calibration error, over `n` responses."""

    bins: tuple[Bin, ...]
    n: int
    brier: float
    ece: float


def sum_by_bin(p: Numbers, correct: Numbers) -> list[list[float]]:
    """The sums of responses in each bin, (BINS, 4): number, probabilities, correct, and squared differences."""
    probabilities, right = np.asarray(p, dtype=float), np.asarray(correct, dtype=float)
    place = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    columns = (np.ones(len(right)), probabilities, right, (probabilities - right) ** 2)
    sums_by_column = [np.bincount(place, column, BINS) for column in columns]
    sums: list[list[float]] = np.column_stack(sums_by_column).tolist()
    return sums


def summarise_calibration(domain_sums: Iterable[Sequence[Sequence[float]]]) -> Calibration | None:
    """The calibration from the sums of several domains (`sum_by_bin`), (BINS, 4) each; null without responses."""
    total = sum((np.asarray(bin_, dtype=float) for bin_ in domain_sums), np.zeros((BINS, 4)))
    n = total[:, 0].sum()
    if not n:
        return None
    bins, distance = [], 0.0
    for place, (count, predicted, correct, _) in enumerate(total.tolist()):
        if count:
            bin_ = Bin(place / BINS, (place + 1) / BINS, int(count), predicted / count, correct / count)
            bins.append(bin_)
            distance += bin_.n * abs(bin_.predicted - bin_.correct)
    return Calibration(tuple(bins), int(n), brier=float(total[:, 3].sum() / n), ece=float(distance / n))
