"""Decide whether a slice's responses are like those that an estimator was fitted on.

It compares the largest entropy of each response, `max`. A slice is in support if a mixture of the training domains has
its distribution. Otherwise its distance from the nearest mixture counts, times 4 p (1 - p), because an estimate p near
0 or 1 is usually right anyway. The state of a slice is a histogram of 14 counts; those of its parts add up exactly.

Measured on real answers to other kinds of question (`make bench-familiar`), it finds 0 to 36 % of the errors above
0.25, most of them in large slices and with few training domains. It flags up to 19 % of the good estimates. Mixtures of
training domains were never flagged. The flag `unfamiliar` (`familiarity`) finds kinds of question that no labelled
domain is like; this one finds responses with unusual entropies, whatever their words. Feature, weight and threshold
were chosen on the demo's models. A threshold of .03 to .05, learned on other models and domains (`make bench-learned`),
would find more errors of real models. In simulated worlds it flags a tenth more of the good cases and finds nothing
more, so it is not used.

No distance detects errors on responses that look like the training responses. Another temperature does not change the
largest entropies of a training domain: the forest is then off for its own domains (0 % of cases at 0.5, as fitted, 9 %
at 0.9, 16 % at 1.2), and nothing is flagged. In simulated worlds whose domains have different scales of entropy,
unrelated to accuracy, 25 % of the bad and 17 % of the good cases are flagged (2 domains): hardly better than chance.
"""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import polars as pl
from pydantic import AfterValidator, Field, with_config
from scipy.optimize import nnls

from entropy_sentinel.estimators.field_types import NAMED_FIELDS, ArrayOf, FiniteNumber, Whole
from entropy_sentinel.statistics.array_types import Names

FEATURE = "max"
# Bins are between these quantiles of the training rows; the outer two bins are unbounded.
QUANTILES = (0.0, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1.0)
N_BINS = len(QUANTILES) + 1
# The 99 % quantile of sqrt(n) times the distance of n rows from their own distribution (Smirnov 1948).
NOISE = 1.628
# The threshold of the flag: distance times 4 p (1 - p), where p is the estimate.
LEAST_RISK = 0.2
# The weight of the equation that makes a mixture's shares add up to 1 in a nonnegative regression.
_HEAVY = 1e3


class SupportComparison(NamedTuple):
    """Slices compared with the nearest mixture of training domains; (n_slices,) each, NaN for a slice without rows.

    `distance` is 0 for equal distributions and 1 for disjoint ones; it is negative if the slice has smaller entropies.
    `noise` is the 99th percentile of the distance for slices drawn from that mixture.
    """

    distance: np.ndarray
    noise: np.ndarray


def _check_edges(edges: list[float]) -> list[float]:
    if (np.diff(edges) < 0).any():
        raise ValueError("must be edges, smallest first")
    return edges


def _check_counts(counts: list[int]) -> list[int]:
    if not any(counts):
        raise ValueError("must be counts that are not all 0")
    return counts


_Edges = Annotated[
    list[FiniteNumber], Field(min_length=N_BINS - 1, max_length=N_BINS - 1), AfterValidator(_check_edges)
]
_Counts = Annotated[list[Whole], Field(min_length=N_BINS, max_length=N_BINS), AfterValidator(_check_counts)]


