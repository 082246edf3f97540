"""Config files before they are understood: aliases, loops, and what is no YAML."""

from pathlib import Path
from typing import Any

import pytest

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config.yaml_values import find_value_problems


def test_yaml_aliases_are_accepted(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("a: &a {x: [1, 2]}\nb: *a\nc: {<<: *a, y: 3}\n")
    assert read_config([file]) == {"a": {"x": [1, 2]}, "b": {"x": [1, 2]}, "c": {"x": [1, 2], "y": 3}}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a: &a {b: *a}", ": values are nested too deeply, or one contains itself"),
        (b"[" * 5000, ": values are nested too deeply"),
        (b"a: \xff", ": cannot be read as YAML: 'utf-8' codec"),
        (b"a: b\0", ": cannot be read as YAML: unacceptable character #x0000"),
        (b"a: 2025-13-45", ": cannot be read as YAML: month must be in 1..12"),
        (b"a: " + b"9" * 5000, ": cannot be read as YAML: Exceeds the limit"),
        (
            b"a: 1\nb: !!python/object:os.system x",
            ", line 2: cannot be read as YAML: could not determine a constructor",
        ),
        (b"a: 1\n\tb: 2", ", line 2: cannot be read as YAML: while scanning for the next token, found character '\\t'"),
        (b"a: [1,\n 2\nb: 3", ", line 3: cannot be read as YAML: while parsing a flow sequence"),
        (b"a: 1\n\nb: *c", ", line 3: cannot be read as YAML: found undefined alias 'c'"),
        (b"a: 1\n---\nb: 2", ", line 2: cannot be read as YAML: expected a single document"),
        (b"- a", ": must be a YAML mapping"),
        (b"", ": must be a YAML mapping"),
    ],
)
def test_a_file_that_is_not_a_config_is_refused_by_name(tmp_path: Path, content: bytes, expected: str) -> None:
    file = tmp_path / "odd.yaml"
    file.write_bytes(content)
    with pytest.raises(ConfigError) as error:
        read_config([file])
    assert str(error.value).startswith(f"{file}{expected}")
    assert "\n" not in str(error.value)


def test_a_list_that_contains_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ConfigError, match=r"my.yaml: values are nested too deeply, or one contains itself"):
        load_config({"a": endless}, "my.yaml")


def test_each_value_of_another_type_is_reported_with_its_path() -> None:
    raw = {"a": {"b": [1, float("nan")]}, "c": b"x", 1: "d", "e": "\ud800", "f": 2**70}
    assert find_value_problems(raw) == [
        "a.b.1: must be a finite number, got nan",
        "c: must be text, a number, a switch, a list or a section, got bytes",
        "a key must be text, got 1; put it in quotes",
        "e: must be text without half characters (\\ud800 to \\udfff) and \\0",
        "f: must be a number of at most 18 digits",
    ]
