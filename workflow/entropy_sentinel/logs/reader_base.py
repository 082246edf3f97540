"""The base class of the formats' readers, which convert records to replies and keep their columns."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from entropy_sentinel.core.secrets import is_secret_name
from entropy_sentinel.logs.conversation import (
    CONVERSATION,
    INSTRUCTIONS,
    MESSAGES,
    REQUESTS,
    extract_conversation,
    join_text,
    list_messages,
)
from entropy_sentinel.logs.parsed_response import Reply, replace_surrogates, to_scalar
from entropy_sentinel.logs.reference_answer import REFERENCE, find_reference
from entropy_sentinel.logs.value_paths import look_up

# The name under which `columns` requests the question.
QUESTION = "question"
# The name under which `columns` requests a key of the request, equal for equal requests. No column of a log has it.
REQUEST = "(request)"
# Fields of a request that may contain a text prompt.
_PROMPT_FIELDS = ("question", "prompt", "input", "instruction", "query", "problem")
# Fields that the key of a request covers.
REQUEST_FIELDS = tuple(dict.fromkeys((*MESSAGES, *_PROMPT_FIELDS)))
# Columns of a table that may contain a question.
QUESTION_COLUMNS = {"messages", *REQUESTS, *_PROMPT_FIELDS}
# A longer text is an answer or a prompt, not a slice.
LONGEST_VALUE = 200
# Metadata of a proxy about the sender of a call: hashes of keys, addresses of people.
_PRIVATE = ("user_api_key", "requester_")
# Columns that name a person or a machine, and values that are addresses.
_PERSON_NAME = re.compile(
    r"(?:^|[._-])(?:user|end_?user|user_?(?:id|name|email)|username|email|e_?mail|requester|author|employee|phone|"
    r"ip|ip_?addr(?:ess)?|safety_identifier)$",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"\s*(?:[^@\s]+@[^@\s]+\.[^@\s]+|\d{1,3}(?:\.\d{1,3}){3}|(?:[0-9a-f]{0,4}:){3,7}[0-9a-f]{0,4})\s*", re.I
)
_NUMBER = re.compile(r"\d{1,25}(?:\.\d*)?")
# Fields of requests about the sampling and the user.
REQUEST_SETTINGS = ("user", "temperature", "top_p", "safety_identifier", "prompt_cache_key", "service_tier")


def extract_question(record: Any) -> str | None:
    """The user's last message or the prompt in a record or in its request; None if there is neither."""
    if not isinstance(record, Mapping):
        return None
    if message := _find_last_message(record):
        return message
    for name in _PROMPT_FIELDS:
        text = record.get(name)
        if text and isinstance(text, str):
            return text
    for name in REQUESTS:
        if question := extract_question(record.get(name)):
            return question
    return None


def hash_request(record: Any) -> str | None:
    """A digest of a record's request, equal for equal requests; None without a request.

    It covers all messages, not only the user's last one: "yes" is another question in another conversation.
    """
    if not isinstance(record, Mapping):
        return None
    parts = [record[name] for name in REQUEST_FIELDS if record.get(name) and isinstance(record[name], list | str)]
    if parts:
        parts += [record[name] for name in (*INSTRUCTIONS, "tools") if record.get(name)]
        content = json.dumps(parts, sort_keys=True, default=str)
        return blake2b(content.encode("utf-8", "replace"), digest_size=8).hexdigest()
    for name in REQUESTS:
        if key := hash_request(record.get(name)):
            return key
    return None


def _find_last_message(record: Mapping[str, Any]) -> str:
    """The text of the user's last message; "" without one."""
    messages = list_messages(record)
    for message in reversed(messages):
        if isinstance(message, Mapping) and isinstance(message.get("kwargs"), Mapping):
            message = {"type": "human" if "HumanMessage" in (message.get("id") or ()) else None} | message["kwargs"]
        if isinstance(message, Mapping) and {message.get("role"), message.get("type")} & {"user", "human"}:
            return join_text(message.get("content") or message.get("parts"))
    parts = record.get("parts")  # a request of Pydantic AI
    for part in reversed(parts if isinstance(parts, list) else []):
        if isinstance(part, Mapping) and part.get("part_kind") == "user-prompt":
            return join_text(part.get("content"))
    return ""


def collect_columns(record: Mapping[str, Any], leave_out: Iterable[str] = ()) -> dict[str, Any]:
    """The scalars of a record, and of its metadata as `metadata.NAME`, without secrets and long texts."""
    leave_out = set(leave_out)
    columns = {name: value for name, value in record.items() if name not in leave_out and name != "metadata"}
    metadata = {} if "metadata" in leave_out else collect_metadata(record)
    return _keep_slice_values(columns) | metadata


