"""Find the texts of a response's tokens in the trace, or else with the model's tokenizer.

Tokenizers are never downloaded.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_FILE = "tokenizer.json"
# Longer texts, such as runs of spaces, are truncated.
_LONGEST_TOKEN = 60


class TokenTexts:
    """Finds the texts of one model's tokens; `missing` says why there is no tokenizer, or is null."""

    def __init__(self, origin: Mapping[str, Any]) -> None:
        """Read the tokenizer; `origin` is the provenance of a file of traces, with `weights`: a folder or a hub id."""
        self._tokenizer, self.missing = _load_tokenizer(str(origin.get("weights") or ""), origin.get("commit"))

    def read_row(self, row: Mapping[str, Any]) -> tuple[list[str | None], Callable[[int], list[str | None] | None]]:
        """The texts of a row's tokens (GENERATIONS), and a function from a step's number to its alternatives.

        It returns the texts of the most likely tokens at this step, or None (`read_alternatives`). An unknown text is
        null.
        """
        return self.read_response(row), partial(self.read_alternatives, row)

    def read_response(self, row: Mapping[str, Any]) -> list[str | None]:
        """The texts of a row's tokens (GENERATIONS), (n_tokens,); null if unknown.

        If a character consists of several tokens, it is the text of the last token.
        """
        if row["tokens"] is not None:
            return [text[:_LONGEST_TOKEN] for text in row["tokens"]]
        ids = row["token_ids"]
        if self._tokenizer is None or ids is None:
            return [None] * row["n_tokens"]
        from tokenizers.decoders import DecodeStream

        stream = DecodeStream(skip_special_tokens=False)
        return [(stream.step(self._tokenizer, token) or "")[:_LONGEST_TOKEN] for token in ids]

    def read_alternatives(self, row: Mapping[str, Any], place: int) -> list[str | None] | None:
        """The texts of the most likely tokens at the step `place`, (k,); None if the row of GENERATIONS lacks them."""
        if row["top_tokens"] is not None:
            return [text[:_LONGEST_TOKEN] for text in row["top_tokens"][place]]
        if row["top_token_ids"] is not None:
            return [self.decode_token(token) for token in row["top_token_ids"][place]]
        return None

    def decode_token(self, token: int | None) -> str | None:
        """The text of a token by its id; None without an id or a tokenizer."""
        if self._tokenizer is None or token is None:
            return None
        return self._tokenizer.decode([token], skip_special_tokens=False)[:_LONGEST_TOKEN]


@cache
def _load_tokenizer(weights: str, commit: str | None) -> "tuple[Tokenizer | None, str | None]":
    """A model's tokenizer and None, or None and the reason why there is none.

    `weights` is a folder or an id of the hub, of which the local cache is searched.
    """
    if not weights:
        return None, "the traces do not state which weights generated them"
    try:
        from tokenizers import Tokenizer
    except ImportError:
        return None, "the package tokenizers is not installed"
    file = Path(weights) / _FILE if Path(weights).is_dir() else _find_cached_tokenizer(weights, commit)
    if file is None or not file.is_file():
        return None, f"there is no {_FILE} for {weights} in its folder or in the hub's cache"
    return Tokenizer.from_file(str(file)), None


def _find_cached_tokenizer(weights: str, commit: str | None) -> Path | None:
    """The tokenizer of a hub id in the hub's local cache; None if it is not cached."""
    try:
        from entropy_sentinel.hub.hub_files import find_cached_file
    except ImportError:  # an environment without huggingface_hub has no cache either
        return None
    return find_cached_file(weights, _FILE, commit)
