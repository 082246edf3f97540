"""Family `atc`: average thresholded confidence on one feature (Garg et al. 2022).

The threshold is chosen on the training rows, so that the share of responses on its confident side equals their
accuracy; a slice's estimate is its own share on that side. Rows tied at the threshold count with the one weight in
[0, 1] that makes the training share exact, so that a constant feature gives the training accuracy.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from entropy_sentinel.estimators.estimator import Estimator
from entropy_sentinel.estimators.training import TrainingRows
from entropy_sentinel.features.catalogue import CONFIDENCE_FEATURES


@dataclass(frozen=True)
class Atc(Estimator):
    """The share of responses whose confidence is above the threshold; those at it count with `tied_weight`."""

    feature: str
    threshold: float
    tied_weight: float

    def values(self, features: pl.DataFrame) -> np.ndarray:
        confidence = confidences(features, self.feature)
        return (confidence > self.threshold) + self.tied_weight * (confidence == self.threshold)


def fit(name: str, rows: TrainingRows) -> Atc:
    """Choose the threshold on the training rows, of which one class is enough."""
    rows.require_rows()
    feature = name.removeprefix("atc-")
    confidence, n_correct = confidences(rows.features, feature), int(rows.y.sum())
    threshold = np.sort(confidence)[::-1][max(n_correct, 1) - 1]
    above, tied = int((confidence > threshold).sum()), int((confidence == threshold).sum())
    return Atc(name, feature, float(threshold), (n_correct - above) / tied)


def confidences(features: pl.DataFrame, feature: str) -> np.ndarray:
    """A feature so that larger is more certain, (n_rows,)."""
    values = features[feature].to_numpy()
    return values if feature in CONFIDENCE_FEATURES else -values
