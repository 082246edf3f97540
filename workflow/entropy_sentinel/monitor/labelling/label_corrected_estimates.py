"""Improve the estimates of slices and windows with a few labels and the predictions for all responses."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np
import polars as pl

from entropy_sentinel.api.input_checks import WEIGHT
from entropy_sentinel.api.label_merging import check_conflicts
from entropy_sentinel.api.witness_reading import Witness
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.features.feature_registry import FEATURE_FRAME
from entropy_sentinel.monitor.labelling.monitor_witnesses import (
    LABEL_NUMBER,
    LEAST_SHARE,
    PLACE,
    Strata,
    WitnessedResponses,
    number_clusters,
    require_weights,
    value_column,
)
from entropy_sentinel.monitor.labelling.training_labels import find_unpredicted_slices, note_training, use_out_of_fold
from entropy_sentinel.monitor.labelling.witness_table import WitnessQuality, measure_witness
from entropy_sentinel.monitor.reading.dependence import CLUSTER, STRATUM
from entropy_sentinel.monitor.reading.problem_collection import Problems
from entropy_sentinel.monitor.reading.time_zones import DTYPE
from entropy_sentinel.monitor.reading.window_times import find_window_starts
from entropy_sentinel.monitor.summing.monitor_state import State
from entropy_sentinel.monitor.summing.slice_sums import IS_TRAINING, P_OUT_OF_FOLD
from entropy_sentinel.monitor.summing.sum_merging import SliceTable
from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.statistics.array_types import Numbers
from entropy_sentinel.statistics.monitoring.prediction_powered import (
    LabelledMean,
    labelled_mean,
    prediction_powered_mean,
)

COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "n_labelled": pl.Int64,
    "labelled_accuracy": pl.Float64,
    "improved_accuracy": pl.Float64,
    "improved_lower": pl.Float64,
    "improved_upper": pl.Float64,
    "labels_worth": pl.Float64,
    "n_judged": pl.Int64,
    "last_labelled": DTYPE,
}
# The values of COLUMNS for a slice without labels.
_UNLABELLED_ROW: list[int | float | datetime | None] = [0, None, None, None, None, None, 0, None]
LAST_LABELLED = "last_labelled"


@dataclass(frozen=True)
class ImprovedAccuracy:
    """The accuracy of a slice from its labels only, and from labels and predictions together."""

    n_labelled: int
    alone: LabelledMean
    improved: LabelledMean


def improve_accuracy(
    labels: Sequence[bool | None],
    predicted_on_labelled: Numbers,
    predicted_on_all: Numbers,
    weights: Sequence[float] | None = None,
    level: float = 0.9,
    clusters: Numbers | None = None,
) -> ImprovedAccuracy | None:
    """Estimate a slice's accuracy from labels of some responses and predictions for all; None without labels.

    `labels`, `predicted_on_labelled` and `weights` are (n,), `predicted_on_all` is (N,) and includes these n;
    predictions are in [0, 1]. Without weights, or if all are null, all responses were equally likely to be labelled.
    `clusters`, (n,), are the numbers of clusters of dependent responses; by default all are independent.

    Raises InputError if only some labels have a weight.
    """
    has_label = np.array([label is not None for label in labels], dtype=bool)
    if not has_label.any():
        return None
    y = np.array([label for label in labels if label is not None], dtype=float)
    p, all_predictions = np.asarray(predicted_on_labelled)[has_label], np.asarray(predicted_on_all)
    w = None if weights is None else np.array(weights, dtype=float)[has_label]
    if w is not None and np.isnan(w).any():
        if not np.isnan(w).all():
            raise InputError(
                f"weight: must be set for all labelled responses of a slice, but {np.isnan(w).sum()} have none"
            )
        w = None
    label_clusters = None if clusters is None else np.asarray(clusters)[has_label]
    improved_mean = prediction_powered_mean(y, p, all_predictions, level, w, clusters=label_clusters)
    return ImprovedAccuracy(len(y), labelled_mean(y, level, w, label_clusters), improved_mean)


class LabelledResponses:
    """Labelled responses, and the predictions for all responses in slices with labels.

    `labels` has some columns of RESPONSE, `label`, and `weight`. Labels without an estimated response are counted.
    """

    def __init__(
        self,
        state: State,
        labels: pl.DataFrame,
        merged: SliceTable,
        window: str | None,
        at_random: bool = False,
        witnesses: Sequence[Witness] = (),
        has_strata: bool = False,
    ) -> None:
        """Match labels and what witnesses (judges or second models) say with responses.

        Labels need weights unless all responses were equally likely to be labelled (`at_random`), or slices with labels
        are fully labelled. The same holds for witnesses. Raises InputError for missing weights. With `has_strata`,
        labels were drawn by other columns than the slices, which are the responses' strata.
        """
        self.people, self.witnesses = labels, tuple(witnesses)
        self._has_strata = has_strata
        self._merged = merged
        # The last windows, and their strata.
        self._latest: tuple[tuple[datetime | None, ...], Strata] | None = None
        self._witnessed = WitnessedResponses(witnesses, at_random)
        # How many responses of the logs each witness has seen.
        self._n_seen = np.zeros(len(witnesses), dtype=int)
        asked = labels  # also those without a label
        labels, key = prepare_labels(labels, "labels")
        labels = labels.with_columns(number=pl.int_range(pl.len()))
        if has_strata:
            self._drawn = self._join_responses(state, asked, key, window)
        matched: list[pl.DataFrame] = []
        for part in state.all_responses():
            matched.append(self._number_rows(part.join(labels, on=key), window).select("slice", "number"))
            self._n_seen += self._witnessed.count_seen(part)
        # The responses are read again, to keep those of slices with labels.
        slices = [number for part in matched for number in part["slice"].unique()]
        matched_parts: list[pl.DataFrame] = []
        for part in state.all_responses():
            part = self._number_rows(part, window)
            if not has_strata:  # whether labels represent a stratum shows in all slices
                part = part.filter(pl.col("slice").is_in(slices))
            part = self._witnessed.join(part.join(labels.drop("number"), on=key, how="left", maintain_order="left"))
            matched_parts.append(
                part.select(
                    *("slice", "window", "grain", "p", IS_TRAINING, P_OUT_OF_FOLD, CLUSTER, STRATUM, "label", WEIGHT),
                    *self._witnessed.columns,
                )
            )
        self._responses = (
            self._witnessed.combine_samples(pl.concat(matched_parts)).drop("grain") if matched_parts else pl.DataFrame()
        )
        self._labelled = pl.DataFrame()
        if slices:
            is_label = pl.col("label").is_not_null()
            self._responses = use_out_of_fold(
                self._responses, find_unpredicted_slices(self._responses.filter(is_label))
            )
            self._responses = self._responses.with_columns(
                pl.when(is_label).then(is_label.cum_sum() - 1).alias(LABEL_NUMBER)
            )
            self._labelled = self._responses.filter(is_label)
            if not at_random and len(self._labelled) < len(self._responses):
                require_weights(self._labelled)
            self._witnessed.use_labels(self._labelled, self._responses)
        # The numbers of the labels without an estimated response.
        self.unmatched = frozenset(labels["number"].to_list())
        self.unmatched -= frozenset(number for part in matched for number in part["number"])

    def _join_responses(self, state: State, asked: pl.DataFrame, key: list[str], window: str | None) -> pl.DataFrame:
        """The responses that somebody was asked to label, also those without a label, with their weights."""
        asked = asked.cast({column: FEATURE_FRAME.schema[column] for column in key}).unique(key)
        parts = [
            self._number_rows(part.join(asked.select(*key, WEIGHT), on=key), window) for part in state.all_responses()
        ]
        return pl.concat(parts) if parts else asked.clear()

    def measure_witnesses(self, level: float) -> list[WitnessQuality]:
        """How good each witness (judge or second model) is by the labels, with intervals of `level`; and its power."""
        powers = self._powers()
        qualities = []
        for number, witness in enumerate(self._witnessed.witnesses):
            both = self._labelled
            if len(both):
                both = both.drop_nulls(value_column(number))
                labels, values = both["label"].cast(pl.Float64), both[value_column(number)]
            else:
                labels = values = pl.Series(dtype=pl.Float64)
            n_seen = int(self._n_seen[number])
            qualities.append(measure_witness(witness, labels, values, n_seen, power=powers.get(number), level=level))
        return qualities

    def _powers(self) -> dict[int, float]:
        """The power of each witness (judge or second model) that counts in a slice, by its number.

        A power is the weight of its values, from 0 (useless) to 1. A power depends on the other witnesses that count in
        a slice. It is that of the set of witnesses whose slices have the most labels together.
        """
        n_labels = Counter[tuple[int, ...]]()
        for slice_responses in self._responses.partition_by("slice") if len(self._labelled) else ():
            part = _LabelledSlice.from_responses(slice_responses, self._select_strata() if self._has_strata else None)
            if part is not None and part.is_representative:
                chosen = self._witnessed.choose(part.labelled, part.responses, part.strata)
                n_labels[tuple(chosen)] += part.n_labelled
        powers: dict[int, float] = {}
        for numbers, _ in n_labels.most_common():
            measured = self._witnessed.measure_powers(numbers) if numbers else None
            for place, number in enumerate(numbers):
                if measured is not None:
                    powers.setdefault(number, float(measured.pooled[place]))
        return powers

    def count_drawn(self) -> dict[str, int]:
        """How many responses the files of labels by people name, `n`, and how many have one, `n_labelled`."""
        key = [column for column in RESPONSE if column in self.people.columns]
        people = self.people.group_by(key).agg(pl.col("label").is_not_null().any()) if key else self.people
        return {"n": len(people), "n_labelled": int(people["label"].sum() or 0)}

    def note_training(self, problems: Problems, has_record: bool) -> None:
        """Count the labels that may have trained the estimator; `has_record` says whether its file would tell."""
        note_training(problems, self._labelled, has_record)

    def make_slice_columns(self, level: float) -> pl.DataFrame:
        """The columns COLUMNS for each slice, in order."""
        return self._make_columns(pl.DataFrame({"slice": range(len(self._merged.slices))}), level)

    def make_window_columns(self, rows: pl.DataFrame, level: float) -> pl.DataFrame:
        """The columns COLUMNS for each row; rows have `slice`, the first (`window_from`) and last `window`."""
        return self._make_columns(rows.select("slice", "window_from", "window"), level)

    def _number_rows(self, part: pl.DataFrame, window: str | None) -> pl.DataFrame:
        """The responses with the number of their slice, the start of their window, and a prediction `p`."""
        return part.with_columns(
            slice=pl.Series(self._merged.number_slices(part), dtype=pl.Int64),
            window=find_window_starts(pl.col("grain"), window or "day"),
            # Without an estimator there are no predictions, and a constant has the power 0.
            p=pl.col("p").fill_null(0.0),
        )

    def _make_columns(self, rows: pl.DataFrame, level: float) -> pl.DataFrame:
        """The COLUMNS of each row: the accuracy that the slice's own labels correct, null without labels."""
        if self._labelled.is_empty():
            return pl.DataFrame([_UNLABELLED_ROW] * len(rows), schema=COLUMNS, orient="row")
        responses_by_slice = self._responses.partition_by("slice", as_dict=True)
        labelled = set(self._labelled["slice"])
        improvements = []
        for slice_, *windows in rows.iter_rows():
            part = None
            if slice_ in labelled:
                strata = self._select_strata(*windows) if self._has_strata else None
                part = _LabelledSlice.from_responses(_select_windows(responses_by_slice[slice_,], *windows), strata)
            improvements.append(_UNLABELLED_ROW if part is None else self._make_row(part, level))
        return pl.DataFrame(improvements, schema=COLUMNS, orient="row")

    def _select_strata(self, *windows: datetime | None) -> Strata:
        """The drawn and all responses of all slices in the windows, to weigh labels by the strata of their draw.

        They are kept while the windows are the same.
        """
        if self._latest is None or self._latest[0] != windows:
            self._latest = (
                windows,
                Strata(_select_windows(self._drawn, *windows), _select_windows(self._responses, *windows)),
            )
        return self._latest[1]

    def _make_row(self, part: "_LabelledSlice", level: float) -> list[int | float | datetime | None]:
        """The values of COLUMNS; the improved accuracy and its limits are null for unrepresentative labels."""
        labelled, responses = part.labelled, part.responses
        n_judged = self._witnessed.count_judged(responses)
        accuracies = improve_accuracy(
            labelled["label"].to_list(),
            predicted_on_labelled=labelled["p"],
            predicted_on_all=responses["p"],
            weights=labelled[WEIGHT].to_list(),
            level=level,
            clusters=number_clusters(labelled),
        )
        assert accuracies is not None, "a slice has labels"
        alone = accuracies.alone.estimate
        if not part.is_representative:
            return [part.n_labelled, alone, None, None, None, None, n_judged, part.newest]
        improved_mean = self._witnessed.mean(labelled, responses, level, part.strata) or accuracies.improved
        numbers = (improved_mean.estimate, improved_mean.lower, improved_mean.upper, improved_mean.n_effective)
        return [part.n_labelled, alone, *numbers, n_judged, part.newest]


