"""Write adjustments.json: intervals of MAPIE and crepes, for papers/intervals/tests/test_adjusting.py.

In an environment of its own: `pip install mapie==1.6.0 crepes==0.9.1`. MAPIE adjusts stated intervals as if three
fitted models had predicted them, and does conformal quantile regression; crepes has a margin for each group, around
single numbers.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
from crepes import ConformalRegressor
from mapie.regression import ConformalizedQuantileRegressor
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import QuantileRegressor

LEVELS, N_NEW = (0.5, 0.8, 0.9, 0.95, 0.99), 12


class Column(RegressorMixin, BaseEstimator):
    """A model that predicts a stated end, or the middle between both: a weight for each of the first two columns."""

    n_features_in_ = 3  # what MAPIE knows a fitted model by

    def __init__(self, weights: tuple[float, float] = (1.0, 0.0)) -> None:
        self.weights = weights

    def fit(self, x: np.ndarray, y: np.ndarray) -> "Column":
        return self

    def predict(self, x: np.ndarray) -> np.ndarray:
        return x[:, :2] @ np.array(self.weights)


def mapie(models: list, x: np.ndarray, y: np.ndarray, new: np.ndarray, level: float) -> list:
    """The intervals of the new questions, adjusted on (x, y) with one margin for both ends."""
    result = ConformalizedQuantileRegressor(models, confidence_level=level, prefit=True).conformalize(x, y)
    return result.predict_interval(new, symmetric_correction=True)[1][:, :, 0].tolist()


def regressed(x: np.ndarray, y: np.ndarray, level: float) -> list[QuantileRegressor]:
    """Models of both ends and of the middle, fitted to every other question."""
    return [
        QuantileRegressor(quantile=at, alpha=0).fit(x[::2], y[::2]) for at in ((1 - level) / 2, (1 + level) / 2, 0.5)
    ]


def main() -> None:
    """Whole numbers as language models state them, too narrow; every fifth interval is a single number."""
    rng = np.random.default_rng(18)
    cases = []
    for n in (30, 61, 200):
        size = n + N_NEW
        lower = rng.integers(-5, 20, size)
        upper = lower + np.where(rng.random(size) < 0.2, 0, rng.integers(1, 6, size))
        true = np.round((lower + upper) / 2 + rng.normal(0, 4, size)).astype(int)
        covariate = np.round(rng.normal(0, 1, size) + (upper - lower) / 4, 3)
        group = rng.choice(["a", "b", "c"], size, p=[0.5, 0.4, 0.1])
        x, stated = np.column_stack([lower, upper, covariate]).astype(float), [(1, 0), (0, 1), (0.5, 0.5)]
        result = []
        for level in LEVELS:
            one: dict = {"level": level}
            # MAPIE has no infinite intervals.
            if level * (n + 1) <= n:
                one["conformal"] = mapie([Column(weights) for weights in stated], x[:n], true[:n], x[n:], level)
            if level * (n // 2 + 1) <= n // 2:
                one["cqr"] = mapie(regressed(x[:n], true[:n], level), x[1:n:2], true[1:n:2], x[n:], level)
            # crepes has a margin for each group that reaches the level, and no rule for those that do not.
            sizes = {name: int((group[:n] == name).sum()) for name in "abc"}
            if all(level * (size + 1) <= size - 0.001 for size in sizes.values()):
                regressor = ConformalRegressor().fit(residuals=true[:n] - lower[:n], bins=group[:n])
                one["mondrian"] = regressor.predict_int(
                    lower[n:].astype(float), bins=group[n:], confidence=level
                ).tolist()
            result.append(one)
        arrays = {"lower": lower, "upper": upper, "true": true, "covariate": covariate, "group": group}
        cases.append({"n": n} | {name: values.tolist() for name, values in arrays.items()} | {"found": result})
    content = {"mapie": version("mapie"), "crepes": version("crepes"), "cases": cases}
    Path(__file__).with_name("adjustments.json").write_text(json.dumps(content) + "\n")


if __name__ == "__main__":
    main()
