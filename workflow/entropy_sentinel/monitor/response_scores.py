"""The verb `score`: P(correct) of every response, with the verdict that covers it, or the reason why it has none."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.api.estimation import ensure_estimator
from entropy_sentinel.api.input_checks import is_table
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.option_classes import parse_columns
from entropy_sentinel.estimators.estimator_base import Estimator
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.estimators.training_rows import one_thread
from entropy_sentinel.monitor.estimating.verdict_coverage import judge_familiarity, select_verdicts
from entropy_sentinel.monitor.monitor_options import Slicing
from entropy_sentinel.monitor.reading.exclusions import CODE
from entropy_sentinel.monitor.reading.feature_stream import (
    SLICE_PREFIX,
    ReadingResult,
    read_all_responses,
    read_table_features,
)
from entropy_sentinel.monitor.reading.problem_collection import Problems, describe_overrides
from entropy_sentinel.monitor.reading.single_replies import read_replies
from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.signal_families.signal_registry import SIGNALS

# The columns of the result that no column of slices replaces.
_COLUMNS = ("p_correct", "verdict", "unfamiliar", "familiarity_reason", "reason", "reason_code", "overridden")
_GIVING = "log-3d, recommended or forest-10d-balanced-isotonic"


def score(
    estimator: FittedEstimator | str | Path,
    features: Any,
    any_model: bool = False,
    any_logprobs: bool = False,
    by: Sequence[str] | str = (),
) -> pl.DataFrame:
    """Estimate P(correct) of every response.

    The probabilities are calibrated on the domains that the estimator was fitted on; the validation shows how well
    they transfer to new slices. A reply or a list of replies never raises an error, so a service can score each reply
    that it gets: a response without P(correct) has the reason.

    Args:
        estimator: An estimator from `fit` or `load`. A service loads it once; a path is read in each call.
        features: A reply as the client returns it, or a list of replies; or a row per response, from `read_features` or
            `features`; or files.
        any_model: Also use responses of models other than the one that the estimator was fitted on.
        any_logprobs: Also use features from another kind of log-probabilities or number of alternatives.
        by: The columns whose values define slices, such as metadata.route. Whether responses are like a labelled domain
            is judged for each slice of 5 or more; without slices it is not judged.

    Returns:
        One row per response, in the order of `features`. Columns: the response's key (model, benchmark, item_id,
        sample), and the columns `by`; `p_correct` in [0, 1]; `verdict`, the verdict of the validation that covers the
        response, or `unfamiliar`, `not judged` or `not validated`; `unfamiliar`, whether the responses of its slice
        are unlike all labelled domains, so that `p_correct` may be far off; if that was not judged, the
        `familiarity_reason`: no-slices, few-responses, no-words, other-words or estimator-without-words; and, if
        `p_correct` is null, the `reason` in words and the `reason_code`: other-model, other-logprobs, no-logprobs,
        zero-logprobs, constant-logprobs, not-logprobs, no-alternatives, empty, no-answer (no token after the thinking),
        refused, no-signal, unreadable or no-features. With `any_model` or `any_logprobs`, a column `overridden` names
        the mismatches.

    Raises:
        InputError: For an estimator without P(correct), such as a threshold; for files or tables that cannot be read,
            and a column `by` that they lack.

    Examples:
        >>> import entropy_sentinel as es
        >>> import polars as pl
        >>> features, labels = es.features(es.read_logs(es.example().traces)), es.read_labels(es.example().labels)
        >>> scores = es.score(es.fit(features, labels, "log-3d"), features, by="benchmark")
        >>> scores.columns[4:], scores.height
        (['p_correct', 'verdict', 'unfamiliar', 'familiarity_reason', 'reason', 'reason_code'], 150)
        >>> mean = labels.join(scores, on="item_id").group_by("label").agg(pl.col("p_correct").mean())
        >>> dict(mean.rows())[True] > dict(mean.rows())[False]
        True
    """
    saved = ensure_estimator(estimator)
    options = Slicing.from_values(
        {"any_model": any_model, "any_logprobs": any_logprobs, "by": tuple(parse_columns(by))}
    )
    replies = _list_replies(features)
    if replies is not None:
        return score_rows(saved, read_replies(saved, replies, options), options.by)
    rows = read_table_features(features, options, signals=saved.signals)
    if rows.is_empty():
        none = {name: pl.Series(name, [], dtype=pl.String) for name in ("excluded", CODE)}
        return score_rows(saved, ReadingResult(rows.with_columns(**none), Problems(), {}), ())
    return score_rows(saved, read_all_responses(saved, [rows], options, must_match=False), options.by)


def _list_replies(responses: Any) -> list[Any] | None:
    """Replies in memory as a list; None for files and tables. Any other object is a reply, perhaps a bad one."""
    if isinstance(responses, str | PathLike) or is_table(responses) or hasattr(responses, "to_pylist"):
        return None
    is_one = isinstance(responses, Mapping | bytes | bytearray) or hasattr(responses, "model_dump")
    if is_one or not isinstance(responses, Iterable):
        return [responses]
    replies = list(responses)
    has_paths = any(isinstance(reply, str | PathLike) for reply in replies)
    return None if has_paths else replies


def score_rows(saved: FittedEstimator, read: ReadingResult, by: Sequence[str] = ()) -> pl.DataFrame:
    """The result of `score` for responses that were already read, with the columns of slices."""
    rows = read.rows
    p = _predict_rows(saved.estimator, rows)
    columns = {name: rows[name] for name in RESPONSE}
    for name in by:
        if name not in RESPONSE:
            columns[f"{SLICE_PREFIX}{name}" if name in _COLUMNS else name] = rows[f"{SLICE_PREFIX}{name}"]
    familiarity = judge_familiarity(saved, rows, by)
    verdicts = select_verdicts(saved, bool(read.override_counts), familiarity["unfamiliar"])
    columns |= {"p_correct": p, "verdict": verdicts if not p.null_count() else _clear_unknown(verdicts, p)}
    columns |= {"unfamiliar": familiarity["unfamiliar"], "familiarity_reason": familiarity["familiarity_reason"]}
    columns |= {"reason": rows["excluded"], "reason_code": rows[CODE]}
    scores = pl.DataFrame(columns)
    if read.override_counts:
        scores = scores.with_columns(overridden=pl.lit(describe_overrides(saved.metadata, read.override_counts)))
    return scores


def _predict_rows(estimator: Estimator, rows: pl.DataFrame) -> pl.Series:
    """P(correct), (n_rows,), null for excluded rows and where the estimator gives NaN."""
    excluded = rows["excluded"]
    if len(rows) and not excluded.null_count():
        _p_correct(estimator, rows.clear())  # raises the error of an estimator without P(correct)
        return pl.Series([None] * len(rows), dtype=pl.Float64)
    if excluded.null_count() == len(rows):  # as usual within a request
        return pl.Series(_p_correct(estimator, rows), dtype=pl.Float64).fill_nan(None)
    usable = excluded.is_null()
    p = np.full(len(rows), np.nan)
    p[usable.to_numpy()] = _p_correct(estimator, rows.filter(usable))
    return pl.Series(p).fill_nan(None)


def _clear_unknown(texts: pl.Series, values: pl.Series) -> pl.Series:
    """The texts, null where the value is null."""
    return pl.select(pl.when(values.is_not_null()).then(texts)).to_series()


def _p_correct(estimator: Estimator, features: pl.DataFrame) -> np.ndarray:
    """P(correct), (n_rows,); raises InputError if the estimator has none."""
    with one_thread():
        # If there are no responses, a dummy response shows whether the estimator has P(correct).
        rows = features if len(features) else pl.DataFrame({name: [1.0] for name in SIGNALS})
        p = estimator.p_correct(rows)
    if p is None:
        raise InputError(
            f"estimator '{estimator.name}' estimates the accuracy of slices, but not P(correct) of single "
            f"responses; fit one of: {_GIVING}"
        )
    return p[: len(features)]
