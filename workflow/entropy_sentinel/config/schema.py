"""The JSON schemas of the files that people write, for editors: `entropy-sentinel schema` prints them.

`workflow/schemas/` has them, made from the classes, and a test fails when one has drifted. A config file of a study
holds what differs from others: so nothing is required in it, and a model may have the keys of all kinds, some of them
null.
"""

import json
from collections.abc import Iterable
from typing import Any

from entropy_sentinel.config.sections import Config
from entropy_sentinel.monitor.settings import MonitorFile

# Where the bound of a number may be null too, Pydantic keeps its own names.
_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


def study_schema() -> str:
    """The JSON schema of a config file, which may be a part of the configuration."""
    schema = Config.model_json_schema()
    return json.dumps(_partial(schema, schema["$defs"]), indent=2) + "\n"


def monitor_schema() -> str:
    """The JSON schema of the file that `workflow/monitor.smk` reads."""
    return json.dumps(_with_bounds(MonitorFile.model_json_schema()), indent=2) + "\n"


SCHEMAS = {"study": study_schema, "monitor": monitor_schema}


def _with_bounds(schema: Any) -> Any:
    """The schema with the bounds of numbers under the names that JSON schema has for them."""
    if isinstance(schema, list):
        return [_with_bounds(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {_BOUNDS.get(key, key): _with_bounds(value) for key, value in schema.items()}


def _partial(schema: Any, definitions: dict[str, Any]) -> Any:
    """The schema with nothing required, and one object for the kinds of a thing."""
    if isinstance(schema, list):
        return [_partial(one, definitions) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "oneOf" in schema:
        schema = _any_kind(definitions[one["$ref"].removeprefix("#/$defs/")] for one in schema["oneOf"])
    # A list is the names of what is required; a key of the config of this name would be a dict.
    kept = {key: value for key, value in schema.items() if key != "required" or isinstance(value, dict)}
    return {key: _partial(value, definitions) for key, value in kept.items()}


def _any_kind(kinds: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """One object with the keys of all kinds; each may be null, by which a file takes back what another one sets."""
    properties: dict[str, list[dict[str, Any]]] = {}
    for kind in kinds:
        for key, settings in kind["properties"].items():
            if settings not in properties.setdefault(key, []):
                properties[key].append(settings)
    merged = {key: {"anyOf": [*choices, {"type": "null"}]} for key, choices in properties.items()}
    return {"type": "object", "properties": merged, "additionalProperties": False}
