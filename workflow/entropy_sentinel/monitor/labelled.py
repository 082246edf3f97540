"""What a few labels make of the estimates, by slice and by slice and window, with the predictions of all responses."""

from collections.abc import Callable, Iterable

import numpy as np
import polars as pl

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.feature import FEATURE_FRAME
from entropy_sentinel.monitor.merging import Merged
from entropy_sentinel.monitor.problems import Problems
from entropy_sentinel.monitor.sampling import improved
from entropy_sentinel.monitor.times import starts
from entropy_sentinel.verbs.reading import KEY, WEIGHT

COLUMNS = {
    "n_labelled": pl.Int64,
    "true_accuracy": pl.Float64,
    "improved_accuracy": pl.Float64,
    "improved_lower": pl.Float64,
    "improved_upper": pl.Float64,
}

# Labels whose weights add up to less than this share of a slice's responses were drawn from a part of it, such as one
# of its weeks, and say little of the rest.
LEAST_SHARE = 0.6

# What gives the estimated responses of all files, part by part, as often as it is called.
Responses = Callable[[], Iterable[pl.DataFrame]]


class Labelled:
    """Labelled responses of slices, and the predictions of all responses of slices that have some.

    `labels` has some of KEY, `label`, and perhaps `weight`. Labels without an estimated response are counted.
    """

    def __init__(self, responses: Responses, labels: pl.DataFrame, merged: Merged, window: str | None) -> None:
        self._merged = merged
        key = [name for name in KEY if name in labels.columns]
        if labels.select(key).is_duplicated().any():
            raise InputError(f"labels: {', '.join(key)} must be there once each; they are there with several labels")
        labels = labels.filter(pl.col("label").is_not_null()).cast({name: FEATURE_FRAME.schema[name] for name in key})
        labels = labels.with_columns(number=pl.int_range(pl.len()))
        if WEIGHT not in labels.columns:
            labels = labels.with_columns(pl.lit(None, pl.Float64).alias(WEIGHT))
        found = [self._numbered(part.join(labels, on=key), window) for part in responses()]
        self._labelled = pl.concat(found) if found else pl.DataFrame()
        slices = self._labelled["slice"].unique().to_list() if len(self._labelled) else []
        every = [self._numbered(part, window).filter(pl.col("slice").is_in(slices)) for part in responses()]
        self._every = pl.concat([part.select("slice", "window", "p") for part in every]) if every else pl.DataFrame()
        self.n_without = len(labels) - (self._labelled["number"].n_unique() if len(self._labelled) else 0)

    def note(self, problems: Problems) -> None:
        """Count the labels that there is no estimated response for."""
        if self.n_without:
            problems.note("labels without an estimated response", [], self.n_without)

    def of_slices(self, level: float) -> pl.DataFrame:
        """The columns COLUMNS for each slice, in their order."""
        return self._improved(pl.DataFrame({"slice": range(len(self._merged.slices))}), level)

    def of_windows(self, level: float) -> pl.DataFrame | None:
        """The columns COLUMNS for each slice and window, in their order."""
        return None if self._merged.windows is None else self._improved(self._merged.windows, level)

    def _numbered(self, part: pl.DataFrame, window: str | None) -> pl.DataFrame:
        return part.with_columns(
            slice=pl.Series(self._merged.slices_of(part), dtype=pl.Int64),
            window=starts(pl.col("grain"), window or "day"),
        )

    def _improved(self, rows: pl.DataFrame, level: float) -> pl.DataFrame:
        if self._labelled.is_empty():
            return pl.DataFrame([[0, None, None, None, None]] * len(rows), schema=COLUMNS, orient="row")
        on = rows.columns
        every = {key: part["p"].to_numpy() for key, part in self._every.partition_by(on, as_dict=True).items()}
        labelled = self._labelled.partition_by(on, as_dict=True)
        return pl.DataFrame(
            [_row(labelled.get(key), every.get(key), level) for key in rows.iter_rows()], schema=COLUMNS, orient="row"
        )


def _row(labelled: pl.DataFrame | None, everywhere: np.ndarray | None, level: float) -> list[int | float | None]:
    """Numbers of COLUMNS, the improved ones null where the labels do not stand for the slice."""
    if labelled is None or everywhere is None:
        return [0, None, None, None, None]
    found = improved(labelled["label"].to_list(), labelled["p"], everywhere, labelled[WEIGHT].to_list(), level)
    better, weights = found.improved, labelled.filter(pl.col("label").is_not_null())[WEIGHT]
    if weights.count() and weights.sum() < LEAST_SHARE * len(everywhere):
        return [found.n_labelled, found.alone.estimate, None, None, None]
    return [found.n_labelled, found.alone.estimate, better.estimate, better.lower, better.upper]
