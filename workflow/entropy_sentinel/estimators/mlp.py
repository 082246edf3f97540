"""Family `mlp`: a multi-layer perceptron on a feature set, with early stopping and a grid over its hidden layers.

Training and random draws are those of scikit-learn's MLPClassifier: the same seed gives the same network. Networks are
fully connected, with ReLU and one logit, trained and run by machine code. Parameters are one flat array: per layer the
weights by input unit and output unit, then the biases. Activations are (n_units, n_rows), with all layers stacked, so
that the inner loops run along rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numba
import numpy as np
from numba import float64, int64
from scipy.special import expit
from sklearn.model_selection import StratifiedShuffleSplit

from entropy_sentinel.estimators.classifier import SAVED as CONFIGURATION
from entropy_sentinel.estimators.classifier import ProbabilityEstimator, SeparateClassifiers, fit_configuration
from entropy_sentinel.estimators.estimator_base import CannotFit
from entropy_sentinel.estimators.machine_code import compile_cached
from entropy_sentinel.estimators.training_rows import TrainingRows

# scikit-learn's defaults of MLPClassifier, and the paper's L2 penalty.
BATCH = 200
_RATE, _BETA_1, _BETA_2, _EPSILON, _PENALTY = 1e-3, 0.9, 0.999, 1e-8, 1e-3
# Sums may use the order of vector units; rounding then differs in the 16th digit.
_FAST = {"reassoc", "contract", "nsz"}


@compile_cached(numba.types.UniTuple(int64[::1], 2)(int64[::1]))
def _layer_offsets(units):
    """The index of every layer's first unit, and of the first parameter of its weights to the next, (n_layers,) each.

    units: (n_layers,) the sizes of the layers.
    """
    unit, parameter = np.zeros(len(units), np.int64), np.zeros(len(units), np.int64)
    for layer in range(len(units) - 1):
        unit[layer + 1] = unit[layer] + units[layer]
        parameter[layer + 1] = parameter[layer] + (units[layer] + 1) * units[layer + 1]
    return unit, parameter


@compile_cached(numba.void(float64[::1], int64[::1], float64[:, ::1], int64), fastmath=_FAST)
def _forward_pass(parameters, units, activations, n_rows):
    """Fill in the activations of all layers after the input's; the last row gets the logits.

    units: the sizes of the layers, activations: (n_units, n_rows or more), all layers stacked.
    """
    unit, parameter = _layer_offsets(units)
    for layer in range(len(units) - 1):
        n_in, n_out, first = units[layer], units[layer + 1], parameter[layer]
        for j in range(n_out):
            out = activations[unit[layer + 1] + j, :n_rows]
            out[:] = parameters[first + n_in * n_out + j]
            for i in range(n_in):
                weight, inputs = parameters[first + i * n_out + j], activations[unit[layer] + i, :n_rows]
                for row in range(n_rows):
                    out[row] += weight * inputs[row]
            if layer < len(units) - 2:
                for row in range(n_rows):
                    out[row] = max(out[row], 0.0)


@compile_cached(
    numba.void(float64[::1], int64[::1], float64[:, ::1], float64[:, ::1], float64[::1], int64), fastmath=_FAST
)
def _backward_pass(parameters, units, activations, deltas, gradient, n_rows):
    """Write the gradient of the mean loss, (n_parameters,), from the deltas of the last unit; fill in the other deltas.

    deltas: like activations, (n_units, n_rows or more), the derivatives of the loss by each unit's input.
    """
    unit, parameter = _layer_offsets(units)
    for layer in range(len(units) - 2, -1, -1):
        n_in, n_out, first = units[layer], units[layer + 1], parameter[layer]
        below = deltas[unit[layer] : unit[layer] + n_in, :n_rows]
        below[:] = 0.0
        for j in range(n_out):
            delta = deltas[unit[layer + 1] + j, :n_rows]
            total = 0.0
            for row in range(n_rows):
                total += delta[row]
            gradient[first + n_in * n_out + j] = total / n_rows
            for i in range(n_in):
                place, inputs, total = first + i * n_out + j, activations[unit[layer] + i, :n_rows], 0.0
                for row in range(n_rows):
                    total += inputs[row] * delta[row]
                gradient[place] = (total + _PENALTY * parameters[place]) / n_rows
                if layer:
                    weight = parameters[place]
                    for row in range(n_rows):
                        below[i, row] += weight * delta[row]
        if layer:
            for i in range(n_in):
                inputs = activations[unit[layer] + i, :n_rows]
                for row in range(n_rows):
                    below[i, row] *= inputs[row] > 0


@compile_cached(numba.void(float64[::1], float64[::1], float64[:, ::1], int64), fastmath=_FAST)
def _adam_step(parameters, gradient, moments, step):
    """Make one step of Adam (Kingma and Ba 2015); moments: (2, n_parameters)."""
    rate = _RATE * np.sqrt(1 - _BETA_2**step) / (1 - _BETA_1**step)
    for i in range(len(parameters)):
        moments[0, i] = _BETA_1 * moments[0, i] + (1 - _BETA_1) * gradient[i]
        moments[1, i] = _BETA_2 * moments[1, i] + (1 - _BETA_2) * gradient[i] * gradient[i]
        parameters[i] -= rate * moments[0, i] / (np.sqrt(moments[1, i]) + _EPSILON)


@compile_cached(int64(float64[:, ::1], float64[::1], int64[::1], int64[::1], float64[::1], float64[:, ::1], int64))
def train_epoch(columns, y, order, units, parameters, moments, step):
    """Train on all rows once, in this order, in batches; return the number of steps so far.

    columns: (n_features, n_rows), y: (n_rows,) 0 or 1; parameters and moments are changed in place.
    """
    activations = np.empty((units.sum(), BATCH))
    deltas, gradient = np.empty_like(activations), np.empty_like(parameters)
    for first in range(0, len(order), BATCH):
        rows = order[first : first + BATCH]
        n_rows = len(rows)
        for i in range(units[0]):
            for row in range(n_rows):
                activations[i, row] = columns[i, rows[row]]
        _forward_pass(parameters, units, activations, n_rows)
        for i in range(n_rows):
            deltas[-1, i] = 1 / (1 + np.exp(-activations[-1, i])) - y[rows[i]]
        _backward_pass(parameters, units, activations, deltas, gradient, n_rows)
        step += 1
        _adam_step(parameters, gradient, moments, step)
    return step


@compile_cached(float64[::1](float64[:, ::1], int64[::1], float64[::1]))
def compute_logits(columns, units, parameters):
    """The logits of all rows, (n_rows,), from columns (n_features, n_rows)."""
    out = np.empty(columns.shape[1])
    activations = np.empty((units.sum(), BATCH))
    for first in range(0, len(out), BATCH):
        n_rows = min(BATCH, len(out) - first)
        activations[: units[0], :n_rows] = columns[:, first : first + n_rows]
        _forward_pass(parameters, units, activations, n_rows)
        out[first : first + n_rows] = activations[-1, :n_rows]
    return out


# The share of training rows reserved for early stopping, at least one row per class.
_EARLY_STOPPING_SHARE = 0.1
# The largest number of epochs; training stops after so many in a row that raise the accuracy on these rows by less.
_EPOCHS, _PATIENCE, _TOLERANCE = 200, 10, 1e-4


@dataclass(frozen=True)
class Network:
    """A trained network: the sizes of its layers, including input and output, and the parameters as in `networks`."""

    units: np.ndarray
    parameters: np.ndarray

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """P(incorrect) and P(correct), (n_rows, 2); raises ValueError if layers and parameters do not match."""
        units = self.units.tolist()  # Python integers do not overflow, so forged sizes stay large
        n_parameters = sum((n_in + 1) * n_out for n_in, n_out in pairwise(units))
        fits = min(units) >= 1 and (units[0], units[-1]) == (x.shape[1], 1)
        if not fits or len(self.parameters) != n_parameters:
            raise ValueError("network: the number of parameters or features does not match its layers")
        p = expit(compute_logits(np.ascontiguousarray(x.T), self.units, self.parameters))
        return np.column_stack([1 - p, p])


SAVED = (*CONFIGURATION, Network)


def fit(name: str, rows: TrainingRows) -> ProbabilityEstimator:
    """Fit a configuration of this family; raise CannotFit also if early stopping has too few rows."""
    _require_early_stopping(rows)
    grid = [{"hidden_layer_sizes": layers} for layers in rows.settings.hidden_layers]
    return fit_configuration(name, rows, grid, partial(fit_grid, seed=rows.settings.seed))


def _require_early_stopping(rows: TrainingRows) -> None:
    """Raise CannotFit if a fold has too few rows to reserve some of each class for early stopping."""
    for train, _ in rows.splits:
        y = rows.y[train]
        if len(y) * _EARLY_STOPPING_SHARE <= 1 or min(y.sum(), (~y).sum()) < 2:
            raise CannotFit(f"{len(rows)} training rows are too few for the MLP's early stopping")


def fit_grid(
    x: np.ndarray, y: np.ndarray, balanced: bool, grid: Sequence[dict[str, Any]], *, seed: int
) -> SeparateClassifiers:
    """Train one network per setting on x (n_rows, n_features), y (n_rows,); balanced by copies of the rarer class."""
    if balanced:
        x, y = oversample_rows(x, y, seed)
    return SeparateClassifiers([train_network(x, y, setting["hidden_layer_sizes"], seed) for setting in grid])


def oversample_rows(x: np.ndarray, y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels followed by copies of the rarer class, drawn like imbalanced-learn's RandomOverSampler."""
    rarer = y.sum() * 2 < len(y)
    rows = np.flatnonzero(y == rarer)
    copies = np.random.RandomState(seed).randint(low=0, high=len(rows), size=len(y) - 2 * len(rows))
    drawn = np.append(np.arange(len(y)), rows[copies])
    return x[drawn], y[drawn]


