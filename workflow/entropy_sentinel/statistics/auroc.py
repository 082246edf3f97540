"""How well a feature separates correct from incorrect responses: AUROC."""

import numpy as np
from sklearn.metrics import roc_auc_score

from entropy_sentinel.statistics.numbers import Numbers


def roc_area(correct: np.ndarray, scores: np.ndarray) -> float:
    """The area under the ROC curve of correct responses, both (n_responses,), of two classes.

    scikit-learn's `roc_auc_score` to the last digit, without its checks, which take longer than the area itself.
    """
    order = np.argsort(scores)[::-1]
    sorted_scores = scores[order]
    last_of_equals = np.append(np.flatnonzero(np.diff(sorted_scores)), len(order) - 1)
    hits = np.cumsum(correct[order], dtype=float)[last_of_equals]
    misses = 1.0 + last_of_equals - hits
    if len(hits) > 2:  # points between two others on a line: left out, since the rest is rounded in another way
        corners = np.concatenate([[True], (np.diff(hits, 2) != 0) | (np.diff(misses, 2) != 0), [True]])
        hits, misses = hits[corners], misses[corners]
    return float(np.trapezoid(np.append(0.0, hits) / hits[-1], np.append(0.0, misses) / misses[-1]))


def auroc(feature_values: Numbers, correct: Numbers, larger_is_confident: bool) -> tuple[float | None, str | None]:
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
