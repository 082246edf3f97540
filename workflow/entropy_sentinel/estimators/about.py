"""What is said of an estimator beside its estimates: what it was fitted on, what it chose, what speaks against it."""

from typing import Any

from entropy_sentinel.estimators.estimator import Estimator, Unfitted
from entropy_sentinel.estimators.saved import feature_statistics
from entropy_sentinel.estimators.support import Support
from entropy_sentinel.estimators.training import TrainingRows
from entropy_sentinel.estimators.validation import validate

# With fewer of one class than this share, every method goes by a handful of rows.
RARE = 0.05
_UNFITTED = dict.fromkeys(("chosen", "validation", "support"))


def about(estimator: Estimator | Unfitted, rows: TrainingRows) -> dict[str, Any]:
    """What a file says of the estimator and the rows that it was fitted on; the rest is the caller's to add."""
    return {
        "settings": {key: value for key, value in rows.settings.items() if key != "estimators"},
        "n_training_rows": len(rows),
        "training_accuracy": rows.accuracy if len(rows) else None,
        "feature_statistics": feature_statistics(rows.features),
        "caution": caution(rows),
        **(_of_fitted(estimator, rows) if isinstance(estimator, Estimator) else _UNFITTED),
    }


def _of_fitted(estimator: Estimator, rows: TrainingRows) -> dict[str, Any]:
    return {
        "chosen": estimator.chosen,
        "validation": validate(rows, estimator.name).as_dict(),
        "support": Support.of(rows.features, rows.domains).as_dict(),
    }


def caution(rows: TrainingRows) -> str | None:
    """Why estimates from these rows are to be taken with care; None where nothing is known against them.

    It is said where less than `RARE` of the training rows are correct, or of them incorrect.
    """
    if not len(rows) or RARE <= rows.accuracy <= 1 - RARE:
        return None
    correct = int(rows.y.sum())
    fewer, rarest = ("correct", correct) if correct * 2 < len(rows) else ("incorrect", len(rows) - correct)
    return (
        f"only {rarest} of {len(rows)} training rows are {fewer}: estimates go by these few; "
        "add a benchmark of medium accuracy to the training group"
    )
