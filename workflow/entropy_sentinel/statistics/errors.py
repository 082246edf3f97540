"""How good estimates are over domains: AEE and rho."""

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
