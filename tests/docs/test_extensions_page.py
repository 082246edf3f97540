"""The page about extensions has what an extension can declare, and each class exists."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from entropy_sentinel.core.extensions import KINDS
from made import extensions

PAGE = extensions.filled((Path(__file__).parents[2] / "docs" / "extensions.md").read_text())


@pytest.mark.parametrize("kind", KINDS)
def test_each_function_is_in_the_table_with_its_class(kind: str) -> None:
    [row] = [line for line in PAGE.splitlines() if line.startswith(f"| <code>{kind}()</code> |")]
    for name in re.findall(r"<code>(entropy_sentinel\.[^<]+)</code>", row):
        module, _, thing = name.rpartition(".")
        assert isinstance(getattr(import_module(module), thing), type)
    assert "<code>entropy_sentinel." in row or kind in ("benchmarks", "commands")
