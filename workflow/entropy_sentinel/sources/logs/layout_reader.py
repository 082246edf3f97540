"""Read records whose layout is declared (`layouts`)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.logs.layouts import Key, Layout
from entropy_sentinel.sources.logs.paths import first, look_up, snake
from entropy_sentinel.sources.logs.reader import Reader, time_column, usual_columns
from entropy_sentinel.sources.logs.reply import (
    Reply,
    Trace,
    entries_of,
    finish,
    first_id,
    refused,
    storable,
    trace,
    why_unusable,
)

# Servers' words for finish reasons, in lower case.
_REASONS = {"limit": "length", "word": "stop"}


def responses(layout: Layout, record: Mapping[str, Any]) -> tuple[list[Reply], dict[str, Any]]:
    """Return the responses in a record, and its time; raise InputError for a list of steps of another form."""
    several = [record] if layout.responses is None else look_up(record, layout.responses)
    time = first(record, layout.time)
    named = {"time": time} if isinstance(time, str) else time_column(time)
    error = first(record, layout.error)
    if not isinstance(several, list) or not several or (error and layout.responses is None and not layout.has(record)):
        return [Reply(first_id(record, layout.item_id), first(record, layout.model), "", refused(error), None)], named
    replies = [_response(layout, part) for part in several]
    for position, reply in enumerate(replies):
        prompt = first(record, layout.prompt_tokens)
        reply.item_id = reply.reply_id = first_id(record, layout.item_id)
        reply.model = first(record, layout.model)
        reply.prompt_tokens = prompt if isinstance(prompt, int) else 0
        reply.sample = position if len(replies) > 1 else None
    return replies, named


def _response(layout: Layout, part: Any) -> Reply:
    if not isinstance(part, Mapping):
        raise InputError(f"a response must be an object, was {part!r}"[:200])
    steps = first(part, layout.steps)
    text = storable(_text(first(part, layout.text), layout))
    thinking = first(part, layout.thinking)
    logprobs, tokens, token_ids = None, list[str](), None
    if isinstance(steps, list):
        logprobs, tokens = _trace(layout, part, steps), _tokens(layout, part, steps)
        if layout.token_id is not None:
            ids = [_value(step, layout.token_id) for step in steps]
            token_ids = ids if all(type(token_id) is int and token_id >= 0 for token_id in ids) else None
    reason = finish(first(part, layout.finish))
    facts = ["reasoning"] if thinking else []
    return Reply(
        item_id=None,
        model=None,
        text=text or ("".join(tokens) if layout.tokens else ""),
        finish_reason=_REASONS.get(reason.casefold(), reason),
        trace=logprobs,
        tokens=tokens,
        token_ids=token_ids,
        displaces=layout.displaces,
        unusable=why_unusable(logprobs, text, facts),
        facts=facts,
    )


def _trace(layout: Layout, part: Mapping[str, Any], steps: Sequence[Any]) -> Trace:
    sampled = steps if layout.logprob is None else [_value(step, layout.logprob) for step in steps]
    return trace(sampled, [_entries(layout, step) for step in _alternatives(layout, part, steps)])


def _alternatives(layout: Layout, part: Mapping[str, Any], steps: Sequence[Any]) -> list[Any]:
    """Return the alternatives of each step as the server writes them; None if they are missing."""
    if layout.all_top is not None:
        given = first(part, [layout.all_top])
        top = given if isinstance(given, list) else [None] * len(steps)
        if layout.entries is not None:
            top = [first(entry, [layout.entries]) for entry in top]
        return top
    if layout.top is None:
        return [None] * len(steps)
    return [look_up(step, layout.top) if isinstance(step, Mapping) else None for step in steps]


def _entries(layout: Layout, step: Any) -> list[Any]:
    if layout.top_logprob == "logprob":
        return entries_of(step)
    if step is not None and not isinstance(step, list):
        raise InputError(f"the alternatives of a step must be a list, were {step!r}"[:200])
    return [_value(entry, layout.top_logprob) for entry in step or ()]


def _tokens(layout: Layout, part: Mapping[str, Any], steps: Sequence[Any]) -> list[str]:
    """Return the texts of the sampled tokens; [] if any is missing."""
    if layout.tokens is not None:
        given = look_up(part, layout.tokens)
        texts = list(given) if isinstance(given, list) else []
    else:
        texts = [] if layout.token is None else [_value(step, layout.token) for step in steps]
    return [storable(text) for text in texts] if all(isinstance(text, str) for text in texts) else []


def _value(step: Any, key: Key) -> Any:
    """Return a value of a step; raise InputError if the step does not have it."""
    if isinstance(key, int) and isinstance(step, list) and key < len(step):
        return step[key]
    if isinstance(step, Mapping):
        for name in (key, snake(str(key))):
            if name in step:
                return step[name]
    raise InputError(f"a step must have '{key}', was {step!r}"[:200])


def _text(value: Any, layout: Layout) -> str:
    if layout.parts and isinstance(value, list):
        answers = [part for part in value if isinstance(part, Mapping) and not part.get("thought")]
        return "".join(str(part.get("text") or "") for part in answers)
    if value is None or isinstance(value, str):
        return value or ""
    raise InputError(f"the text must be a string, was {value!r}"[:200])


class LayoutReader(Reader):
    """Reads the records of a layout, and joins the pieces of its streams."""

    def __init__(self, layout: Layout) -> None:
        """Start a file with records of this layout."""
        self._layout = layout
        self._pieces: list[Mapping[str, Any]] = []

    def replies(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """Yield the responses of a record, or of the stream that it ends."""
        done = self._layout.done
        if done is not None and record.get(done) is False:
            self._pieces.append(record)
            return
        whole = self._joined(record)
        replies, time = responses(self._layout, whole)
        usual = usual_columns(whole)
        for name in self._fields_of_parts():
            usual.pop(name, None)
        columns = self.columns(whole, time | usual)
        for reply in replies:
            reply.columns = columns
            yield reply

    def rest(self) -> Iterable[Callable[[], Reply]]:
        """Return the response whose stream ends with the file."""
        return [self._interrupted] if self._pieces else []

    def _interrupted(self) -> Reply:
        [reply] = self.replies({**self._pieces.pop(), str(self._layout.done): True})
        reply.facts = [*reply.facts, "interrupted stream"]
        return reply

    def _fields_of_parts(self) -> set[str]:
        """Return the top-level names that are parts of a response rather than columns."""
        layout = self._layout
        paths = (*layout.steps, *layout.text, *layout.finish, *layout.item_id, *layout.model, *layout.thinking)
        paths = (*paths, *layout.time, *layout.prompt_tokens, layout.done or "", layout.tokens or "")
        return {path.split(".")[0] for path in paths}

    def _joined(self, last: Mapping[str, Any]) -> dict[str, Any]:
        """Return the last record with the texts and steps of the pieces before it."""
        pieces, self._pieces = [*self._pieces, last], []
        if len(pieces) == 1:
            return dict(last)
        models = {piece.get("model") for piece in pieces}
        if len(models) > 1:
            raise InputError("streams of several models are mixed, so their pieces cannot be told apart")
        whole = dict(last)
        for path in (*self._layout.text, *self._layout.thinking):
            texts = [look_up(piece, path) for piece in pieces]
            if any(isinstance(text, str) for text in texts):
                _set(whole, path, "".join(text for text in texts if isinstance(text, str)))
        for path in self._layout.steps:
            steps: list[Any] = []
            for piece in pieces:
                steps += look_up(piece, path) or ()
            if steps:
                _set(whole, path, steps)
        return whole


def _set(record: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a path in a copy of each object on the way."""
    *way, name = path.split(".")
    for part in way:
        record[part] = dict(record.get(part) or {})
        record = record[part]
    record[name] = value
