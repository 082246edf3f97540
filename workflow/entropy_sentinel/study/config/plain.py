"""A configuration as read from files: plain values of bounded size, checked before anything copies them.

A YAML file of a kilobyte can stand for gigabytes: `*name` repeats the part marked `&name`, and that part can contain
repetitions. Values are counted as if all repetitions were written out; counting stops at the limit.

Snakemake reads its config files itself, before the Snakefile. Repeated lists are refused here, but repeated mappings
are written out by then. The command `entropy-sentinel` is safe from both.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from entropy_sentinel.core.errors import ConfigError

# The paper's study has 500 values and is 8 deep.
MOST_VALUES, DEEPEST = 100_000, 50
_LARGEST = 2**63
_UNSTORABLE = re.compile("[\ud800-\udfff\0]")


def read_yaml(path: str | Path) -> dict[str, Any]:
    """Return the mapping in a YAML file; raise ConfigError if it is absent, too large, or not a YAML mapping."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            if node is not None:
                _refuse_size(_node_children, node)
            content = None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except (OSError, yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: no UTF-8, 13th month, ...
        raise ConfigError(f"{path}: cannot be read as YAML: {error or type(error).__name__}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: must be a YAML mapping with the config's keys at the top")
    return content


def problems(raw: Any) -> list[str]:
    """Return the errors about values that are not plain: `generation.sampling.temperature: must be ...`.

    Plain values are mappings with text keys, lists, text, numbers, switches, dates and null.
    """
    try:
        _refuse_size(_children, raw)
    except ValueError as error:
        return [str(error)]
    return [f"{where}: {problem}" if where else problem for where, problem in _problems(raw, "")]


def _problems(value: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(key, str) and not _problem(key):
                yield from _problems(inner, f"{where}.{key}" if where else key)
            else:
                yield where, f"a key must be text, was {key!r:.100}; put it in quotes"
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _problems(inner, f"{where}.{place}" if where else str(place))
    elif problem := _problem(value):
        yield where, problem


def _problem(value: Any) -> str | None:
    """Return the error about a single value; None if it is valid."""
    if isinstance(value, str):
        if value.isprintable() or not _UNSTORABLE.search(value):
            return None
        return "must be text without half characters (\\ud800 to \\udfff) and \\0"
    if isinstance(value, float):
        return None if math.isfinite(value) else f"must be a finite number, was {value}"
    if isinstance(value, int):
        return None if abs(value) < _LARGEST else "must be a number of at most 18 digits"
    if value is None or isinstance(value, date):
        return None
    return f"must be text, a number, a switch, a list or a section, was {type(value).__name__}"


def _children(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _node_children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        yield from chain.from_iterable(node.value)  # pairs of key and value
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value


def _refuse_size(children: Callable[[Any], Iterable[Any]], root: Any) -> None:
    """Raise ValueError for a tree of more than MOST_VALUES values, or deeper than DEEPEST, such as a cyclic one."""
    waiting, n_values = [(root, 1)], 0
    while waiting:
        value, level = waiting.pop()
        n_values += 1
        if level > DEEPEST:
            raise ValueError(f"must be at most {DEEPEST} levels deep, and no value may contain itself")
        if n_values > MOST_VALUES:
            raise ValueError(f"must contain at most {MOST_VALUES:,} values, with aliases (*name) written out")
        waiting += [(child, level + 1) for child in children(value)]
