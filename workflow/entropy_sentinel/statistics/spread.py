"""How results over models or groups are summed up: median and interquartile range."""

import numpy as np

from entropy_sentinel.statistics.numbers import Numbers


def median(values: Numbers) -> float:
    """Median of at least one value, in the unit of the values."""
    return float(np.median(values))


def quartile_range(values: Numbers) -> float:
    """Interquartile range of at least one value, by the rule "exclusive": quartiles at (n + 1) p.

    The rule that leads from the paper's Table 8 to the IQRs of its Table 3.
    """
    lower, upper = np.quantile(values, [0.25, 0.75], method="weibull")
    return float(upper - lower)