@with_config(NAMED_FIELDS)
@dataclass(frozen=True)
class Support:
    """Histograms of FEATURE over the training rows.

    `edges` (N_BINS - 1,) are those of the bins; `domains` (n_domains, N_BINS) are the numbers of rows in each bin.
    """

    edges: Annotated[np.ndarray, ArrayOf(_Edges, float)]
    domains: Annotated[np.ndarray, ArrayOf(Annotated[list[_Counts], Field(min_length=1)], np.int64)]

    @classmethod
    def fit(cls, features: pl.DataFrame, domains: Names) -> "Support":
        """The support of training rows, (n_rows,), at least one; `domains` (n_rows,) gives their domains."""
        edges = np.quantile(features[FEATURE].to_numpy(), QUANTILES)
        edges[-1] = np.nextafter(edges[-1], np.inf)  # the largest value is not beyond the training rows
        names, domain_numbers = np.unique(np.asarray(domains, dtype=str), return_inverse=True)
        return cls(edges, _count_bins(edges, features, domain_numbers, len(names)))

    def counts(self, features: pl.DataFrame, slices: np.ndarray, n_slices: int) -> np.ndarray:
        """The numbers of rows of slices in each bin, (n_slices, N_BINS), which a state of the monitor keeps.

        `slices` (n_rows,) gives the slice of each row, from 0.
        """
        return _count_bins(self.edges, features, slices, n_slices)

    def compare(self, counts: np.ndarray) -> SupportComparison:
        """How far slices lie from the nearest mixture of training domains, from their `counts` (n_slices, N_BINS).

        The distance is that of Kolmogorov and Smirnov at the edges of the bins: the largest difference of the
        cumulative shares. The nearest mixture minimises the squared differences.
        """
        cumulative, n_of = _cumulative_shares(self.domains), self.domains.sum(axis=1)
        distance, noise = np.empty(len(counts)), np.empty(len(counts))
        for place, (below, n) in enumerate(zip(_cumulative_shares(counts), counts.sum(axis=-1), strict=True)):
            distance[place], noise[place] = _compare_slice(cumulative, n_of, below, n)
        return SupportComparison(distance, noise)

    def flags(self, counts: np.ndarray, estimated: np.ndarray) -> list[str | None]:
        """Why each slice is outside the support; None for a slice inside it or without rows.

        `counts`, (n_slices, N_BINS), are their numbers of rows in each bin, and `estimated`, (n_slices,), their
        estimated accuracies. A slice is outside if its distance exceeds the noise, unless its estimate is so near 0 or
        1 that it matters little.
        """
        compared, p = self.compare(counts), np.asarray(estimated, dtype=float)
        apart = np.abs(compared.distance)
        outside = (apart > compared.noise) & (apart * 4 * p * (1 - p) > LEAST_RISK)
        reasons: list[str | None] = [None] * len(outside)
        for place in np.flatnonzero(outside):
            reasons[place] = _explain_distance(compared.distance[place])
        return reasons

    def to_dict(self) -> dict[str, Any]:
        """The summary as JSON."""
        return {"feature": FEATURE, "edges": self.edges.tolist(), "domains": self.domains.tolist()}


def _count_bins(edges: np.ndarray, features: pl.DataFrame, slices: np.ndarray, n_slices: int) -> np.ndarray:
    """The number of rows of each slice in each bin, (n_slices, N_BINS); an edge belongs to the bin above it."""
    bins = np.searchsorted(edges, features[FEATURE].to_numpy(), side="right")
    places = np.asarray(slices, dtype=np.int64) * N_BINS + bins
    return np.bincount(places, minlength=n_slices * N_BINS).reshape(n_slices, N_BINS)


def _cumulative_shares(counts: np.ndarray) -> np.ndarray:
    """The share of rows in each bin or below it, (..., N_BINS); NaN without rows."""
    with np.errstate(invalid="ignore"):
        below: np.ndarray = counts.cumsum(axis=-1) / counts.sum(axis=-1, keepdims=True)
        return below


def _compare_slice(domains: np.ndarray, n_of: np.ndarray, below: np.ndarray, n: int) -> tuple[float, float]:
    """The distance of a slice from the nearest mixture of domains, and its noise (SupportComparison).

    `domains` (n_domains, N_BINS) and `below` (N_BINS,) are cumulative shares of the domains and the slice, `n_of`
    (n_domains,) and `n` their numbers of rows.
    """
    if not n:
        return np.nan, np.nan
    # The last bin's equation is 1 for each domain and the slice: the shares add up to 1.
    weights = np.append(np.ones(N_BINS - 1), _HEAVY)
    shares, _ = nnls((domains * weights).T, below * weights)
    shares /= shares.sum()
    apart = shares @ domains - below
    return apart[np.abs(apart).argmax()], NOISE * np.sqrt(1 / n + (shares**2 / n_of).sum())


def _explain_distance(distance: float) -> str:
    """The reason of the flag of a slice outside the support."""
    size = "larger" if distance > 0 else "smaller"
    return (
        f"its entropies are {size} than in any mixture of the training domains (distance {abs(distance):.2f} "
        "of 1): the estimate may be far off"
    )
