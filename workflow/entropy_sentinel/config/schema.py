"""The JSON schema of a study's config, for editors: `entropy-sentinel schema` prints it.

`workflow/schemas/` has it, made from the classes, and a test fails when it has drifted. A config file holds what
differs from others: so nothing is required in it, and a model may have the keys of all kinds, some of them null.
"""

import json
from collections.abc import Iterable
from typing import Any

from entropy_sentinel.config.sections import Config


def study_schema() -> str:
    """The JSON schema of a config file, which may be a part of the configuration."""
    schema = Config.model_json_schema()
    return json.dumps(_partial(schema, schema["$defs"]), indent=2) + "\n"


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
