"""What brings the records of a file to replies, a `Reader` for each format, and which columns it keeps of a record."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from entropy_sentinel.frames.secrets import is_secret_name
from entropy_sentinel.sources.logs.reply import Reply, scalar, storable

# Names of a log's own id, the first that is there.
IDS = ("item_id", "prompt_id", "custom_id", "request_id", "id")
# The column that `columns` asks for it by.
QUESTION = "question"
# Where requests stand in a record, and what they call a text that is no list of messages.
_REQUESTS = ("request", "body", "kwargs")
_TEXTS = ("question", "prompt", "input", "instruction", "query")
# Columns of a table in which there may be a question.
ASKED = {"messages", *_REQUESTS, *_TEXTS}
# A longer text is an answer or a prompt, and no slice.
LONGEST_VALUE = 200
# What a proxy writes among the metadata of a call about who sent it: hashes of keys, addresses of people.
_PRIVATE = ("user_api_key", "requester_")
# What requests say of how tokens were drawn, and on whose behalf.
OF_REQUESTS = ("user", "temperature", "top_p", "safety_identifier", "prompt_cache_key", "service_tier")


def question_of(record: Any) -> str | None:
    """The last message of the user, or the prompt, in a record or in the request within it; None where it has none."""
    if not isinstance(record, Mapping):
        return None
    messages = record.get("messages")
    if not isinstance(messages, list):
        messages = record["input"] if isinstance(record.get("input"), list) else []
    messages_of_user = [
        message for message in messages if isinstance(message, Mapping) and message.get("role") == "user"
    ]
    if messages_of_user and (text := _text(messages_of_user[-1].get("content"))):
        return text
    texts = (record[name] for name in _TEXTS if isinstance(record.get(name), str))
    if named := next(filter(None, texts), ""):
        return str(named)
    return next(filter(None, (question_of(record.get(name)) for name in _REQUESTS)), None)


def _text(content: Any) -> str:
    """The text of a message, which may be in parts."""
    if isinstance(content, str):
        return content
    parts: Iterable[Any] = content if isinstance(content, list) else ()
    return "".join(str(part.get("text") or "") for part in parts if isinstance(part, Mapping))


def usual_columns(record: Mapping[str, Any], leave_out: Iterable[str] = ()) -> dict[str, Any]:
    """The scalars of a record, and under `metadata.NAME` those of its metadata; neither secrets nor long texts."""
    leave_out = set(leave_out)
    columns = {name: value for name, value in record.items() if name not in leave_out and name != "metadata"}
    return _kept(columns) | ({} if "metadata" in leave_out else metadata_columns(record))


def metadata_columns(record: Mapping[str, Any]) -> dict[str, Any]:
    """The scalars of a record's metadata under `metadata.NAME`; neither secrets, nor long texts, nor who sent it."""
    values = record.get("metadata")
    if not isinstance(values, Mapping):
        return {}
    return _kept({f"metadata.{name}": value for name, value in values.items() if not is_private(f"metadata.{name}")})


def is_private(name: str) -> bool:
    """Whether a column `metadata.NAME` says who sent the request."""
    return name.removeprefix("metadata.").startswith(_PRIVATE)


def request_columns(request: Any) -> dict[str, Any]:
    """What a request to an OpenAI-compatible server says that may make slices."""
    if not isinstance(request, Mapping):
        return {}
    return usual_columns({name: request[name] for name in (*OF_REQUESTS, "metadata") if name in request})


def time_column(seconds: Any) -> dict[str, Any]:
    """The column `time` from seconds since 1970, UTC; nothing where there are none."""
    if type(seconds) not in (int, float) or not 0 < seconds < 1e11:
        return {}
    return {"time": datetime.fromtimestamp(seconds, UTC)}


def _kept(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {name: kept for name, value in columns.items() if (kept := _slice(name, value)) is not None}


def _slice(name: str, value: Any) -> Any:
    if isinstance(value, datetime):
        return value
    kept = scalar(value)
    if isinstance(kept, str) and (not kept or len(kept) > LONGEST_VALUE or is_secret_name(name)):
        return None
    return kept


class Reader:
    """Brings the records of one file to replies.

    Attributes:
        wanted: Dotted names of the columns to keep; null for the usual ones.
        further: Names of columns that are kept beside these, where a record has them.
        scorer: The scorer whose scores are labels; null for the only one.
    """

    wanted: Sequence[str] | None = None
    further: Sequence[str] = ()
    scorer: str | None = None

    def replies(self, record: Mapping[str, Any]) -> Iterable[Reply]:
        """The responses in a record; InputError for one that cannot be used, Ignored for what is no response."""
        raise NotImplementedError

    def rest(self) -> Iterable[Callable[[], Reply]]:
        """What makes the responses that are left when the file is at its end, each by itself: one may fail."""
        return ()

    def columns(self, record: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
        """The columns that were asked for, by the name of a usual one or by their place; or else the `usual` ones.

        The metadata of every format is among these. What is asked for as `question` is looked for in the request, too.
        """
        usual = {**metadata_columns(record), **usual}
        names = [*(usual if self.wanted is None else self.wanted), *self.further]
        columns = {name: usual[name] if name in usual else scalar(look_up(record, name)) for name in names}
        if QUESTION in names and columns[QUESTION] is None and (question := question_of(record)) is not None:
            columns[QUESTION] = storable(question)
        return columns


def look_up(record: Any, name: str) -> Any:
    """What stands at a dotted name, `request.messages.0.content`; None where there is nothing."""
    if isinstance(record, Mapping) and name in record:
        return record[name]
    for part in name.split("."):
        if isinstance(record, Mapping):
            record = record.get(part)
        elif isinstance(record, list) and part.isdecimal() and int(part) < len(record):
            record = record[int(part)]
        else:
            return None
    return record
