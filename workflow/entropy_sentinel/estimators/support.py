"""Whether a slice's features are like those that an estimator was fitted on: elsewhere its estimate is a guess.

The state of a slice is a histogram per watched feature over bins that the training rows set. Histograms of parts of a
slice add up to that of the slice, exactly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

# What is looked at, in this order.
WATCHED: dict[str, pl.Expr] = {name: pl.col(name) for name in ("max", "nll_max", "se_sum", "nll_sum")}
# The quantiles of the training rows between which bins lie.
EDGES = np.array([0.005, *np.arange(1, 20) / 20, 0.995])
N_BINS = len(EDGES) + 1
# 99.9 % quantile of the integral of |Brownian bridge|: sqrt(n) times the distance of n rows from those they were drawn of.
NOISE = 0.85


@dataclass(frozen=True)
class Support:
    """What is kept of the training rows: bins, counts in them, and how far apart training domains lie.

    `edges` (n_features, N_BINS - 1), `training` counts (n_features, N_BINS), `spread` (n_features,), the largest
    distance of a training domain from the others.
    """

    features: tuple[str, ...]
    edges: np.ndarray
    training: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, features: pl.DataFrame, domains: Sequence[str]) -> "Support":
        """The support of training rows, (n_rows,) with the features FEATURES, none null; `domains` is (n_rows,)."""
        values, domains = _values(features), np.asarray(domains)
        edges = np.quantile(values, EDGES, axis=0).T
        placed = _bins(edges, values)
        training, parts = _counts(placed), [_counts(placed[domains == one]) for one in np.unique(domains)]
        apart = [distance(training - part, part) for part in parts] if len(parts) > 1 else [np.zeros(len(edges))]
        return cls(tuple(WATCHED), edges, training, np.max(apart, axis=0))

    def counts(self, features: pl.DataFrame) -> np.ndarray:
        """The state of one slice, (n_features, N_BINS), from its rows; those of parts of a slice add up to its own."""
        return _counts(_bins(self.edges, _values(features)))

    def counts_by(self, features: pl.DataFrame, slices: np.ndarray, n_slices: int) -> np.ndarray:
        """The states of many slices, (n_slices, n_features, N_BINS); `slices` (n_rows,) says whose each row is."""
        return _counts(_bins(self.edges, _values(features)), np.asarray(slices), n_slices)

    def distance(self, counts: np.ndarray) -> np.ndarray:
        """How far slices lie from the training rows, (..., n_features) in [0, 1], from states (..., n_features, N_BINS)."""
        return distance(self.training, counts)

    def flag(self, counts: np.ndarray) -> str | None:
        """Why a slice is outside the support of the training rows, from its state; None where it is not."""
        return self.flags(counts[None])[0]

    def flags(self, counts: np.ndarray) -> list[str | None]:
        """`flag` of many slices, from their states (n_slices, n_features, N_BINS); None for one without rows."""
        n = counts[:, 0].sum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.distance(counts)
            excess = found - np.maximum(self.spread, 0) - NOISE / np.sqrt(n)[:, None]
        return [
            f"{self.features[one.argmax()]} lies outside the training rows" if rows and one.max() > 0 else None
            for one, rows in zip(excess, n, strict=True)
        ]

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "features": list(self.features),
            "edges": self.edges.tolist(),
            "training": self.training.tolist(),
            "spread": self.spread.tolist(),
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> "Support":
        """Read what `as_dict` gave."""
        arrays = {name: np.array(kept[name]) for name in ("edges", "training", "spread")}
        return cls(tuple(kept["features"]), **arrays)


def distance(reference: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Wasserstein-1 distance of two histograms over the same bins, (..., n_bins) counts each.

    A bin stands at the mean rank, in [0, 1], of the reference's rows in it.
    """
    p, q = (one / one.sum(axis=-1, keepdims=True) for one in (reference, counts))
    below_p, below_q = p.cumsum(axis=-1), q.cumsum(axis=-1)
    ranks = below_p - p / 2
    return (np.abs(below_q - below_p)[..., :-1] * np.diff(ranks, axis=-1)).sum(axis=-1)


def _values(features: pl.DataFrame) -> np.ndarray:
    """What is watched of each row, (n_rows, n_features)."""
    return features.select(**WATCHED).to_numpy()


def _bins(edges: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The bin of each value, (n_rows, n_features); an edge belongs to the bin above it."""
    return np.column_stack(
        [np.searchsorted(edge, column, "right") for edge, column in zip(edges, values.T, strict=True)]
    )


def _counts(bins: np.ndarray, slices: np.ndarray | int = 0, n_slices: int | None = None) -> np.ndarray:
    """How many rows lie in each bin, (n_features, N_BINS), or (n_slices, n_features, N_BINS)."""
    n_features = bins.shape[1]
    place = (np.broadcast_to(slices, len(bins))[:, None] * n_features + np.arange(n_features)) * N_BINS + bins
    size = (n_slices or 1) * n_features * N_BINS
    found = np.bincount(place.ravel(), minlength=size).reshape(-1, n_features, N_BINS)
    return found[0] if n_slices is None else found
