"""What is known of a slice's responses, in a form that adds up: the sums of parts are those of the whole."""

from collections.abc import Container, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from entropy_sentinel.monitor.catalogue import STATISTICS, Statistic

_PLACES = {name: place for place, name in enumerate(STATISTICS)}
# Sums of more than one number each.
_LISTS = ("values", "products", "histogram")


class Sums(NamedTuple):
    """Sums over the responses of each of n slices.

    `statistics` (n, s) are those of STATISTICS, NaN where a part is not known, whose sum is not known either. `values`
    (n, k) are sums of the estimator's values, `products` (n, k (k + 1) / 2) of the products of two of them, those of
    `pairs(k)`. `histogram` (n, m) counts responses by feature and bin, flat; m is 0 where the estimator's file has no
    bins.
    """

    statistics: np.ndarray
    values: np.ndarray
    products: np.ndarray
    histogram: np.ndarray

    def __len__(self) -> int:
        return len(self.statistics)

    @classmethod
    def zeros(cls, n: int, like: "Sums") -> "Sums":
        """Sums over no responses, with as many values and bins as `like` has."""
        return cls(*(np.zeros((n, one.shape[1]), dtype=one.dtype) for one in like))

    def grouped(self, groups: np.ndarray, n_groups: int) -> "Sums":
        """The sums of groups of slices: row i goes to group `groups[i]`, and nowhere where that is negative."""
        rows = np.flatnonzero(groups >= 0)
        rows = rows[np.argsort(groups[rows], kind="stable")]
        made = Sums.zeros(n_groups, self)
        if len(rows):
            there, begins = np.unique(groups[rows], return_index=True)
            for total, part in zip(made, self, strict=True):
                if part.shape[1]:
                    total[there] = np.add.reduceat(part[rows], begins, axis=0)
        return made

    def add(self, groups: np.ndarray, other: "Sums") -> None:
        """Add the rows of `other` to these, row i to `groups[i]`, and nowhere where that is negative."""
        there, place = np.unique(groups[groups >= 0], return_inverse=True)
        numbers = np.full(len(groups), -1)
        numbers[groups >= 0] = place
        found = other.grouped(numbers, len(there))
        for total, part in zip(self, found, strict=True):
            total[there] += part

    def rows(self, which: np.ndarray) -> "Sums":
        """Those of some slices."""
        return Sums(*(one[which] for one in self))

    def mean(self) -> np.ndarray:
        """(n, k) the mean values; NaN where nothing is estimated."""
        with np.errstate(invalid="ignore", divide="ignore"):
            found: np.ndarray = self.values / self.n_estimated[:, None]
        return found

    @property
    def n_responses(self) -> np.ndarray:
        """(n,) how many responses there are."""
        return self.sum_of("n_responses").astype(np.int64)

    @property
    def n_estimated(self) -> np.ndarray:
        """(n,) how many of them are estimated."""
        return self.sum_of("n_estimated").astype(np.int64)

    @property
    def of_questions(self) -> list[tuple[int, int]]:
        """Of each slice how many questions look ambiguous, and how many could; none where that is not known."""
        counts = np.nan_to_num(np.column_stack([self.sum_of("ambiguous_share"), self.sum_of("n_questions")]))
        return [(ambiguous, n) for ambiguous, n in counts.astype(int).tolist()]

    def sum_of(self, statistic: str) -> np.ndarray:
        """(n,) the sums of a statistic."""
        return self.statistics[:, _PLACES[statistic]]

    def column(self, one: Statistic) -> pl.Series:
        """(n,) what rows say of a statistic: a count, or a share, null where it is of no responses or not known."""
        total = pl.Series(one.name, self.sum_of(one.name)).fill_nan(None)
        if not one.of:
            return total.cast(pl.Int64)
        every = self.sum_of(one.of)
        return total / pl.Series(np.where(every > 0, every, np.nan)).fill_nan(None)


class Partial(NamedTuple):
    """Sums with the slices and windows that they are of: `keys` (n,) rows of text columns and `grain`."""

    keys: pl.DataFrame
    sums: Sums

    @classmethod
    def together(cls, parts: Sequence["Partial"]) -> "Partial":
        """The sums of several, one row per slice and window."""
        keys = pl.concat([part.keys for part in parts])
        sums = Sums(*map(np.concatenate, zip(*(part.sums for part in parts), strict=True)))
        groups, unique = numbered(keys)
        return cls(unique, sums.grouped(groups, len(unique)))

    def frame(self) -> pl.DataFrame:
        """One table of all."""
        found = {one.kept_as: self.sums.sum_of(one.name) for one in STATISTICS.values()}
        lists = {name: getattr(self.sums, name) for name in _LISTS}
        return self.keys.with_columns(
            **{name: pl.Series(one) for name, one in (found | lists).items() if one.ndim == 1 or one.shape[1]}
        )

    @classmethod
    def of(cls, frame: pl.DataFrame, known: Container[str] = STATISTICS) -> "Partial":
        """Back from `frame`, which has the statistics `known`, as they are made now; the others are NaN."""
        unknown, none = np.full(len(frame), np.nan), np.zeros((len(frame), 0), dtype=np.uint32)
        found = [frame[one.kept_as].to_numpy() if one.name in known else unknown for one in STATISTICS.values()]
        lists = [frame[name].to_numpy() if name in frame.columns else none for name in _LISTS]
        return cls(frame.select(pl.col(r"^by\..*$"), "grain"), Sums(np.column_stack(found).astype(float), *lists))


def pairs(k: int) -> list[tuple[int, int]]:
    """Which two of k values a sum of products is of."""
    return [(i, j) for i in range(k) for j in range(i, k)]


def covariance(sums: np.ndarray, products: np.ndarray, n: float) -> np.ndarray:
    """(k, k) the covariances (divided by n - 1) of n responses' values, from their sums (k,) and products."""
    matrix = np.zeros((len(sums), len(sums)))
    for (i, j), product in zip(pairs(len(sums)), products, strict=True):
        matrix[i, j] = matrix[j, i] = product - sums[i] * sums[j] / n
    return matrix / (n - 1)


def numbered(keys: pl.DataFrame) -> tuple[np.ndarray, pl.DataFrame]:
    """For each row the number of its like among the unique ones, (n,), and these, in order of appearance."""
    unique = keys.unique(maintain_order=True)
    return places(keys, unique), unique


def places(keys: pl.DataFrame, among: pl.DataFrame) -> np.ndarray:
    """(n,) the row of `among`, whose rows are unique, that is like each of `keys`; -1 where there is none."""
    found = keys.join(
        among.with_row_index("place"), on=keys.columns, how="left", nulls_equal=True, maintain_order="left"
    )
    return found["place"].cast(pl.Int64).fill_null(-1).to_numpy()