class _LabelledSlice(NamedTuple):
    """Some responses of a slice, and the labelled ones among them with the weights that count.

    `strata` are null if they do not weigh the labels. `n_labelled` and the `newest` window are those of all labels.
    """

    labelled: pl.DataFrame
    responses: pl.DataFrame
    strata: Strata | None
    is_representative: bool
    n_labelled: int
    newest: datetime | None

    @classmethod
    def from_responses(cls, responses: pl.DataFrame, strata: Strata | None) -> "_LabelledSlice | None":
        """The labels of some responses; null without any."""
        responses = responses.with_columns(pl.int_range(pl.len()).alias(PLACE))
        labelled = responses.filter(pl.col("label").is_not_null())
        if labelled.is_empty():
            return None
        n_labelled, newest = len(labelled), labelled.select(pl.col("window").max()).item()
        weights, is_representative = labelled[WEIGHT], True
        if strata is not None and weights.count():
            weighted = strata.weigh(labelled, responses)
            is_representative = weighted is not None
            labelled = labelled if weighted is None else weighted
        else:
            strata = None
            is_representative = not weights.count() or weights.sum() >= LEAST_SHARE * len(responses)
        return cls(labelled, responses, strata, is_representative, n_labelled, newest)


def prepare_labels(labels: pl.DataFrame, name: str) -> tuple[pl.DataFrame, list[str]]:
    """Labels that are not null, one per response, with a weight that may be null; and the columns that identify these.

    Raises InputError, which begins with `name`, for labels of one response that differ.
    """
    key = [column for column in RESPONSE if column in labels.columns]
    check_conflicts(labels, key, name)
    labels = labels.filter(pl.col("label").is_not_null()).unique(key, keep="last", maintain_order=True)
    labels = labels.cast({column: FEATURE_FRAME.schema[column] for column in key})
    if WEIGHT not in labels.columns:
        labels = labels.with_columns(pl.lit(None, pl.Float64).alias(WEIGHT))
    return labels.select(*key, "label", WEIGHT), key


def _select_windows(responses: pl.DataFrame, *windows: datetime | None) -> pl.DataFrame:
    """The responses from the first to the last of two `windows`, or those without a time if they are null.

    Without `windows`, all responses.
    """
    if not windows:
        return responses
    first, last = windows
    window = pl.col("window")
    return responses.filter(window.is_null() if last is None else window.is_between(first, last))
