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
        boxes = self._engine.token_ids([f"{OPENING}{text}}}" for text in texts])
        return {text: self._drop_last_token(ids) if ids else None for text, ids in zip(texts, boxes, strict=True)}

    def letters(self, letters: Sequence[str]) -> dict[str, int]:
        """The token of each letter directly after the brace, for letters that are one token there."""
        boxes = self._engine.token_ids([f"{OPENING}{letter}}}" for letter in letters])
        tokens = {}
        for letter, box_ids in zip(letters, boxes, strict=True):
            if box_ids:
                boxed = self._drop_last_token(box_ids)
                if boxed.answer_tokens == 1 and boxed.ids == tuple(self.opening):
                    tokens[letter] = box_ids[len(boxed.ids)]
        return tokens

    def _drop_last_token(self, box_ids: Sequence[int]) -> InsertedTokens:
        r"""The tokens of `\boxed{answer}` without the last brace and the answer's last token.

        A token that joins the brace with the answer, such as `{\` in `\boxed{\frac12}`, belongs to the answer; so does
        one that joins its end with the closing brace. With `|` between tokens:

            \boxed|{|1|2|}         gives  \boxed|{|1         and 2 answer tokens
            \boxed|{\|frac|12|}    gives  \boxed|{\|frac     and 3
            \boxed|{7|}            gives  \boxed|{           and 1
        """
        n_opening = 0  # leading tokens that are those of the opening alone
        for token, opening_token in zip(box_ids, self.opening, strict=False):
            if token != opening_token:
                break
            n_opening += 1
        end = len(box_ids) - (box_ids[-1] == self._closing)
        answer_tokens = end - n_opening
        # The only token of the answer begins with the brace; without it, the box would not be open.
        if answer_tokens == 1 and n_opening < len(self.opening):
            return InsertedTokens(tuple(self.opening), answer_tokens=1)
        return InsertedTokens(tuple(box_ids[: max(end - 1, n_opening)]), answer_tokens)
