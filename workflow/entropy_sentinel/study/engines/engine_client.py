"""A job's view of an engine process.

The first question finds or starts it (engine_pool.py). If it ends during a question, the job continues with a new one
and repeats only the unanswered part.
"""

import logging
import weakref
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.study.engines.engine_interface import (
    Asked,
    Beams,
    Continuation,
    NextToken,
    RenderedPrompt,
    Response,
)
from entropy_sentinel.study.engines.engine_pool import EngineEnded, EngineLease, lease_engine
from entropy_sentinel.study.engines.engine_run import EngineRun
from entropy_sentinel.study.engines.generation_section import VllmSettings

log = logging.getLogger(__name__)

# How often a job may replace an engine that ended during a request.
MAX_ENDS = 2


class SharedEngine:
    """An engine process that jobs share: see `study.engines.engine_interface.Engine`."""

    def __init__(self, settings: VllmSettings, threads: int, run: EngineRun | None = None) -> None:
        """Prepare an engine on `threads` CPU cores for the settings' model; `run` is the announced run by default."""
        self._settings, self._threads, self._run = settings, threads, run or EngineRun.from_environment()
        self._lease: EngineLease | None = None
        self._counts: Sequence[int] = ()
        self._n_ends = 0
        self._facts: dict[str, Any] = {}

    @property
    def provenance(self) -> dict[str, Any]:
        """Which engine it is (engine, engine_version), and what log-probabilities it gives (logprobs_mode)."""
        if not self._facts:
            self._open()
        return dict(self._facts["provenance"])

    @property
    def vocabulary(self) -> int:
        """The number of tokens that the model chooses from."""
        return int(self._call("vocabulary"))

    def under_way(self) -> Sequence[int]:
        """The tokens so far of each unfinished response, as the engine last reported."""
        return self._counts

    def answer(self, chats: Sequence[Asked], seeds: Sequence[int]) -> Generator[tuple[int, Response], None, None]:
        """Yield (position in `chats`, response), as responses are finished (`Engine.answer`)."""
        return self._stream("answer", [chats, seeds])

    def next_tokens(self, contexts: Iterable[Sequence[int]]) -> Generator[tuple[int, NextToken], None, None]:
        """Yield (number of the context, NextToken): the likeliest next tokens after each context, as they finish."""
        ids = [_pack_ids(context) for context in contexts]
        return self._stream("next_tokens", [ids])

    def continuations(
        self, pairs: Iterable[tuple[Sequence[int], Sequence[int]]]
    ) -> Generator[tuple[int, Continuation], None, None]:
        """Yield (number of the pair, Continuation): log-probabilities of its tokens after its context, as they end."""
        ids = [(_pack_ids(context), _pack_ids(tokens)) for context, tokens in pairs]
        return self._stream("continuations", [ids])

    def beams(
        self, contexts: Iterable[Sequence[int]], width: int, max_tokens: int, stop: Sequence[str] = ()
    ) -> Generator[tuple[int, Beams], None, None]:
        """Yield (number of the context, Beams): the `width` likeliest responses after each context, by beam search."""
        ids = [_pack_ids(context) for context in contexts]
        return self._stream("beams", [ids], width, max_tokens, stop)

    def prompts(self, chats: Sequence[Asked]) -> list[RenderedPrompt]:
        """Each prompt as `answer` would send it."""
        prompts: list[RenderedPrompt] = self._call("prompts", chats)
        return prompts

    def token_ids(self, texts: Sequence[str]) -> list[list[int] | None]:
        """The token ids of each text; None if the vocabulary lacks a part of it (`TokenIdEngine.token_ids`)."""
        ids: list[list[int] | None] = self._call("token_ids", texts)
        return ids

    def token_texts(self, responses: Sequence[Sequence[int]]) -> list[list[str]]:
        """The texts of each response's tokens (`TokenIdEngine.token_texts`)."""
        texts: list[list[str]] = self._call("token_texts", [_pack_ids(response) for response in responses])
        return texts

    def _call(self, name: str, *arguments: object) -> Any:
        """The engine's one answer to a call; if the engine ends, the call is repeated with another one."""
        while True:
            try:
                (value,) = self._ask(name, arguments)
                return value
            except EngineEnded:
                self._count_end()

    def _stream(
        self, name: str, columns: Sequence[Sequence[Any]], *options: Any
    ) -> Generator[tuple[int, Any], None, None]:
        """Yield (number, answer) for each question to the engine's method `name`.

        `columns` are the arguments that have a value for each question, `options` the others. If the engine ends, the
        unanswered questions are asked again.
        """
        pending = list(range(len(columns[0])))
        while pending:
            numbers = pending
            answered = set[int]()
            arguments = []
            for column in columns:
                arguments.append([column[number] for number in numbers])
            try:
                for position, answer in self._ask(name, (*arguments, *options)):
                    answered.add(numbers[position])
                    yield numbers[position], answer
                return
            except EngineEnded:
                self._count_end()
            finally:
                self._counts = ()
            pending = [number for number in numbers if number not in answered]

    def _ask(self, name: str, arguments: tuple[Any, ...]) -> Iterator[Any]:
        """Yield the engine's answers to one call of its method `name`. A call that the caller gives up ends the engine.

        Raises EngineEnded if the engine's process ends, and the engine's own error.
        """
        lease = self._lease or self._open()
        is_complete = False
        try:
            lease.send((name, arguments))
            while not is_complete:
                match lease.receive():
                    case "under way", counts:
                        self._counts = counts
                    case "answer", answer:
                        yield answer
                    case "error", error:
                        is_complete = True
                        raise error
                    case _:  # "done"
                        is_complete = True
        finally:
            if not is_complete:
                self._close_lease()

    def _open(self) -> EngineLease:
        """Take an idle engine of the run, or start one, and wait until it is loaded; try again if it ends meanwhile."""
        lease = self._lease = lease_engine(self._run, self._settings, self._threads)
        weakref.finalize(self, lease.close)
        try:
            lease.send(self._settings)
            kind, payload = lease.receive()  # `ready` with facts about the engine, or `error` with the exception
        except EngineEnded:
            self._close_lease()
            self._count_end()
            return self._open()
        if kind == "error":
            self._close_lease()
            raise payload
        self._facts = payload
        return lease

    def _close_lease(self) -> None:
        if self._lease:
            self._lease.close()
        self._lease = None

    def _count_end(self) -> None:
        """Warn that the engine has ended; raise EntropySentinelError if no other engine may replace it."""
        self._n_ends += 1
        name = f"models.{self._settings['model']}"
        if not self._run.is_alive:
            raise EntropySentinelError(
                f"{name}: the run that started this job has ended, and so have its engines; the next run continues "
                "after the answered requests"
            )
        if self._n_ends > MAX_ENDS:
            raise EntropySentinelError(
                f"{name}: the engine ended {self._n_ends} times during a request; its output is above in this log"
            )
        log.warning("%s: the engine ended during a request; continuing with a new one", name)


def make_shared_engine(settings: VllmSettings, threads: int) -> SharedEngine:
    """The engine of a model with weights; the first job that uses it loads it on `threads` CPU cores."""
    return SharedEngine(settings, threads)


def _pack_ids(tokens: Sequence[int]) -> np.ndarray:
    """Token ids as an array, which is sent to the engine's process faster than a list."""
    return np.asarray(tokens, dtype=np.uint32)
