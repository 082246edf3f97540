"""The texts of tokens: those that a trace holds, else by the tokenizer of the model, which is never downloaded."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_FILE = "tokenizer.json"
# Texts as long as this are no words: runs of spaces, for one.
_LONGEST = 60


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
            return [text[:_LONGEST] for text in row["tokens"]]
        ids = row["token_ids"]
        if self._tokenizer is None or ids is None:
            return [None] * row["n_tokens"]
        from tokenizers.decoders import DecodeStream

        stream = DecodeStream(skip_special_tokens=False)
        return [(stream.step(self._tokenizer, one) or "")[:_LONGEST] for one in ids]

    def of_alternatives(self, row: Mapping[str, Any], place: int) -> list[str | None] | None:
        """(k,) texts of the most likely tokens at a step of a row of GENERATIONS; None where the trace does not say."""
        if row["top_tokens"] is not None:
            return [text[:_LONGEST] for text in row["top_tokens"][place]]
        if row["top_token_ids"] is not None:
            return [self.of_token(one) for one in row["top_token_ids"][place]]
        return None

    def of_token(self, one: int | None) -> str | None:
        """The text of a token that stands alone."""
        if self._tokenizer is None or one is None:
            return None
        return self._tokenizer.decode([one], skip_special_tokens=False)[:_LONGEST]


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
