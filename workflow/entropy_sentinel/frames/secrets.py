"""Which names look like those of secrets. Settings are written into every trace file, so none may be among them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_WORDS = re.compile(r"(^|[_-])(TOKEN|(API)?KEY|SECRET|PASSWORD|AUTHORIZATION)([_-]|$)", re.IGNORECASE)


def is_secret_name(name: str) -> bool:
    """Whether one of the words of a name, as in `HF_TOKEN`, `x-api-key` and `authToken`, says that it is a secret."""
    return _WORDS.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)) is not None


def refuse_secrets(section: str, settings: Mapping[str, Any]) -> None:
    """Raise ValueError for the first key, at any depth, that looks like a secret's; no value is shown."""
    for path in secret_keys(settings):
        raise ValueError(
            f"{section}: '{path}' looks like a secret, and settings are written into every trace file; set it in "
            "the shell that starts Snakemake, as an environment variable"
        )


def secret_keys(value: Any, path: str = "") -> Iterator[str]:
    """Dotted paths of the keys in nested settings that look like those of secrets."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            below = f"{path}.{key}" if path else str(key)
            # Numbers and switches are none: vLLM has long_prefill_token_threshold, and hf_token: true.
            if is_secret_name(str(key)) and not isinstance(inner, int | float | None):
                yield below
            else:
                yield from secret_keys(inner, below)
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from secret_keys(inner, f"{path}[{number}]")
