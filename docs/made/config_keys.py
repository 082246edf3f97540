"""`reference/config.md`: every key of the configuration, from the classes that check it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from entropy_sentinel.study.config.study_config import Config
from made.markdown import code, paragraphs, plain, table

HEAD = """# Every key of the configuration

This page is generated from the classes that check a config file. `config.yaml` is the paper's study; another study is a
file with the differences. Each section has a table of its keys; *NAME* stands for a name of your choice. Unknown keys
and invalid values are refused before anything runs.

"""
Schema = Mapping[str, Any]


def page() -> str:
    """The page as Markdown."""
    schema = Config.model_json_schema()
    return HEAD + "\n".join(_section("", schema, schema["$defs"]))


def keys() -> dict[str, Schema]:
    """The JSON schema of every key by its dotted name, such as `models.NAME.id`."""
    schema = Config.model_json_schema()
    return dict(_keys("", schema, schema["$defs"]))


def _keys(prefix: str, section: Schema, definitions: Schema) -> Iterator[tuple[str, Schema]]:
    for name, key in section.get("properties", {}).items():
        yield prefix + name, key
        for below, inner in inside(prefix + name, key, definitions):
            for kind in kinds_of(inner, definitions):
                yield from _keys(f"{below}.", kind, definitions)


def inside(name: str, key: Schema, definitions: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the dotted name and schema of a key's section; for a mapping or list, the section of its entries."""
    for one in [key, *key.get("anyOf", [])]:
        if _is_section(one, definitions):
            yield name, one
        elif values := _values(one):
            yield from inside(f"{name}.NAME", values, definitions)
        elif one.get("type") == "array" and _is_section(one["items"], definitions):
            yield f"{name}[]", one["items"]


def _values(key: Schema) -> Schema | None:
    """The schema of a mapping's values, or None if the key is not a mapping with declared values."""
    values = [*key.get("patternProperties", {}).values(), key.get("additionalProperties")]
    return next((value for value in values if isinstance(value, Mapping)), None)


def _is_section(key: Schema, definitions: Schema) -> bool:
    """Whether a key is a section with declared keys, of one or several kinds."""
    return "oneOf" in key or ("$ref" in key and "properties" in kinds_of(key, definitions)[0])


def kinds_of(section: Schema, definitions: Schema) -> list[Schema]:
    """The schemas of a section's classes: a single one, or one for each kind."""
    refs = section.get("oneOf", [section])
    return [definitions[one["$ref"].removeprefix("#/$defs/")] for one in refs]


def kind_names(kinds: list[Schema]) -> list[str]:
    """The name of each kind: its value of `kind`, or else its required key."""
    return [kind["properties"].get("kind", {}).get("const") or next(iter(kind.get("required", [""]))) for kind in kinds]


def section_of(kinds: list[Schema]) -> dict[str, dict[str, Schema]]:
    """Every key of a section with its schemas by kind; keys that all kinds share come first."""
    names = kind_names(kinds)
    every = dict.fromkeys(key for kind in kinds for key in kind["properties"])
    by_name = dict(zip(names, kinds, strict=True))
    result = {
        key: {name: kind["properties"][key] for name, kind in by_name.items() if key in kind["properties"]}
        for key in every
    }
    return dict(sorted(result.items(), key=lambda one: len(one[1]) < len(kinds)))


def _section(name: str, section: Schema, definitions: Schema) -> Iterator[str]:
    """Yield heading, meaning and table of a section, then of the sections inside it."""
    kinds = [section] if "properties" in section else kinds_of(section, definitions)
    if name:
        yield f"{'#' * _level(name)} {plain(name)} {{#{_anchor(name)}}}\n"
    for kind, kind_name in zip(kinds, kind_names(kinds), strict=True) if name else ():
        message = paragraphs(kind.get("description"))
        yield f"**{code(kind_name)}**: {message}\n" if len(kinds) > 1 else f"{message}\n"
    result = section_of(kinds)
    yield table(
        ["key", "meaning", "type", "default", *(["of"] if len(kinds) > 1 else [])],
        (_row(name, key, of, kinds, definitions) for key, of in result.items()),
    )
    for key, of in result.items():
        for below, inner in inside(f"{name}.{key}".lstrip("."), next(iter(of.values())), definitions):
            yield from _section(below, inner, definitions)


def _level(name: str) -> int:
    """The level of a section's heading; `models.NAME` has the level of `models`."""
    return min(2 + name.replace(".NAME", "").count("."), 4)


def _anchor(name: str) -> str:
    return name.replace("[]", "-each")


def _row(section: str, key: str, of: Mapping[str, Schema], kinds: list[Schema], definitions: Schema) -> list[str]:
    name, schema = f"{section}.{key}".lstrip("."), next(iter(of.values()))
    below = next(inside(name, schema, definitions), None)
    types = dict.fromkeys(kind_of(one, definitions) for one in of.values())
    kind = " or ".join(types) + (f": [{plain(below[0])}](#{_anchor(below[0])})" if below else "")
    message = "; ".join(dict.fromkeys(plain(meaning(one, definitions)) for one in of.values()))
    required = any(key in kind.get("required", []) for kind in kinds)
    cells = [f'<a id="key-{name}"></a>{code(key)}', message, kind, "required" if required else _default(schema)]
    if len(kinds) > 1:
        cells.append("all" if len(of) == len(kinds) else ", ".join(map(code, of)))
    return cells


def meaning(schema: Schema, definitions: Schema) -> str:
    """A key's description; for a section without one, its class's docstring."""
    if "description" in schema or "$ref" not in schema:
        return schema.get("description", "")
    return " ".join(kinds_of(schema, definitions)[0].get("description", "").split())


def _default(schema: Schema) -> str:
    if "default" not in schema or schema.get("const"):
        return ""
    if isinstance(schema["default"], dict) and schema["default"]:
        return "as below"
    return code(yaml.safe_dump(schema["default"], default_flow_style=True, width=10_000).removesuffix("...\n").strip())


def kind_of(schema: Schema, definitions: Schema) -> str:
    """The type of a value in words, with its limits."""
    if "anyOf" in schema:
        return " or ".join(kind_of(one, definitions) for one in schema["anyOf"]) + _range(schema)
    if "const" in schema:
        return code(schema["const"])
    if "enum" in schema:
        return ", ".join(code(one) for one in schema["enum"])
    if _is_section(schema, definitions):
        return "section"
    return _simple(schema, definitions)


def _simple(schema: Schema, definitions: Schema) -> str:
    kind = schema.get("type")
    if kind == "array":
        return f"list of {_plural(kind_of(schema['items'], definitions))}"
    if kind == "object":
        values = _values(schema)
        return "a section by name" if values and _is_section(values, definitions) else "keys and values"
    if kind in ("integer", "number"):
        return ("whole number" if kind == "integer" else "number") + _range(schema)
    return {"string": "text", "boolean": "true or false", "null": "null", None: "anything"}[kind]


def _plural(kind: str) -> str:
    return re.sub(r"^(text|section|list|number|whole number)\b", r"\1s", kind)


def _range(schema: Schema) -> str:
    """The limits of a number as text: ` ≥ 1, ≤ 100`."""
    signs = {"minimum": "≥", "exclusiveMinimum": "&gt;", "maximum": "≤", "exclusiveMaximum": "&lt;"}
    result = [f"{sign} {schema[limit]:,.10g}" for limit, sign in signs.items() if limit in schema]
    # Omit the limit that only ensures that counts fit a column.
    return (" " + ", ".join(one for one in result if one != f"≤ {2**31 - 1:,}")).rstrip()