def train_network(x: np.ndarray, y: np.ndarray, hidden_layers: Sequence[int], seed: int) -> Network:
    """Train one network until the accuracy on the early-stopping rows stops rising; return the best state.

    x: (n_rows, n_features), y: (n_rows,) bool.
    """
    rng = np.random.RandomState(seed)
    units = np.array([x.shape[1], *hidden_layers, 1])
    parameters = _initial_parameters(units, rng)
    split = StratifiedShuffleSplit(1, test_size=_EARLY_STOPPING_SHARE, random_state=rng)
    training, stopping = next(split.split(np.empty(len(y)), y))
    columns, stopping_columns = np.ascontiguousarray(x[training].T), np.ascontiguousarray(x[stopping].T)
    labels, stopping_labels = y[training].astype(float), y[stopping]
    order, moments, step = np.arange(len(training)), np.zeros((2, len(parameters))), 0
    best, best_accuracy, n_stale = parameters.copy(), -np.inf, 0
    for _ in range(_EPOCHS):
        # In two steps, so that the draws are those of scikit-learn.
        shuffled = np.arange(len(order))
        rng.shuffle(shuffled)
        order = order[shuffled]
        step = train_epoch(columns, labels, order, units, parameters, moments, step)
        accuracy = ((compute_logits(stopping_columns, units, parameters) > 0) == stopping_labels).mean()
        n_stale = n_stale + 1 if accuracy < best_accuracy + _TOLERANCE else 0
        if accuracy > best_accuracy:
            best, best_accuracy = parameters.copy(), accuracy
        if n_stale > _PATIENCE:
            break
    return Network(units, best)


def _initial_parameters(units: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Draw initial parameters within the bounds of Glorot and Bengio (2010)."""
    parts = []
    for n_in, n_out in zip(units[:-1], units[1:], strict=True):
        bound = np.sqrt(6 / (n_in + n_out))
        parts += [rng.uniform(-bound, bound, n_in * n_out), rng.uniform(-bound, bound, n_out)]
    return np.concatenate(parts)
