r"""The token ids of an inserted answer: `\boxed{` and the answer without its last token.

Token ids, not text: tokenising the text again could join the response's last token with the next text.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.study.engines.engine_interface import TokenIdEngine

OPENING = "\\boxed{"


@dataclass(frozen=True)
class InsertedTokens:
    """The token ids inserted after x_t, (n,), and L, the number of the answer's tokens."""

    ids: tuple[int, ...]
    answer_tokens: int


class Boxes:
    """Converts answers to token ids with an engine's tokenizer."""

    def __init__(self, engine: TokenIdEngine, name: str) -> None:
        r"""Errors begin with `name`, a key of the config.

        Raises ConfigError if the tokenizer has no tokens for `\boxed{`. A tokenizer that falls back to bytes has tokens
        for any text; these are used, although the model may never have seen a box.
        """
        self._engine = engine
        opening, closed = engine.token_ids([OPENING, f"{OPENING}0}}"])
        if opening is None or closed is None:
            raise ConfigError(
                f"{name}: its tokenizer has no tokens for '{OPENING}', which forced_answer inserts; leave "
                "forced_answer out of run.features for this model"
            )
        self.opening, self._closing = opening, closed[-1]

    def box_answers(self, answers: Sequence[str]) -> dict[str, InsertedTokens | None]:
        """Each answer as inserted tokens; None for an answer without tokens in this vocabulary."""
        texts = list(dict.fromkeys(answers))
        wholes = self._engine.token_ids([f"{OPENING}{text}}}" for text in texts])
        return {text: self._split(whole) if whole else None for text, whole in zip(texts, wholes, strict=True)}

    def letters(self, letters: Sequence[str]) -> dict[str, int]:
        """The token of each letter directly after the brace, for letters that are one token there."""
        wholes = self._engine.token_ids([f"{OPENING}{letter}}}" for letter in letters])
        tokens = {}
        for letter, whole in zip(letters, wholes, strict=True):
            if whole:
                boxed = self._split(whole)
                if boxed.answer_tokens == 1 and boxed.ids == tuple(self.opening):
                    tokens[letter] = whole[len(boxed.ids)]
        return tokens

    def _split(self, whole: Sequence[int]) -> InsertedTokens:
        r"""The tokens of `\boxed{answer}` without the last brace and the answer's last token.

        A token that joins the brace with the answer, such as `{\` in `\boxed{\frac12}`, belongs to the answer; so does
        one that joins its end with the closing brace.
        """
        before = 0  # tokens that are those of the brace alone
        for token, brace_token in zip(whole, self.opening, strict=False):
            if token != brace_token:
                break
            before += 1
        end = len(whole) - (whole[-1] == self._closing)
        if end - before == 1 and before < len(self.opening):  # one token with the brace: the box may be empty
            return InsertedTokens(tuple(self.opening), 1)
        return InsertedTokens(tuple(whole[: max(end - 1, before)]), end - before)
