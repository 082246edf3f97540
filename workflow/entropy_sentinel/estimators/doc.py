"""Family `doc`: difference of confidences (Guillory et al. 2021).

Training accuracy + mean confidence of the slice - mean confidence of the training rows, clipped to [0, 1]. The
confidence is a feature in [0, 1], or P(correct) of another estimator.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from entropy_sentinel.estimators.estimator import CannotFit, Estimator, Unfitted
from entropy_sentinel.estimators.training import TrainingRows
from entropy_sentinel.features.catalogue import FEATURES


@dataclass(frozen=True)
class Doc(Estimator):
    """Values are confidences; a slice's accuracy is its mean confidence, shifted as the training rows need it."""

    confidence: str | Estimator
    shift: float

    def values(self, features: pl.DataFrame) -> np.ndarray:
        if isinstance(self.confidence, str):
            return features[self.confidence].to_numpy()
        return self.confidence.p_correct(features)

    def accuracy_of(self, values: np.ndarray) -> float:
        return float(np.clip(values.mean() + self.shift, 0, 1))


def fit(name: str, rows: TrainingRows) -> Doc:
    """Fit the estimator that gives the confidence, if it is one, and compare it with the training accuracy."""
    rows.require_rows()
    source = name.removeprefix("doc-")
    confidence = source if source in FEATURES else rows.fit(source)
    if isinstance(confidence, Unfitted):
        raise CannotFit(confidence.reason)
    unshifted = Doc(name, confidence, 0.0)
    return Doc(name, confidence, rows.accuracy - float(unshifted.values(rows.features).mean()))
