"""The JSON schema of the file that `workflow/monitor.smk` reads: `entropy-sentinel schema monitor` prints it."""

import json
from typing import Any

from entropy_sentinel.monitor.settings import MonitorFile

# Where the bound of a number may be null too, Pydantic keeps its own names.
_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


def monitor_schema() -> str:
    """The JSON schema, made from the class; `workflow/schemas/` has it, and a test fails when it has drifted."""
    return json.dumps(_with_bounds(MonitorFile.model_json_schema()), indent=2) + "\n"


def _with_bounds(schema: Any) -> Any:
    """The schema with the bounds of numbers under the names that JSON schema has for them."""
    if isinstance(schema, list):
        return [_with_bounds(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {_BOUNDS.get(key, key): _with_bounds(value) for key, value in schema.items()}
