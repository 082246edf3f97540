"""What grid searches chose is kept, and a file of it that is of no use is as good as none."""

from pathlib import Path

import numpy as np
import pytest

from entropy_sentinel.stages.choices import Choices

X, Y = np.arange(6.0).reshape(3, 2), np.array([True, False, True])
SETTINGS = {"folds": 5, "seed": 42}


def test_choices_are_kept_for_the_same_rows_and_settings(tmp_path: Path) -> None:
    path = str(tmp_path / "x.searches.json")
    Choices(path, X, Y, SETTINGS)["forest"] = {"max_depth": 3}
    assert Choices(path, X, Y, SETTINGS) == {"forest": {"max_depth": 3}}
    assert Choices(path, X + 1, Y, SETTINGS) == Choices(path, X, ~Y, SETTINGS) == {}
    assert Choices(path, X, Y, SETTINGS | {"seed": 43}) == {}


@pytest.mark.parametrize(
    "garbage", [b"", b"{", b"\xff\xfe", b"[]", b"3", b'{"choices": {"forest": 1}}', b"[" * 100_000, b"half"]
)
def test_a_file_that_cannot_be_read_counts_as_absent(tmp_path: Path, garbage: bytes) -> None:
    path = tmp_path / "x.searches.json"
    if garbage == b"half":
        Choices(str(path), X, Y, SETTINGS)["forest"] = 1
        garbage = path.read_bytes().replace(b'{"forest": 1}', b"[1]")
    path.write_bytes(garbage)
    choices = Choices(str(path), X, Y, SETTINGS)
    assert choices == {}
    choices["forest"] = {"max_depth": 5}
    assert Choices(str(path), X, Y, SETTINGS) == {"forest": {"max_depth": 5}}
