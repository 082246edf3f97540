"""Words that the exact judge reads: letters of options."""

import pytest

from entropy_sentinel.judges.words import options


@pytest.mark.parametrize(
    ("text", "letters"),
    [("(A)", "A"), ("A, C and D", "ACD"), ("(A)(B)", "AB"), ("A. twelve", "A"), ("not A", ""), ("A or maybe B", "")],
)
def test_letters_of_options(text: str, letters: str) -> None:
    assert options(text) == set(letters)
