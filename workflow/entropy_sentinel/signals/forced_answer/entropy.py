"""The entropy of a next-token distribution of which the most likely tokens are known, in bits."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from entropy_sentinel.engines.engine import NextToken
from entropy_sentinel.features.tokens import error_bound


@dataclass(frozen=True)
class Step:
    """H(t) in bits over the most likely tokens, not renormalised; eps, the mass of the others; and the bound in bits.

    `options` has the probabilities of tokens that were asked for, None for one that is not among the most likely.
    """

    entropy: float
    missing_mass: float
    bound: float
    options: tuple[float | None, ...] = ()


def step(found: NextToken, vocabulary: int, options: Sequence[int] = ()) -> Step:
    """What is kept of a distribution over `vocabulary` tokens, V; `options` are token ids.

    Source: Entropy Area Score, section 2, and the equation for the error of the top K.
    """
    logprobs = found.logprobs.astype(np.float64)
    possible = logprobs[logprobs > -np.inf]
    probabilities = np.exp(possible)
    missing = max(0.0, 1 - float(probabilities.sum()))
    bound = float(error_bound(np.array(missing), vocabulary - len(logprobs))) / float(np.log(2))
    by_id = dict(zip(found.token_ids.tolist(), logprobs.tolist(), strict=True)) if options else {}
    named = tuple(float(np.exp(by_id[one])) if one in by_id else None for one in options)
    return Step(abs(float(-(probabilities * possible).sum())) / float(np.log(2)), missing, bound, named)
