"""P(correct) of each training response, from an estimator fitted without it.

People may use the same labels twice: to fit an estimator, and to correct its predictions. An estimator fits the labels
that it has seen too well, so its predictions of these responses would leave too little to correct. With predictions
out of fold, labels and predictions are as independent as for new labels (cross-fitting: Chernozhukov et al. 2018;
cross-prediction-powered inference: Zrnic and Candès 2024). All other responses keep the predictions of the estimator
itself, which differ from those of the folds by chance only: their means over a slice are the same within .002.

Responses with equal features are in one fold, and so are clusters of dependent responses. A method that was chosen on
all labels is kept, because a choice among few methods uses little of a label.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from entropy_sentinel.estimators.estimator_base import CannotFit, Estimator
from entropy_sentinel.estimators.training_rows import TrainingRows, one_thread
from entropy_sentinel.features.feature_hashes import hash_features

# More folds cost more and change little.
_FOLDS = 5


class TrainingPredictions(NamedTuple):
    """P(correct) of the training responses, each from an estimator fitted without it.

    hashes: (n,) those of the responses' features, sorted; p: (n,) the predictions, NaN if unknown.
    """

    hashes: np.ndarray
    p: np.ndarray

    @classmethod
    def fit(cls, estimator: Estimator, rows: TrainingRows) -> "TrainingPredictions":
        """Predict each training response by estimators fitted on the other folds.

        If one of them cannot be fitted, because labels are few, no prediction is known.
        """
        hashes, first, response = np.unique(hash_features(rows.features), return_index=True, return_inverse=True)
        p = np.full(len(rows), np.nan, dtype=np.float32)
        try:
            for fold, fitted in _fit_folds(estimator, rows, response):
                p[fold] = predict_responses(fitted, rows.features.filter(fold))
        except CannotFit:
            p[:] = np.nan
        return cls(hashes, p[first])

    def check(self) -> None:
        """Raise ValueError for arrays that are not predictions of responses."""
        has_types = self.hashes.dtype == np.uint64 and self.p.dtype == np.float32
        if not has_types or {self.hashes.shape, self.p.shape} != {(self.hashes.size,)}:
            raise ValueError("must have a 64-bit hash and a 32-bit number for each training response")
        if (self.hashes[1:] <= self.hashes[:-1]).any():
            raise ValueError("must have hashes in order, once each")
        if not ((self.p >= 0) & (self.p <= 1) | np.isnan(self.p)).all():
            raise ValueError("must have predictions between 0 and 1")

    def find(self, features: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
        """Whether the estimator was fitted on each response, (n_rows,), and its prediction, null if unknown."""
        n = len(features)
        if not len(self.hashes):
            return pl.repeat(False, n, eager=True), pl.repeat(None, n, dtype=pl.Float64, eager=True)
        hashes = hash_features(features)
        place = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        found = self.hashes[place] == hashes
        p = pl.Series(np.where(found, self.p[place], np.nan).astype(np.float64)).fill_nan(None)
        return pl.Series(found), p


NO_PREDICTIONS = TrainingPredictions(np.zeros(0, np.uint64), np.zeros(0, np.float32))


def predict_responses(estimator: Estimator, features: pl.DataFrame) -> np.ndarray:
    """Each response's prediction, (n_rows,), in [0, 1]: P(correct), or else the estimate for it alone.

    Without an estimator, all are NaN.
    """
    with one_thread():
        p = estimator.p_correct(features)
        return np.clip(estimator.accuracies_of(estimator.values(features)) if p is None else p, 0, 1)


def _fit_folds(
    estimator: Estimator, rows: TrainingRows, response: np.ndarray
) -> Iterator[tuple[np.ndarray, Estimator]]:
    """Yield each fold, a mask (n_rows,), and the estimator fitted without it.

    `response`, (n_rows,), numbers the distinct responses: rows with equal features have the same number.
    """
    folds = _assign_folds(rows, response)
    with one_thread():
        for number in range(folds.max(initial=0) + 1):
            fold = folds == number
            yield fold, estimator.refit(rows.part(~fold))


def _assign_folds(rows: TrainingRows, response: np.ndarray) -> np.ndarray:
    """The fold of each row, (n_rows,): dependent rows together, and each domain spread evenly over folds.

    `response`, (n_rows,), numbers the distinct responses.
    """
    # Each row links its item with its response: rows of one connected component must be in one fold.
    _, item = np.unique(rows.items, return_inverse=True)
    n_nodes = item.max(initial=-1) + 1 + response.max(initial=-1) + 1
    links = coo_array((np.ones(len(rows)), (item, item.max(initial=-1) + 1 + response)), shape=(n_nodes, n_nodes))
    _, component = connected_components(links, directed=False)
    units, first, unit = np.unique(component[item], return_index=True, return_inverse=True)
    # Components in random order within their domain are dealt out to the folds in turn.
    shuffled = np.random.default_rng(rows.settings.seed).permutation(len(units))
    in_order = shuffled[np.argsort(rows.domains[first][shuffled], kind="stable")]
    fold_of_unit = np.empty(len(units), dtype=np.int64)
    fold_of_unit[in_order] = np.arange(len(units)) % _FOLDS
    folds: np.ndarray = fold_of_unit[unit]
    return folds
