"""What grid searches chose is kept, and a file of it that is of no use is as good as none."""

from pathlib import Path

import numpy as np
import pytest

from entropy_sentinel.stages import choices
from entropy_sentinel.stages.choices import Choices

X, Y = np.arange(6.0).reshape(3, 2), np.array([True, False, True])
SETTINGS = {"folds": 5, "seed": 42}
FOREST, MLP = "forest-10d-balanced-uncalibrated [3, 5]", "mlp-1d-balanced-uncalibrated [[5]]"


def test_choices_are_kept_for_the_same_rows_and_settings(tmp_path: Path) -> None:
    path = str(tmp_path / "x.searches.json")
    Choices(path, X, Y, SETTINGS)[FOREST] = {"max_depth": 3}
    kept = Choices(path, X, Y, SETTINGS)
    assert FOREST in kept
    assert kept[FOREST] == {"max_depth": 3}
    assert MLP not in kept
    assert Choices(path, X + 1, Y, SETTINGS) == Choices(path, X, ~Y, SETTINGS) == {}
    assert Choices(path, X, Y, SETTINGS | {"seed": 43}) == {}


def test_an_edit_to_one_family_loses_its_own_searches_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "x.searches.json")
    first = Choices(path, X, Y, SETTINGS)
    first[FOREST], first[MLP] = 1, 2
    real = choices.fingerprint
    edited = lambda *names: real(*names) + ["edited"] * any("forest" in name for name in names)  # noqa: E731
    monkeypatch.setattr(choices, "fingerprint", edited)
    choices._with_code.cache_clear()
    later = Choices(path, X, Y, SETTINGS)
    assert FOREST not in later
    assert later[MLP] == 2
    choices._with_code.cache_clear()


@pytest.mark.parametrize(
    "garbage", [b"", b"{", b"\xff\xfe", b"[]", b"3", b'{"choices": {"forest": 1}}', b"[" * 100_000, b"half"]
)
def test_a_file_that_cannot_be_read_counts_as_absent(tmp_path: Path, garbage: bytes) -> None:
    path = tmp_path / "x.searches.json"
    if garbage == b"half":
        Choices(str(path), X, Y, SETTINGS)[FOREST] = 1
        whole = path.read_bytes()
        garbage = whole[: len(whole) // 2]
    path.write_bytes(garbage)
    kept = Choices(str(path), X, Y, SETTINGS)
    assert FOREST not in kept
    kept[FOREST] = {"max_depth": 5}
    assert Choices(str(path), X, Y, SETTINGS)[FOREST] == {"max_depth": 5}
