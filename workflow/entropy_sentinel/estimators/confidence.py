"""What ATC and DoC take as a response's confidence: a feature, or P(correct) of another estimator."""

import numpy as np
import polars as pl

from entropy_sentinel.estimators.estimator import Estimator
from entropy_sentinel.estimators.training import TrainingRows
from entropy_sentinel.features.catalogue import CONFIDENCE_FEATURES, FEATURES

# The name of a feature, or a fitted estimator.
Confidence = str | Estimator


def confidence(source: str, rows: TrainingRows) -> Confidence:
    """The confidence of this name; an estimator is fitted on the rows. Raises CannotFit with the estimator's reason."""
    if source in FEATURES:
        return source
    return rows.require(source)


def confidences(of: Confidence, features: pl.DataFrame) -> np.ndarray:
    """The confidence of every response, (n_rows,): larger is more certain."""
    if isinstance(of, Estimator):
        p = of.p_correct(features)
        assert p is not None, f"{of.name} gives no P(correct)"
        return p
    values = features[of].to_numpy()
    return values if of in CONFIDENCE_FEATURES else -values
