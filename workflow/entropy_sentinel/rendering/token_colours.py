"""The tokens of a response for `tokens.html.j2`, coloured by the model's certainty."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from entropy_sentinel.features.token_lists import ZERO_PROBABILITY
from entropy_sentinel.statistics.array_types import Numbers

# Nats at which the colour is full: the entropy of 20 equally likely tokens, and the surprise of one of 5 %.
FULL = 3.0
# Longer questions, references and answers are shortened to bound the page's size.
_LONGEST = 2000


@dataclass(frozen=True)
class Token:
    """A generated token: position from 1, text if known, log-probability and entropy in nats.

    `alternatives` are the most likely tokens of the step: text if known, and probability.
    """

    position: int
    text: str | None
    logprob: float
    entropy: float
    alternatives: tuple[tuple[str | None, float], ...]

    @property
    def surprise(self) -> float:
        """Surprise, -log p, in nats."""
        return -self.logprob

    @property
    def probability(self) -> float:
        """The probability of the sampled token."""
        return float(np.exp(self.logprob))

    @property
    def display_text(self) -> str:
        """The token as a page shows it: line ends are visible; a token without a text is shown as its position."""
        if self.text is None:
            return f"{self.position} "
        return self.text.replace("\n", "\u21b5\n") or "\u00b7"

    @property
    def tooltip(self) -> str:
        """The text shown when the pointer is on the token."""
        name = f" {self.text!r}" if self.text is not None else ""
        lines = [
            f"token {self.position}{name}: {self.probability:.1%}",
            f"entropy {self.entropy:.2f} nats, surprise {self.surprise:.2f} nats",
        ]
        for rank, (text, probability) in enumerate(self.alternatives, 1):
            name = "" if text is None else f" {text!r}"
            lines.append(f"{rank}. {probability:.1%}{name}")
        return "\n".join(lines)


def read_tokens(
    row: Mapping[str, Any],
    texts: Sequence[str | None],
    likely: Callable[[int], Sequence[str | None] | None],
    most: int,
    alternatives: int,
) -> Iterable[Token]:
    """Yield the tokens of a response, a row of GENERATIONS, without the middle ones if it has more than `most`.

    `texts` has the text of each token, and `likely(place)` gives those of the most likely tokens of a step, None if
    they are unknown. `alternatives` is how many likely tokens of a step are kept. Yields nothing for a response without
    log-probabilities.
    """
    if row["top_logprobs"] is None:
        return
    n_tokens = row["n_tokens"]
    positions: Iterable[int] = range(n_tokens)
    if n_tokens > most:  # three quarters are from the beginning, one from the end
        positions = [*range(most - most // 4), *range(n_tokens - most // 4, n_tokens)]
    for place in positions:
        top = np.asarray(row["top_logprobs"][place], dtype=float)  # (k,)
        likely_texts = likely(place)
        names: list[str | None] = [None] * len(top) if likely_texts is None else list(likely_texts)
        if likely_texts is None:
            # The sampled token, found by its log-probability, is then the only likely token with a known text.
            for rank in np.flatnonzero(top == row["token_logprobs"][place])[:1]:
                names[rank] = texts[place]
        kept = []
        for name, logprob in zip(names[:alternatives], top, strict=False):
            if logprob > ZERO_PROBABILITY:
                kept.append((name, float(np.exp(logprob))))
        yield Token(place + 1, texts[place], row["token_logprobs"][place], token_entropy(top), tuple(kept))


def token_entropy(top_logprobs: Numbers) -> float:
    """H(t) in nats over the most likely tokens of a step, truncated and not renormalised (paper, section 3)."""
    logprobs = np.asarray(top_logprobs, dtype=float)
    possible = logprobs[logprobs > ZERO_PROBABILITY]
    return abs(float(-(np.exp(possible) * possible).sum()))


def split_tokens(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """The shown tokens: a single part, or two, before and after the tokens that `read_tokens` left out."""
    for place, token in enumerate(tokens):
        if token.position != place + 1:
            return [tokens[:place], tokens[place:]]
    return [tokens]


def truncate_text(text: str) -> str:
    """A text, truncated to 2,000 characters."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ... ({len(text) - _LONGEST:,} more characters)"
