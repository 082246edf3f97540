"""Frames of responses to sums: the estimator's values of each, its bins, its slice."""

from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.estimators.estimator import Estimator
from entropy_sentinel.estimators.support import Support
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.monitor.catalogue import STATISTICS
from entropy_sentinel.monitor.labelling.predictions import predictions
from entropy_sentinel.monitor.reading.inputs import BY
from entropy_sentinel.monitor.summing.sums import Partial, Sums, numbered, pairs
from entropy_sentinel.signals.catalogue import SIGNALS

# Slices and windows whose sums are held in memory while a file is read: about 30 MB of histograms.
HELD = 20_000


def responses(frame: pl.DataFrame, estimator: Estimator) -> pl.DataFrame:
    """What labels are put to: of each estimated response what identifies it, its keys, and the prediction `p`."""
    usable = frame.filter(pl.col("excluded").is_null())
    p = pl.Series(predictions(estimator, usable) if len(usable) else [], dtype=pl.Float64)
    return usable.select(*RESPONSE, pl.col(f"^{BY}.*$"), "grain", p=p)


def score(frame: pl.DataFrame, estimator: Estimator, support: Support | None) -> Partial:
    """The sums of the slices in a frame of `inputs`."""
    groups, keys = numbered(frame.select(pl.col(f"^{BY}.*$"), "grain"))
    good = frame["excluded"].is_null()
    usable, of = frame.filter(good), groups[good.to_numpy()]
    if len(usable):
        values = estimator.values(usable)
        values = values[:, None] if values.ndim == 1 else values
    else:
        values = np.zeros((0, n_values(estimator)))
    n = len(keys)

    def total(weights: np.ndarray) -> np.ndarray:
        return np.bincount(of, weights, minlength=n)

    histogram = np.zeros((n, 0), dtype=np.uint32)
    if support is not None:
        histogram = support.counts(usable, of, n).astype(np.uint32)
    sums = Sums(
        np.column_stack([np.bincount(groups, column, n) for column in of_each(frame)]),
        np.column_stack([total(column) for column in values.T]),
        np.column_stack([total(values[:, i] * values[:, j]) for i, j in pairs(values.shape[1])]),
        histogram,
    )
    return Partial(keys, sums)


def of_each(frame: pl.DataFrame) -> list[np.ndarray]:
    """Of each statistic what adds up, (n,): of each response in a frame of `inputs` true or false, or a number."""
    made = {name: one.each.cast(pl.Float64).fill_null(0.0) for name, one in STATISTICS.items()}
    found = frame.select(**made)
    return [(found[name] * found[one.of] if one.of else found[name]).to_numpy() for name, one in STATISTICS.items()]


class Accumulator:
    """Sums of the frames of a file, in parts of at most HELD slices and windows."""

    def __init__(self) -> None:
        self._waiting: list[Partial] = []
        self._rows = 0

    def add(self, part: Partial) -> Partial | None:
        """Add a frame's sums; what is given back is full, and has left."""
        self._waiting.append(part)
        self._rows += len(part.keys)
        if self._rows <= HELD:
            return None
        whole = Partial.together(self._waiting)
        if len(whole.keys) > HELD // 2:
            self._waiting, self._rows = [], 0
            return whole
        self._waiting, self._rows = [whole], len(whole.keys)
        return None

    def rest(self) -> Partial | None:
        """What is left; None where nothing is."""
        return Partial.together(self._waiting) if self._waiting else None


def n_values(estimator: Estimator) -> int:
    """How many values the estimator has for a response."""
    one = estimator.values(pl.DataFrame({name: [1.0] for name in SIGNALS}))
    return 1 if one.ndim == 1 else one.shape[1]


def support_of(about: dict[str, Any]) -> Support | None:
    """What the estimator's file says of its training rows' features; None for a file of an earlier version."""
    return Support.from_dict(about["support"]) if about.get("support") else None
