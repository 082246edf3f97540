"""A response of a log, in one form for all formats."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.printable import describe_json
from entropy_sentinel.logs.value_paths import find_value
from entropy_sentinel.schemas.generation_schema import OTHER_STOPS, REFUSED

# Integer fields and the largest value that a frame can hold. The smallest is 0, or -1 for an unknown seed.
MAX_VALUES = {"sample": 2**16 - 1, "prompt_tokens": 2**32 - 1, "seed": 2**63 - 1, "trace_start": 2**32 - 1}
NO_LOGPROBS = "no log-probabilities in the log"
NO_TOKENS = "no tokens in the log, so the end of the thinking is unknown"
NO_ALTERNATIVES = "no alternatives to the sampled tokens in the log"

_SURROGATE = re.compile("[\ud800-\udfff]")
_NUMBER_TYPES = {int, float}
_LENGTH_REASONS = {"length", "max_tokens", "max_output_tokens", "max_length"}
STOP_REASONS = {"stop", *(word.lower() for word in OTHER_STOPS)}


class NotAResponse(Exception):
    """A record that is not a model's response to text; the message says what it is instead."""


class StreamPart(NotAResponse):
    """An event within a stream, whose last event has the response, or a request before its reply."""


class Trace(NamedTuple):
    """Log-probabilities of a response of T tokens, in nats, with the alternatives of all steps concatenated."""

    sampled: np.ndarray  # (T,) float32
    counts: np.ndarray  # (T,) alternatives of each step
    values: np.ndarray  # (sum of counts,) float32


@dataclass
class Reply:
    """One response. Fields that the log lacks are empty or None."""

    item_id: str | None
    model: str | None
    text: str
    finish_reason: str
    trace: Trace | None
    tokens: Sequence[str] = ()
    token_ids: Sequence[int] | None = None
    sample: int | None = None
    prompt_tokens: int = 0
    seed: int = -1
    # The number k of most likely alternatives per step; None means the number that most steps have.
    k: int | None = None
    # Whether the sampled token may be first in the list and replace the k-th most likely token.
    displaces: bool = False
    # Why no features can be computed from the response.
    unusable: str | None = None
    # What the summary of a log counts, such as `tool calls`, `reasoning` or `interrupted stream`.
    facts: Sequence[str] = ()
    # The log's own columns by name.
    columns: dict[str, Any] = field(default_factory=dict)
    # Whether the response is correct, if the log states it, or the reason why there is no label.
    label: bool | None = None
    label_reason: str | None = None
    # The first token that the features use, if the log states it.
    trace_start: int = 0
    # The number of tokens of the thinking, if the log separates it.
    thinking: int | None = None
    # The task of which the response is an attempt: a finished one in a newer log replaces those in older logs.
    task: str | None = None
    # The id that the server gave to the response, if the format says which id that is. A custom id, or the id of a
    # question, may return with another answer; this one may not.
    reply_id: str | None = None
    # The record that has the response, until it was searched for log-probabilities; null for several records.
    record: Mapping[str, Any] | None = None
    # The name of the log's format, and the place of the response: file and line.
    format: str = ""
    place: str = ""

    def check(self) -> "Reply":
        """This reply; raises InputError if a frame could not hold it."""
        if not isinstance(self.text, str):
            raise InputError(f"the text must be a string, got {describe_json(self.text)}"[:200])
        for name, largest in MAX_VALUES.items():
            value = getattr(self, name)
            least = -1 if name == "seed" else 0  # an unknown seed is -1
            if value is not None and (type(value) is not int or not least <= value <= largest):
                raise InputError(
                    f"{name} must be a whole number from 0 to {largest:,}, got {describe_json(value)}"[:200]
                )
        if any(type(token_id) is not int or not 0 <= token_id < 2**32 for token_id in self.token_ids or ()):
            raise InputError("token_ids must be whole numbers from 0 to 4,294,967,295")
        return self


