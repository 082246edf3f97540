"""Run the pass on the responses of one part, and return its rows.

A breadth-first search for the integers that a model may answer, token by token, from rendered prompts. A token that
continues with a minus sign, digits or space around them is followed; a token that ends the answer completes an integer.
Any other token makes it something else: `5.5`, `5 million` and `05` are not integers.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.study.engines.engine_interface import NextToken, TokenIdEngine, collect_answers
from entropy_sentinel.study.engines.generation_section import AskedSettings
from papers.intervals.signal_families.integers.integers_frames import INTEGERS

# As JSON writes it; nine digits fit the column.
_INTEGER = re.compile(r"\s{0,2}-?(0|[1-9][0-9]{0,8})\s{0,2}")
_BEGINNING = re.compile(rf"\s{{0,2}}-?|{_INTEGER.pattern}")


@dataclass
class IntegerLogprobs:
    """Log-probabilities, in nats, of the `whole` integers after a prompt, and of integers among the `first` tokens."""

    whole: dict[int, float] = field(default_factory=dict)
    first: dict[int, float] = field(default_factory=dict)
    refused: str = ""

    @property
    def missing(self) -> float:
        """The probability of everything except the whole integers."""
        return max(0.0, 1 - float(np.exp(list(self.whole.values())).sum()))


@dataclass(frozen=True)
class TokenSequence:
    """Tokens after the prompt with the number `prompt`, their text, and their total log-probability, in nats."""

    prompt: int
    token_ids: tuple[int, ...] = ()
    text: str = ""
    logprob: float = 0.0


def search_integers(
    prompts: Sequence[Sequence[int]], engine: TokenIdEngine, end_tokens: Collection[int], prune_below: float
) -> list[IntegerLogprobs]:
    """The integers that the model may answer after each of `prompts` (token ids), in order.

    `end_tokens` are those that end the model's turn, never digits. Prefixes of integers with a probability below
    `prune_below` are not followed.
    """
    results = [IntegerLogprobs() for _ in prompts]
    # Beginnings of integers to ask about; each round asks for the next token of all.
    prefixes = [TokenSequence(number) for number in range(len(prompts))]
    while prefixes:
        contexts = ([*prompts[prefix.prompt], *prefix.token_ids] for prefix in prefixes)
        steps = collect_answers(engine.next_tokens(contexts), len(prefixes), "contexts")
        for parent, step in zip(prefixes, steps, strict=True):
            results[parent.prompt].refused = results[parent.prompt].refused or step.refused
        extensions = list(_extend_prefixes(prefixes, steps, engine))
        prefixes = []
        for parent, child in extensions:
            added_text = child.text.removeprefix(parent.text)
            if child.token_ids[-1] in end_tokens and not added_text.isdecimal():
                if _INTEGER.fullmatch(parent.text):
                    _add_logprob(results[child.prompt].whole, parent.text, child.logprob)
            # A token without a text is another special token, or a part of a character.
            elif added_text and _BEGINNING.fullmatch(child.text):
                if not parent.token_ids and _INTEGER.fullmatch(child.text):
                    _add_logprob(results[child.prompt].first, child.text, child.logprob)
                if child.logprob >= np.log(prune_below):
                    prefixes.append(child)
    return results


def _extend_prefixes(
    prefixes: Sequence[TokenSequence], steps: Sequence[NextToken], engine: TokenIdEngine
) -> Iterator[tuple[TokenSequence, TokenSequence]]:
    """Yield each prefix with its extension by one token, for each of its likely next tokens (in `steps`)."""
    extensions: list[tuple[TokenSequence, tuple[int, ...], float]] = []
    for parent, step in zip(prefixes, steps, strict=True):
        for token, logprob in zip(step.token_ids, step.logprobs, strict=True):
            if logprob > -np.inf:
                extensions.append((parent, (*parent.token_ids, int(token)), parent.logprob + float(logprob)))
    # Whole sequences, because a token's text may differ at the beginning.
    distinct_ids = list(dict.fromkeys(ids for _, ids, _ in extensions))
    texts = dict(zip(distinct_ids, engine.token_texts(distinct_ids), strict=True))
    for parent, ids, logprob in extensions:
        yield parent, TokenSequence(parent.prompt, ids, "".join(texts[ids]), logprob)


def _add_logprob(logprobs: dict[int, float], text: str, logprob: float) -> None:
    """Add to the probability of an integer, which may be written in several ways: ` 5` and `5`."""
    logprobs[int(text)] = float(np.logaddexp(logprobs.get(int(text), -np.inf), logprob))


_LATER = "not the first response to its item, which alone is asked about: the prompt is the same"
_NO_END = "no response asked about beside it has come to its end, which would say by what token"
_NONE = "none of the model's likely answers is an integer alone"


def ask(
    part: pl.DataFrame, engine: TokenIdEngine, settings: Mapping[str, Any], asked_with: AskedSettings
) -> pl.DataFrame:
    """A frame INTEGERS for the responses in `part`: traces with `prompt_ids`.

    `settings` are those of Integers; `asked_with` those with which the model generated the responses.
    """
    first_rows = part.filter(sample=0)
    # An answer ends with a token that ended one of the model's own responses.
    end_tokens = set(part.filter(finish_reason="stop")["token_ids"].list.last().drop_nulls())
    later_rows = _make_empty_rows(part.filter(pl.col("sample") > 0), pl.lit(_LATER))
    if not end_tokens:
        return pl.concat([_make_empty_rows(first_rows, pl.lit(_NO_END)), later_rows])
    results = search_integers(first_rows["prompt_ids"].to_list(), engine, end_tokens, settings["prune_below"])
    rows = []
    for identity, result in zip(first_rows.select(RESPONSE).to_dicts(), results, strict=True):
        rows.append(identity | _make_columns(result))
    return pl.concat([INTEGERS.frame(rows), later_rows])


def unasked(part: pl.DataFrame, settings: Mapping[str, Any]) -> pl.DataFrame:
    """A frame INTEGERS without distributions for responses that cannot be asked about; `unusable` has the reason."""
    return _make_empty_rows(part, pl.col("unusable"))


def _make_columns(result: IntegerLogprobs) -> dict[str, Any]:
    """The columns values to first_logprobs of INTEGERS for a response, or only the reason if there are no integers."""
    if result.refused or not result.whole:
        return {"reason": f"refused: {result.refused}" if result.refused else _NONE}
    whole, first = sorted(result.whole.items()), sorted(result.first.items())
    return {
        "values": [value for value, _ in whole],
        "logprobs": [logprob for _, logprob in whole],
        "missing": result.missing,
        "first_values": [value for value, _ in first],
        "first_logprobs": [logprob for _, logprob in first],
    }


def _make_empty_rows(part: pl.DataFrame, reason: pl.Expr) -> pl.DataFrame:
    """A frame INTEGERS for the responses in `part`, with only the reason, an expression."""
    return INTEGERS.frame(part.select(*RESPONSE, reason=reason).to_dicts())
