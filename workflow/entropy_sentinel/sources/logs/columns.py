"""Columns of a log that may make slices: time, route, user segment, model settings."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from entropy_sentinel.frames.secrets import is_secret_name
from entropy_sentinel.sources.logs.reply import scalar

# A longer text is an answer or a prompt, and no slice.
LONGEST = 200
# What a proxy writes among the metadata of a call about who sent it: hashes of keys, addresses of people.
_PRIVATE = ("user_api_key", "requester_")
# What requests say of how tokens were drawn, and on whose behalf.
OF_REQUESTS = ("user", "temperature", "top_p", "safety_identifier", "prompt_cache_key", "service_tier")


def usual(record: Mapping[str, Any], leave_out: Iterable[str] = ()) -> dict[str, Any]:
    """The scalars of a record, and under `metadata.NAME` those of its metadata; neither secrets nor long texts."""
    leave_out = set(leave_out)
    found = {name: value for name, value in record.items() if name not in leave_out and name != "metadata"}
    return _kept(found) | ({} if "metadata" in leave_out else metadata(record))


def metadata(record: Mapping[str, Any]) -> dict[str, Any]:
    """The scalars of a record's metadata under `metadata.NAME`; neither secrets, nor long texts, nor who sent it."""
    found = record.get("metadata")
    if not isinstance(found, Mapping):
        return {}
    return _kept({f"metadata.{name}": value for name, value in found.items() if not is_private(f"metadata.{name}")})


def is_private(name: str) -> bool:
    """Whether a column `metadata.NAME` says who sent the request."""
    return name.removeprefix("metadata.").startswith(_PRIVATE)


def of_request(request: Any) -> dict[str, Any]:
    """What a request to an OpenAI-compatible server says that may make slices."""
    if not isinstance(request, Mapping):
        return {}
    return usual({name: request[name] for name in (*OF_REQUESTS, "metadata") if name in request})


def time(seconds: Any) -> dict[str, Any]:
    """The column `time` from seconds since 1970, UTC; nothing where there are none."""
    if type(seconds) not in (int, float) or not 0 < seconds < 1e11:
        return {}
    return {"time": datetime.fromtimestamp(seconds, UTC)}


def _kept(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: kept for name, value in found.items() if (kept := _slice(name, value)) is not None}


def _slice(name: str, value: Any) -> Any:
    if isinstance(value, datetime):
        return value
    kept = scalar(value)
    if isinstance(kept, str) and (not kept or len(kept) > LONGEST or is_secret_name(name)):
        return None
    return kept
