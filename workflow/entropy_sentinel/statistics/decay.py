"""What was likely lately: sums in which what is further back counts less.

Source: Zhu et al., Uncertainty Under the Curve (2025), section 3.2.
"""

import numpy as np


def decayed(probabilities: np.ndarray, alpha: float = 0.5) -> np.ndarray:
    """The decayed sums of probabilities over steps, (n_options, n_steps) of both: at step t the sum over k = 1 .. t of
    (t - k + 1)^-alpha P_k.

    Nothing is renormalised: at a step the options need not add up to 1. With alpha = 0 it is the plain sum, with alpha
    = inf the probability of the step itself.
    """
    steps = probabilities.shape[1]
    weights = np.arange(1, steps + 1, dtype=float) ** -alpha
    return np.array([np.convolve(one, weights)[:steps] for one in probabilities]).reshape(probabilities.shape)
