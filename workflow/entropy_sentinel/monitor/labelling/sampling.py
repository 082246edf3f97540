"""Which responses to label next, and what their labels make of the estimates.

`sample` draws some responses of each slice (`drawing` says how), each with a weight, how many it stands for. `improved`
puts labels and predictions together (`statistics.prediction_powered`), which needs the weights.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.estimators.estimator import Estimator
from entropy_sentinel.estimators.fit import one_thread
from entropy_sentinel.estimators.saved import SavedEstimator
from entropy_sentinel.estimators.validation import Validation
from entropy_sentinel.features.catalogue import FEATURES
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.monitor.labelling.drawing import Drawn, counts_of, draw, width_alone
from entropy_sentinel.monitor.settings import check_names_of_columns
from entropy_sentinel.sources.logs.question import QUESTION
from entropy_sentinel.statistics.prediction_powered import LabelledMean, labelled_mean, prediction_powered_mean
from entropy_sentinel.verbs.estimation import overridden, saved_estimator
from entropy_sentinel.verbs.files import Paths
from entropy_sentinel.verbs.frames import columns_by, features_table, is_table, require_slices
from entropy_sentinel.verbs.reading import KEY, WEIGHT, read_features

LEVEL = 0.9
# Labels that each slice gets, where it has as many responses.
PER_SLICE = 5
# Of a row, beside the columns of a log, which may have any name.
_SLICE, _ORDER = "(slice)", "(order)"
_OWN_COLUMNS = ("model", "benchmark")


@dataclass(frozen=True)
class Sample:
    """The responses to label, and what to expect of the slices.

    Attributes:
        responses: A row per response to label: the slice, what identifies it, `stratum` (0 is where the model is least
            likely to be correct), `inclusion_probability`, `weight`, `question` and `response` where the log has them,
            and an empty `label`. P(correct) is not there, for who labels should not know it.
        slices: A row per slice: `n_responses`, `n_to_label`, `estimated_accuracy`, the width of its interval before
            (null where the estimator has no validation), the width with so many labels alone, and with predictions too,
            if P(correct) is calibrated.
        level: The level of these intervals.
        overridden: What does not match the estimator, where that was allowed.
    """

    responses: pl.DataFrame
    slices: pl.DataFrame
    level: float
    overridden: tuple[str, ...] = ()


@dataclass(frozen=True)
class Improved:
    """What labels say of a slice: by themselves, and with the predictions of all its responses."""

    n_labelled: int
    alone: LabelledMean
    improved: LabelledMean


def sample(
    estimator: SavedEstimator | str | Path,
    logs: Paths | pl.DataFrame,
    by: Sequence[str] = (),
    budget: int = 100,
    *,
    per_slice: int = PER_SLICE,
    seed: int = 42,
    level: float = LEVEL,
    any_model: bool = False,
    any_logprobs: bool = False,
    **options: Any,
) -> Sample:
    """Choose the responses whose labels say most of the accuracy of the slices.

    Each slice gets at least `per_slice` labels, where it has as many responses; the others go to large and uncertain
    slices. The choice depends on the ids of the responses and `seed` alone, and not on the order of the logs. Responses
    without features are not chosen.

    Args:
        estimator: One that `fit` or `load` has given, or its file.
        logs: Files of logs, traces or features, or a frame of features.
        by: The columns whose values make slices, combined. Without any, all responses are one slice.
        budget: How many responses to choose.
        per_slice: How many of each slice at least.
        seed: Another one chooses others.
        level: The level of the expected intervals.
        any_model: Take responses of another model than the estimator was fitted on.
        any_logprobs: Take responses with log-probabilities of another kind, or another number of alternatives.
        **options: Those of `open_logs`: format, logprobs_mode, top_k, trace_after, model, strict, places,
            max_record_mb.

    Returns:
        The responses to label, with their weights, and what to expect of the slices.

    Raises:
        InputError: For a column that is not there or a budget that is too small.
        ProvenanceError: As `estimate` does.

    Examples:
        >>> import entropy_sentinel as es
        >>> features, labels = es.features(es.read_logs(es.example().traces)), es.read_labels(es.example().labels)
        >>> chosen = es.sample(es.fit(features, labels, "log-3d"), features, ["benchmark"], budget=40)
        >>> len(chosen.responses), chosen.slices["n_to_label"].sum(), round(chosen.responses["weight"].sum(), 6)
        (40, 40, 160.0)
    """
    saved = saved_estimator(estimator)
    for name, value, least in (("budget", budget, 1), ("per_slice", per_slice, 0)):
        if type(value) is not int or value < least:
            raise InputError(f"{name}: must be a whole number of {least} or more, was {value!r}"[:200])
    by = list(dict.fromkeys(columns_by(by)))
    check_names_of_columns("by", by)
    rows = _rows(logs, by, options)
    rows = rows.filter(pl.col("reason").is_null())
    if rows.is_empty():
        raise InputError("logs: no response has features, so none can be chosen")
    differs = overridden(saved, rows, any_model, any_logprobs)
    one = pl.struct(by).rank("dense") if by else pl.lit(1)
    numbered = rows.with_columns(one.alias(_SLICE), _order(rows, seed).alias(_ORDER)).sort(_SLICE, _ORDER)
    slices = numbered.group_by(_SLICE, *by, maintain_order=True).agg(n_responses=pl.len())
    ends = slices["n_responses"].cum_sum().to_list()
    places = [np.arange(end - n, end) for end, n in zip(ends, slices["n_responses"], strict=True)]
    p, order = predictions(saved.estimator, numbered), numbered[_ORDER].to_numpy()
    counts = counts_of(p, places, budget, per_slice)
    drawn = [draw(p[place], order[place], int(n)) for place, n in zip(places, counts, strict=True)]
    return Sample(
        _responses(numbered, by, places, drawn),
        slices.drop(_SLICE).with_columns(
            n_to_label=pl.Series(counts),
            **_expected(saved, numbered, p, places, drawn, level),
        ),
        level,
        tuple(differs),
    )


def improved(
    labels: Sequence[bool | None],
    predicted_on_labelled: Sequence[float],
    predicted_on_all: Sequence[float],
    weights: Sequence[float] | None = None,
    level: float = LEVEL,
) -> Improved | None:
    """The accuracy of a slice from labels of some responses and predictions of all; None where no label is there.

    `labels`, `predicted_on_labelled` and `weights` are (n,), `predicted_on_all` is (N,) with the n among them. A
    prediction is P(correct), or the estimator's values of a response, (n, n_values), whose mean is taken. Without
    weights, or where all are null, the labelled are taken for as likely to have been chosen.

    Raises InputError where some have a weight, and others none.
    """
    known = np.array([one is not None for one in labels], dtype=bool)
    if not known.any():
        return None
    y = np.array([one for one in labels if one is not None], dtype=float)
    p, everywhere = _one_value(predicted_on_labelled)[known], _one_value(predicted_on_all)
    w = None if weights is None else np.array(weights, dtype=float)[known]
    if w is not None and np.isnan(w).any():
        if not np.isnan(w).all():
            raise InputError(
                f"weight: must be there for all labelled responses of a slice, {np.isnan(w).sum()} have none"
            )
        w = None
    return Improved(len(y), labelled_mean(y, level, w), prediction_powered_mean(y, p, everywhere, level, w))


def predictions(estimator: Estimator, features: pl.DataFrame) -> np.ndarray:
    """What the estimator says of each response, (n_rows,), in [0, 1]: P(correct), or else the mean of its values."""
    with one_thread():
        found = estimator.p_correct(features.select(FEATURES))
    return np.clip(_one_value(_values(estimator, features) if found is None else found), 0, 1)


def _rows(logs: Paths | pl.DataFrame, by: Sequence[str], options: dict[str, Any]) -> pl.DataFrame:
    """Features with the columns of the slices by their names, and `question` and `response`."""
    if is_table(logs):
        rows = features_table(logs)
    else:
        rows = read_features(
            logs, texts=True, columns=[*(one for one in by if one not in _OWN_COLUMNS), QUESTION], **options
        )
    for name in by:
        # A log's column with the name of one that every frame has goes by `log_NAME`.
        there = [one for one in (f"log_{name}", name) if one in rows.columns]
        if not there or rows[there[0]].null_count() == len(rows):
            raise InputError(f"by: no response has a '{name}'; columns there: {', '.join(_slice_columns(rows))}")
        require_slices(rows, there[:1], "by")
        rows = rows.with_columns(rows[there[0]].alias(name))
    texts = (QUESTION, "response")
    return rows.with_columns(pl.lit(None, pl.String).alias(name) for name in texts if name not in rows.columns)


def _slice_columns(rows: pl.DataFrame) -> list[str]:
    taken = {*FEATURES, QUESTION, "response"}
    return [name for name in rows.columns if name not in taken and rows[name].null_count() < len(rows)]


def _responses(rows: pl.DataFrame, by: list[str], places: list[np.ndarray], drawn: list[Drawn]) -> pl.DataFrame:
    """The rows for a person to label, those of a slice together, in an order that says nothing of P(correct)."""
    chosen = [
        rows[place[one.rows]].with_columns(
            stratum=pl.Series(one.strata[one.rows], dtype=pl.Int64),
            inclusion_probability=pl.Series(one.inclusion, dtype=pl.Float64),
        )
        for place, one in zip(places, drawn, strict=True)
    ]
    identity = [name for name in _identity(rows) if name not in by]
    facts = ["stratum", "inclusion_probability", WEIGHT]
    found = pl.concat(chosen).with_columns((1 / pl.col("inclusion_probability")).alias(WEIGHT)).sort(_SLICE, _ORDER)
    return found.select(*by, *identity, *facts, QUESTION, "response", label=pl.lit(None, pl.Boolean))


def _expected(
    saved: SavedEstimator, rows: pl.DataFrame, p: np.ndarray, places: list[np.ndarray], drawn: list[Drawn], level: float
) -> dict[str, pl.Series]:
    """What is estimated of each slice, and how wide its interval is, and will be."""
    values = _values(saved.estimator, rows)
    estimates = [saved.estimator.accuracy_of(values[place].mean(axis=0)) for place in places]
    both = list(zip(places, drawn, strict=True))
    found = {
        "estimated_accuracy": estimates,
        "width_before": _widths_before(saved, estimates, [len(place) for place in places], level),
        "width_labels_alone": [width_alone(p[place], len(one.rows), level) for place, one in both],
        "width_expected": [one.expected_width(p[place], level) for place, one in both],
    }
    return {name: pl.Series(numbers, dtype=pl.Float64) for name, numbers in found.items()}


def _values(estimator: Estimator, rows: pl.DataFrame) -> np.ndarray:
    with one_thread():
        return estimator.values(rows.select(FEATURES))


def _one_value(found: Any) -> np.ndarray:
    """(n,) from one or several values per response."""
    values = np.asarray(found, dtype=float)
    return values.mean(axis=1) if values.ndim == 2 else values


def _identity(rows: pl.DataFrame) -> tuple[str, ...]:
    """The ids alone, where they tell the responses apart: labels may be given back with a log of another name."""
    return ("item_id",) if rows["item_id"].is_unique().all() else KEY


def _order(rows: pl.DataFrame, seed: int) -> pl.Series:
    """A number for each response that looks drawn by chance, and is the same wherever the response stands."""
    names = rows.select(_identity(rows)).iter_rows()
    return pl.Series([_drawn_number(f"{seed} {name}") for name in names], dtype=pl.UInt64)


def _drawn_number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def _widths_before(saved: SavedEstimator, estimates: list[float], sizes: list[int], level: float) -> list[float | None]:
    """The widths of the estimator's own intervals; null where it has not been validated."""
    if not (card := saved.about.get("validation")):
        return [None] * len(estimates)
    found = Validation.from_dict(card).residuals.intervals(estimates, sizes, level)
    return [float(one) for one in found.upper - found.lower]
