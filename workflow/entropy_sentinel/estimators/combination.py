"""Family `combination`: several estimators fitted on the same rows, and one number for each slice from all of them.

`consensus` is the mean of three ATC, `median-of-seven` the median of seven estimators of several kinds: no member that
is far off in some domain moves it. Members are in `COMBINATIONS` of the catalogue.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from entropy_sentinel.estimators.catalogue import COMBINATIONS
from entropy_sentinel.estimators.estimator import Estimator
from entropy_sentinel.estimators.training import TrainingRows

_SUMMARIES: dict[str, Callable[..., np.ndarray]] = {"mean": np.mean, "median": np.median}


@dataclass(frozen=True)
class Combination(Estimator):
    """The mean or median of the members' estimates of a slice; P(correct) is the mean of what `rankers` give."""

    summary: str
    members: tuple[Estimator, ...]
    rankers: tuple[Estimator, ...]

    def values(self, features: pl.DataFrame) -> np.ndarray:
        """The members' values, (n_rows, n_members)."""
        return np.column_stack([member.values(features) for member in self.members])

    def accuracies_of(self, means: np.ndarray) -> np.ndarray:
        estimates = [member.accuracies_of(one) for member, one in zip(self.members, means.T, strict=True)]
        return _SUMMARIES[self.summary](np.column_stack(estimates), axis=1)

    def p_correct(self, features: pl.DataFrame) -> np.ndarray | None:
        ranked = [p for ranker in self.rankers if (p := ranker.p_correct(features)) is not None]
        return np.asarray(np.mean(ranked, axis=0)) if ranked else None


SAVED = (Combination,)


def fit(name: str, rows: TrainingRows) -> Combination:
    """Fit every member; CannotFit with the reason of the first that cannot be fitted.

    Rows of one class give no P(correct): nothing can be ranked on them.
    """
    recipe = COMBINATIONS[name]
    members = tuple(rows.require(member) for member in recipe.members)
    rankers = [rows.fit(ranker) for ranker in recipe.rankers]
    return Combination(name, recipe.summary, members, tuple(one for one in rankers if isinstance(one, Estimator)))
