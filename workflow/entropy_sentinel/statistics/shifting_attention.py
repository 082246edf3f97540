"""Shifting Attention to Relevance (Duan et al. 2024): uncertainty with what matters to the meaning counted more.

As LM-Polygraph has it (Vashurin et al. 2025), its class SAR.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from entropy_sentinel.statistics.numbers import Numbers

TEMPERATURE = 0.001


def sar(
    token_logprobs: Sequence[Numbers],
    token_relevance: Sequence[Numbers],
    similarity: np.ndarray,
    temperature: float = TEMPERATURE,
) -> float:
    """SAR of the answers to one question, in nats; larger is less certain.

    `token_logprobs` are (n_tokens,) of each of n answers, in nats. `token_relevance` are (n_tokens,) of each: how much
    the meaning changes without the token, 1 - its similarity to the whole; where no token matters, all matter alike.
    `similarity` is (n, n), in [0, 1]: entry i, j how much answer j is like answer i. An answer is as likely as its own
    probability and, over the temperature, that of the others as far as they are like it.

    Raises ValueError where shapes do not fit or an answer has no token.
    """
    like, n = np.asarray(similarity, dtype=float), len(token_logprobs)
    if like.shape != (n, n) or len(token_relevance) != n:
        raise ValueError(
            f"similarity must be ({n}, {n}) and token_relevance of {n} answers, were {like.shape} and "
            f"{len(token_relevance)}"
        )
    log_likely = np.array([_weighted(*one) for one in zip(token_logprobs, token_relevance, strict=True)])
    counted = np.where(np.eye(n, dtype=bool), 1.0, like / temperature)
    return float(-logsumexp(np.broadcast_to(log_likely, (n, n)), b=counted, axis=1).mean())


def _weighted(logprobs: Numbers, relevance: Numbers) -> float:
    """The mean log-probability of an answer's tokens, each weighted by its relevance."""
    nats, weights = np.asarray(logprobs, dtype=float), np.asarray(relevance, dtype=float)
    if not len(nats) or len(nats) != len(weights):
        raise ValueError(f"an answer needs tokens, each with a relevance; had {len(nats)} and {len(weights)}")
    return float(np.average(nats, weights=weights if weights.sum() > 0 else None))
