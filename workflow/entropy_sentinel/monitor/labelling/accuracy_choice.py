"""Decide which accuracy of a slice to use: from the estimate, from the labels, or from both."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.estimators.verdict import USABLE
from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.monitor.alert_codes import AccuracyNote, Flag
from entropy_sentinel.monitor.monitor_options import FROM_BOTH, FROM_ESTIMATE, FROM_LABELS
from entropy_sentinel.statistics.monitoring.label_combination import combine_labels
from entropy_sentinel.statistics.slice_intervals import Residuals, sampling_variance

COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "use_accuracy": pl.Float64,
    "use_lower": pl.Float64,
    "use_upper": pl.Float64,
    "rests_on": pl.String,
    "note": pl.String,
    "note_codes": pl.List(pl.String),
}
Row = Mapping[str, Any]


class _Note(NamedTuple):
    """A note about an accuracy, with its code."""

    code: AccuracyNote
    text: str


class _ChosenAccuracy(NamedTuple):
    """The values of COLUMNS for a row."""

    accuracy: float | None
    lower: float | None
    upper: float | None
    rests_on: str | None
    note: str | None = None
    note_codes: tuple[str, ...] = ()

    def add_note(self, note: _Note | None) -> "_ChosenAccuracy":
        """The values with a note, if there is one."""
        return self if note is None else self._replace(note=note.text, note_codes=(note.code.number,))


def is_reliable(saved: FittedEstimator) -> bool:
    """Whether labels may be combined with the estimates of familiar slices: with the verdict `usable`."""
    return saved.validation is not None and saved.validation.verdict == USABLE


def add_chosen_accuracy(rows: pl.DataFrame, residuals: Sequence[Residuals | None], level: float) -> pl.DataFrame:
    """The rows with COLUMNS: the accuracy to use, and `rests_on`, what it rests on.

    `residuals` (n,) are the validation errors that apply to each row's slice, or null if its estimate is not to be
    relied on: without the verdict `usable`, for an unfamiliar slice, or for other responses than the validated ones.

    - `both`: estimate and labels together (`combine_labels`);
    - `labels`: labels, with predictions for all responses (prediction-powered inference). They assume only that the
      weights match how responses were drawn;
    - `estimate`: without labels, or with labels of only a part of the slice; null without an estimate either.
    """
    accuracies = [_choose_accuracy(row, errors, level) for row, errors in zip(rows.to_dicts(), residuals, strict=True)]
    rows = rows.with_columns(pl.DataFrame(accuracies, schema=COLUMNS, orient="row"))
    contradicted = pl.col("note_codes").list.contains(AccuracyNote.CONTRADICTS.number)
    added = {"flags": Flag.CONTRADICTED.words, "flag_codes": Flag.CONTRADICTED.number}
    flags = [
        pl.when(contradicted).then(pl.concat_list(name, pl.lit(text))).otherwise(name).alias(name)
        for name, text in added.items()
    ]
    return rows.with_columns(
        *flags,
        reasons=pl.when(contradicted).then(pl.concat_list("reasons", "note")).otherwise("reasons"),
        n_asked=pl.lit(0, pl.Int64),
        witness=pl.lit(None, pl.String),
    )


def add_expected_errors(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the expected errors that follow from the accuracy to use, as no estimate gives them."""
    n = pl.col("n_estimated")
    return rows.with_columns(
        expected_errors=n * (1 - pl.col("use_accuracy")),
        expected_errors_lower=n * (1 - pl.col("use_upper")),
        expected_errors_upper=n * (1 - pl.col("use_lower")),
    )


def use_asked_accuracy(rows: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    """The rows, in whose COLUMNS the accuracy of a witness replaces another where `asked` has one.

    A witness is a judge or a second model. `asked`, (n_rows,), has `witness_estimates.COLUMNS`.
    """
    rows = pl.concat([rows.drop("witness", "n_asked"), asked], how="horizontal")
    asked_columns = ("asked_accuracy", "asked_lower", "asked_upper", "asked_basis", "asked_note", "asked_note_codes")
    has_asked = pl.col("asked_accuracy").is_not_null()
    sources = zip(COLUMNS, asked_columns, strict=True)
    chosen = [pl.when(has_asked).then(source).otherwise(name).alias(name) for name, source in sources]
    return rows.with_columns(chosen).drop(asked_columns)


def _choose_accuracy(row: Row, residuals: Residuals | None, level: float) -> _ChosenAccuracy:
    """The values of COLUMNS for a row; `residuals` are null if its estimate is not to be relied on."""
    if row["improved_accuracy"] is None:
        rests_on = None if row["estimated_accuracy"] is None else FROM_ESTIMATE
        return _ChosenAccuracy(row["estimated_accuracy"], row["lower"], row["upper"], rests_on)
    labels = _ChosenAccuracy(row["improved_accuracy"], row["improved_lower"], row["improved_upper"], FROM_LABELS)
    if residuals is None or row["estimated_accuracy"] is None:
        return labels.add_note(_explain_width(row))
    estimate = row["estimated_accuracy"]
    [variance] = sampling_variance([estimate], [row["n_effective"]])
    both = combine_labels(
        residuals.spread,
        estimate,
        variance=float(variance),
        share=row["improved_accuracy"],
        n=row["labels_worth"],
        level=level,
    )
    if both.contradicts:
        return labels.add_note(_describe_contradiction(row))
    return _ChosenAccuracy(both.estimate, both.lower, both.upper, FROM_BOTH)


def _describe_contradiction(row: Row) -> _Note:
    return _Note(
        AccuracyNote.CONTRADICTS,
        f"{AccuracyNote.CONTRADICTS.words} ({row['lower']:.3f}-{row['upper']:.3f} without them): the slice differs "
        "from the labelled domains",
    )


def _explain_width(row: Row) -> _Note | None:
    """A note if the labels contradict the estimate or their interval is wider, else null."""
    if row["lower"] is None:
        return None
    if row["improved_lower"] > row["upper"] or row["improved_upper"] < row["lower"]:
        return _describe_contradiction(row)
    n, width = row["n_labelled"], row["upper"] - row["lower"]
    width_with_labels = row["improved_upper"] - row["improved_lower"]
    if round(width_with_labels, 2) <= round(width, 2):
        return None
    note = (
        f"{AccuracyNote.WIDER.words} ({width_with_labels:.2f} instead of {width:.2f}) because it does not "
        f"assume that the slice resembles the labelled domains ({format_count(n, 'label')}, with the estimator as "
        f"exact as {row['labels_worth']:.0f} without it)"
    )
    n_more_labels = math.ceil(n * (width_with_labels / width) ** 2) - n if width > 0 else 0
    advice = f"; about {format_count(n_more_labels, 'more label')} would make it as narrow" if n_more_labels else ""
    return _Note(AccuracyNote.WIDER, f"{note}{advice}")
