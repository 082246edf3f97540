"""The positions at which the answer is inserted, and the entropies there, in bits, with their area."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from entropy_sentinel.features.token_lists import error_bound
from entropy_sentinel.statistics.array_types import Numbers
from entropy_sentinel.study.engines.engine_interface import NextToken

_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n(?=[^\n])")


def count_leading_tokens(texts: Sequence[str], response: str, end: int) -> int | None:
    """T, the number of leading tokens that cover `response[:end]`; `texts` are the texts of all tokens.

    The tokens may begin with text that the response lacks, such as a space. Returns None if they do not have its text.
    """
    offset = "".join(texts).find(response[:end])
    if offset < 0:
        return None
    ends = np.cumsum([len(text) for text in texts])
    last_token = np.searchsorted(ends, offset + end)  # from 0: the first that ends there or later
    return int(last_token) + 1


def choose_positions(positions: str | int, texts: Sequence[str], last: int) -> list[int]:
    """The positions t in 1 .. `last` after which the answer is inserted, in order.

    `positions` is `all`, `sentence-ends`, or a number n for every n-th. The first and the last are always included, so
    the area has both ends.
    """
    if positions == "all":
        return list(range(1, last + 1))
    if positions == "sentence-ends":
        token_ends = np.cumsum([len(text) for text in texts])  # in characters
        sentence_ends = [match.end() for match in _SENTENCE_END.finditer("".join(texts))]
        # The token that completes the sentence; t counts tokens from 1.
        token_numbers = {int(token) + 1 for token in np.searchsorted(token_ends, sentence_ends)}
    else:
        token_numbers = set(range(1, last + 1, int(positions)))
    return sorted({1, last} | {t for t in token_numbers if t <= last})


def compute_area(positions: Sequence[int], values: Numbers, last: int) -> float:
    """The sum of `values`, one for each of `positions`, over t = 1 .. `last`, interpolated linearly between them.

    With all positions it is the plain sum.
    """
    return float(np.interp(np.arange(1, last + 1), positions, values).sum())


@dataclass(frozen=True)
class Step:
    """H(t) in bits over the most likely tokens, not renormalised; eps, the others' probability; the bound in bits.

    `options` has the probabilities of the requested tokens, None for a token that is not among the most likely.
    """

    entropy: float
    missing_mass: float
    bound: float
    options: tuple[float | None, ...] = ()


def compute_step(next_token: NextToken, vocabulary: int, options: Sequence[int] = ()) -> Step:
    """The entropy of the next token, in a vocabulary of V = `vocabulary` tokens, and its error (`Step`).

    The entropy, in bits, is over the tokens returned. The missing mass is the probability of all others, and the bound,
    in bits, the most that they can add to the entropy. `options` are the ids of the tokens whose probabilities are
    kept. Source: Entropy Area Score, section 2, and the equation for the error of the top K.
    """
    logprobs = next_token.logprobs.astype(np.float64)
    possible = logprobs[logprobs > -np.inf]
    probabilities = np.exp(possible)
    missing = max(0.0, 1 - float(probabilities.sum()))
    bound = float(error_bound(np.array(missing), vocabulary - len(logprobs))) / float(np.log(2))
    logprob_by_id = dict(zip(next_token.token_ids.tolist(), logprobs.tolist(), strict=True)) if options else {}
    option_probabilities = tuple(
        float(np.exp(logprob_by_id[token])) if token in logprob_by_id else None for token in options
    )
    entropy_nats = abs(float(-(probabilities * possible).sum()))  # `abs` makes 0 of -0
    return Step(entropy_nats / float(np.log(2)), missing, bound, option_probabilities)
