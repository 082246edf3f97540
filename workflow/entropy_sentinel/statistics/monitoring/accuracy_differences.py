"""Intervals for the difference of two models' accuracies on an unlabelled slice.

Each estimate has an error on a new slice, and the errors of two models on the same slice are similar: both estimates
are too high where the questions look easier than they are. So the error of the difference is measured directly, on the
domains that are labelled for both models: estimated minus true difference. Its spread has the posterior of
`statistics.predictive_posterior`. The prior is that of one model's errors: the difference of two errors with a
correlation of 1/2 has the same variance. Correlations on real answers were .6 (two models, 7 benchmarks), .44 (two
models, 22 kinds of short questions), .97 (one model at two temperatures, 8 kinds) and -.11 (8 kinds).

Labels of two models on the same questions are also similar, by an unknown amount. The sampling variance of a labelled
difference is therefore taken at its smallest, as if they were completely correlated, so that no error of the estimators
is taken for sampling noise. For a slice, in contrast, the two samples count as independent. Both make the interval
wider. Without enough common domains the two errors count as independent.
"""

import numpy as np

from entropy_sentinel.statistics.array_types import Numbers
from entropy_sentinel.statistics.predictive_posterior import CAUTIOUS, Spread
from entropy_sentinel.statistics.slice_intervals import Residuals

PAIRED, INDEPENDENT = "paired", "independent"
# With fewer common domains, the errors count as independent.
FEWEST_COMMON = 3


def half_widths_paired(first: Residuals, second: Residuals, variances: Numbers, level: float) -> np.ndarray:
    """Half the widths of the intervals for differences of slices, (n_slices,).

    `first` and `second` have the same k domains, (k,), at least FEWEST_COMMON. `variances`, (n_slices,), are the
    sampling variances of the differences.
    """
    # The sampling variance of a difference is smallest if the labels of both models are completely correlated.
    smallest = (np.sqrt(first.variances) - np.sqrt(second.variances)) ** 2
    return Spread.fit(second.errors - first.errors, smallest, CAUTIOUS).half_widths(variances, level)


def half_widths_independent(first: Numbers, second: Numbers) -> np.ndarray:
    """Half the widths, (n_slices,), from those of the two models' own intervals, (n_slices,) each.

    If a slice's errors were normal, this would be exact; their tails are heavier, and then it is too wide.
    """
    half: np.ndarray = np.hypot(np.asarray(first, dtype=float), np.asarray(second, dtype=float))
    return half
