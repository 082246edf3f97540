"""How results over models or groups are summed up: median and interquartile range."""

from collections.abc import Sequence

import numpy as np


def median(values: Sequence[float]) -> float:
    """Median of at least one value, in the unit of the values."""
    return float(np.median(values))


def quartile_range(values: Sequence[float]) -> float:
    """Interquartile range of at least one value, by the rule "exclusive": quartiles at (n + 1) p.

    The rule that leads from the paper's Table 8 to the IQRs of its Table 3.
    """
    lower, upper = np.quantile(values, [0.25, 0.75], method="weibull")
    return float(upper - lower)
