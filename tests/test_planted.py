"""The texts that tests/planted.py replaces are in the package."""

from pathlib import Path

import pytest
from planted import PLANTED, Planted, code_of, place_of


@pytest.fixture(scope="module")
def code() -> dict[Path, str]:
    return code_of(Path(__file__).parents[1])


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_each_planted_text_occurs_once(planted: Planted, code: dict[Path, str]):
    place_of(planted, code)
    assert planted.old != planted.new
