"""Improve the estimates of slices and windows with a few labels and the predictions for all responses."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.features.catalogue import FEATURE_FRAME
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.monitor.labelling.strata import weigh_by_strata
from entropy_sentinel.monitor.reading.clusters import CLUSTER, STRATUM
from entropy_sentinel.monitor.reading.problems import Problems
from entropy_sentinel.monitor.reading.times import starts
from entropy_sentinel.monitor.reading.zones import DTYPE
from entropy_sentinel.monitor.summing.merging import MergedSums
from entropy_sentinel.monitor.summing.state import State
from entropy_sentinel.statistics.monitoring.judged import Powers, Verdicts, judged_mean, powers_of
from entropy_sentinel.statistics.monitoring.prediction_powered import (
    LabelledMean,
    binomial_interval,
    labelled_mean,
    prediction_powered_mean,
)
from entropy_sentinel.statistics.numbers import Numbers
from entropy_sentinel.verbs.inputs import WEIGHT
from entropy_sentinel.verbs.label_merging import check_conflicts

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
_UNLABELLED: list[int | float | datetime | None] = [0, None, None, None, None, None, 0, None]
LAST_LABELLED = "last_labelled"
# Columns of a judge's verdicts and of their weights.
VERDICT, VERDICT_WEIGHT = "verdict", "verdict_weight"
# Labels whose weights add up to a smaller share of a slice's responses come from only a part of it, such as one week,
# and do not represent the rest.
LEAST_SHARE = 0.6
# The note about labels that match nothing.
WITHOUT = "labels without an estimated response"


@dataclass(frozen=True)
class ImprovedAccuracy:
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
    clusters: Numbers | None = None,
) -> ImprovedAccuracy | None:
    """Estimate a slice's accuracy from labels of some responses and predictions for all; None without labels.

    `labels`, `predicted_on_labelled` and `weights` are (n,), `predicted_on_all` is (N,) and includes these n;
    predictions are in [0, 1]. Without weights, or if all are null, all responses were equally likely to be labelled.
    `clusters`, (n,), are the numbers of clusters of dependent responses; by default all are independent.

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
    of = None if clusters is None else np.asarray(clusters)[known]
    better = prediction_powered_mean(y, p, everywhere, level, w, clusters=of)
    return ImprovedAccuracy(len(y), labelled_mean(y, level, w, of), better)


