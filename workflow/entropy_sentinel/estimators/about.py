"""Facts about an estimator: what it was fitted on, what it chose, and reasons for caution."""

from dataclasses import asdict
from typing import Any

import polars as pl

from entropy_sentinel.estimators.catalogue import signals_of
from entropy_sentinel.estimators.estimator import Estimator, FitFailure
from entropy_sentinel.estimators.familiarity import Familiarity
from entropy_sentinel.estimators.limits import DEFAULT, Limits
from entropy_sentinel.estimators.support import Support
from entropy_sentinel.estimators.training import TrainingRows
from entropy_sentinel.estimators.validation import validate
from entropy_sentinel.estimators.witnessed import WitnessedRows
from entropy_sentinel.signals.catalogue import FAMILY_OF

_UNFITTED = dict.fromkeys(("chosen", "validation", "support", "familiarity"))


def about(
    estimator: Estimator | FitFailure,
    rows: TrainingRows,
    limits: Limits = DEFAULT,
    witnessed: WitnessedRows | None = None,
) -> dict[str, Any]:
    """Return what a file records about an estimator and its training rows; the caller adds the rest.

    `limits` are those of the validation's verdict, and `witnessed` the responses with a judge's verdicts.
    """
    of_fit = _of_fitted(estimator, rows, limits, witnessed) if isinstance(estimator, Estimator) else _UNFITTED
    return {
        "settings": asdict(rows.settings),
        "n_training_rows": len(rows),
        "training_accuracy": rows.accuracy if len(rows) else None,
        "signals": {name: FAMILY_OF[name] for name in signals_of(estimator.name)},
        "feature_statistics": feature_statistics(rows.features),
        "caution": rows.caution,
        **of_fit,
    }


def _of_fitted(
    estimator: Estimator, rows: TrainingRows, limits: Limits, witnessed: WitnessedRows | None
) -> dict[str, Any]:
    familiarity = None if rows.buckets is None else Familiarity.of(rows.buckets, rows.domains, rows.groups)
    return {
        "chosen": estimator.chosen,
        "validation": validate(rows, estimator.name, limits, witnessed).as_dict(),
        "support": Support.of(rows.features, rows.domains).as_dict(),
        "familiarity": None if familiarity is None else familiarity.as_dict(),
    }


def feature_statistics(features: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Return mean, standard deviation, minimum, quartiles and maximum of each feature over the training rows."""
    quantiles = {"min": 0.0, "q25": 0.25, "median": 0.5, "q75": 0.75, "max": 1.0}
    statistics: dict[str, dict[str, Any]] = {}
    for column in features:
        of_feature: dict[str, Any] = {"mean": column.mean(), "std": column.std(ddof=0)}
        for name, share in quantiles.items():
            of_feature[name] = column.quantile(share, "linear")
        statistics[column.name] = of_feature
    return statistics
