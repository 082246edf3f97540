"""What a person reads about a value that Pydantic refused."""

import json
import re
from collections.abc import Mapping
from typing import Any

from entropy_sentinel.core.secrets import is_secret_name

# YAML's words for Pydantic's types.
_SECTION_TYPES = ("model_type", "dict_type", "model_attributes_type", "section", "mapping_type")


def described(problem: Mapping[str, Any]) -> str:
    """Return one line for one of Pydantic's errors: `models.qwen3-4b: unknown key 'temprature'; ...`."""
    # Pydantic's own parts of a place are in brackets: the kind of a model or judge, the key of a dict.
    where = ".".join(str(part) for part in problem["loc"] if not str(part).startswith("["))
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] in _SECTION_TYPES:
        message = "must be a section with keys"
    return f"{where}: {message}{_shown(problem)}" if where else f"{message}{_shown(problem)}"


def _shown(problem: Mapping[str, Any]) -> str:
    """Return the value if it is short and not a secret, and advice if YAML reads it as something else."""
    value = problem.get("input")
    is_short = value is None or isinstance(value, str | int | float | bool)
    if problem["type"] == "missing" or not is_short:
        return ""
    if any(is_secret_name(str(part)) for part in problem["loc"]) or re.search("://.*@", str(value)):
        return ""
    text = json.dumps(value, ensure_ascii=False)
    text = text if len(text) <= 100 else f"{text[:97]}..."
    is_no_text = problem["type"] == "string_type" and value is not None
    return f"; it was {text}" + (", which is not a text: put it in quotes" if is_no_text else "")
