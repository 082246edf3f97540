"""The rows of a training group, what all estimators fitted on them share, and the two verbs: fit them, score slices."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl
from threadpoolctl import ThreadpoolController

from entropy_sentinel.estimators.catalogue import module_of
from entropy_sentinel.estimators.estimator import CannotFit, Estimator, Unfitted
from entropy_sentinel.estimators.settings import Fitting
from entropy_sentinel.features.catalogue import FEATURES
from entropy_sentinel.signals.catalogue import SIGNALS
from entropy_sentinel.statistics.numbers import Names, Numbers

if TYPE_CHECKING:
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
    from sklearn.preprocessing import StandardScaler

# With fewer of one class than this share, every method goes by a handful of rows.
RARE = 0.05


@dataclass(frozen=True)
class Scaling:
    """z-scores of some features by the mean and standard deviation of the training rows; (n_features,) each."""

    features: tuple[str, ...]
    mean: np.ndarray
    scale: np.ndarray

    def __call__(self, frame: pl.DataFrame) -> np.ndarray:
        """The scaled features of a frame's rows, (n_rows, n_features)."""
        scores: np.ndarray = (frame.select(self.features).to_numpy() - self.mean) / self.scale
        return scores


class TrainingRows:
    """Labelled responses that estimators are fitted on, and every estimator fitted on them so far.

    z-scores are by the rows of the whole group, once, inside cross-validation too (paper, appendix C.3).
    """

    def __init__(
        self,
        features: pl.DataFrame,
        labels: np.ndarray,
        settings: Mapping[str, Any] | Fitting,
        domains: Names | None = None,
        items: Numbers | None = None,
        groups: Names | None = None,
    ) -> None:
        """`features` has the columns FEATURES and maybe further signals, without nulls, `labels` is (n_rows,) bool.

        `settings` has the keys of `Fitting`. `domains` is (n_rows,), the domain of each row; without it
        they are of one. `items` is (n_rows,), a number for the question that each row answers, so that answers to
        one question are in one fold; without it, all questions differ. `groups` is (n_rows,), the group of each row's
        domain, for domains of which some are more alike than others.
        """
        further = (name for name in features.columns if name in SIGNALS and name not in FEATURES)
        self.features, self.y = features.select(*FEATURES, *further), np.asarray(labels, dtype=bool)
        self.settings = Fitting.of(settings)
        self.domains = np.full(len(self.y), "") if domains is None else np.asarray(domains, dtype=str)
        self.items = np.arange(len(self.y)) if items is None else np.asarray(items)
        self.groups = None if groups is None else np.asarray(groups, dtype=str)
        # Domains that are labelled but kept apart: a method that goes by the number of domains counts them.
        self.n_left_out = 0
        self._several = len(np.unique(self.items)) < len(self.y)
        self._shared: dict[str, Any] = {}
        self._fitted: dict[str, Estimator | Unfitted] = {}

    def part(self, rows: np.ndarray, left_out: int = 0) -> "TrainingRows":
        """Some of the rows, by a mask (n_rows,), as a training group of their own.

        `left_out` is the number of domains that are missing only to be estimated, as in a validation.
        """
        part = TrainingRows(
            *(self.features.filter(rows), self.y[rows], self.settings, self.domains[rows], self.items[rows]),
            groups=None if self.groups is None else self.groups[rows],
        )
        part.n_left_out = left_out
        return part

    def __len__(self) -> int:
        return len(self.y)

    @property
    def accuracy(self) -> float:
        """The share of correct rows."""
        return float(self.y.mean())

    @property
    def caution(self) -> str | None:
        """Why estimates from these rows are to be taken with care; None where nothing is known against them.

        It is said where less than `RARE` of the rows are correct, or of them incorrect.
        """
        if not len(self) or RARE <= self.accuracy <= 1 - RARE:
            return None
        correct = int(self.y.sum())
        fewer, rarest = ("correct", correct) if correct * 2 < len(self) else ("incorrect", len(self) - correct)
        return (
            f"only {rarest} of {len(self):,} training rows are {fewer}, and the estimates depend on these "
            "few; add a benchmark of medium accuracy to the training group"
        )

    @cached_property
    def folds(self) -> "StratifiedGroupKFold | StratifiedKFold":
        """The folds of the grid search and of the calibration."""
        # A second of CPU time, which jobs that only read what others have fitted need not wait for.
        from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

        folds = StratifiedGroupKFold if self._several else StratifiedKFold
        return folds(self.settings.folds, shuffle=True, random_state=self.settings.seed)

    @cached_property
    def scaler(self) -> "StandardScaler":
        """Mean and standard deviation (ddof 0; scale 1 where it is 0) of every feature."""
        from sklearn.preprocessing import StandardScaler

        return StandardScaler().fit(self.features.to_numpy())

    @cached_property
    def _scaled(self) -> np.ndarray:
        scores: np.ndarray = self.scaler.transform(self.features.to_numpy())
        return scores

    def scaled(self, features: tuple[str, ...]) -> np.ndarray:
        """The z-scores of some features, (n_rows, n_features)."""
        return self._scaled[:, self._places(features)]

    def scaling(self, features: tuple[str, ...]) -> Scaling:
        """What scales these features of other rows in the same way."""
        places = self._places(features)
        return Scaling(features, self.scaler.mean_[places], self.scaler.scale_[places])

    def _places(self, features: tuple[str, ...]) -> list[int]:
        return [self.features.columns.index(feature) for feature in features]

    @cached_property
    def splits(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The rows to train on and those left out, of every fold; answers to one question are in one fold.

        Raises CannotFit where a fold would lack rows of a class, to train on or left out.
        """
        self.require_both_classes()
        rarest = min(len(np.unique(self.items[self.y == label])) for label in (True, False))
        if rarest < self.folds.n_splits:
            rows = "items" if self._several else "rows"
            raise CannotFit(
                f"only {rarest} training {rows} of the rarer class; {self.folds.n_splits} folds need at least "
                f"{self.folds.n_splits}"
            )
        splits = list(self.folds.split(np.empty(len(self)), self.y, self.items if self._several else None))
        if any(self.y[rows].all() or not self.y[rows].any() for split in splits for rows in split):
            raise CannotFit(
                f"one of {self.folds.n_splits} folds (which keep all responses to an item together) lacks a class"
            )
        return splits

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What several estimators share under this name, made by the first."""
        if name not in self._shared:
            self._shared[name] = make()
        return self._shared[name]

    def require_rows(self) -> None:
        """Raise CannotFit where there is no row."""
        if not len(self):
            raise CannotFit("the training group has no row with a label and features")

    def require_both_classes(self) -> None:
        """Raise CannotFit where there are no rows, or all are of one class."""
        self.require_rows()
        if self.y.all() or not self.y.any():
            raise CannotFit(f"all training rows are {'correct' if self.y[0] else 'incorrect'}")

    def require(self, name: str) -> Estimator:
        """The estimator of this name; raises CannotFit with the reason where it cannot be fitted."""
        fitted = self.fit(name)
        if isinstance(fitted, Unfitted):
            raise CannotFit(fitted.reason)
        return fitted

    def fit(self, name: str) -> Estimator | Unfitted:
        """The estimator of this name, fitted once; with the reason where it cannot be fitted on these rows."""
        if name not in self._fitted:
            try:
                self._fitted[name] = module_of(name).fit(name, self)
            except CannotFit as error:
                self._fitted[name] = Unfitted(name, str(error))
        return self._fitted[name]


# What a slice is called.
Slice = TypeVar("Slice")


def fit(rows: TrainingRows, names: Iterable[str]) -> dict[str, Estimator | Unfitted]:
    """Estimators by name, in the order of `names`; those that cannot be fitted say why."""
    with one_thread():
        return {name: rows.fit(name) for name in names}


def score(
    estimator: Estimator | Unfitted, features: pl.DataFrame, slices: Mapping[Slice, np.ndarray]
) -> dict[Slice, float | None]:
    """The estimated accuracy, in [0, 1], of each slice; None for a slice of no rows and from an unfitted estimator.

    `features` has the features without nulls, (n_rows,); a slice is a mask (n_rows,) of its rows.
    """
    if isinstance(estimator, Unfitted) or not len(features):
        return dict.fromkeys(slices)
    with one_thread():
        values = estimator.values(features)
    return {
        name: estimator.accuracy_of(values[rows].mean(axis=0)) if rows.any() else None for name, rows in slices.items()
    }


def one_thread() -> AbstractContextManager[object]:
    """Numpy and scikit-learn in one thread each: the matrices are small, more threads only wait for each other."""
    limited: AbstractContextManager[object] = _pools().limit(limits=1)
    return limited


@cache
def _pools() -> ThreadpoolController:
    """The thread pools of numpy and scikit-learn, looked up once: that takes milliseconds."""
    return ThreadpoolController()
