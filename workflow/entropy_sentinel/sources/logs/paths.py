"""Find the values at paths such as `attributes.output.value` or `choices[0].text` in a record."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

Paths = tuple[str, ...]
_INDEX = re.compile(r"\[(\d+)\]")


def look_up(record: Any, path: str) -> Any:
    """Return the value at a path, or None: names and numbers of list entries, joined by dots or in brackets.

    A name may itself have dots, and an object may be JSON text, as in the attributes of spans.
    """
    if isinstance(record, Mapping) and path in record:
        return record[path]
    names = _INDEX.sub(r".\1", path).split(".")
    for place, name in enumerate(names):
        if isinstance(record, str):
            record = from_json(record)
        if isinstance(record, Mapping):
            if (rest := ".".join(names[place:])) in record:
                return record[rest]
            record = record.get(name)
        elif isinstance(record, list) and name.isdecimal() and int(name) < len(record):
            record = record[int(name)]
        else:
            return None
    return record


def first(record: Any, paths: Iterable[str]) -> Any:
    """Return the first value at the paths that is not null; a name in camel case may be in snake case."""
    for path in paths:
        for name in dict.fromkeys((path, snake(path))):
            value = look_up(record, name)
            if value is not None:
                return value
    return None


def snake(name: str) -> str:
    """Return `log_probability` for `logProbability`."""
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def from_json(text: str) -> Any:
    """Return the object or list in a text of JSON; None for any other text."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