def build_trace(sampled: Sequence[float], top: Sequence[Sequence[float]]) -> Trace:
    """The trace of a response from the sampled tokens' log-probabilities and the alternatives' of each step.

    Raises InputError if the lengths differ or a value is not a number.
    """
    if len(sampled) != len(top):
        raise InputError(
            f"there must be as many alternatives as sampled tokens ({len(sampled)}), but there are {len(top)}"
        )
    _check_numbers([[value] for value in sampled])
    top = [_fill_null(entries) for entries in top]
    _check_numbers(top)
    counts = np.fromiter(map(len, top), dtype=np.int64, count=len(top))
    with np.errstate(over="ignore"):  # -1e300 becomes -inf
        values = np.array(list(chain.from_iterable(top)), dtype=np.float32)
        return Trace(np.array(sampled, dtype=np.float32), counts, values)


def _fill_null(entries: Sequence[float]) -> Sequence[float]:
    """The entries with -inf for null: a probability of 0, whose logarithm JSON cannot have."""
    if None not in entries:
        return entries
    return [-math.inf if value is None else value for value in entries]


def explain_unusable(trace: Trace | None, text: str, facts: Iterable[str]) -> str | None:
    """Why no features can be computed; None if they can be, or if the response has no tokens.

    `facts` says what else the response has, such as `tool calls`.
    """
    if trace is None or (not len(trace.sampled) and text):
        return f"{NO_LOGPROBS} (a tool call)" if "tool calls" in facts else NO_LOGPROBS
    return NO_ALTERNATIVES if len(trace.sampled) and not len(trace.values) else None


def parse_finish_reason(reason: Any) -> str:
    """The finish reason: `stop`, `length`, or the log's own word; `unknown` if it has none."""
    reason = "" if reason is None else replace_surrogates(str(reason))
    if not reason.strip():
        return "unknown"
    word = reason.strip().lower().removeprefix("finishreason.").removeprefix("finish_reason_")
    if word in _LENGTH_REASONS:
        return "length"
    return "stop" if word in STOP_REASONS else reason


# The fields of an error, the one that says most first.
_ERROR_FIELDS = ("message", "errorMessage", "error_message", "detail", "reason", "code", "errorCode", "type", "status")


def format_refusal(error: Any) -> str:
    """The finish reason of a request that failed, in the server's words."""
    while isinstance(error, Mapping) and isinstance(error.get("error"), Mapping):
        error = error["error"]
    if isinstance(error, Mapping):
        error = next((error[name] for name in _ERROR_FIELDS if error.get(name)), None)
    return REFUSED + " ".join(replace_surrogates(str(error or "an error without a message")).split())[:300]


def parse_id(value: Any) -> str | None:
    """An id as text; None for a missing one, which some servers write as an empty text."""
    text = "" if value is None else replace_surrogates(str(value))
    return text if text.strip() else None


def find_id(record: Any, paths: Iterable[str]) -> str | None:
    """The first id at the paths that is not missing."""
    return next(filter(None, (parse_id(find_value(record, [path])) for path in paths)), None)


def replace_surrogates(text: str) -> str:
    """The text in a form that files can store: half a surrogate pair becomes U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def to_scalar(value: Any) -> Any:
    """A text, number or truth value, or a list of these joined to a text; None for any other value."""
    if isinstance(value, list) and all(isinstance(part, str | int | float) for part in value):
        return replace_surrogates(", ".join(map(str, value)))
    if isinstance(value, int) and abs(value) >= 2**63:
        return str(value)
    if isinstance(value, str):
        return replace_surrogates(value)
    return value if isinstance(value, bool | int | float) else None


def most_common(counts: np.ndarray) -> int:
    """The number of alternatives that most steps have; the smallest if several tie, 0 without steps."""
    return int(np.bincount(counts).argmax()) if len(counts) else 0


def _check_numbers(steps: Sequence[Sequence[Any]]) -> None:
    """Raise InputError for the first value that is not a number; `steps` has the values of each step."""
    for step, values in enumerate(steps):
        if not _NUMBER_TYPES.issuperset(map(type, values)):
            wrong = next(value for value in values if type(value) not in _NUMBER_TYPES)
            raise InputError(
                f"the log-probabilities of step {step} (from 0) must be numbers, got {describe_json(wrong)}"[:200]
            )
