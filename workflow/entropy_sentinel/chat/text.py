"""What may be written of what a server says: no secrets, and no characters that files cannot hold."""

import os
import re
from typing import Any

from entropy_sentinel.frames.secrets import is_secret_name, without_keys

# Shorter values are numbers and switches (USE_TOKEN=1), which would be masked wherever they stand.
SECRET_LENGTH = 6
# In a model's answer only what is as long as a key is taken for one: a value of 6 characters may be the right answer.
KEY_LENGTH = 16

_SURROGATE = re.compile("[\ud800-\udfff]")


def masked(text: str) -> str:
    """The text without the values of environment variables that are named like secrets, and without providers' keys."""
    shown = re.sub(r"(?i)(\bbearer\s+|\bsk-)\S+", r"\1***", _without(text, secrets(SECRET_LENGTH)))
    return without_keys(shown)


def storable(value: Any) -> Any:
    """JSON content as files can hold it.

    Half a surrogate pair, which UTF-8 has no place for, becomes U+FFFD; keys of the environment become `***`.
    """
    return _storable(value, secrets(KEY_LENGTH))


def secrets(shortest: int) -> list[str]:
    """Values of environment variables named like secrets, of at least `shortest` characters, longest first.

    The path of something that is there is none, as in PWD and SSH_AUTH_SOCK.
    """
    values = {value.strip() for name, value in os.environ.items() if is_secret_name(name)}
    long = (value for value in values if len(value) >= shortest and not os.path.exists(value))
    return sorted(long, key=len, reverse=True)


def _storable(value: Any, keys: list[str]) -> Any:
    if isinstance(value, str):
        return _without(_SURROGATE.sub("\ufffd", value), keys)
    if isinstance(value, list):
        return [_storable(item, keys) for item in value]
    if isinstance(value, dict):
        return {_storable(name, keys): _storable(item, keys) for name, item in value.items()}
    return value


def _without(text: str, values: list[str]) -> str:
    for value in values:
        text = text.replace(value, "***")
    return text
