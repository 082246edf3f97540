"""Whether a model changes its answer when another is put to it: the mutual information of iterative prompting.

Source: Abbasi Yadkori et al., To Believe or Not to Believe Your LLM (2024), Algorithm 3 for pairs of answers. Theirs
leaves gamma open: it is 0 in their experiments, and 1 / k for k answers is what they call typical.
"""

import numpy as np

from entropy_sentinel.statistics.numbers import Numbers

# That of Tomov et al., Entropy Is Not Enough (2025), Appendix B.2: as good as the 0 of the experiments of the source.
GAMMA = 1e-9


def mutual_information(
    marginal: Numbers, conditional: np.ndarray, gamma_1: float = GAMMA, gamma_2: float = GAMMA
) -> float:
    """A lower bound of the epistemic uncertainty, in nats: the mutual information of an answer and the next one.

    `marginal` is (n_answers,), the probability of each distinct answer; `conditional` is (n_answers, n_answers), in row
    i the probability of each answer where answer i is in the prompt. Both are scaled here, `conditional` row by row, so
    that they may be known up to a factor: log-probabilities less their largest keep them from being all 0. With
    mu(i, j) of the pairs and mu'(i, j) the product of their margins, it is the sum of mu log((mu + gamma_1) / (mu' +
    gamma_2)). One answer alone has 0.

    Raises ValueError where shapes do not fit, or the answers of a row have no probability.
    """
    first, then = np.asarray(marginal, dtype=float), np.asarray(conditional, dtype=float)
    if then.shape != (len(first), len(first)):
        raise ValueError(f"conditional must be ({len(first)}, {len(first)}) for {len(first)} answers, was {then.shape}")
    if not (first.sum() > 0 and (then.sum(axis=1) > 0).all()):
        raise ValueError("marginal and each row of conditional must have a probability above 0; one is all 0")
    pairs = (first / first.sum())[:, None] * (then / then.sum(axis=1, keepdims=True))
    product = pairs.sum(axis=1, keepdims=True) * pairs.sum(axis=0)
    there = pairs > 0
    return float((pairs[there] * np.log((pairs[there] + gamma_1) / (product[there] + gamma_2))).sum())
