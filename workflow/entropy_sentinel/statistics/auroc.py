"""How well a feature separates correct from incorrect responses: AUROC."""

from collections.abc import Sequence

import numpy as np
from sklearn.metrics import roc_auc_score


def auroc(
    feature_values: Sequence[float], correct: Sequence[bool], larger_is_confident: bool
) -> tuple[float | None, str | None]:
    """AUROC of a feature as a score for incorrect responses, 1 - AUROC for a confidence (paper, Table 1).

    Both are (n_responses,), without nulls; `larger_is_confident` is the feature's sign. Returns (auroc, None),
    or (None, reason) where the labels are of one class.
    """
    incorrect = ~np.asarray(correct, dtype=bool)
    if not len(incorrect):
        return None, "no response with a label and features"
    if incorrect.all():
        return None, "no correct response"
    if not incorrect.any():
        return None, "no incorrect response"
    area = float(roc_auc_score(incorrect, feature_values))
    return (1 - area if larger_is_confident else area), None
