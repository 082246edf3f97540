"""Sums over the responses of a slice; the sums of a log's parts add up to the sums of the whole."""

from collections.abc import Container, Sequence
from functools import cache, partial
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
import polars as pl

from entropy_sentinel.core.extension_guard import guard_extension
from entropy_sentinel.core.registry_entries import is_built_in
from entropy_sentinel.estimators.estimator_base import Estimator
from entropy_sentinel.estimators.familiarity import Familiarity
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.estimators.training_predictions import NO_PREDICTIONS, predict_responses
from entropy_sentinel.estimators.training_rows import one_thread
from entropy_sentinel.estimators.training_support import Support
from entropy_sentinel.features.hashed_tokens import COLUMN, KIND, count_buckets
from entropy_sentinel.monitor.column_declaration import Statistic
from entropy_sentinel.monitor.reading.dependence import CLUSTER, STRATUM
from entropy_sentinel.monitor.reading.feature_stream import NUMBER_PREFIX, SLICE_PREFIX
from entropy_sentinel.monitor.slice_columns import LISTS, STATISTICS
from entropy_sentinel.monitor.summing.cluster_sums import sum_clusters
from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.signal_families.signal_registry import SIGNALS
from entropy_sentinel.statistics.monitoring.quantiles import N_BINS, assign_bins, histogram_quantiles

# Whether a statistic is one of this package, by its name.
_is_own = cache(partial(is_built_in, "statistics"))
_PLACES = {name: place for place, name in enumerate(STATISTICS)}
# Columns of a response: whether it trained the estimator, and its prediction by an estimator fitted without it.
IS_TRAINING, P_OUT_OF_FOLD = "is_training", "p_out_of_fold"
# Largest number of slices and windows in memory while a file is read: about 30 MB of histograms.
MOST_HELD_ROWS = 20_000


def compute_values(estimator: Estimator, rows: pl.DataFrame) -> np.ndarray:
    """The estimator's values of each response, (n_rows, n_values).

    Their mean over a slice gives its accuracy (`Estimator.accuracies_of`).
    """
    with one_thread():
        return estimator.values(rows)


