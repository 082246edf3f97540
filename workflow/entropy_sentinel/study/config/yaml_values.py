"""A configuration as read from files, and the values that it may consist of."""

import math
import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from entropy_sentinel.core.errors import ConfigError

_LARGEST = 2**63
# Surrogates, which UTF-8 cannot encode, and the null character.
_UNSTORABLE = re.compile("[\ud800-\udfff\0]")
NESTING_PROBLEM = "values are nested too deeply, or one contains itself by an alias (*name)"


def read_yaml(path: str | Path) -> dict[str, Any]:
    """The mapping in a YAML file; raises ConfigError if it is absent, or not a YAML mapping."""
    try:
        with Path(path).open(encoding="utf-8") as file:
            content = yaml.safe_load(file)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        reason = ", ".join(filter(None, (error.context, error.problem)))
        raise ConfigError(f"{path}{line}: cannot be read as YAML: {reason}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: {NESTING_PROBLEM}") from error
    except (OSError, yaml.YAMLError, ValueError) as error:  # ValueError: no UTF-8, 13th month, ...
        raise ConfigError(f"{path}: cannot be read as YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: must be a YAML mapping with the config's keys at the top")
    return content


def find_value_problems(raw: Any) -> list[str]:
    """The errors about values that are not plain: `generation.sampling.temperature: must be ...`.

    Plain values are mappings with text keys, lists, text, numbers, switches, dates and null.
    """
    try:
        return [f"{where}: {problem}" if where else problem for where, problem in _walk_values(raw, "")]
    except RecursionError:
        return [NESTING_PROBLEM]


def _walk_values(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Yield the dotted key of each value, or of the mapping of each key, that is refused, and why."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(key, str) and not _find_problem(key):
                yield from _walk_values(inner, f"{where}.{key}" if where else key)
            else:
                yield where, f"a key must be text, got {key!r:.100}; put it in quotes"
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _walk_values(inner, f"{where}.{place}" if where else str(place))
    elif problem := _find_problem(value):
        yield where, problem


def _find_problem(value: Any) -> str | None:
    """The error about a single value; None if it is valid."""
    if isinstance(value, str):
        # Printable text has no such characters, and is recognised faster.
        if value.isprintable() or not _UNSTORABLE.search(value):
            return None
        return "must be text without half characters (\\ud800 to \\udfff) and \\0"
    if isinstance(value, float):
        return None if math.isfinite(value) else f"must be a finite number, got {value}"
    if isinstance(value, int):
        return None if abs(value) < _LARGEST else "must be a number of at most 18 digits"
    if value is None or isinstance(value, date):
        return None
    return f"must be text, a number, a switch, a list or a section, got {type(value).__name__}"
