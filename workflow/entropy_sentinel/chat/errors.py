"""What the error of an API client means for the request, and how it is shown without secrets."""

import os
import re

from entropy_sentinel.frames.secrets import SECRET_NAME

# Shorter values are numbers and switches (USE_TOKEN=1), which would be masked wherever they stand.
SECRET_LENGTH = 6
LONGEST_MESSAGE = 300


def may_pass(error: BaseException) -> bool:
    """Whether a request that failed so may pass later: 429, 5xx, time-outs; LiteLLM gives a lost connection a 500."""
    status = getattr(error, "status_code", None)
    return isinstance(status, int) and (status in (408, 429) or status >= 500)


def retry_after_s(error: BaseException) -> float:
    """The seconds that the server asks to wait, 0 where it says nothing or gives a date."""
    headers = getattr(error, "litellm_response_headers", None) or {}
    value = headers.get("retry-after", "")
    return float(value) if re.fullmatch(r"\d+(\.\d+)?", value) else 0.0


def brief(error: BaseException) -> str:
    """An error as its class, status and first words, with all that looks like a secret masked."""
    words = " ".join(masked(str(error)).split())
    status = getattr(error, "status_code", None)
    return f"{type(error).__name__} {status or ''}".strip() + f": {words[:LONGEST_MESSAGE]}"


def masked(text: str) -> str:
    """The text without the values of environment variables that are named like secrets, and without bearer tokens."""
    values = {value.strip() for name, value in os.environ.items() if SECRET_NAME.search(name)}
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= SECRET_LENGTH:
            text = text.replace(value, "***")
    return re.sub(r"(?i)(\bbearer\s+|\bsk-)\S+", r"\1***", text)