class SliceSums(NamedTuple):
    """Sums over the responses of each of n slices.

    `statistics` (n, s) are the sums of STATISTICS, NaN if a part's sum is unknown. `values` (n, k) are the sums of the
    estimator's values, and `products` (n, k (k + 1) / 2) the sums of their products in the order of `list_pairs(k)`.
    `histogram` (n, m) counts responses by feature and bin, flattened; m is 0 if the estimator's file has no bins.
    `numbers` (n, c N_BINS) counts the values of c columns by bin (`statistics.quantiles`), flattened.
    `words` (n, 1 + BUCKETS) counts the responses with known words, and those that contain each bucket; (n, 0) if the
    estimator's file has none.
    """

    statistics: np.ndarray
    values: np.ndarray
    products: np.ndarray
    histogram: np.ndarray
    words: np.ndarray
    numbers: np.ndarray

    def __len__(self) -> int:
        return len(self.statistics)

    @classmethod
    def zeros(cls, n: int, like: "SliceSums") -> "SliceSums":
        """Sums over no responses, with as many values and bins as `like`."""
        return cls(*(np.zeros((n, part.shape[1]), dtype=part.dtype) for part in like))

    @classmethod
    def stack(cls, parts: Sequence["SliceSums"]) -> "SliceSums":
        """The sums of the slices of all parts, one below the other."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    def group(self, groups: np.ndarray, n_groups: int) -> "SliceSums":
        """The sums of groups of slices; row i belongs to group `groups[i]`, or to no group if it is negative."""
        rows = np.flatnonzero(groups >= 0)
        rows = rows[np.argsort(groups[rows], kind="stable")]
        totals = SliceSums.zeros(n_groups, self)
        if len(rows):
            present, begins = np.unique(groups[rows], return_index=True)
            for total, part in zip(totals, self, strict=True):
                if part.shape[1]:
                    total[present] = np.add.reduceat(part[rows], begins, axis=0)
        return totals

    def add(self, groups: np.ndarray, sums: "SliceSums") -> None:
        """Add row i of `sums` to row `groups[i]`, or drop row i if `groups[i]` is negative."""
        present, place = np.unique(groups[groups >= 0], return_inverse=True)
        numbers = np.full(len(groups), -1)
        numbers[groups >= 0] = place
        grouped = sums.group(numbers, len(present))
        for total, part in zip(self, grouped, strict=True):
            total[present] += part

    def select(self, rows: np.ndarray) -> "SliceSums":
        """The sums of some slices."""
        return SliceSums(*(part[rows] for part in self))

    def drop_lists(self) -> "SliceSums":
        """The sums without histograms and words, which take most of the memory."""
        none = self.histogram[:, :0]
        return SliceSums(self.statistics, self.values, self.products, histogram=none, words=none, numbers=none)

    def mean(self) -> np.ndarray:
        """The mean values, (n, k), NaN without estimated responses."""
        with np.errstate(invalid="ignore", divide="ignore"):
            means: np.ndarray = self.values / self.n_estimated[:, None]
        return means

    @property
    def n_responses(self) -> np.ndarray:
        """The numbers of responses, (n,)."""
        return self.sum_of("n_responses").astype(np.int64)

    @property
    def n_estimated(self) -> np.ndarray:
        """The numbers of estimated responses, (n,)."""
        return self.sum_of("n_estimated").astype(np.int64)

    @property
    def question_counts(self) -> list[tuple[int, int]]:
        """Each slice's numbers of ambiguous questions and of all questions; 0 if unknown."""
        ambiguous, n = np.nan_to_num(self.sum_of("ambiguous_share")), np.nan_to_num(self.sum_of("n_questions"))
        return list(zip(ambiguous.astype(int).tolist(), n.astype(int).tolist(), strict=True))

    def quantile(self, number: int, share: float) -> np.ndarray:
        """A quantile of the column with this number, (n,), NaN without values."""
        return histogram_quantiles(self.numbers[:, number * N_BINS : (number + 1) * N_BINS], share)

    def sum_of(self, statistic: str) -> np.ndarray:
        """The sums of a statistic, (n,)."""
        return self.statistics[:, _PLACES[statistic]]

    def compute_column(self, statistic: Statistic) -> pl.Series:
        """A statistic, (n,): a count, a sum, or a share; null if unknown, or for a share without responses."""
        total = pl.Series(statistic.name, self.sum_of(statistic.name)).fill_nan(None)
        if not statistic.of:
            return total.cast(pl.Int64) if statistic.name.startswith("n_") else total
        every = self.sum_of(statistic.of)
        return total / pl.Series(np.where(every > 0, every, np.nan)).fill_nan(None)


class KeyedSums(NamedTuple):
    """Sums with their slices and windows: `keys` has n rows of text columns and `grain`."""

    keys: pl.DataFrame
    sums: SliceSums

    @classmethod
    def add_up(cls, parts: Sequence["KeyedSums"]) -> "KeyedSums":
        """Add up several parts; return one row per slice and window."""
        groups, keys = number_rows(pl.concat([part.keys for part in parts]))
        sums = SliceSums.stack([part.sums for part in parts])
        return cls(keys, sums.group(groups, len(keys)))

    def to_frame(self) -> pl.DataFrame:
        """Keys and sums as one table."""
        columns = {statistic.kept_as: pl.Series(self.sums.sum_of(name)) for name, statistic in STATISTICS.items()}
        for name in LISTS:
            numbers = getattr(self.sums, name)
            if numbers.shape[1]:
                columns[name] = pl.Series(numbers)
        return self.keys.with_columns(**columns)

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, known_statistics: Container[str] = STATISTICS) -> "KeyedSums":
        """Read the table that `to_frame` returned; statistics that are not `known_statistics` are NaN."""
        totals = np.full((len(frame), len(STATISTICS)), np.nan)
        for place, (name, statistic) in enumerate(STATISTICS.items()):
            if name in known_statistics and statistic.kept_as in frame.columns:
                totals[:, place] = frame[statistic.kept_as].to_numpy()
            elif statistic.absent_is_zero:
                totals[:, place] = 0
        none = np.zeros((len(frame), 0), dtype=np.uint32)
        lists = [frame[name].to_numpy() if name in frame.columns else none for name in LISTS]
        for place, name in enumerate(LISTS):
            # A file without any estimated response once had whole numbers.
            if name in ("values", "products"):
                lists[place] = lists[place].astype(np.float64, copy=False)
        return cls(frame.select(pl.col(r"^by\..*$"), "grain"), SliceSums(totals, *lists))


