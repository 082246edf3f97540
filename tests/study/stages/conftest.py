"""A folder for each test, as deep as that of a study's outputs."""

from pathlib import Path

import pytest


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """A stage looks for equal outputs of other studies beside its own, two or three folders above that of its output.

    In pytest's folders it would find those of an earlier test run on this machine.
    """
    folder = tmp_path / "of-study" / "of-stage" / "of-judge" / "of-model"
    folder.mkdir(parents=True)
    return folder
