"""Improve the estimates of slices and windows with a few labels and the predictions for all responses."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import polars as pl

from entropy_sentinel.features.catalogue import FEATURE_FRAME
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.monitor.reading.problems import Problems
from entropy_sentinel.monitor.reading.times import starts
from entropy_sentinel.monitor.summing.merging import Merged
from entropy_sentinel.monitor.summing.state import State
from entropy_sentinel.statistics.numbers import Numbers
from entropy_sentinel.statistics.prediction_powered import LabelledMean, labelled_mean, prediction_powered_mean
from entropy_sentinel.verbs.inputs import WEIGHT

COLUMNS = {
    "n_labelled": pl.Int64,
    "labelled_accuracy": pl.Float64,
    "improved_accuracy": pl.Float64,
    "improved_lower": pl.Float64,
    "improved_upper": pl.Float64,
    "labels_worth": pl.Float64,
}
# The values of COLUMNS for a slice without labels.
_UNLABELLED: list[int | float | None] = [0, None, None, None, None, None]
# Labels whose weights add up to a smaller share of a slice's responses come from only a part of it, such as one week,
# and do not represent the rest.
LEAST_SHARE = 0.6
# The note about labels that match nothing.
WITHOUT = "labels without an estimated response"


@dataclass(frozen=True)
class Improved:
    """The accuracy of a slice from its labels only, and from labels and predictions together."""

    n_labelled: int
    alone: LabelledMean
    improved: LabelledMean


def improved(
    labels: Sequence[bool | None],
    predicted_on_labelled: Numbers,
    predicted_on_all: Numbers,
    weights: Sequence[float] | None = None,
    level: float = 0.9,
) -> Improved | None:
    """Estimate a slice's accuracy from labels of some responses and predictions for all; None without labels.

    `labels`, `predicted_on_labelled` and `weights` are (n,), `predicted_on_all` is (N,) and includes these n;
    predictions are in [0, 1]. Without weights, or if all are null, all responses were equally likely to be labelled.

    Raises InputError if only some labels have a weight.
    """
    known = np.array([label is not None for label in labels], dtype=bool)
    if not known.any():
        return None
    y = np.array([label for label in labels if label is not None], dtype=float)
    p, everywhere = np.asarray(predicted_on_labelled)[known], np.asarray(predicted_on_all)
    w = None if weights is None else np.array(weights, dtype=float)[known]
    if w is not None and np.isnan(w).any():
        if not np.isnan(w).all():
            raise InputError(
                f"weight: must be set for all labelled responses of a slice, but {np.isnan(w).sum()} have none"
            )
        w = None
    return Improved(len(y), labelled_mean(y, level, w), prediction_powered_mean(y, p, everywhere, level, w))


class Labelled:
    """Labelled responses, and the predictions for all responses in slices with labels.

    `labels` has some columns of RESPONSE, `label`, and `weight`. Labels without an estimated response are counted.
    """

    def __init__(
        self, state: State, labels: pl.DataFrame, merged: Merged, window: str | None, at_random: bool = False
    ) -> None:
        """Match labels with responses.

        Labels need weights unless all responses were equally likely to be labelled (`at_random`), or slices with
        labels are fully labelled. Raises InputError for missing weights.
        """
        self._merged = merged
        key = [name for name in RESPONSE if name in labels.columns]
        if labels.select(key).is_duplicated().any():
            raise InputError(f"labels: {', '.join(key)} must be unique, but several labels share the same value")
        labels = labels.filter(pl.col("label").is_not_null())
        labels = labels.cast({name: FEATURE_FRAME.schema[name] for name in key})
        labels = labels.with_columns(number=pl.int_range(pl.len()))
        if WEIGHT not in labels.columns:
            labels = labels.with_columns(pl.lit(None, pl.Float64).alias(WEIGHT))
        joined = [self._numbered(part.join(labels, on=key), window) for part in state.all_responses()]
        self._labelled = pl.concat(joined) if joined else pl.DataFrame()
        slices = self._labelled["slice"].unique().to_list() if len(self._labelled) else []
        every = [self._numbered(part, window).filter(pl.col("slice").is_in(slices)) for part in state.all_responses()]
        self._every = pl.concat([part.select("slice", "window", "p") for part in every]) if every else pl.DataFrame()
        if not at_random and len(self._labelled) < len(self._every):
            _require_weights(self._labelled)
        there = set(self._labelled["number"].to_list()) if len(self._labelled) else set()
        # The numbers of the labels without an estimated response.
        self.without = frozenset(labels["number"].to_list()) - there

    def note(self, problems: Problems) -> None:
        """Count the labels without an estimated response."""
        if self.without:
            problems.note(WITHOUT, [], len(self.without))

    def of_slices(self, level: float) -> pl.DataFrame:
        """Return the columns COLUMNS for each slice, in order."""
        return self._improved(pl.DataFrame({"slice": range(len(self._merged.slices))}), level)

    def of_windows(self, rows: pl.DataFrame, level: float) -> pl.DataFrame:
        """Return the columns COLUMNS for each row; rows have `slice`, the first (`window_from`) and last `window`."""
        return self._improved(rows.select("slice", "window_from", "window"), level)

    def _numbered(self, part: pl.DataFrame, window: str | None) -> pl.DataFrame:
        return part.with_columns(
            slice=pl.Series(self._merged.slices_of(part), dtype=pl.Int64),
            window=starts(pl.col("grain"), window or "day"),
        )

    def _improved(self, rows: pl.DataFrame, level: float) -> pl.DataFrame:
        if self._labelled.is_empty():
            return pl.DataFrame([_UNLABELLED] * len(rows), schema=COLUMNS, orient="row")
        every, labelled = (frame.partition_by("slice", as_dict=True) for frame in (self._every, self._labelled))
        improvements = []
        for slice_, *when in rows.iter_rows():
            if (here := labelled.get((slice_,))) is None:
                improvements.append(_UNLABELLED)
            else:
                improvements.append(_row(_within(here, *when), _within(every[slice_,], *when), level))
        return pl.DataFrame(improvements, schema=COLUMNS, orient="row")


def _require_weights(labels: pl.DataFrame) -> None:
    """Raise InputError if a label has no weight, because the number of responses it represents is then unknown."""
    if without := labels[WEIGHT].null_count():
        raise InputError(
            f"labels: {without:,} of {len(labels):,} have no '{WEIGHT}' (the number of responses that a label "
            "represents). Keep this column of the file from `sample`, which draws some responses more often "
            "than others. If all responses were equally likely to be labelled, use --labels-at-random "
            "(labels_at_random=True)"
        )


def _within(responses: pl.DataFrame, *when: datetime | None) -> pl.DataFrame:
    """Return the responses from the first to the last window of `when`, those without a time if null; else all."""
    if not when:
        return responses
    first, last = when
    window = pl.col("window")
    return responses.filter(window.is_null() if last is None else window.is_between(first, last))


def _row(labelled: pl.DataFrame, everywhere: pl.DataFrame, level: float) -> list[int | float | None]:
    """Return the values of COLUMNS; the improved accuracy and its limits are null for unrepresentative labels."""
    weights = labelled[WEIGHT]
    accuracies = improved(labelled["label"].to_list(), labelled["p"], everywhere["p"], weights.to_list(), level)
    if accuracies is None:
        return _UNLABELLED
    better = accuracies.improved
    if weights.count() and weights.sum() < LEAST_SHARE * len(everywhere):
        return [accuracies.n_labelled, accuracies.alone.estimate, None, None, None, None]
    numbers = (better.estimate, better.lower, better.upper, better.n_effective)
    return [accuracies.n_labelled, accuracies.alone.estimate, *numbers]
