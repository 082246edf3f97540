"""Family `mlp`: a multi-layer perceptron on a feature set, with early stopping and a grid over its hidden layers.

Training is that of scikit-learn's MLPClassifier, and so are the draws: the same seed gives the same network.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from imblearn.over_sampling import RandomOverSampler
from scipy.special import expit
from sklearn.model_selection import StratifiedShuffleSplit

from entropy_sentinel.estimators.classifier import SAVED as CONFIGURATION
from entropy_sentinel.estimators.classifier import ProbabilityEstimator, Separate, fit_configuration
from entropy_sentinel.estimators.estimator import CannotFit
from entropy_sentinel.estimators.networks import logits, train_epoch
from entropy_sentinel.estimators.training import TrainingRows

# This share of the training rows is kept for early stopping, at least one row a class.
_EARLY_STOPPING_SHARE = 0.1
# Training ends after so many epochs, or so many in a row that do not raise the accuracy on these rows by so much.
_EPOCHS, _PATIENCE, _TOLERANCE = 200, 10, 1e-4


@dataclass(frozen=True)
class Network:
    """A trained network: units of the layers, input and output included, and parameters as in `networks`."""

    units: np.ndarray
    parameters: np.ndarray

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """P(incorrect) and P(correct), (n_rows, 2); ValueError where units and parameters are not of one network."""
        units = self.units.tolist()  # whole numbers without end: what is forged does not become small again
        n_parameters = sum((n_in + 1) * n_out for n_in, n_out in pairwise(units))
        fits = min(units) >= 1 and (units[0], units[-1]) == (x.shape[1], 1)
        if not fits or len(self.parameters) != n_parameters:
            raise ValueError("network: its parameters or the features are not as many as its layers ask for")
        p = expit(logits(np.ascontiguousarray(x.T), self.units, self.parameters))
        return np.column_stack([1 - p, p])


SAVED = (*CONFIGURATION, Network)


def fit(name: str, rows: TrainingRows) -> ProbabilityEstimator:
    """Fit a configuration of this family; raises CannotFit also where early stopping has too few rows."""
    _require_early_stopping(rows)
    grid = [{"hidden_layer_sizes": layers} for layers in rows.settings.hidden_layers]
    return fit_configuration(name, rows, grid, partial(fit_grid, seed=rows.settings.seed))


def _require_early_stopping(rows: TrainingRows) -> None:
    """Raise CannotFit where a fold has too few rows to keep some of each class for early stopping."""
    of_folds = [rows.y[train] for train, _ in rows.splits]
    rarest = min(min(y.sum(), (~y).sum()) for y in of_folds)
    if min(map(len, of_folds)) * _EARLY_STOPPING_SHARE <= 1 or rarest < 2:
        raise CannotFit(f"{len(rows)} training rows are too few for the MLP's early stopping")


def fit_grid(x: np.ndarray, y: np.ndarray, balanced: bool, grid: Sequence[dict[str, Any]], *, seed: int) -> Separate:
    """Train a network per setting on x (n_rows, n_features), y (n_rows,); balanced by copies of the rarer class."""
    if balanced:
        x, y = RandomOverSampler(random_state=seed).fit_resample(x, y)
    return Separate([train(x, y, setting["hidden_layer_sizes"], seed) for setting in grid])


def train(x: np.ndarray, y: np.ndarray, hidden_layers: Sequence[int], seed: int) -> Network:
    """Train one network until the accuracy on the rows kept for early stopping rises no more; the best one."""
    rng, units = np.random.RandomState(seed), np.array([x.shape[1], *hidden_layers, 1])
    parameters = _initial(units, rng)
    split = StratifiedShuffleSplit(1, test_size=_EARLY_STOPPING_SHARE, random_state=rng)
    training, stopping = next(split.split(np.empty(len(y)), y))
    columns, others = np.ascontiguousarray(x[training].T), np.ascontiguousarray(x[stopping].T)
    labels, other_labels = y[training].astype(float), y[stopping]
    order, moments, step = np.arange(len(training)), np.zeros((2, len(parameters))), 0
    best, best_accuracy, n_stale = parameters.copy(), -np.inf, 0
    for _ in range(_EPOCHS):
        shuffled = np.arange(len(order))
        rng.shuffle(shuffled)
        order = order[shuffled]
        step = train_epoch(columns, labels, order, units, parameters, moments, step)
        accuracy = ((logits(others, units, parameters) > 0) == other_labels).mean()
        n_stale = n_stale + 1 if accuracy < best_accuracy + _TOLERANCE else 0
        if accuracy > best_accuracy:
            best, best_accuracy = parameters.copy(), accuracy
        if n_stale > _PATIENCE:
            break
    return Network(units, best)


def _initial(units: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Parameters at random, within the bounds of Glorot and Bengio (2010)."""
    parts = []
    for n_in, n_out in zip(units[:-1], units[1:], strict=True):
        bound = np.sqrt(6 / (n_in + n_out))
        parts += [rng.uniform(-bound, bound, n_in * n_out), rng.uniform(-bound, bound, n_out)]
    return np.concatenate(parts)
