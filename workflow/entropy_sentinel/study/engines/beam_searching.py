"""Beam search over the next tokens of an engine, the same for vLLM in this process and for a server.

Each step continues the `width` likeliest unfinished sequences with each of the TOP_K next tokens. Likelihood is that of
the model: before temperature, top-p and penalties, without a length penalty. The search keeps the `width` likeliest of
all finished sequences. Longer sequences are never likelier, so one that is less likely than all of these is dropped.
The search ends when no sequence is left.

vLLM's own search (`LLM.beam_search`) supports one end token, and no stop texts, which base models need. It
also continues to `max_tokens`, however early the likeliest responses end.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from entropy_sentinel.schemas.generation_schema import TOP_K
from entropy_sentinel.study.engines.engine_interface import Beam, Beams, NextToken

# Contexts that are searched together: few enough for the engine's cache to hold their beams.
_BATCH_SIZE = 64


@dataclass(frozen=True)
class _Sequence:
    """Tokens after a context, their joint log-probability in nats, and their text if texts can end a response.

    `finish_reason` is empty until the sequence ends.
    """

    token_ids: tuple[int, ...] = ()
    logprob: float = 0.0
    text: str = ""
    finish_reason: str = ""


@dataclass
class _Hypotheses:
    """The unfinished (`running`) and finished sequences after context `number`, each likeliest first."""

    number: int
    context: Sequence[int]
    width: int
    running: list[_Sequence] = field(default_factory=lambda: [_Sequence()])
    finished: list[_Sequence] = field(default_factory=list)
    refused: str = ""

    def update(self, sequences: Iterable[_Sequence]) -> None:
        """Replace the running sequences by those of `sequences` that can still be among the `width` likeliest."""
        finished, running = list(self.finished), list[_Sequence]()
        for sequence in sorted(sequences, key=_sort_key):
            if sequence.finish_reason:
                finished.append(sequence)
            else:
                running.append(sequence)
        self.finished = sorted(finished, key=_sort_key)[: self.width]
        # A longer sequence is never likelier.
        cutoff = self.finished[-1].logprob if len(self.finished) == self.width else -np.inf
        self.running = [sequence for sequence in running if sequence.logprob > cutoff][: self.width]


@dataclass(frozen=True)
class BeamSearcher:
    """A search of one engine, by its methods `next_tokens` and `token_texts`."""

    next_tokens: Callable[[Iterable[Sequence[int]]], Iterable[tuple[int, NextToken]]]
    token_texts: Callable[[Sequence[Sequence[int]]], list[list[str]]]
    end_tokens: frozenset[int]
    width: int
    max_tokens: int
    stop: tuple[str, ...] = ()
    # The texts of known tokens; a server has to be asked for each.
    _text_cache: dict[int, str] = field(default_factory=dict)

    def search(self, contexts: Iterable[Sequence[int]]) -> Generator[tuple[int, Beams], None, None]:
        """Yield (number of the context, Beams): the `width` likeliest responses after each context.

        Raises ValueError if `width` exceeds half of the known next tokens.
        """
        if not 1 <= self.width <= TOP_K // 2:
            raise ValueError(f"width: must be 1 to {TOP_K // 2}, half of the next tokens known, got {self.width}")
        waiting = enumerate(contexts)
        while batch := [_Hypotheses(*numbered, self.width) for numbered in islice(waiting, _BATCH_SIZE)]:
            for _ in range(self.max_tokens):
                if not any(hypotheses.running for hypotheses in batch):
                    break
                self._step(batch)
            for hypotheses in batch:
                # What still runs has `max_tokens` tokens.
                hypotheses.update([replace(sequence, finish_reason="length") for sequence in hypotheses.running])
                yield hypotheses.number, Beams(self._make_beams(hypotheses.finished), hypotheses.refused)

    def _step(self, hypotheses: Sequence[_Hypotheses]) -> None:
        """Extend every unfinished sequence by one token, for all contexts in one call of the engine."""
        running = []  # each sequence with the hypotheses of its context
        for owner in hypotheses:
            running += [(owner, sequence) for sequence in owner.running]
        next_tokens = dict(self.next_tokens([*owner.context, *sequence.token_ids] for owner, sequence in running))
        if self.stop:
            self._cache_texts(next_tokens.values(), before=hypotheses[0].context[-1])
        extensions: dict[int, list[_Sequence]] = {owner.number: [] for owner in hypotheses}
        for number, (owner, sequence) in enumerate(running):
            if not next_tokens[number].refused:
                extensions[owner.number] += self._extend(sequence, next_tokens[number])
            elif sequence.token_ids:  # the sequence fills the model's context
                extensions[owner.number].append(replace(sequence, finish_reason="length"))
            else:
                owner.refused = next_tokens[number].refused
        for owner in hypotheses:
            owner.update(extensions[owner.number])

    def _extend(self, sequence: _Sequence, next_token: NextToken) -> list[_Sequence]:
        """The sequence extended by each of the possible next tokens."""
        extensions = []
        for token, logprob in zip(next_token.token_ids.tolist(), next_token.logprobs.tolist(), strict=True):
            text = sequence.text + self._text_cache.get(token, "")
            is_finished = token in self.end_tokens or any(end in text for end in self.stop)
            joint_logprob = sequence.logprob + logprob
            if joint_logprob > -np.inf:
                extensions.append(
                    _Sequence((*sequence.token_ids, token), joint_logprob, text, "stop" if is_finished else "")
                )
        return extensions

    def _cache_texts(self, next_tokens: Iterable[NextToken], before: int) -> None:
        """Get the texts of new tokens, each after the token `before`, as a text's first token may lose its space."""
        new_tokens: dict[int, None] = {}
        for next_token in next_tokens:
            for token in next_token.token_ids.tolist():
                if token not in self._text_cache:
                    new_tokens[token] = None
        texts = self.token_texts([[before, token] for token in new_tokens]) if new_tokens else []
        for token, text in zip(new_tokens, texts, strict=True):
            self._text_cache[token] = text[-1] if text else ""

    def _make_beams(self, sequences: Sequence[_Sequence]) -> tuple[Beam, ...]:
        """The sequences with their text, up to the first of `stop`."""
        token_lists = []
        for sequence in sequences:
            has_end = sequence.token_ids[-1] in self.end_tokens
            token_lists.append(sequence.token_ids[:-1] if has_end else sequence.token_ids)
        beams = []
        for sequence, texts in zip(sequences, self.token_texts(token_lists) if token_lists else [], strict=True):
            text = "".join(texts)
            stop_position = min((text.find(end) for end in self.stop if end in text), default=None)
            beams.append(Beam(sequence.token_ids, text[:stop_position], sequence.logprob, sequence.finish_reason))
        return tuple(beams)


def _sort_key(sequence: _Sequence) -> tuple[float, tuple[int, ...]]:
    """A sort key: falling log-probability, then tokens."""
    return -sequence.logprob, sequence.token_ids
