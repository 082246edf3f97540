"""Columns of a log that may make slices: time, route, user segment, model settings."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from entropy_sentinel.frames.secrets import is_secret_name
from entropy_sentinel.sources.logs.reply import scalar

# A longer text is an answer or a prompt, and no slice.
LONGEST = 200
# What requests say of how tokens were drawn, and on whose behalf.
OF_REQUESTS = ("user", "temperature", "top_p", "safety_identifier", "prompt_cache_key", "service_tier")


def usual(record: Mapping[str, Any], leave_out: Iterable[str] = ()) -> dict[str, Any]:
    """The scalars of a record, and under `metadata.NAME` those of its metadata; neither secrets nor long texts."""
    leave_out = set(leave_out)
    found = {name: value for name, value in record.items() if name not in leave_out and name != "metadata"}
    if isinstance(metadata := record.get("metadata"), Mapping) and "metadata" not in leave_out:
        found |= {f"metadata.{name}": value for name, value in metadata.items()}
    return {name: kept for name, value in found.items() if (kept := _slice(name, value)) is not None}


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


def _slice(name: str, value: Any) -> Any:
    if isinstance(value, datetime):
        return value
    kept = scalar(value)
    if isinstance(kept, str) and (not kept or len(kept) > LONGEST or is_secret_name(name)):
        return None
    return kept