def list_pairs(k: int) -> list[tuple[int, int]]:
    """The pairs of k values, in the order of the sums of products."""
    return list(combinations_with_replacement(range(k), 2))


def compute_covariance(sums: np.ndarray, products: np.ndarray, n: float) -> np.ndarray:
    """The covariances (k, k) of n responses' values (denominator n - 1) from their sums (k,) and products."""
    matrix = np.zeros((len(sums), len(sums)))
    for (i, j), product in zip(list_pairs(len(sums)), products, strict=True):
        matrix[i, j] = matrix[j, i] = product - sums[i] * sums[j] / n
    return matrix / (n - 1)


def number_rows(keys: pl.DataFrame) -> tuple[np.ndarray, pl.DataFrame]:
    """Each row's position among the unique rows, (n,), and the unique rows in order of appearance."""
    unique = keys.unique(maintain_order=True)
    return find_places(keys, unique), unique


def find_places(keys: pl.DataFrame, unique_rows: pl.DataFrame) -> np.ndarray:
    """The position of each row of `keys` in `unique_rows`, (n,); -1 if missing."""
    matches = keys.join(
        unique_rows.with_row_index("place"), on=keys.columns, how="left", nulls_equal=True, maintain_order="left"
    )
    return matches["place"].cast(pl.Int64).fill_null(-1).to_numpy()


def select_responses(frame: pl.DataFrame, saved: FittedEstimator) -> pl.DataFrame:
    """The id, keys, cluster, stratum and prediction `p` of each estimated response, to match with labels.

    `p` is null without an estimator. IS_TRAINING says whether a response trained it, and P_OUT_OF_FOLD is then its
    prediction by another one.
    """
    usable = frame.filter(pl.col("excluded").is_null())
    p = pl.Series(predict_responses(saved.estimator, usable) if len(usable) else [], dtype=pl.Float64)
    if not saved.estimator.has_estimates:
        p = p.fill_nan(None)
    is_training, p_out_of_fold = (saved.training or NO_PREDICTIONS).find(usable)
    return usable.select(
        *RESPONSE,
        pl.col(f"^{SLICE_PREFIX}.*$"),
        "grain",
        CLUSTER,
        STRATUM,
        is_training.alias(IS_TRAINING),
        p_out_of_fold.alias(P_OUT_OF_FOLD),
        p=p,
    )


class FrameSums(NamedTuple):
    """The sums of the slices in a frame, and of the clusters within them (`cluster_sums`)."""

    slices: KeyedSums
    clusters: pl.DataFrame


def sum_frame(
    frame: pl.DataFrame, estimator: Estimator, support: Support | None, familiarity: Familiarity | None
) -> FrameSums:
    """The sums by slice and smallest window of a frame of `EstimatorInputs.prepare`, and of the clusters within them.

    Without `support` or `familiarity`, the sums lack histograms or words.
    """
    groups, keys = number_rows(frame.select(pl.col(f"^{SLICE_PREFIX}.*$"), "grain"))
    n = len(keys)
    estimated = frame["excluded"].is_null()
    usable, usable_groups = frame.filter(estimated), groups[estimated.to_numpy()]
    values = estimator.values(usable) if len(usable) else np.zeros((0, count_values(estimator)))
    products = np.column_stack([values[:, i] * values[:, j] for i, j in list_pairs(values.shape[1])])
    histogram = np.zeros((n, 0), dtype=np.uint32)
    if support is not None:
        histogram = support.counts(usable, usable_groups, n).astype(np.uint32)
    words = np.zeros((n, 0), dtype=np.uint32)
    if familiarity is not None:
        alike = pl.when(pl.col(KIND) == familiarity.kind).then(COLUMN)
        words = count_buckets(usable.select(alike).to_series(), usable_groups, n).astype(np.uint32)
    sums = SliceSums(
        statistics=_sum_groups(groups, np.column_stack(compute_statistics(frame)), n),
        values=_sum_groups(usable_groups, values, n),
        products=_sum_groups(usable_groups, products, n),
        histogram=histogram,
        words=words,
        numbers=_count_numbers(frame, groups, n),
    )
    return FrameSums(KeyedSums(keys, sums), sum_clusters(usable, values))


