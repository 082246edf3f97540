"""Family `atc`: average thresholded confidence (Garg et al. 2022), on one feature or on P(correct) of an estimator.

The threshold is chosen on the training rows, so that the share of responses on its confident side equals their
accuracy; a slice's estimate is its own share on that side. Rows tied at the threshold count with the one weight in
[0, 1] that makes the training share exact, so that a constant feature gives the training accuracy.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from entropy_sentinel.estimators.confidence import Confidence, confidence, confidences
from entropy_sentinel.estimators.estimator import Estimator
from entropy_sentinel.estimators.training import TrainingRows


@dataclass(frozen=True)
class Atc(Estimator):
    """The share of responses whose confidence is above the threshold; those at it count with `tied_weight`."""

    confidence: Confidence
    threshold: float
    tied_weight: float

    def values(self, features: pl.DataFrame) -> np.ndarray:
        found = confidences(self.confidence, features)
        counted: np.ndarray = (found > self.threshold) + self.tied_weight * (found == self.threshold)
        return counted


SAVED = (Atc,)


def fit(name: str, rows: TrainingRows) -> Atc:
    """Choose the threshold on the training rows, of which one class is enough for a feature."""
    rows.require_rows()
    source = confidence(name.removeprefix("atc-"), rows)
    found, n_correct = confidences(source, rows.features), int(rows.y.sum())
    threshold = np.sort(found)[::-1][max(n_correct, 1) - 1]
    above, tied = int((found > threshold).sum()), int((found == threshold).sum())
    return Atc(name, source, float(threshold), (n_correct - above) / tied)
