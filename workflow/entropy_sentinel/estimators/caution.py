"""What speaks against estimates from some training rows.

A module of its own, for the thousands of estimate jobs import it: an edit of what else is said of an estimator
(`about.py`) does not run them again.
"""

from entropy_sentinel.estimators.training import TrainingRows

# With fewer of one class than this share, every method goes by a handful of rows.
RARE = 0.05


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
