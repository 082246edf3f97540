"""Config files before they are understood: bombs, loops, and what is no YAML."""

from pathlib import Path
from typing import Any

import pytest

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.study.config.config import load_config, read_config
from entropy_sentinel.study.config.plain import problems

LEVELS = 12


def test_a_yaml_bomb_is_refused() -> None:
    value: Any = ["x"]
    for _ in range(LEVELS):
        value = [value] * 10
    with pytest.raises(ConfigError, match=r"my.yaml: must contain at most 100,000 values"):
        load_config({"generation": {"engine_args": {"a": value}}}, "my.yaml")


def test_yaml_aliases_are_accepted(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("a: &a {x: [1, 2]}\nb: *a\nc: {<<: *a, y: 3}\n")
    assert read_config([file]) == {"a": {"x": [1, 2]}, "b": {"x": [1, 2]}, "c": {"x": [1, 2], "y": 3}}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a: &a [*a]", "at most 50 levels deep, and no value may contain itself"),
        (b"a: &a {b: *a}", "no value may contain itself"),
        (b"[" * 5000, "cannot be read as YAML"),
        (b"a: " + b"[" * 60 + b"]" * 60, "at most 50 levels deep"),
        (b"a: \xff", "cannot be read as YAML"),
        (b"a: 2025-13-45", "cannot be read as YAML"),
        (b"a: " + b"9" * 5000, "cannot be read as YAML"),
        (b"a: !!python/object:os.system x", "cannot be read as YAML"),
        (b"a: 1\n\tb: 2", "cannot be read as YAML"),
        (b"- a", "must be a YAML mapping"),
        (b"", "must be a YAML mapping"),
        (b"a: 1\n---\nb: 2", "cannot be read as YAML"),
    ],
)
def test_a_file_that_is_not_a_config_is_refused_by_name(tmp_path: Path, content: bytes, expected: str) -> None:
    file = tmp_path / "odd.yaml"
    file.write_bytes(content)
    with pytest.raises(ConfigError) as error:
        read_config([file])
    assert str(error.value).startswith(f"{file}: ")
    assert expected in str(error.value)


def test_shared_values_count_towards_the_depth() -> None:
    value: Any = []
    levels = [value]
    for _ in range(60):
        value = [value]
        levels.append(value)
    # The shallow ones are measured first.
    assert problems({"all": levels}) == ["must be at most 50 levels deep, and no value may contain itself"]


def test_each_value_of_another_type_is_reported_with_its_path() -> None:
    raw = {"a": {"b": [1, float("nan")]}, "c": b"x", 1: "d", "e": "\ud800", "f": 2**70}
    assert problems(raw) == [
        "a.b.1: must be a finite number, was nan",
        "c: must be text, a number, a switch, a list or a section, was bytes",
        "a key must be text, was 1; put it in quotes",
        "e: must be text without half characters (\\ud800 to \\udfff) and \\0",
        "f: must be a number of at most 18 digits",
    ]
