"""The mixture of some distributions that is nearest to another one: least squares with shares >= 0 that add up to 1."""

import numpy as np
from scipy.optimize import nnls

# The weight of the equation that makes the shares add up to 1.
_SUM_WEIGHT = 1e3
# Columns in the first problem; then it may double. Few distributions have a share, so most others need no solver.
_INITIAL_COLUMNS = 32
# A distribution whose gradient is smaller would not change the mixture.
_TOLERANCE = 1e-8


class Mixtures:
    """Finds the nearest mixtures of `columns`, (n_values, n_distributions)."""

    def __init__(self, columns: np.ndarray) -> None:
        """Prepare the equations, which are the same for every target.

        They are (n_values + 1, n_distributions): columns @ shares = target, and below _SUM_WEIGHT * (sum of shares =
        1), whose large weight makes it hold almost exactly.
        """
        self._equations = np.vstack([columns, np.full((1, columns.shape[1]), _SUM_WEIGHT)])
        self._squares = (columns**2).sum(axis=0)

    def find_shares(self, target: np.ndarray, allowed: np.ndarray | None = None) -> np.ndarray:
        """The shares of the mixture nearest to `target`, (n_distributions,); `target` is (n_values,).

        `allowed` (n_distributions,) tells which ones may have a share, at least one; by default all.

        A problem with few columns is solved, and extended by the columns whose gradient says that they would improve
        it, until there are none: the result is that of all columns (the conditions of Karush, Kuhn and Tucker).
        """
        # The last equation, with its large weight, makes the shares add up to 1.
        equations, right_sides = self._equations, np.append(target, _SUM_WEIGHT)
        n = equations.shape[1]
        excluded = np.zeros(n, dtype=bool) if allowed is None else ~allowed
        # The nearest ones first: |column - target|^2 = |column|^2 - 2 target @ column, up to a constant.
        distance = np.where(excluded, np.inf, self._squares - 2 * (target @ equations[:-1]))
        is_active = np.zeros(n, dtype=bool)  # the columns of the present problem
        is_active[_find_smallest(distance, np.isfinite(distance), _INITIAL_COLUMNS)] = True
        while True:
            active = np.flatnonzero(is_active)
            solution, _ = nnls(equations[:, active], right_sides)
            # Minus half of the gradient of the squared error. Where it is positive, a larger share lowers the error.
            descent = (right_sides - equations[:, active] @ solution) @ equations
            improving = (descent > _TOLERANCE) & ~is_active & ~excluded
            if not improving.any():
                break
            is_active[_find_smallest(-descent, improving, max(_INITIAL_COLUMNS, len(active)))] = True
        shares = np.zeros(n)
        shares[active] = solution / solution.sum()
        return shares


def _find_smallest(values: np.ndarray, candidates: np.ndarray, n: int) -> np.ndarray:
    """The indices of the `n` smallest of the `values` that are `candidates`, or of all if there are fewer."""
    indices = np.flatnonzero(candidates)
    return indices[np.argsort(values[indices], kind="stable")[:n]]
