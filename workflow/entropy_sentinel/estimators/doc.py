"""Family `doc`: difference of confidences (Guillory et al. 2021).

Training accuracy + mean confidence of the slice - mean confidence of the training rows, clipped to [0, 1]. The
confidence is a signal in [0, 1], or P(correct) of another estimator.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from entropy_sentinel.estimators.confidence import Confidence, confidence, confidences
from entropy_sentinel.estimators.estimator import Estimator
from entropy_sentinel.estimators.training import TrainingRows


@dataclass(frozen=True)
class Doc(Estimator):
    """Values are confidences; a slice's accuracy is its mean confidence, shifted as the training rows need it."""

    confidence: Confidence
    shift: float

    def values(self, features: pl.DataFrame) -> np.ndarray:
        return confidences(self.confidence, features)

    def accuracies_of(self, means: np.ndarray) -> np.ndarray:
        return np.clip(means + self.shift, 0, 1)


SAVED = (Doc,)


def fit(name: str, rows: TrainingRows) -> Doc:
    """Fit the estimator that gives the confidence, if it is one, and compare it with the training accuracy."""
    rows.require_rows()
    source = confidence(name.removeprefix("doc-"), rows)
    return Doc(name, source, rows.accuracy - float(confidences(source, rows.features).mean()))
