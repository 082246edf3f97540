"""Beam search over what an engine says of next tokens: the same for vLLM in this process and for a server.

At each step the `width` likeliest unfinished sequences are gone on with, by the log-probabilities of the model: before
temperature, top-p and penalties, and without a penalty for length. A sequence that ends is kept if it is among the
`width` likeliest finished ones. A longer sequence is never likelier, so that one which is no likelier than all of these
is dropped, and the search ends where none is left.

vLLM's own search (`LLM.beam_search`) is not used: it knows one end token and no texts that end a response, which base
models need, and goes on to `max_tokens` however early the likeliest responses have ended.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from entropy_sentinel.engines.engine import Beam, Beams, NextToken
from entropy_sentinel.frames.generation import TOP_K

# Contexts that are searched side by side: few enough that the engine's cache holds their beams.
_SIDE_BY_SIDE = 64


@dataclass(frozen=True)
class _Sequence:
    """Tokens after a context, and their log-probability together, nats."""

    token_ids: tuple[int, ...] = ()
    logprob: float = 0.0
    finish_reason: str = ""


@dataclass
class _Hypotheses:
    """The sequences after one context: those to go on with, and the finished ones, each the likeliest first."""

    number: int
    context: Sequence[int]
    running: list[_Sequence] = field(default_factory=lambda: [_Sequence()])
    finished: list[_Sequence] = field(default_factory=list)
    refused: str = ""

    def finish(self, more: Iterable[_Sequence], width: int) -> None:
        """Take in finished sequences, and drop those that can no longer be among the `width` likeliest."""
        self.finished = _likeliest([*self.finished, *more])[:width]
        if len(self.finished) == width:
            least = self.finished[-1].logprob
            self.running = [one for one in self.running if one.logprob > least]


@dataclass(frozen=True)
class BeamSearch:
    """A search of one engine: `ask` is its `next_tokens`, `texts` its `token_texts`, `ends` its end tokens."""

    ask: Callable[[Iterable[Sequence[int]]], Iterable[tuple[int, NextToken]]]
    texts: Callable[[Sequence[Sequence[int]]], list[list[str]]]
    ends: frozenset[int]
    width: int
    max_tokens: int
    stop: tuple[str, ...] = ()

    def search(self, contexts: Iterable[Sequence[int]]) -> Generator[tuple[int, Beams], None, None]:
        """See `Engine.beams`. Raises ValueError for a width that the known next tokens do not suffice for."""
        if not 1 <= self.width <= TOP_K // 2:
            raise ValueError(f"width: must be 1 to {TOP_K // 2}, half of the next tokens known, was {self.width}")
        waiting = enumerate(contexts)
        while some := [_Hypotheses(number, context) for number, context in islice(waiting, _SIDE_BY_SIDE)]:
            for _ in range(self.max_tokens):
                if not any(one.running for one in some):
                    break
                self._step(some)
            for one in some:
                cut = [_Sequence(left.token_ids, left.logprob, "length") for left in one.running]
                one.finish(cut, self.width)
                yield one.number, Beams(self._beams(one.finished), one.refused)

    def _step(self, hypotheses: Sequence[_Hypotheses]) -> None:
        """Go on with every running sequence by one token."""
        running = [(one, sequence) for one in hypotheses for sequence in one.running]
        found = dict(self.ask([*one.context, *sequence.token_ids] for one, sequence in running))
        longer: dict[int, list[_Sequence]] = {one.number: [] for one in hypotheses}
        cut: dict[int, list[_Sequence]] = {one.number: [] for one in hypotheses}
        for number, (one, sequence) in enumerate(running):
            said = found[number]
            if not said.refused:
                longer[one.number] += _continued(sequence, said)
            elif sequence.token_ids:  # no room for more
                cut[one.number].append(_Sequence(sequence.token_ids, sequence.logprob, "length"))
            else:
                one.refused = said.refused
        # Twice the width suffices, as in Transformers: where more than half of these end, no other is likelier than the
        # `width` likeliest of them.
        candidates = {number: _likeliest(all_)[: 2 * self.width] for number, all_ in longer.items()}
        ended = self._ended([one.token_ids for own in candidates.values() for one in own])
        for one in hypotheses:
            own = candidates[one.number]
            one.running = [each for each in own if each.token_ids not in ended][: self.width]
            stopped = [_Sequence(each.token_ids, each.logprob, "stop") for each in own if each.token_ids in ended]
            one.finish([*stopped, *cut[one.number]], self.width)

    def _ended(self, sequences: Sequence[tuple[int, ...]]) -> set[tuple[int, ...]]:
        """Those that are at their end: by their last token, or by a text that is in theirs."""
        ended = {one for one in sequences if one[-1] in self.ends}
        if self.stop and sequences:
            texts = ["".join(texts) for texts in self.texts(sequences)]
            ended |= {one for one, text in zip(sequences, texts, strict=True) if any(end in text for end in self.stop)}
        return ended

    def _beams(self, sequences: Sequence[_Sequence]) -> tuple[Beam, ...]:
        bare = [one.token_ids[: -1 if one.token_ids[-1] in self.ends else None] for one in sequences]
        texts = ["".join(texts) for texts in self.texts(bare)] if bare else []
        cuts = [min((text.find(end) for end in self.stop if end in text), default=None) for text in texts]
        return tuple(
            Beam(one.token_ids, text[:cut], one.logprob, one.finish_reason)
            for one, text, cut in zip(sequences, texts, cuts, strict=True)
        )


def _continued(sequence: _Sequence, said: NextToken) -> list[_Sequence]:
    """A sequence with each of the tokens that may follow it."""
    possible = np.isfinite(said.logprobs)
    tokens, logprobs = said.token_ids[possible].tolist(), said.logprobs[possible].tolist()
    return [
        _Sequence((*sequence.token_ids, token), sequence.logprob + logprob)
        for token, logprob in zip(tokens, logprobs, strict=True)
    ]


def _likeliest(sequences: Iterable[_Sequence]) -> list[_Sequence]:
    """Sequences by falling log-probability, equal ones by their tokens."""
    return sorted(sequences, key=lambda one: (-one.logprob, one.token_ids))
