"""How much the answers to one question vary over repeated samples, in bits.

Source: Zhu et al., Uncertainty Under the Curve (2025), section 3.1.
"""

from collections.abc import Hashable, Sequence

import numpy as np

from entropy_sentinel.statistics.numbers import Numbers


def entropy_bits(counts: Numbers) -> float:
    """The entropy of the shares of these counts, (n_classes,), in bits; classes without any count for nothing.

    Raises ValueError where the counts are of nothing.
    """
    found = np.asarray(counts, dtype=float)
    if not found.sum() > 0:
        raise ValueError("counts must be of something, all were 0")
    shares = found[found > 0] / found.sum()
    # 0.0 of one class would else be -0.0.
    return abs(float(-(shares * np.log2(shares)).sum()))


def answer_entropy(answers: Sequence[Hashable | None], unreadable: bool = True) -> float | None:
    """The entropy of the answers to one question, (n_samples,), of which equal ones are the same answer; in bits.

    None is a sample without a readable answer: all of them are one class, or, with `unreadable` false, they are left
    out. Null where nothing is left.
    """
    counted = [one for one in answers if unreadable or one is not None]
    if not counted:
        return None
    return entropy_bits([counted.count(one) for one in dict.fromkeys(counted)])


def correctness_entropy(n_correct: int, n_samples: int) -> float:
    """The entropy of being correct or not, of `n_correct` of `n_samples` answers to one question, in bits."""
    if not 0 <= n_correct <= n_samples:
        raise ValueError(f"n_correct must be between 0 and n_samples {n_samples}, was {n_correct}")
    return entropy_bits([n_correct, n_samples - n_correct])