class LabelledResponses:
    """Labelled responses, and the predictions for all responses in slices with labels.

    `labels` has some columns of RESPONSE, `label`, and `weight`. Labels without an estimated response are counted.
    """

    def __init__(
        self,
        state: State,
        labels: pl.DataFrame,
        merged: MergedSums,
        window: str | None,
        at_random: bool = False,
        judged: pl.DataFrame | None = None,
        has_strata: bool = False,
    ) -> None:
        """Match labels with responses, and with the verdicts of a judge in a table like that of labels, `judged`.

        Labels need weights unless all responses were equally likely to be labelled (`at_random`), or slices with
        labels are fully labelled. The same holds for verdicts. Raises InputError for missing weights. With
        `has_strata`, labels were drawn by other columns than the slices, which are the responses' strata.
        """
        self._has_strata = has_strata
        self._merged = merged
        self._latest: tuple[tuple[datetime | None, ...], _Strata] | None = None
        asked = labels
        labels, key = prepare_labels(labels, "labels")
        labels = labels.with_columns(number=pl.int_range(pl.len()))
        joined = [self._numbered(part.join(labels, on=key), window) for part in state.all_responses()]
        if has_strata:
            self._drawn = self._with_responses(state, asked, key, window)
        self._labelled = pl.concat(joined) if joined else pl.DataFrame()
        slices = self._labelled["slice"].unique().to_list() if len(self._labelled) else []
        columns = ["slice", "window", "p", CLUSTER, STRATUM]
        if judged is not None:
            columns += [VERDICT, VERDICT_WEIGHT]
            verdicts, own = prepare_labels(judged, "judged")
            verdicts = verdicts.rename({"label": VERDICT, WEIGHT: VERDICT_WEIGHT})
            if len(self._labelled):
                self._labelled = self._labelled.join(verdicts.drop(VERDICT_WEIGHT), on=own, how="left")
        every: list[pl.DataFrame] = []
        for part in state.all_responses():
            part = self._numbered(part, window)
            if not has_strata:  # whether labels represent a stratum shows in all slices
                part = part.filter(pl.col("slice").is_in(slices))
            if judged is not None:
                part = part.join(verdicts, on=own, how="left")
            every.append(part.select(columns))
        self._every = pl.concat(every) if every else pl.DataFrame()
        if not at_random and len(self._labelled) < len(self._every):
            require_weights(self._labelled)
        self._uses_judge = False
        if judged is not None and len(self._labelled):
            if not at_random and self._every[VERDICT_WEIGHT].count():
                # A verdict without a weight corrects the judge's errors, but is not part of the sample.
                weighted = pl.when(pl.col(VERDICT_WEIGHT).is_not_null()).then(pl.col(VERDICT))
                self._every = self._every.with_columns(weighted)
            known = self._every.drop_nulls(VERDICT)
            if not at_random and len(known) < len(self._every):
                require_weights(known.rename({VERDICT_WEIGHT: WEIGHT}), "judged")
            self._add_powers()
        # The numbers of the labels without an estimated response.
        self.without = frozenset(labels["number"].to_list())
        if len(self._labelled):
            self.without -= frozenset(self._labelled["number"].to_list())

    def _with_responses(self, state: State, asked: pl.DataFrame, key: list[str], window: str | None) -> pl.DataFrame:
        """Return the responses that somebody was asked to label, also those without a label, with their weights."""
        asked = asked.cast({column: FEATURE_FRAME.schema[column] for column in key}).unique(key)
        parts = [
            self._numbered(part.join(asked.select(*key, WEIGHT), on=key), window) for part in state.all_responses()
        ]
        return pl.concat(parts) if parts else asked.clear()

    def _add_powers(self) -> None:
        """Add the powers of the judge's verdicts and of predictions to labels with a verdict, if they can be told."""
        both = self._labelled.drop_nulls(VERDICT)
        powers = powers_of(
            labels=both["label"].cast(pl.Float64),
            verdicts=both[VERDICT].cast(pl.Float64),
            predicted=both["p"],
            slices=both["slice"],
        )
        if powers is not None:
            self._uses_judge = True
            columns = {name: pl.Series(np.asarray(values)) for name, values in powers._asdict().items()}
            both = both.with_columns(**{f"power_{name}": column for name, column in columns.items()})
            without = self._labelled.filter(pl.col(VERDICT).is_null())
            self._labelled = pl.concat([both, without], how="diagonal").sort("number")

    def judge(self, level: float) -> dict[str, Any] | None:
        """Return how often the judge agrees with the labels, with intervals of `level`; null without common labels."""
        if VERDICT not in self._labelled.columns:
            return None
        both = self._labelled.drop_nulls(VERDICT)
        if both.is_empty():
            return None
        rates: dict[str, dict[str, float | None]] = {}
        for name, right in (("sensitivity", True), ("specificity", False)):
            verdicts = both.filter(pl.col("label") == right)[VERDICT]
            n, same = len(verdicts), int((verdicts == right).sum())
            lower, upper = binomial_interval(same / n, n, level) if n else (None, None)
            rates[name] = {"n": n, "share": same / n if n else None, "lower": lower, "upper": upper}
        return {"n_labelled": len(both), "used": self._uses_judge, **rates}

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
            # Without an estimator there are no predictions, and a constant has the power 0.
            p=pl.col("p").fill_null(0.0),
        )

    def _improved(self, rows: pl.DataFrame, level: float) -> pl.DataFrame:
        if self._labelled.is_empty():
            return pl.DataFrame([_UNLABELLED] * len(rows), schema=COLUMNS, orient="row")
        every = self._every.partition_by("slice", as_dict=True)
        labelled = self._labelled.partition_by("slice", as_dict=True)
        improvements = []
        for slice_, *when in rows.iter_rows():
            if (slice_,) not in labelled:
                improvements.append(_UNLABELLED)
            else:
                part, everywhere = _within(labelled[slice_,], *when), _within(every[slice_,], *when)
                strata = self._strata(*when) if self._has_strata else None
                improvements.append(_row(part, everywhere, level, self._uses_judge, strata))
        return pl.DataFrame(improvements, schema=COLUMNS, orient="row")

    def _strata(self, *when: datetime | None) -> "_Strata":
        """Return all labels and all responses of the windows, the same as long as these are."""
        if self._latest is None or self._latest[0] != when:
            self._latest = when, _Strata(_within(self._drawn, *when), _within(self._every, *when))
        return self._latest[1]


class _Strata(NamedTuple):
    """The responses to label and all responses of all slices in some windows."""

    drawn: pl.DataFrame
    every: pl.DataFrame

    def weigh(self, labelled: pl.DataFrame, everywhere: pl.DataFrame) -> pl.DataFrame | None:
        """Return the labels of a slice with weights by stratum; null if they do not represent it."""
        return weigh_by_strata(labelled, everywhere, self.drawn, self.every, WEIGHT)

    def weigh_verdicts(self, everywhere: pl.DataFrame) -> pl.DataFrame | None:
        """Return the verdicts of a slice with weights by stratum; null if they do not represent it."""
        verdicts = everywhere.drop_nulls(VERDICT)
        return weigh_by_strata(verdicts, everywhere, self.every.drop_nulls(VERDICT), self.every, VERDICT_WEIGHT)


