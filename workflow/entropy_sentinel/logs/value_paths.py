"""Find the values at paths such as `attributes.output.value`, `choices[0].text` or `data.spans[*]` in a record."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

Paths = tuple[str, ...]
_INDEX = re.compile(r"\[(\d+)\]")
# In a path: every entry of a list; and every value of an object, or entry of a list.
_ENTRIES, _VALUES = "[*]", "*"
EVERY = "*"
# How often a text may be JSON of a text.
_DEEPEST_TEXT = 3
# The fields of OTLP that hold the value of an attribute.
_OTLP_VALUES = ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue", "arrayValue", "kvlistValue")


def look_up(record: Any, path: str) -> Any:
    """The value at a path, or None: names and numbers of list entries, joined by dots or in brackets.

    A name may itself have dots, and an object may be JSON text or a list of {key, value}, as in the attributes of
    spans.
    """
    names = _split_path(path)
    if isinstance(record, dict):  # usually, and most formats look for names that a record lacks
        if path in record:
            return record[path]
        if names[0] not in record and "[" not in path:
            return None
    elif isinstance(record, Mapping) and path in record:
        return record[path]
    for place, name in enumerate(names):
        if not isinstance(record, dict):
            record = to_object(record)
        if isinstance(record, Mapping):
            if (rest := ".".join(names[place:])) in record:
                return record[rest]
            record = record.get(name)
        elif isinstance(record, list) and name.isdecimal() and int(name) < len(record):
            record = record[int(name)]
        else:
            return None
    return record


def look_up_all(record: Any, path: str) -> list[Any]:
    """The values at a path, without null: `[*]` is every entry of a list, `*` also every value of an object."""
    return [value for value in _iterate_values(record, _split_path(path)) if value is not None]


def _iterate_values(record: Any, names: list[str]) -> Iterator[Any]:
    """Yield the values at a path, whose names may be wildcards for all entries of a list or values of a mapping."""
    place = next((place for place, name in enumerate(names) if name in (_ENTRIES, _VALUES)), None)
    if place is None:
        yield look_up(record, ".".join(names)) if names else record
        return
    begin = look_up(record, ".".join(names[:place])) if place else record
    parts = None if begin is None else to_object(begin)
    entries: Iterable[Any] = parts if isinstance(parts, list) else ()
    if isinstance(parts, Mapping) and names[place] == _VALUES:
        entries = parts.values()
    for entry in entries:
        yield from _iterate_values(entry, names[place + 1 :])


@cache
def _split_path(path: str) -> list[str]:
    """The names of a path; the list is shared, so callers must not change it."""
    return _INDEX.sub(r".\1", path).replace(_ENTRIES, f".{_ENTRIES}").split(".")


def find_value(record: Any, paths: Iterable[str]) -> Any:
    """The first value at the paths that is not null; a name in camel case may be in snake case.

    The value at a path with `*` is the list of all its values.
    """
    for path in paths:
        for name in _list_spellings(path):
            value = (look_up_all(record, name) or None) if EVERY in path else look_up(record, name)
            if value is not None:
                return value
    return None


@cache
def _list_spellings(path: str) -> tuple[str, ...]:
    """A path as it is and in snake case, without repetition."""
    return tuple(dict.fromkeys((path, to_snake_case(path))))


def to_snake_case(name: str) -> str:
    """`log_probability` for `logProbability`."""
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def to_object(value: Any) -> Any:
    """The object or list in a value: it may be JSON text, or a list of {key, value} in place of an object."""
    if isinstance(value, str):
        value = parse_json(value)
    if isinstance(value, list) and value and all(map(_is_pair, value)):
        return {entry["key"]: _unwrap_value(entry.get("value")) for entry in value}
    return value


def _is_pair(entry: Any) -> bool:
    """Whether a value is an object with a `key`, perhaps a `value`, and nothing else."""
    return isinstance(entry, Mapping) and isinstance(entry.get("key"), str) and set(entry) <= {"key", "value"}


def _unwrap_value(value: Any) -> Any:
    """The value of an attribute of OTLP, which names its type; any other value is returned unchanged."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return value
    [(kind, content)] = value.items()
    for name in _OTLP_VALUES:
        if kind not in (name, to_snake_case(name)):
            continue
        if name in ("arrayValue", "kvlistValue"):
            entries = content.get("values", []) if isinstance(content, Mapping) else content
            return to_object(entries) if name == "kvlistValue" else list(map(_unwrap_value, entries))
        return content
    return value


def parse_json(text: str) -> Any:
    """The object or list in a text of JSON, which may itself be JSON of such a text; None for any other text."""
    for _ in range(_DEEPEST_TEXT):
        if not text.lstrip().startswith(("{", "[", '"')):
            return None
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, str):
            return value if isinstance(value, dict | list) else None
        text = value
    return None
