"""The tokens of a response as `tokens.html.j2` shows them: coloured by how sure the model was of each.

Their texts are those that a trace holds, or else those of the model's tokenizer, which is never downloaded.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from entropy_sentinel.features.tokens import ZERO_PROBABILITY
from entropy_sentinel.statistics.numbers import Numbers

if TYPE_CHECKING:
    from tokenizers import Tokenizer


_FILE = "tokenizer.json"
# Texts as long as this are no words: runs of spaces, for one.
_LONGEST_TOKEN = 60


class TokenTexts:
    """Texts of one model's tokens; null where nothing tells them, and then `missing` says why there is no tokenizer."""

    def __init__(self, origin: Mapping[str, Any]) -> None:
        """`origin` is the provenance of a file of traces: its `weights` are a folder, or an id of the hub."""
        self._tokenizer, self.missing = _tokenizer(str(origin.get("weights") or ""), origin.get("commit"))

    def of_response(self, row: Mapping[str, Any]) -> list[str | None]:
        """(n_tokens,) texts of the tokens of a row of GENERATIONS.

        By the tokenizer a character of several tokens stands at the last one of them.
        """
        if row["tokens"] is not None:
            return [text[:_LONGEST_TOKEN] for text in row["tokens"]]
        ids = row["token_ids"]
        if self._tokenizer is None or ids is None:
            return [None] * row["n_tokens"]
        from tokenizers.decoders import DecodeStream

        stream = DecodeStream(skip_special_tokens=False)
        return [(stream.step(self._tokenizer, one) or "")[:_LONGEST_TOKEN] for one in ids]

    def of_alternatives(self, row: Mapping[str, Any], place: int) -> list[str | None] | None:
        """(k,) texts of the most likely tokens at a step of a row of GENERATIONS; None where the trace does not say."""
        if row["top_tokens"] is not None:
            return [text[:_LONGEST_TOKEN] for text in row["top_tokens"][place]]
        if row["top_token_ids"] is not None:
            return [self.of_token(one) for one in row["top_token_ids"][place]]
        return None

    def of_token(self, one: int | None) -> str | None:
        """The text of a token that stands alone."""
        if self._tokenizer is None or one is None:
            return None
        return self._tokenizer.decode([one], skip_special_tokens=False)[:_LONGEST_TOKEN]


@cache
def _tokenizer(weights: str, commit: str | None) -> "tuple[Tokenizer | None, str | None]":
    """A model's tokenizer from its folder or the hub's cache, or the reason why there is none."""
    if not weights:
        return None, "the traces do not say which weights they are of"
    try:
        from tokenizers import Tokenizer
    except ImportError:
        return None, "the package tokenizers is not installed"
    file = Path(weights) / _FILE if Path(weights).is_dir() else _cached(weights, commit)
    if file is None or not file.is_file():
        return None, f"there is no {_FILE} of {weights} in its folder or the cache of the hub"
    return Tokenizer.from_file(str(file)), None


def _cached(weights: str, commit: str | None) -> Path | None:
    try:
        from entropy_sentinel.sources.hub import cached_file
    except ImportError:  # an environment without huggingface_hub has no cache either
        return None
    return cached_file(weights, _FILE, commit)


# Nats at which the colour is full: the entropy of 20 equally likely tokens, and the surprise of one of 5 %.
FULL = 3.0
# Longer questions, references and answers are cut: the page's size is bounded.
_LONGEST = 2000


@dataclass(frozen=True)
class Token:
    """A generated token: position from 1, text where it is known, log-probability and entropy in nats.

    `alternatives` are the most likely tokens of the step: text where it is known, and probability.
    """

    position: int
    text: str | None
    logprob: float
    entropy: float
    alternatives: tuple[tuple[str | None, float], ...]

    @property
    def surprise(self) -> float:
        """-log p in nats."""
        return -self.logprob

    @property
    def probability(self) -> float:
        """Of the sampled token."""
        return float(np.exp(self.logprob))

    @property
    def shown(self) -> str:
        """Itself as a page shows it: line ends are visible, one without a text is its position."""
        if self.text is None:
            return f"{self.position} "
        return self.text.replace("\n", "\u21b5\n") or "\u00b7"

    @property
    def told(self) -> str:
        """What is shown about it when it is pointed at."""
        name = f" {self.text!r}" if self.text is not None else ""
        lines = [
            f"token {self.position}{name}: {self.probability:.1%}",
            f"entropy {self.entropy:.2f} nats, surprise {self.surprise:.2f} nats",
        ]
        lines += [
            f"{rank}. {probability:.1%}{'' if text is None else f' {text!r}'}"
            for rank, (text, probability) in enumerate(self.alternatives, 1)
        ]
        return "\n".join(lines)


def read_tokens(row: Mapping[str, Any], texts: TokenTexts, most: int, alternatives: int) -> Iterable[Token]:
    """The tokens of a row of GENERATIONS: the first three quarters of `most` and the last one where it has more.

    None where the engine gave no log-probabilities.
    """
    if row["top_logprobs"] is None:
        return
    n_tokens = row["n_tokens"]
    shown: Iterable[int] = range(n_tokens)
    if n_tokens > most:
        shown = [*range(most - most // 4), *range(n_tokens - most // 4, n_tokens)]
    named = texts.of_response(row)
    for place in shown:
        top = np.asarray(row["top_logprobs"][place], dtype=float)  # (k,)
        names = texts.of_alternatives(row, place)
        if names is None:
            names = [None] * len(top)
            # Without these, of the likely tokens only that one is known which was sampled.
            for rank in np.flatnonzero(top == row["token_logprobs"][place])[:1]:
                names[rank] = named[place]
        yield Token(
            place + 1,
            named[place],
            row["token_logprobs"][place],
            entropy(top),
            tuple(
                (name, float(np.exp(logprob)))
                for name, logprob in zip(names[:alternatives], top, strict=False)
                if logprob > ZERO_PROBABILITY
            ),
        )


def entropy(top_logprobs: Numbers) -> float:
    """H(t) in nats over the most likely tokens of a step, truncated and not renormalised (the paper, section 3)."""
    logprobs = np.asarray(top_logprobs, dtype=float)
    possible = logprobs[logprobs > ZERO_PROBABILITY]
    return abs(float(-(np.exp(possible) * possible).sum()))


def parts(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """The tokens that are shown: all in one part, or those before and after what `read_tokens` has left out."""
    head = next((place for place, token in enumerate(tokens) if token.position != place + 1), None)
    return [tokens] if head is None else [tokens[:head], tokens[head:]]


def cut(text: str) -> str:
    """At most 2,000 characters of a text."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ... ({len(text) - _LONGEST:,} more characters)"
