"""Read records whose layout is declared (`layouts`)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.core.printable import describe_json
from entropy_sentinel.logs.event_joining import make_joiner
from entropy_sentinel.logs.layouts import Key, Layout
from entropy_sentinel.logs.parsed_response import (
    Reply,
    StreamPart,
    Trace,
    build_trace,
    explain_unusable,
    find_id,
    format_refusal,
    parse_finish_reason,
    replace_surrogates,
)
from entropy_sentinel.logs.reader_base import Reader, collect_columns, parse_time_column
from entropy_sentinel.logs.step_forms import LOGPROB_NAMES, TOKEN_NAMES
from entropy_sentinel.logs.step_reading import read_entries, read_steps
from entropy_sentinel.logs.stream_replies import BrokenStream, close_streams, parse_streams
from entropy_sentinel.logs.value_paths import find_value, look_up, to_snake_case

# Servers' words for finish reasons, in lower case.
_FINISH_REASONS = {
    **{"limit": "length", "token_limit": "length", "incomplete": "length"},
    **{"word": "stop", "completed": "stop", "tool-calls": "stop"},
}


def parse_layout_responses(layout: Layout, record: Mapping[str, Any]) -> tuple[list[Reply], dict[str, Any]]:
    """The responses in a record, and its column `time`; raises InputError for a list of steps of another form."""
    parts = [record] if layout.responses is None else look_up(record, layout.responses)
    time = parse_time_column(find_value(record, layout.time))
    error = find_value(record, layout.error)
    is_only_error = bool(error) and layout.responses is None and not layout.has_steps(record)
    if not isinstance(parts, list) or not parts or is_only_error:
        refused = Reply(
            find_id(record, layout.item_id),
            model=find_value(record, layout.model),
            text="",
            finish_reason=format_refusal(error),
            trace=None,
        )
        return [refused], time
    replies = [_parse_response(layout, part) for part in parts]
    for position, reply in enumerate(replies):
        prompt = find_value(record, layout.prompt_tokens)
        reply.item_id = reply.reply_id = find_id(record, layout.item_id)
        reply.model = find_value(record, layout.model)
        reply.prompt_tokens = prompt if isinstance(prompt, int) else 0
        reply.sample = position if len(replies) > 1 else None
    return replies, time


def _parse_response(layout: Layout, part: Any) -> Reply:
    """The response in a part of a record, whose fields are where the layout says."""
    if not isinstance(part, Mapping):
        raise InputError(f"a response must be an object, got {describe_json(part)}"[:200])
    steps = _find_steps(layout, part)
    text = replace_surrogates(_read_text(find_value(part, layout.text), layout))
    thinking = find_value(part, layout.thinking)
    logprobs: Trace | None = None
    tokens: list[str] = []
    token_ids = None
    if layout.has_usual_steps:
        logprobs, tokens = read_steps(steps)
    elif isinstance(steps, list):
        logprobs = _build_trace(layout, part, steps)
        tokens = _read_tokens(layout, part, steps)
        if layout.token_id is not None:
            ids = [_read_value(step, layout.token_id) for step in steps]
            token_ids = ids if all(type(token_id) is int and token_id >= 0 for token_id in ids) else None
    reason = parse_finish_reason(find_value(part, layout.finish))
    facts = ["reasoning"] if thinking else []
    # A record of these layouts may have only the tokens.
    joined_tokens = "".join(tokens) if layout.tokens or layout.any_record else ""
    return Reply(
        item_id=None,
        model=None,
        text=text or joined_tokens,
        finish_reason=_FINISH_REASONS.get(reason.casefold(), reason),
        trace=logprobs,
        tokens=tokens,
        token_ids=token_ids,
        displaces=layout.displaces,
        unusable=explain_unusable(logprobs, text, facts),
        facts=facts,
    )


def _find_steps(layout: Layout, part: Mapping[str, Any]) -> Any:
    """The steps of the first path that has any; an empty list only if no path has more; None without a list."""
    candidates = [value for path in layout.steps if (value := find_value(part, [path])) is not None]
    filled = [value for value in candidates if value]
    return next(iter(filled or candidates), None)


def _build_trace(layout: Layout, part: Mapping[str, Any], steps: Sequence[Any]) -> Trace:
    """The log-probabilities of the steps of a response, and of their alternatives."""
    sampled = steps if layout.logprob is None else [_read_value(step, layout.logprob) for step in steps]
    return build_trace(sampled, [_parse_entries(layout, step) for step in _find_alternatives(layout, part, steps)])


def _find_alternatives(layout: Layout, part: Mapping[str, Any], steps: Sequence[Any]) -> list[Any]:
    """The alternatives of each step as the server writes them; None if they are missing."""
    if layout.all_top is not None:
        entries = find_value(part, [layout.all_top])
        top = entries if isinstance(entries, list) else [None] * len(steps)
        if layout.entries is not None:
            top = [find_value(entry, [layout.entries]) for entry in top]
        return top
    if layout.top is None:
        return [None] * len(steps)
    return [find_value(step, [layout.top]) if isinstance(step, Mapping) else None for step in steps]


def _parse_entries(layout: Layout, step: Any) -> list[Any]:
    """The log-probabilities of a step's alternatives, which are as the server writes them; [] for null."""
    if layout.top_logprob in LOGPROB_NAMES:
        return read_entries(step)
    if step is not None and not isinstance(step, list):
        raise InputError(f"the alternatives of a step must be a list, got {describe_json(step)}"[:200])
    return [_read_value(entry, layout.top_logprob) for entry in step or ()]


