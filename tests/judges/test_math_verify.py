"""The deterministic judge: correct, incorrect, or null with the reason."""

import pytest

from entropy_sentinel.judges.judge import Case
from entropy_sentinel.judges.math_verify import MathVerifyJudge


def verdict(response: str, reference: str = "12", truncated: bool = False):
    return MathVerifyJudge().judge([Case("How many?", response, reference, truncated)])[0]


def test_a_boxed_answer_counts_even_where_the_response_is_truncated_after_it() -> None:
    assert verdict(r"So \boxed{12}. To check, 12 - 7", truncated=True).label is True


@pytest.mark.parametrize("digits", ["7" * 5_000, "1" + "0" * 4_999])
def test_more_digits_than_anybody_means_are_not_read(digits: str) -> None:
    assert verdict(rf"So \boxed{{{digits}}}", "12").reason == "answer has more than 2,000 characters"
    assert verdict(r"So \boxed{12}", digits).reason == "reference has more than 2,000 characters"


@pytest.mark.parametrize(("power", "same"), [("10^{400}", True), ("10**400", True), ("10^{399}", False)])
def test_numbers_beyond_floats_are_compared_exactly(power: str, same: bool) -> None:
    assert verdict(rf"So \boxed{{{power}}}", "10**400").label is same
