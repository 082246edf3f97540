"""Families `atc` and `doc`: accuracy from the confidence in each response: a signal, or an estimator's P(correct).

`atc`, average thresholded confidence (Garg et al. 2022): the threshold is chosen so that the share of training rows on
its confident side equals their accuracy; a slice's estimate is its own share on that side. Rows tied at the threshold
have the weight in [0, 1] that makes the training share exact, so a constant signal gives the training accuracy.

`doc`, difference of confidences (Guillory et al. 2021): training accuracy + mean confidence of the slice - mean
confidence of the training rows, clipped to [0, 1].
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from entropy_sentinel.estimators.estimator_base import Estimator
from entropy_sentinel.estimators.training_rows import TrainingRows
from entropy_sentinel.signal_families.signal_registry import SIGNALS

# A signal's name, or a fitted estimator.
Confidence = str | Estimator


def fit_confidence(source: str, rows: TrainingRows) -> Confidence:
    """The confidence with this name: a signal's name as it is, or the estimator of this name, fitted on the rows.

    Raises CannotFit with the reason.
    """
    if source in SIGNALS:
        return source
    return rows.require(source)


def measure_confidence(source: Confidence, features: pl.DataFrame) -> np.ndarray:
    """The confidence of every response, (n_rows,); larger is more certain."""
    if isinstance(source, Estimator):
        p = source.p_correct(features)
        assert p is not None, f"{source.name} gives no P(correct)"
        return p
    values = features[source].to_numpy()
    return values if SIGNALS[source].confident else -values


@dataclass(frozen=True)
class Atc(Estimator):
    """The share of responses whose confidence is above the threshold; ties count with `tied_weight`."""

    confidence: Confidence
    threshold: float
    tied_weight: float

    def values(self, features: pl.DataFrame) -> np.ndarray:
        """For each response 1 above the threshold, `tied_weight` at it, and 0 below, (n_rows, 1)."""
        confidences = measure_confidence(self.confidence, features)
        counted: np.ndarray = (confidences > self.threshold) + self.tied_weight * (confidences == self.threshold)
        return counted[:, None]


@dataclass(frozen=True)
class Doc(Estimator):
    """The mean confidence of a slice, shifted by accuracy minus mean confidence on the training rows."""

    confidence: Confidence
    shift: float

    def values(self, features: pl.DataFrame) -> np.ndarray:
        return measure_confidence(self.confidence, features)[:, None]

    def accuracies_of(self, means: np.ndarray) -> np.ndarray:
        return np.clip(means[:, 0] + self.shift, 0, 1)


SAVED = (Atc, Doc)


def fit(name: str, rows: TrainingRows) -> Atc | Doc:
    """Choose the threshold or the shift on the training rows; for a signal, one class is enough."""
    rows.require_rows()
    family, _, source = name.partition("-")
    fitted = fit_confidence(source, rows)
    values = measure_confidence(fitted, rows.features)
    if family == "doc":
        return Doc(name, fitted, rows.accuracy - float(values.mean()))
    n_correct = int(rows.y.sum())
    # As many rows as are correct are above it or tied with it; without a correct row, it is the largest value.
    threshold = np.sort(values)[::-1][max(n_correct, 1) - 1]
    above, tied = int((values > threshold).sum()), int((values == threshold).sum())
    return Atc(name, fitted, float(threshold), (n_correct - above) / tied)
