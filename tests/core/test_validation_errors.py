"""What people read about a refused value: the place, what it must be, what it got; and no secret."""

from dataclasses import dataclass
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError, field_validator

from entropy_sentinel.core.validation_errors import describe_error


@dataclass
class Part:
    n: int


class Section(BaseModel, extra="forbid"):
    count: int = Field(1, ge=1, lt=9)
    share: float = Field(0.5, gt=0)
    switch: bool = True
    name: str = "a"
    kind: Literal["a", "b"] = "a"
    items: list[int] = Field([1, 2], min_length=2, max_length=3)
    parts: dict[str, Part] = {}
    checked: str | list[int] = "a"
    pattern: str = Field("a", pattern="^a")
    api_key: int = 1
    base_url: int = 1

    @field_validator("checked")
    @classmethod
    def _check(cls, value: Any) -> Any:
        if value != "a":
            raise ValueError("must be a")
        return value


@pytest.mark.parametrize(
    ("field", "value", "line"),
    [
        ("count", 0, "count: must be 1 or more, got 0"),
        ("count", 9, "count: must be below 9, got 9"),
        ("count", "many", "count: must be a whole number, got 'many'"),
        ("count", 1.5, "count: must be a whole number, got 1.5"),
        ("share", 0, "share: must be above 0, got 0"),
        ("share", None, "share: must be a number, got null"),
        ("switch", "maybe", "switch: must be true or false, got 'maybe'"),
        ("name", 5, "name: must be text, got 5"),
        ("kind", "c", "kind: must be 'a' or 'b', got 'c'"),
        ("items", [1], "items: must have at least 2 items, not 1, got [1]"),
        ("items", [1, "x"], "items.1: must be a whole number, got 'x'"),
        ("items", {"a": 1}, "items: must be a list, got a dict"),
        ("parts", [1], "parts: must be a section with keys, got [1]"),
        ("parts", {"p": 1}, "parts.p: must be a section with keys, got 1"),
        ("parts", {"p": {}}, "parts.p.n: must be set"),
        ("checked", "b", "checked: must be a, got 'b'"),
        ("checked", [1], "checked: must be a"),
        ("pattern", "b\n" * 300, f"pattern: must match pattern '^a', got '{'b' + chr(92) + 'n'}"),
        ("other", 1, "other: is not a known key"),
        ("api_key", "hunter2", "api_key: must be a whole number"),
        ("base_url", "http://me:hunter2@host", "base_url: must be a whole number"),
        ("count", "sk-" + "a" * 40, "count: must be a whole number, got '***'"),
    ],
)
def test_lines(field: str, value: Any, line: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Section.model_validate({field: value})
    [problem] = refused.value.errors()
    shown = describe_error(problem)
    assert shown.startswith(line) if field == "pattern" else shown == line
    assert len(shown) < 300


def test_known_choices_and_all_limits() -> None:
    with pytest.raises(ValidationError) as refused:
        Section.model_validate({"kind": "c", "count": 0})
    count, kind = refused.value.errors()
    assert describe_error(kind, choices=("a", "b")) == "kind: unknown 'c'; known: a, b"
    assert describe_error(count, limits="1 or more and below 9") == "count: must be 1 or more and below 9, got 0"


def test_a_file_has_null_and_python_has_none() -> None:
    with pytest.raises(ValidationError) as refused:
        Section.model_validate({"share": None})
    [share] = refused.value.errors()
    assert describe_error(share) == "share: must be a number, got null"
    assert describe_error(share, in_python=True) == "share: must be a number, got None"