def _sum_groups(groups: np.ndarray, columns: np.ndarray, n: int) -> np.ndarray:
    """The sums of columns, (n_rows, k), by group, (n, k)."""
    # Without rows, NumPy counts in whole numbers.
    totals = [np.bincount(groups, column, minlength=n) for column in columns.T]
    return np.column_stack(totals).astype(np.float64, copy=False)


def _count_numbers(frame: pl.DataFrame, groups: np.ndarray, n: int) -> np.ndarray:
    """The number of responses of each group by bin of each of the c columns with numbers, (n, c N_BINS)."""
    counts = [np.zeros((n, 0), dtype=np.uint32)]
    for column in frame.select(pl.col(f"^{NUMBER_PREFIX}.*$")):
        bins = assign_bins(column.fill_null(np.nan).to_numpy())
        is_in_bin = bins >= 0
        flat = np.bincount(groups[is_in_bin] * N_BINS + bins[is_in_bin], minlength=n * N_BINS)
        counts.append(flat.reshape(n, N_BINS).astype(np.uint32))
    return np.hstack(counts)


def compute_statistics(frame: pl.DataFrame) -> list[np.ndarray]:
    """The values of each statistic, (n_rows,), for the responses in a frame of `EstimatorInputs.prepare`."""
    columns = frame.select(**{name: _cast_values(statistic) for name, statistic in STATISTICS.items() if _is_own(name)})
    extension_columns = [
        _compute_extension_values(statistic, frame) for name, statistic in STATISTICS.items() if not _is_own(name)
    ]
    columns = columns.with_columns(extension_columns)
    values = []
    for name, statistic in STATISTICS.items():
        # Responses that do not count in the denominator do not count in the numerator.
        column = columns[name] * columns[statistic.of] if statistic.of else columns[name]
        values.append(column.to_numpy())
    return values


def _cast_values(statistic: Statistic) -> pl.Expr:
    """The value of each response as a number; null counts as 0."""
    return statistic.each.cast(pl.Float64).fill_null(0.0)


def _compute_extension_values(statistic: Statistic, frame: pl.DataFrame) -> pl.Series:
    """The values of an extension's statistic, (n,); raises ExtensionError if it cannot be computed."""
    what = f"the statistic '{statistic.name}': `each` failed"
    with guard_extension("statistics", statistic.name, what):
        values = frame.select(_cast_values(statistic).alias(statistic.name)).to_series()
        if not statistic.each.meta.root_names():  # a constant
            return frame.select(pl.repeat(values[0], len(frame)).alias(statistic.name)).to_series()
        if len(values) != len(frame):
            raise ValueError(f"must have a value for each of {len(frame)} responses, had {len(values)}")
        return values


class SumsAccumulator:
    """Adds up the frames of a file, in parts of at most MOST_HELD_ROWS slices and windows."""

    def __init__(self) -> None:
        self._waiting: list[KeyedSums] = []
        self._rows = 0

    def add_frame(self, part: KeyedSums) -> KeyedSums | None:
        """Add a frame's sums; return the sums so far and start again if they are too many to hold, else None."""
        self._waiting.append(part)
        self._rows += len(part.keys)
        if self._rows <= MOST_HELD_ROWS:
            return None
        whole = KeyedSums.add_up(self._waiting)
        if len(whole.keys) > MOST_HELD_ROWS // 2:
            self._waiting, self._rows = [], 0
            return whole
        self._waiting, self._rows = [whole], len(whole.keys)
        return None

    def rest(self) -> KeyedSums | None:
        """The remaining sums, or None."""
        return KeyedSums.add_up(self._waiting) if self._waiting else None


def count_values(estimator: Estimator) -> int:
    """The number of values that the estimator computes per response."""
    n_values: int = estimator.values(pl.DataFrame({name: [1.0] for name in SIGNALS})).shape[1]
    return n_values
