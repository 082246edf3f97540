"""Expected widths of the slices' intervals before anybody has labelled, without an estimator."""

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl

from entropy_sentinel.monitor.labelling.usable_probability import EXPLAINED_SHARE, JudgeQuality
from entropy_sentinel.statistics.monitoring.expected_precision import (
    expected_size_with_judge,
    expected_size_with_predictions,
    expected_width,
)
from entropy_sentinel.statistics.witness_powers import FEWEST_FOR_POWERS

# The accuracy for which widths are expected: nobody knows it yet, and at this one intervals are widest.
ASSUMED_ACCURACY = 0.5
# Larger slices have the same widths.
_LARGE = 20_000


class Design(NamedTuple):
    """Numbers of responses, labels and verdicts of a slice."""

    responses: int
    labels: int
    verdicts: int


def expect_widths(designs: Sequence[Design], judge: JudgeQuality, level: float) -> dict[str, pl.Series]:
    """Each slice's expected widths: from labels alone, with the judge, with an estimator, and with both.

    The estimator would be fitted on these labels; its P(correct) explains EXPLAINED of the variance within a slice.
    Widths with the judge are null if there are too few labels to correct its errors.
    """
    n_beyond_one = sum(max(design.labels - 1, 0) for design in designs)
    can_correct = n_beyond_one >= FEWEST_FOR_POWERS
    widths: dict[str, list[float | None]] = {}
    for name, has_judge, explained in (
        ("width_labels_alone", False, 0.0),
        ("width_with_judge", True, 0.0),
        ("width_with_estimator", False, EXPLAINED_SHARE),
        ("width_with_both", True, EXPLAINED_SHARE),
    ):
        widths[name] = [
            _expect_width(design, judge if has_judge else None, explained, level)
            if design.labels and (can_correct or not has_judge)
            else None
            for design in designs
        ]
    return {name: pl.Series(values, dtype=pl.Float64) for name, values in widths.items()}


@cache
def _expect_width(design: Design, judge: JudgeQuality | None, explained: float, level: float) -> float:
    """The width of an interval from a slice's labels, and from the verdicts of the `judge` if there is one.

    `explained` is the share of the variance of labels that an estimator's P(correct) explains; 0 without an estimator.
    """
    p = _make_predictions(min(design.responses, _LARGE), explained)
    if judge is None:
        worth = expected_size_with_predictions(p, design.labels, level)
    else:
        worth = expected_size_with_judge(p, design.labels, design.verdicts, *judge, level)
    return _expect_worth_width(round(worth, 1), level)


# Slices of about the same size have about the same worths, and each width solves many equations.
@cache
def _expect_worth_width(worth: float, level: float) -> float:
    """The width of an interval from labels that are worth as many independent ones."""
    return expected_width(ASSUMED_ACCURACY, worth, level)


def _make_predictions(n: int, explained: float) -> np.ndarray:
    """P(correct) of n responses, (n,), with the mean ASSUMED_ACCURACY, that explains this share of variance.

    Only its moments matter, so two values suffice.
    """
    spread = math.sqrt(explained * ASSUMED_ACCURACY * (1 - ASSUMED_ACCURACY))
    predictions: np.ndarray = ASSUMED_ACCURACY + spread * np.where(np.arange(n) % 2, 1, -1)
    return predictions
