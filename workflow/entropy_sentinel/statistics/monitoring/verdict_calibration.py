"""Calibrate a judge's values: P(correct) of a response from what the judge says of it.

The values are verdicts, 0 or 1, or probabilities of "correct". A logistic regression on their log-odds is fitted to
labelled responses (Platt 1999). For verdicts it gives the two shares of correct responses, among those that the judge
calls correct and among the others. The slope is at least 0, so a judge that is worse than chance says nothing, and at
most STEEPEST, so few labels do not make it sure. Four half labels keep shares away from 0 and 1: of each of the two
extreme values, one is correct and one is not.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from entropy_sentinel.statistics.array_types import Numbers

# With fewer labelled responses, or fewer correct or incorrect ones, nothing is fitted.
FEWEST_LABELLED, FEWEST_OF_EITHER = 20, 5
STEEPEST = 2.0
# Values are clipped to this distance from 0 and 1, so verdicts have finite log-odds.
_NEAREST = 0.02


class VerdictCalibration(NamedTuple):
    """The intercept and the slope of the log-odds of a correct response on those of the judge's value."""

    intercept: float
    slope: float

    def probabilities(self, values: Numbers) -> np.ndarray:
        """P(correct) of responses with these values, (n,)."""
        p: np.ndarray = expit(self.intercept + self.slope * _log_odds(values))
        return p


def calibrate_verdicts(values: Numbers, labels: Numbers) -> VerdictCalibration | None:
    """The calibration from n labelled responses, (n,) each; null with too few of them."""
    y = np.asarray(labels, dtype=float)
    if len(y) < FEWEST_LABELLED or min(y.sum(), len(y) - y.sum()) < FEWEST_OF_EITHER:
        return None
    # Equal values count together, because verdicts have only two. 0 and 1 are added for the half labels.
    unique, place = np.unique(np.concatenate([np.asarray(values, dtype=float), [0, 1]]), return_inverse=True)
    x = _log_odds(unique)
    is_extreme = np.isin(np.arange(len(unique)), place[-2:])
    # Of each different value, responses and correct ones, with two half labels at 0 and at 1: one of them correct.
    counts = np.bincount(place[:-2], minlength=len(unique)) + is_extreme
    correct = np.bincount(place[:-2], y, minlength=len(unique)) + 0.5 * is_extreme

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """The negative log-likelihood of intercept and slope, and its gradient, (2,)."""
        intercept, slope = parameters
        z = intercept + slope * x
        residuals = counts * expit(z) - correct
        gradient = np.array([residuals.sum(), residuals @ x])
        return float(counts @ np.logaddexp(0, z) - correct @ z), gradient

    options = {"ftol": 1e-14, "gtol": 1e-9}
    bounds = [(None, None), (0, STEEPEST)]
    found = minimize(loss, np.array([0.0, 0.5]), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return VerdictCalibration(float(found.x[0]), float(found.x[1]))


def _log_odds(values: Numbers) -> np.ndarray:
    """The log-odds of values in [0, 1], (n,), clipped so that they are finite."""
    odds: np.ndarray = logit(np.clip(np.asarray(values, dtype=float), _NEAREST, 1 - _NEAREST))
    return odds
