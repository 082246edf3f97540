"""The rows of a training group, what their estimators share, and functions to fit estimators and estimate slices."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl
from threadpoolctl import ThreadpoolController

from entropy_sentinel.core.extension_guard import guard_extension
from entropy_sentinel.estimators.estimator_base import CannotFit, Estimator, FitFailure
from entropy_sentinel.estimators.estimator_registry import family_of, module_of
from entropy_sentinel.estimators.estimator_settings import Fitting
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.signal_families.signal_registry import SIGNALS
from entropy_sentinel.statistics.array_types import Names, Numbers

if TYPE_CHECKING:
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
    from sklearn.preprocessing import StandardScaler

# With a smaller share of one class, every method depends on a few rows.
RARE = 0.05


@dataclass(frozen=True)
class Scaling:
    """z-scores of some features, by mean and standard deviation of the training rows; (n_features,) each."""

    features: tuple[str, ...]
    mean: np.ndarray
    scale: np.ndarray

    def __call__(self, frame: pl.DataFrame) -> np.ndarray:
        """The scaled features of a frame's rows, (n_rows, n_features)."""
        scores: np.ndarray = (frame.select(self.features).to_numpy() - self.mean) / self.scale
        return scores


class TrainingRows:
    """Labelled responses that estimators are fitted on, and every estimator fitted on them so far.

    z-scores are computed once, from the rows of the whole group, even for cross-validation (paper, appendix C.3).
    """

    def __init__(
        self,
        features: pl.DataFrame,
        labels: np.ndarray,
        settings: Mapping[str, Any] | Fitting,
        domains: Names | None = None,
        items: Numbers | None = None,
        groups: Names | None = None,
        buckets: pl.DataFrame | None = None,
    ) -> None:
        """Take responses with a label.

        `features` has the columns FEATURES and possibly signals, without nulls; `labels` is (n_rows,) bool.

        `settings` has the keys of `Fitting`. `domains` is (n_rows,), the domain of each row; by default there is one.
        `items` is (n_rows,), the number of each row's question, so that answers to one question are in one fold; by
        default all questions differ. `groups` is (n_rows,), the group of each row's domain, if some domains are more
        alike than others. `buckets` (n_rows,) are the words of the responses (`features.hashed_tokens`), if they are
        known.
        """
        extra_signals = [name for name in features.columns if name in SIGNALS and name not in FEATURES]
        columns = [*FEATURES, *extra_signals]
        self.features = features if features.columns == columns else features.select(columns)
        self.y = np.asarray(labels, dtype=bool)
        self.settings = Fitting.from_settings(settings)
        self.domains = np.full(len(self.y), "") if domains is None else np.asarray(domains, dtype=str)
        self.items = np.arange(len(self.y)) if items is None else np.asarray(items)
        self.groups = None if groups is None else np.asarray(groups, dtype=str)
        self.buckets = buckets
        # The correlation of labels to one item, or in one cluster, within a domain: how many of them count as one.
        self.similarity = 1.0
        # Labelled domains that are held out: methods that depend on the number of domains count them.
        self.n_left_out = 0
        self._shared: dict[str, Any] = {}
        self._fitted: dict[str, Estimator | FitFailure] = {}

    def part(self, rows: np.ndarray, left_out: int = 0) -> "TrainingRows":
        """Some of the rows, by a mask (n_rows,), as a training group.

        `left_out` is the number of domains that are left out only to be estimated, as in a validation.
        """
        part = TrainingRows(
            features=self.features.filter(rows),
            labels=self.y[rows],
            settings=self.settings,
            domains=self.domains[rows],
            items=self.items[rows],
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
        """A warning about estimates from these rows; None without one.

        It warns if less than `RARE` of the rows are correct, or incorrect.
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
    def _has_repeated_items(self) -> bool:
        """Whether a question has several answers."""
        return len(np.unique(self.items)) < len(self.y)

    @cached_property
    def folds(self) -> "StratifiedGroupKFold | StratifiedKFold":
        """The folds of the grid search and of the calibration."""
        # The import takes a second of CPU time; jobs that only read fitted estimators do not need it.
        from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

        folds = StratifiedGroupKFold if self._has_repeated_items else StratifiedKFold
        return folds(self.settings.folds, shuffle=True, random_state=self.settings.seed)

    @cached_property
    def scaler(self) -> "StandardScaler":
        """Mean and standard deviation (ddof 0; 1 instead of 0) of every feature."""
        from sklearn.preprocessing import StandardScaler

        return StandardScaler().fit(self.features.to_numpy())

    @cached_property
    def _scores(self) -> np.ndarray:
        scores: np.ndarray = self.scaler.transform(self.features.to_numpy())
        return scores

    def scaled(self, features: tuple[str, ...]) -> np.ndarray:
        """The z-scores of some features, (n_rows, n_features)."""
        return self._scores[:, self._places(features)]

    def scaling(self, features: tuple[str, ...]) -> Scaling:
        """The scaling of these features, for other rows."""
        places = self._places(features)
        return Scaling(features, self.scaler.mean_[places], self.scaler.scale_[places])

    def _places(self, features: tuple[str, ...]) -> list[int]:
        """The positions of the columns of these features."""
        return [self.features.columns.index(feature) for feature in features]

    @cached_property
    def splits(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The positions of the training rows and of the left-out rows of every fold; an item is in one fold only.

        Raises CannotFit if either part of a fold would lack rows of a class.
        """
        self.require_both_classes()
        # The number of items of the rarer class: each is in one fold only.
        rarest = min(len(np.unique(self.items[self.y == label])) for label in (True, False))
        if rarest < self.folds.n_splits:
            rows = "items" if self._has_repeated_items else "rows"
            raise CannotFit(
                f"only {rarest} training {rows} of the rarer class; {self.folds.n_splits} folds need at least "
                f"{self.folds.n_splits}"
            )
        splits = list(self.folds.split(np.empty(len(self)), self.y, self.items if self._has_repeated_items else None))
        for train, test in splits:
            if _lacks_a_class(self.y[train]) or _lacks_a_class(self.y[test]):
                raise CannotFit(
                    f"one of {self.folds.n_splits} folds (which keep all responses to an item together) lacks a class"
                )
        return splits

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """A result that several estimators share under this name; the first one computes it with `make`."""
        if name not in self._shared:
            self._shared[name] = make()
        return self._shared[name]

    def require_rows(self) -> None:
        """Raise CannotFit if there is no row."""
        if not len(self):
            raise CannotFit("the training group has no row with a label and features")

    def require_both_classes(self) -> None:
        """Raise CannotFit if there are no rows, or all are of one class."""
        self.require_rows()
        if _lacks_a_class(self.y):
            raise CannotFit(f"all training rows are {'correct' if self.y[0] else 'incorrect'}")

    def require(self, name: str) -> Estimator:
        """The estimator of this name; raises CannotFit with the reason if it cannot be fitted."""
        fitted = self.fit(name)
        if isinstance(fitted, FitFailure):
            raise CannotFit(fitted.reason)
        return fitted

    def fit(self, name: str) -> Estimator | FitFailure:
        """The estimator of this name, fitted once; or the reason why it cannot be fitted on these rows."""
        if name not in self._fitted:
            try:
                module = module_of(name)
                with guard_extension(
                    "estimators", family_of(name).name, f"estimator '{name}': fit failed", (CannotFit,)
                ):
                    fitted = module.fit(name, self)
                    if not isinstance(fitted, Estimator):
                        raise TypeError(f"must return an Estimator, returned {fitted!r:.100}")
                self._fitted[name] = fitted
            except CannotFit as error:
                self._fitted[name] = FitFailure(name, str(error))
        return self._fitted[name]


def _lacks_a_class(y: np.ndarray) -> bool:
    return bool(y.all() or not y.any())


# The name of a slice.
Slice = TypeVar("Slice")


def fit_estimators(rows: TrainingRows, names: Iterable[str]) -> dict[str, Estimator | FitFailure]:
    """Estimators by name, in the order of `names`; for those that cannot be fitted, the reason."""
    with one_thread():
        return {name: rows.fit(name) for name in names}


def score_slices(
    estimator: Estimator | FitFailure, features: pl.DataFrame, slices: Mapping[Slice, np.ndarray]
) -> dict[Slice, float | None]:
    """Each slice's estimated accuracy, in [0, 1]; None without rows, and from an unfitted estimator.

    `features` has the features without nulls, (n_rows,); a slice is a mask (n_rows,) of its rows.
    """
    if isinstance(estimator, FitFailure) or not len(features):
        return dict.fromkeys(slices)
    with one_thread():
        values = estimator.values(features)
    estimates = dict[Slice, float | None].fromkeys(slices)
    for name, rows in slices.items():
        if rows.any():
            estimates[name] = estimator.accuracy_of(values[rows].mean(axis=0))
    return estimates


def one_thread() -> AbstractContextManager[object]:
    """Limit NumPy and scikit-learn to one thread: the matrices are small, and more threads only wait for each other."""
    limited: AbstractContextManager[object] = _thread_pools().limit(limits=1)
    return limited


@cache
def _thread_pools() -> ThreadpoolController:
    """The thread pools of NumPy and scikit-learn, looked up once because it takes milliseconds."""
    return ThreadpoolController()
