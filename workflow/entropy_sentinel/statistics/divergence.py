"""How far two distributions over the same classes differ, in nats."""

import numpy as np
from scipy.special import rel_entr

from entropy_sentinel.statistics.numbers import Numbers


def jensen_shannon(p: Numbers, q: Numbers) -> float:
    """The Jensen-Shannon divergence of two distributions, (n_classes,) each: 0 for the same, log 2 for no common class.

    That is (KL(p || m) + KL(q || m)) / 2 with m = (p + q) / 2 (Lin 1991).
    """
    one, other = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    middle = (one + other) / 2
    return float((rel_entr(one, middle).sum() + rel_entr(other, middle).sum()) / 2)
