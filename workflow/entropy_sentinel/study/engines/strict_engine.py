"""An engine whose replies are checked as they arrive, before anything is stored or more is asked.

The types and lengths of every reply are checked, because a wrong one cannot be stored. Impossible values are an error
on the first reply with tokens: an engine that returns them there returns them always. Later ones are counted: the
features of these responses are null, and the others are of use.
"""

import inspect
import logging
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from numbers import Integral
from typing import Any

from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.core.extension_guard import guard_extension
from entropy_sentinel.core.extensions import describe_place
from entropy_sentinel.schemas.generation_schema import NO_LOGPROBS, REFUSED, TOP_K
from entropy_sentinel.study.engines import reply_fields
from entropy_sentinel.study.engines.engine_interface import (
    Asked,
    Beams,
    Continuation,
    NextToken,
    RenderedPrompt,
    Response,
)
from entropy_sentinel.study.engines.engine_registry import find_engine_kind
from entropy_sentinel.study.engines.generation_section import AskedSettings
from entropy_sentinel.study.engines.reply_fields import Problem

log = logging.getLogger(__name__)

_REMEDY = "Nothing more is asked; answers so far are kept. Correct the engine and run again"


class EngineReplyError(EntropySentinelError):
    """An engine returned what it cannot return; the message names the engine, its file, the model and the field."""


