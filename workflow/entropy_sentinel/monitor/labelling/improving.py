"""What labels of some responses say of a slice, by themselves and with the predictions of all its responses."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.monitor.labelling.predictions import one_value
from entropy_sentinel.statistics.numbers import Numbers
from entropy_sentinel.statistics.prediction_powered import LabelledMean, labelled_mean, prediction_powered_mean


@dataclass(frozen=True)
class Improved:
    """What labels say of a slice: by themselves, and with the predictions of all its responses."""

    n_labelled: int
    alone: LabelledMean
    improved: LabelledMean


def improved(
    labels: Sequence[bool | None],
    predicted_on_labelled: Numbers,
    predicted_on_all: Numbers,
    weights: Sequence[float] | None = None,
    level: float = 0.9,
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
    p, everywhere = one_value(predicted_on_labelled)[known], one_value(predicted_on_all)
    w = None if weights is None else np.array(weights, dtype=float)[known]
    if w is not None and np.isnan(w).any():
        if not np.isnan(w).all():
            raise InputError(
                f"weight: must be there for all labelled responses of a slice, {np.isnan(w).sum()} have none"
            )
        w = None
    return Improved(len(y), labelled_mean(y, level, w), prediction_powered_mean(y, p, everywhere, level, w))