def _read_tokens(layout: Layout, part: Mapping[str, Any], steps: Sequence[Any]) -> list[str]:
    """The texts of the sampled tokens; [] if any is missing."""
    if layout.tokens is not None:
        listed = look_up(part, layout.tokens)
        texts = list(listed) if isinstance(listed, list) else []
    elif layout.token is not None:
        texts = [_read_value(step, layout.token) for step in steps]
    else:
        texts = []
    if not all(isinstance(text, str) for text in texts):
        return []
    return [replace_surrogates(text) for text in texts]


def _read_value(step: Any, key: Key) -> Any:
    """A value of a step by its name or position, or by another usual name; raises InputError if it is missing."""
    if isinstance(key, int) and isinstance(step, list) and key < len(step):
        return step[key]
    if isinstance(step, Mapping):
        usual: tuple[str, ...] = ()
        if key in LOGPROB_NAMES:
            usual = LOGPROB_NAMES
        elif key in TOKEN_NAMES:
            usual = TOKEN_NAMES
        for name in (key, to_snake_case(str(key)), *usual):
            if name in step:
                return step[name]
    raise InputError(f"a step must have '{key}', got {describe_json(step)}"[:200])


# Kinds of the parts of a message that are its text, in the fields `type` and `part_kind`.
_TEXT_KINDS = (None, "text", "output_text", "refusal")


def _read_text(value: Any, layout: Layout) -> str:
    """The text of a response, which may be in parts if the layout says so; "" for null."""
    if layout.parts and isinstance(value, list):
        parts = [{"text": part} if isinstance(part, str) else part for part in value]
        return "".join(_read_part_text(part) for part in parts if isinstance(part, Mapping))
    if value is None or isinstance(value, str):
        return value or ""
    if layout.parts and isinstance(value, Mapping):
        return _read_text(find_value(value, ("content", "text")), layout)
    raise InputError(f"the text must be a string, got {describe_json(value)}"[:200])


def _read_part_text(part: Mapping[str, Any]) -> str:
    """The text of a part of a message; "" for a part that is not its text, such as a thought."""
    is_text = part.get("type") in _TEXT_KINDS and part.get("part_kind") in _TEXT_KINDS and not part.get("thought")
    text = find_value(part, ("text", "content", "refusal")) if is_text else None
    return text if isinstance(text, str) else ""


class LayoutReader(Reader):
    """Reads the records of a layout, and joins the pieces of its streams."""

    def __init__(self, layout: Layout) -> None:
        """Start a file with records of this layout."""
        self._layout = layout
        self._joiner = None if layout.stream is None else make_joiner(layout.stream)
        self._broken = list[BrokenStream]()
        self._request: Mapping[str, Any] | None = None

    def replies(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """Yield the responses of a record, or of the streams that it ends."""
        layout, joiner = self._layout, self._joiner
        if layout.is_request(record):
            self._request = record
            raise StreamPart("requests")
        if self.stated_format is not None:
            self._check_format(record)
        if joiner is None or layout.stream is None:
            yield from self._read_whole(record)
            return
        continues_reply = joiner.has_open_reply(record) and find_value(record, layout.error) is None
        if layout.stream.is_piece(record) or continues_reply:
            yield from parse_streams(joiner.add(record, self.place), self._read_whole, self._broken)
        else:
            yield from self._read_whole(record)

    def done(self) -> Iterator[Reply]:
        """Yield the responses of the streams that `[DONE]` ends."""
        if self._joiner is not None:
            yield from parse_streams(self._joiner.end_stream(), self._read_whole, self._broken)

    def rest(self) -> Iterator[Callable[[], Reply]]:
        """Yield the responses whose stream ends with the file, and the errors of streams that cannot be joined."""
        if self._joiner is not None:
            yield from close_streams(self._joiner, self._read_whole, self._broken)

    def _read_whole(self, whole: Mapping[str, Any]) -> Iterator[Reply]:
        """Yield the responses of a reply, each with the columns of the whole record and its request."""
        replies, time = parse_layout_responses(self._layout, whole)
        usual = collect_columns(whole)
        for name in self._list_part_fields():
            usual.pop(name, None)
        request = {} if self._request is None else {"request": self._request}
        self._request = None
        columns = self.columns({**request, **whole}, time | usual)
        for reply in replies:
            reply.columns = columns
            yield reply

    def _check_format(self, record: Mapping[str, Any]) -> None:
        """Raise InputError if a record of the stated format has nothing of it."""
        layout = self._layout
        texts = layout.text if layout.responses is None else ()
        if not layout.recognises(record) and find_value(record, (*texts, *layout.error)) is None:
            places = (*layout.steps[:1], *texts[:1])
            if layout.responses:
                places = (layout.responses, *places)
            raise InputError(
                f"is not of the format '{self.stated_format}', which has {' or '.join(places)}; fields: "
                f"{', '.join(record)[:200] or 'none'}; without {format_option('format')}, the format is recognised"
            )

    def _list_part_fields(self) -> set[str]:
        """The top-level names that are parts of a response rather than columns."""
        layout, stream = self._layout, self._layout.stream
        paths = (*layout.steps, *layout.text, *layout.finish, *layout.item_id, *layout.model, *layout.thinking)
        paths = (*paths, *layout.time, *layout.prompt_tokens, layout.tokens or "")
        if stream is not None:
            paths = (*paths, stream.flag, stream.order, stream.index)
        return {path.split(".")[0].split("[")[0] for path in paths}