class StrictEngine:
    """An engine of `Engine` or `TokenIdEngine` with checked replies; what else it has stays as it is."""

    def __init__(self, engine: Any, settings: AskedSettings) -> None:
        """Check the replies of `engine`, which was made from a job's `settings`."""
        self._engine = engine
        benchmark: Any = settings.get("benchmark")
        self._where = f"models.{settings['model']}" + (f", benchmark {benchmark}" if benchmark else "")
        self._name = settings["engine"]
        self._kind = find_engine_kind(self._name)
        self._n_impossible = self._n_answered = 0
        self._first_impossible: Problem | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    @property
    def vocabulary(self) -> int:
        """The number of tokens that the model chooses from."""
        n_tokens: int = self._get("vocabulary")
        if not isinstance(n_tokens, Integral) or n_tokens < TOP_K:
            self._fail(f"`vocabulary` must be the number of tokens that the model chooses from; got {n_tokens!r:.60}")
        return n_tokens

    @property
    def provenance(self) -> dict[str, Any]:
        """The engine, and the kind of its log-probabilities (`Engine.provenance`)."""
        facts: dict[str, Any] = self._get("provenance")
        self._check("provenance", reply_fields.find_provenance_problem(facts))
        return facts

    def under_way(self) -> Sequence[int]:
        """The tokens so far of each unfinished response (`Engine.under_way`)."""
        counts: Sequence[int] = self._engine.under_way()
        return counts

    def answer(self, chats: Sequence[Asked], seeds: Sequence[int]) -> Generator[tuple[int, Response], None, None]:
        """Yield (position in `chats`, response), as responses are finished (`Engine.answer`).

        Raises EngineReplyError for fields of a wrong type, and for impossible numbers in the first response with
        tokens; those of later responses are counted, and told at the end.
        """
        self._check_counts(self._call("under_way"))
        answered: set[int] = set()
        has_logprobs: bool | None = None  # whether the engine says that it gives them; None before the first reply
        has_values = False  # whether a reply with tokens has come, and was found possible
        for position, response in self._iterate_replies("answer", chats, seeds):
            self._check_position("answer", position, len(chats), answered)
            place = f"answer, prompt {position}"
            self._check(place, reply_fields.find_type_problem(response))
            if has_logprobs is None:  # a server identifies itself only in its replies
                has_logprobs = self.provenance["logprobs_mode"] != NO_LOGPROBS
            problem = reply_fields.find_value_problem(response, has_logprobs)
            if not has_values:
                self._check(place, problem)
                has_values = bool(response.n_tokens) and not response.finish_reason.startswith(REFUSED)
            elif problem is not None:
                self._n_impossible += 1
                self._first_impossible = self._first_impossible or problem
            self._n_answered += 1
            yield position, response
        self._log_impossible()

    def next_tokens(self, contexts: Iterable[Sequence[int]]) -> Generator[tuple[int, NextToken], None, None]:
        """Yield (number of the context, NextToken): the likeliest next tokens after each context, as they finish."""
        has_values = False  # whether a reply that was not refused has come, and was found possible
        for number, reply in self._iterate_replies("next_tokens", contexts):
            self._check("next_tokens", reply_fields.find_next_token_type_problem(reply))
            if not has_values:  # the many others are small, and come by the thousand a second
                self._check("next_tokens", reply_fields.find_next_token_value_problem(reply))
                has_values = not reply.refused
            yield number, reply

    def continuations(
        self, pairs: Iterable[tuple[Sequence[int], Sequence[int]]]
    ) -> Generator[tuple[int, Continuation], None, None]:
        """Yield (number of the pair, Continuation): log-probabilities of its tokens after its context, as they end."""
        lengths: list[int] = []

        def record_lengths() -> Iterator[tuple[Sequence[int], Sequence[int]]]:
            for context, tokens in pairs:
                lengths.append(len(tokens))
                yield context, tokens

        for number, reply in self._iterate_replies("continuations", record_lengths()):
            self._check_position("continuations", number, len(lengths))
            self._check("continuations", reply_fields.find_continuation_problem(reply, lengths[number]))
            yield number, reply

    def beams(
        self, contexts: Iterable[Sequence[int]], width: int, max_tokens: int, stop: Sequence[str] = ()
    ) -> Generator[tuple[int, Beams], None, None]:
        """Yield (number of the context, Beams): the `width` likeliest responses after each context, by beam search."""
        for number, reply in self._iterate_replies("beams", contexts, width, max_tokens, stop):
            self._check("beams", reply_fields.find_beams_problem(reply, width))
            yield number, reply

    def prompts(self, chats: Sequence[Asked]) -> list[RenderedPrompt]:
        """Each prompt as `answer` would send it."""
        reply: list[RenderedPrompt] = self._call("prompts", chats)
        self._check("prompts", reply_fields.find_prompts_problem(reply, len(chats)))
        return reply

    def token_ids(self, texts: Sequence[str]) -> list[list[int] | None]:
        """The token ids of each text; None if the vocabulary lacks a part of it (`TokenIdEngine.token_ids`)."""
        reply: list[list[int] | None] = self._call("token_ids", texts)
        self._check("token_ids", reply_fields.find_token_ids_problem(reply, texts))
        return reply

    def token_texts(self, responses: Sequence[Sequence[int]]) -> list[list[str]]:
        """The texts of each response's tokens (`TokenIdEngine.token_texts`)."""
        reply: list[list[str]] = self._call("token_texts", responses)
        self._check("token_texts", reply_fields.find_token_texts_problem(reply, responses))
        return reply

    def _get(self, name: str) -> Any:
        """An attribute of the engine; raises EngineReplyError if it has none of this name."""
        is_proxy = hasattr(type(self._engine), "__getattr__")  # then it may have any attribute
        if not is_proxy and inspect.getattr_static(self._engine, name, None) is None:
            self._fail(f"`{name}` is missing (study/engines/engine_interface.py says what it is)")
        with self._guard_call(name):
            return getattr(self._engine, name)

    def _call(self, method: str, *arguments: Any) -> Any:
        """What a method of the engine returns."""
        function = self._get(method)
        with self._guard_call(method):
            return function(*arguments)

    def _iterate_replies(self, method: str, *arguments: Any) -> Iterator[tuple[int, Any]]:
        """Yield what a method of the engine yields: pairs of a number and a reply."""
        function = self._get(method)
        with self._guard_call(method):
            replies = function(*arguments)
            if not isinstance(replies, Iterable):
                self._fail(f"`{method}` must yield pairs of a number and a reply, returned {type(replies).__name__}")
            with closing(replies) if hasattr(replies, "close") else nullcontext():
                for pair in replies:
                    if not isinstance(pair, tuple) or len(pair) != 2:
                        self._fail(f"`{method}` must yield pairs of a number and a reply, got {type(pair).__name__}")
                    yield pair

    @contextmanager
    def _guard_call(self, method: str) -> Iterator[None]:
        """Let whatever the code of an extension's engine raises name its file and line."""
        with guard_extension("models", self._kind, f"{self._where}: engine '{self._name}': `{method}` failed"):
            yield

    def _check_position(self, method: str, position: Any, n_asked: int, answered: set[int] | None = None) -> None:
        """Raise EngineReplyError unless `position` is that of a question, and not among those `answered` before."""
        if not isinstance(position, Integral) or not 0 <= int(position) < n_asked:
            numbers = f"the number of a question, 0 to {n_asked - 1}"
            self._fail(f"`{method}` must yield {numbers}, with its reply; got {position!r:.60}")
        if answered is not None:
            if position in answered:
                self._fail(f"`{method}` must answer each question once; got a second reply to number {position}")
            answered.add(position)

    def _check_counts(self, counts: Any) -> None:
        if not isinstance(counts, Sequence) or not all(isinstance(count, Integral) for count in counts):
            self._fail(f"`under_way` must return a list of numbers of tokens; got {counts!r:.60}")

    def _check(self, place: str, problem: Problem | None) -> None:
        """Raise EngineReplyError if a reply has a problem; `place` names the method, and the question if known."""
        if problem is not None:
            remedy = f"; {problem.remedy}" if problem.remedy else ""
            self._fail(f"{place}: `{problem.field}` {problem.must}; got {problem.was}{remedy}")

    def _fail(self, problem: str) -> None:
        raise EngineReplyError(f"{self._where}: the engine '{self._name}' ({self._place()}): {problem}. {_REMEDY}")

    def _place(self) -> str:
        """The engine's class and file."""
        cls = type(self._engine)
        try:
            file = inspect.getsourcefile(cls)
        except (TypeError, OSError):
            file = None
        if file:
            return f"{file}: {cls.__name__}"
        return describe_place("models", self._kind)

    def _log_impossible(self) -> None:
        """Log the number of responses with impossible values, after the first reply."""
        if self._first_impossible is not None:
            problem = self._first_impossible
            log.warning(
                "%s: the engine '%s' (%s): %d of %d responses have impossible values, so their features are null; "
                "the first: `%s` %s; got %s",
                self._where,
                self._name,
                self._place(),
                self._n_impossible,
                self._n_answered,
                problem.field,
                problem.must,
                problem.was,
            )
            self._n_impossible, self._first_impossible = 0, None