def collect_metadata(record: Mapping[str, Any]) -> dict[str, Any]:
    """The scalars of a record's metadata as `metadata.NAME`; omit secrets, long texts and sender data."""
    values = record.get("metadata")
    if not isinstance(values, Mapping):
        return {}
    return _keep_slice_values({f"metadata.{name}": value for name, value in values.items()})


def is_private(name: str) -> bool:
    """Whether a column's name says that it identifies the sender of the request."""
    return name.removeprefix("metadata.").startswith(_PRIVATE) or _PERSON_NAME.search(name) is not None


def collect_request_columns(request: Any) -> dict[str, Any]:
    """The columns of a request to an OpenAI-compatible server that may define slices."""
    if not isinstance(request, Mapping):
        return {}
    return collect_columns({name: request[name] for name in (*REQUEST_SETTINGS, "metadata") if name in request})


# Seconds since 1970 are below this until the year 5138; larger times are in thousandths, millionths or billionths.
_LATEST_S = 1e11


def parse_time_column(value: Any) -> dict[str, Any]:
    """The column `time` from a time in UTC; no column for any other value.

    A number is the time since 1970, in the unit (s, ms, us, ns) in which it lies before the year 5138. A text without a
    number, such as one of ISO 8601, stays as it is.
    """
    if isinstance(value, datetime):
        return {"time": value}
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value.strip()):
            return {"time": replace_surrogates(value)} if value.strip() else {}
        value = float(value) if "." in value else int(value)
    if type(value) not in (int, float) or not value > 0:
        return {}
    for unit in (1, 1_000, 1_000_000, 1_000_000_000):
        if value < _LATEST_S * unit:
            return {"time": datetime.fromtimestamp(value / unit, UTC)}
    return {}


def _keep_slice_values(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns whose value may be that of a slice, by name: no secrets, addresses or long texts."""
    kept = {}
    for name, value in columns.items():
        value_of_slice = _to_slice_value(name, value)
        if value_of_slice is not None:
            kept[name] = value_of_slice
    return kept


def _to_slice_value(name: str, value: Any) -> Any:
    """A column's value as the value of a slice; None if it is none, such as a secret."""
    if isinstance(value, datetime):
        return value
    simple = to_scalar(value)
    if is_private(name):
        return None
    if isinstance(simple, str) and (not simple or len(simple) > LONGEST_VALUE or is_secret_name(name)):
        return None
    if isinstance(simple, str) and _ADDRESS.fullmatch(simple):
        return None
    return simple


class Reader:
    """Converts the records of one file to replies.

    Attributes:
        wanted: Dotted names of the columns to keep; null for the usual columns.
        extra_columns: Names of additional columns to keep if a record has them.
        scorer: The scorer whose scores are labels; null if there is only one scorer.
        stated_format: The name of the format, if the user states it; null if it is recognised.
        place: The place of the record that is read: file and line.
    """

    wanted: Sequence[str] | None = None
    extra_columns: Sequence[str] = ()
    scorer: str | None = None
    stated_format: str | None = None
    place: str = ""

    def replies(self, record: Mapping[str, Any]) -> Iterable[Reply]:
        """The responses in a record; raises InputError if it is unusable, or NotAResponse if it has none."""
        raise NotImplementedError

    def done(self) -> Iterable[Reply]:
        """The responses that the end of a stream of events completes."""
        return ()

    def rest(self) -> Iterable[Callable[[], Reply]]:
        """Functions that return the responses which remain at the end of the file; a function may raise."""
        return ()

    def columns(self, record: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
        """The requested columns, or else the `usual` columns, by name.

        A column is requested by its name among the usual columns, which include the metadata in every format, or by its
        dotted name in the record. A `question` is also looked up in the request; REQUEST is its key, CONVERSATION its
        messages, and REFERENCE the reference answer.
        """
        usual = {**collect_metadata(record), **usual}
        names = [*(usual if self.wanted is None else self.wanted), *self.extra_columns]
        columns = {name: usual[name] if name in usual else to_scalar(look_up(record, name)) for name in names}
        if QUESTION in names and columns[QUESTION] is None and (question := extract_question(record)) is not None:
            columns[QUESTION] = replace_surrogates(question)
        if REQUEST in names:
            columns[REQUEST] = hash_request(record)
        if CONVERSATION in names and (conversation := extract_conversation(record)) is not None:
            columns[CONVERSATION] = replace_surrogates(conversation)
        if REFERENCE in names and (reference := find_reference(record, usual)) is not None:
            columns[REFERENCE] = replace_surrogates(reference)
        return columns
