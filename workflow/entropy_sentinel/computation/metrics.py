"""How good an estimate is (AEE, rho), how well a feature separates (AUROC), and how results are summed up."""

from collections.abc import Sequence

import numpy as np
from scipy.stats import spearmanr

# Means of one number over different counts differ in their last bits, which must not become a rank.
RANK_DECIMALS = 12


def aee(estimated: Sequence[float], true: Sequence[float]) -> float:
    """Accuracy estimation error: mean |estimated - true| over domains (paper, section 4).

    Both are (n_domains,) accuracies in [0, 1], n_domains at least 1, without nulls; so is the result.
    """
    return float(np.mean(np.abs(np.subtract(estimated, true))))


def rho(estimated: Sequence[float], true: Sequence[float]) -> tuple[float | None, str | None]:
    """Spearman's rank correlation of estimated and true accuracies over domains (paper, section 4).

    Both are (n_domains,), without nulls. Returns (rho, None), or (None, reason) where it is undefined.
    """
    estimated, true = np.round(estimated, RANK_DECIMALS), np.round(true, RANK_DECIMALS)
    if len(estimated) < 2:
        return None, "fewer than 2 domains"
    if np.ptp(estimated) == 0:
        return None, "estimated accuracies are all equal"
    if np.ptp(true) == 0:
        return None, "true accuracies are all equal"
    return float(spearmanr(estimated, true).statistic), None


def auroc(
    feature_values: Sequence[float], correct: Sequence[bool], larger_is_confident: bool
) -> tuple[float | None, str | None]:
    """AUROC of a feature as a score for incorrect responses, 1 - AUROC for a confidence (paper, Table 1).

    Both are (n_responses,), without nulls; `larger_is_confident` holds for CONFIDENCE_FEATURES. Returns
    (auroc, None), or (None, reason) where the labels are of one class.
    """
    # In the function: estimates need this module for AEE and rho alone, in many short processes.
    from sklearn.metrics import roc_auc_score

    incorrect = ~np.asarray(correct, dtype=bool)
    if not len(incorrect):
        return None, "no response with a label and features"
    if incorrect.all():
        return None, "no correct response"
    if not incorrect.any():
        return None, "no incorrect response"
    area = float(roc_auc_score(incorrect, feature_values))
    return (1 - area if larger_is_confident else area), None


def median(values: Sequence[float]) -> float:
    """Median of at least one value, in the unit of the values."""
    return float(np.median(values))


def quartile_range(values: Sequence[float]) -> float:
    """Interquartile range of at least one value, by the rule "exclusive": quartiles at (n + 1) p.

    The rule that leads from the paper's Table 8 to the IQRs of its Table 3.
    """
    lower, upper = np.quantile(values, [0.25, 0.75], method="weibull")
    return float(upper - lower)
