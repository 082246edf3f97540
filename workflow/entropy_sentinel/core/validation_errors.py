"""What people read about a value that Pydantic refused: where it is, what it must be, and what was given.

Config files, options of commands and functions, and headers of files have the same messages.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from entropy_sentinel.core.printable import describe_json, make_one_line
from entropy_sentinel.core.secrets import is_secret_name, mask_keys

# What a value must be, by the type of Pydantic's error.
_MUST_BE = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float", "int_parsing_size"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("string_type", "string_unicode"), "text"),
    **dict.fromkeys(("tuple_type", "list_type"), "a list"),
    **dict.fromkeys(
        ("model_type", "model_attributes_type", "dataclass_type", "dict_type", "mapping_type", "section"),
        "a section with keys",
    ),
}
# What Pydantic says of a whole key, so that no value is shown.
_OF_KEYS = {
    "missing": "must be set",
    **dict.fromkeys(("extra_forbidden", "unexpected_keyword_argument"), "is not a known key"),
}
# The bounds of a number, by their names in Pydantic's types and errors.
_BOUNDS = {"gt": "above {}", "ge": "{} or more", "lt": "below {}", "le": "at most {}"}
_SHOULD = re.compile(r"^\w+ should ")
_URL_WITH_PASSWORD = re.compile("://.*@")
_MOST_CHARACTERS = 200


def describe_error(
    problem: Mapping[str, Any], choices: Sequence[str] = (), limits: str = "", in_python: bool = False
) -> str:
    """One line for one of Pydantic's errors: `estimation.trees: must be 1 or more, got 0`.

    `problem` is an entry of Pydantic's `errors()`: a dict with type, loc, msg, input and perhaps ctx. `choices` are the
    allowed values, and `limits` all bounds of the value, where the caller knows them. The value is that of a file, with
    `null` and `true`, or an argument `in_python`.
    """
    where = ".".join(_name_parts(problem))
    message = _describe_requirement(problem, choices, limits, in_python)
    return make_one_line(f"{where}: {message}" if where else message)


def _name_parts(problem: Mapping[str, Any]) -> list[str]:
    """The place without Pydantic's own parts in brackets: the kind of a model or judge, the key of a dict."""
    return [str(part) for part in problem["loc"] if not str(part).startswith("[")]


def _describe_requirement(problem: Mapping[str, Any], choices: Sequence[str], limits: str, in_python: bool) -> str:
    """What a value must be and what it was: `must be 1 or more, got 0`."""
    kind = problem["type"]
    value = _describe_value(problem, in_python)
    if kind in _OF_KEYS:
        return _OF_KEYS[kind]
    if kind == "literal_error" and choices and value:
        return f"unknown {value}; known: {', '.join(choices)}"
    message = problem["msg"].removeprefix("Value error, ")
    if kind == "value_error":
        # The message of a check may name the value, or the wrong part of it.
        names_value = ", got " in message or message.startswith("unknown")
        has_parts = not isinstance(problem["input"], str | int | float | None)
        return message if names_value or has_parts or not value else f"{message}, got {value}"
    bounds = describe_bounds(problem.get("ctx", {}))  # those that the value exceeds
    must = _MUST_BE.get(kind, "")
    if not must and bounds:
        must = limits or bounds
    requirement = f"must be {must}" if must else _SHOULD.sub("must ", message).replace(" after validation", "")
    return f"{requirement}, got {value}" if value else requirement


def describe_bounds(bounds: Mapping[str, Any]) -> str:
    """Bounds of a number by their Pydantic names, such as `above 0 and below 1`; empty without any."""
    parts = []
    for name, words in _BOUNDS.items():
        bound = bounds.get(name)
        if bound is not None:
            parts.append(words.format(f"{bound:,}" if isinstance(bound, int) else f"{bound:g}"))
    return " and ".join(parts)


def _describe_value(problem: Mapping[str, Any], in_python: bool) -> str:
    """The value, or its type if it is not a plain value; empty for a secret."""
    value = problem["input"]
    if any(map(is_secret_name, _name_parts(problem))) or _URL_WITH_PASSWORD.search(str(value)):
        return ""
    parts = value if isinstance(value, list | tuple) else [value]
    if not all(part is None or isinstance(part, str | int | float) for part in parts):
        return f"a {type(value).__name__}"
    text = mask_keys(repr(value) if in_python else describe_json(value))
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 3]}..."
