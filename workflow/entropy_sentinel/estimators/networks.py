"""Small neural networks, trained and run by machine code: fully connected, ReLU, one logit.

Parameters are one flat array: per layer the weights by input unit and output unit, then the biases. Activations are
(n_units, n_rows), all layers below one another, so that the inner loops run along rows.
"""

import numba
import numpy as np
from numba import float64, int64

from entropy_sentinel.estimators.machine_code import compiled

# scikit-learn's defaults of MLPClassifier, and the paper's L2 penalty.
BATCH = 200
_RATE, _BETA_1, _BETA_2, _EPSILON, _PENALTY = 1e-3, 0.9, 0.999, 1e-8, 1e-3
# Sums may be taken in the order of vector units. Rows with different rounding differ in the 16th digit.
_FAST = {"reassoc", "contract", "nsz"}


@compiled(numba.types.UniTuple(int64[::1], 2)(int64[::1]))
def _starts(units):
    """The first unit of every layer, and its first parameter."""
    unit, parameter = np.zeros(len(units), np.int64), np.zeros(len(units), np.int64)
    for layer in range(len(units) - 1):
        unit[layer + 1] = unit[layer] + units[layer]
        parameter[layer + 1] = parameter[layer] + (units[layer] + 1) * units[layer + 1]
    return unit, parameter


@compiled(numba.void(float64[::1], int64[::1], float64[:, ::1], int64), fastmath=_FAST)
def _forward(parameters, units, activations, n_rows):
    """Fill in the activations of all layers after the input's; the last row gets the logits."""
    unit, parameter = _starts(units)
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


@compiled(numba.void(float64[::1], int64[::1], float64[:, ::1], float64[:, ::1], float64[::1], int64), fastmath=_FAST)
def _backward(parameters, units, activations, deltas, gradient, n_rows):
    """The gradient of the mean loss, from the deltas of the last row; those of the other rows are written."""
    unit, parameter = _starts(units)
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


@compiled(numba.void(float64[::1], float64[::1], float64[:, ::1], int64), fastmath=_FAST)
def _adam(parameters, gradient, moments, step):
    """One step of Adam (Kingma and Ba 2015); moments: (2, n_parameters)."""
    rate = _RATE * np.sqrt(1 - _BETA_2**step) / (1 - _BETA_1**step)
    for i in range(len(parameters)):
        moments[0, i] = _BETA_1 * moments[0, i] + (1 - _BETA_1) * gradient[i]
        moments[1, i] = _BETA_2 * moments[1, i] + (1 - _BETA_2) * gradient[i] * gradient[i]
        parameters[i] -= rate * moments[0, i] / (np.sqrt(moments[1, i]) + _EPSILON)


@compiled(int64(float64[:, ::1], float64[::1], int64[::1], int64[::1], float64[::1], float64[:, ::1], int64))
def train_epoch(columns, y, order, units, parameters, moments, step):
    """Train on all rows once, in this order, by batches; returns the number of steps made so far.

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
        _forward(parameters, units, activations, n_rows)
        for i in range(n_rows):
            deltas[-1, i] = 1 / (1 + np.exp(-activations[-1, i])) - y[rows[i]]
        _backward(parameters, units, activations, deltas, gradient, n_rows)
        step += 1
        _adam(parameters, gradient, moments, step)
    return step


@compiled(float64[::1](float64[:, ::1], int64[::1], float64[::1]))
def logits(columns, units, parameters):
    """The logits of all rows, (n_rows,), from columns (n_features, n_rows)."""
    found = np.empty(columns.shape[1])
    activations = np.empty((units.sum(), BATCH))
    for first in range(0, len(found), BATCH):
        n_rows = min(BATCH, len(found) - first)
        activations[: units[0], :n_rows] = columns[:, first : first + n_rows]
        _forward(parameters, units, activations, n_rows)
        found[first : first + n_rows] = activations[-1, :n_rows]
    return found