def prepare_labels(labels: pl.DataFrame, name: str) -> tuple[pl.DataFrame, list[str]]:
    """Return labels that are not null, once each, with a weight that may be null, and their key.

    Raises InputError for labels of one response that differ.
    """
    key = [column for column in RESPONSE if column in labels.columns]
    check_conflicts(labels, key, name)
    labels = labels.filter(pl.col("label").is_not_null()).unique(key, keep="last", maintain_order=True)
    labels = labels.cast({column: FEATURE_FRAME.schema[column] for column in key})
    if WEIGHT not in labels.columns:
        labels = labels.with_columns(pl.lit(None, pl.Float64).alias(WEIGHT))
    return labels.select(*key, "label", WEIGHT), key


def require_weights(labels: pl.DataFrame, name: str = "labels") -> None:
    """Raise InputError if a label has no weight, because the number of responses it represents is then unknown."""
    if without := labels[WEIGHT].null_count():
        raise InputError(
            f"{name}: {without:,} of {len(labels):,} have no '{WEIGHT}' (the number of responses that a label "
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


def _row(
    labelled: pl.DataFrame, everywhere: pl.DataFrame, level: float, uses_judge: bool, strata: _Strata | None
) -> list[int | float | datetime | None]:
    """Return the values of COLUMNS; the improved accuracy and its limits are null for unrepresentative labels."""
    n_labelled, is_representative = len(labelled), True
    if strata is not None and labelled[WEIGHT].count():
        weighted = strata.weigh(labelled, everywhere)
        is_representative = weighted is not None
        labelled = labelled if weighted is None else weighted
    else:
        strata = None
    weights = labelled[WEIGHT]
    if strata is None and weights.count() and weights.sum() < LEAST_SHARE * len(everywhere):
        is_representative = False
    n_judged = everywhere[VERDICT].count() if VERDICT in everywhere.columns else 0
    newest = labelled.select(pl.col("window").max()).item()
    accuracies = improved(
        labelled["label"].to_list(),
        labelled["p"],
        everywhere["p"],
        weights.to_list(),
        level,
        cluster_numbers(labelled),
    )
    if accuracies is None:
        return _UNLABELLED
    better = accuracies.improved
    if not is_representative:
        return [n_labelled, accuracies.alone.estimate, None, None, None, None, n_judged, newest]
    if uses_judge:
        better = _with_judge(labelled, everywhere, level, strata) or better
    numbers = (better.estimate, better.lower, better.upper, better.n_effective)
    return [n_labelled, accuracies.alone.estimate, *numbers, n_judged, newest]


def _with_judge(
    labelled: pl.DataFrame, everywhere: pl.DataFrame, level: float, strata: _Strata | None
) -> LabelledMean | None:
    """Return the accuracy from labels, verdicts and predictions; null unless most labels have a verdict."""
    both, judged = labelled.drop_nulls(VERDICT), everywhere.drop_nulls(VERDICT)
    if len(both) < LEAST_SHARE * len(labelled) or both.is_empty():
        return None
    if strata is not None and judged[VERDICT_WEIGHT].count():
        weighted = strata.weigh_verdicts(everywhere)
        if weighted is None:
            return None
        judged = weighted
    weights, verdict_weights = both[WEIGHT], judged[VERDICT_WEIGHT]
    return judged_mean(
        both["label"].cast(pl.Float64),
        both[VERDICT].cast(pl.Float64),
        both["p"],
        Verdicts(
            judged[VERDICT].cast(pl.Float64),
            judged["p"],
            None if verdict_weights.has_nulls() else verdict_weights,
            cluster_numbers(judged),
        ),
        everywhere["p"],
        level,
        Powers(both["power_verdict"], both["power_prediction"]),
        None if weights.has_nulls() else weights,
        cluster_numbers(both),
    )


def cluster_numbers(responses: pl.DataFrame) -> np.ndarray | None:
    """Return the number of the cluster of each response, (n,); null if no two are in the same."""
    known = responses[CLUSTER].drop_nulls()
    if known.n_unique() == len(known):
        return None
    own = -1 - pl.int_range(pl.len(), dtype=pl.Int64)
    numbers = pl.col(CLUSTER).rank("dense").cast(pl.Int64)
    return responses.select(pl.when(pl.col(CLUSTER).is_null()).then(own).otherwise(numbers)).to_series().to_numpy()
