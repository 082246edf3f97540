"""The JSON schema of the configuration, for editors: `entropy-sentinel schema` prints it.

`workflow/schemas/config.schema.json` is made from the classes, and a test fails when it has drifted. A config file
holds what differs from others: so nothing is required in it, and a model may have the keys of all kinds, some of them
null.
"""

import json
from typing import Any

from entropy_sentinel.config.sections import Config


def json_schema() -> str:
    """The JSON schema of a config file, which may be a part of the configuration."""
    schema = Config.model_json_schema()
    definitions = schema["$defs"]
    for axis, names in _unions(schema).items():
        schema["properties"][axis]["additionalProperties"] = _any_of(axis, [definitions.pop(name) for name in names])
    return json.dumps(_partial(schema), indent=2) + "\n"


def _unions(schema: dict[str, Any]) -> dict[str, list[str]]:
    """Names of the definitions that each dict of one-of-several holds."""
    found = {axis: section.get("additionalProperties", {}) for axis, section in schema["properties"].items()}
    return {
        axis: [one["$ref"].removeprefix("#/$defs/") for one in inner["oneOf"]]
        for axis, inner in found.items()
        if isinstance(inner, dict) and "oneOf" in inner
    }


def _any_of(axis: str, kinds: list[dict[str, Any]]) -> dict[str, Any]:
    """One object with the keys of all kinds; each may be null, by which a file takes back what another one sets."""
    properties: dict[str, list[dict[str, Any]]] = {}
    for kind in kinds:
        for key, settings in kind["properties"].items():
            if settings not in properties.setdefault(key, []):
                properties[key].append(settings)
    merged = {
        key: {"description": choices[0].get("description", ""), "anyOf": [*choices, {"type": "null"}]}
        for key, choices in properties.items()
    }
    return {"title": axis, "type": "object", "properties": merged, "additionalProperties": False}


def _partial(schema: Any) -> Any:
    """The schema with nothing required."""
    if isinstance(schema, list):
        return [_partial(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    # A list is the names of what is required; a key of the config of this name would be a dict.
    return {key: _partial(value) for key, value in schema.items() if key != "required" or isinstance(value, dict)}
