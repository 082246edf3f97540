"""Which names look like those of secrets. Settings are written into every trace file, so none may be among them."""

import re
from collections.abc import Mapping
from typing import Any

SECRET_NAME = re.compile(r"(^|_)(TOKEN|(API)?KEY|SECRET|PASSWORD)(_|$)", re.IGNORECASE)


def refuse_secrets(section: str, settings: Mapping[str, Any]) -> None:
    """Raise ValueError for the first key of `settings` that looks like a secret's; the value is not shown."""
    for key, value in settings.items():
        # Numbers and switches are none: vLLM has long_prefill_token_threshold, and hf_token: true.
        if SECRET_NAME.search(key) and not isinstance(value, int | float | None):
            raise ValueError(
                f"{section}: '{key}' looks like a secret, and settings are written into every trace file; set it in "
                "the shell that starts Snakemake, as an environment variable"
            )
