"""P(correct) of single responses."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.estimators.estimator import Estimator
from entropy_sentinel.estimators.fit import one_thread
from entropy_sentinel.estimators.saved import SavedEstimator
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.monitor.reading.excluding import overridden
from entropy_sentinel.monitor.reading.settings import Slicing
from entropy_sentinel.monitor.reading.whole import Read, read_whole
from entropy_sentinel.signals.catalogue import SIGNALS
from entropy_sentinel.verbs.estimation import saved_estimator
from entropy_sentinel.verbs.frames import features_table

_GIVING = "log-3d, recommended or forest-10d-balanced-isotonic"


def score(
    estimator: SavedEstimator | str | Path, features: Any, any_model: bool = False, any_logprobs: bool = False
) -> pl.DataFrame:
    """P(correct) of every response.

    A probability holds as far as the validation says for slices: it is calibrated on the domains that the
    estimator was fitted on.

    Args:
        estimator: One that `fit` or `load` has given, or its file.
        features: A row per response, as `read_features` or `features` gives them.
        any_model: Take responses of another model than the estimator was fitted on.
        any_logprobs: Take features with log-probabilities of another kind, or another number of alternatives.

    Returns:
        One row per response, in the order of `features`. Columns: those that identify a response (model, benchmark,
        item_id, sample); `p_correct` in [0, 1], the probability that the response is correct; `reason`, why it is null:
        the response has no features, or is of another model or other log-probabilities. With `any_model` or
        `any_logprobs`, where something does not match, a column `overridden` names it.

    Raises:
        InputError: For an estimator that gives none, such as one of a threshold alone.
        ProvenanceError: Where all responses are of another model or log-probabilities than the estimator was fitted
            on, unless `any_model` or `any_logprobs` says that they may be.

    Examples:
        >>> import entropy_sentinel as es
        >>> import polars as pl
        >>> features, labels = es.features(es.read_logs(es.example().traces)), es.read_labels(es.example().labels)
        >>> scores = es.score(es.fit(features, labels, "log-3d"), features)
        >>> scores.columns, scores.height
        (['model', 'benchmark', 'item_id', 'sample', 'p_correct', 'reason'], 150)
        >>> mean = labels.join(scores, on="item_id").group_by("label").agg(pl.col("p_correct").mean())
        >>> dict(mean.rows())[True] > dict(mean.rows())[False]
        True
    """
    estimator, features = saved_estimator(estimator), features_table(features)
    if features.is_empty():
        _p_correct(estimator.estimator, features)
    options = Slicing.of({"any_model": any_model, "any_logprobs": any_logprobs})
    return scored(estimator, read_whole(estimator, [features], options))


def scored(estimator: SavedEstimator, read: Read) -> pl.DataFrame:
    """The rows of `score` for responses that were read."""
    usable = read.rows["excluded"].is_null()
    p = np.full(len(read.rows), np.nan)
    p[usable.to_numpy()] = _p_correct(estimator.estimator, read.rows.filter(usable))
    found = read.rows.select(*RESPONSE, p_correct=pl.Series(p).fill_nan(None), reason="excluded")
    return found.with_columns(overridden=pl.lit(overridden(estimator.about, read.taken))) if read.taken else found


def _p_correct(estimator: Estimator, features: pl.DataFrame) -> np.ndarray:
    """(n_rows,); InputError where the estimator gives none."""
    with one_thread():
        # One made-up response tells it where there is none.
        rows = features if len(features) else pl.DataFrame({name: [1.0] for name in SIGNALS})
        found = estimator.p_correct(rows)
    if found is None:
        raise InputError(
            f"estimator '{estimator.name}' says how accurate a slice is, and gives no P(correct) of a response; fit "
            f"one that does: {_GIVING}"
        )
    return found[: len(features)]
