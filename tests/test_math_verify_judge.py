"""The deterministic judge: correct, incorrect, or null with the reason."""

import pytest

from entropy_sentinel.adapters.math_verify_judge import MathVerifyJudge, last_boxed
from entropy_sentinel.contracts.labels import Case


def verdict(response: str, reference: str = "12", truncated: bool = False):
    return MathVerifyJudge().judge([Case("How many?", response, reference, truncated)])[0]


@pytest.mark.parametrize(
    ("response", "reference"),
    [
        (r"5 + 7 = 12. So \boxed{12}.", "12"),
        (r"So \boxed{12.0}", "12"),
        (r"So \boxed{\frac{3}{4}}", "0.75"),
        (r"So \boxed{0.75}", r"\frac{3}{4}"),
        (r"First \boxed{11}, but no: \boxed{12}", "12"),
        ("The answer is 12.", "12"),
        (r"So \boxed{1,234}", "1234"),
        (r"So \boxed{0.286}", "0.286 nm"),
        (r"So \boxed{0.286 \text{ nm}}", "0.286 nm"),
        (r"So \boxed{9.8}", "9.8 $m/s^2$"),
    ],
)
def test_correct(response: str, reference: str) -> None:
    found = verdict(response, reference)
    assert (found.label, found.reason) == (True, None)


@pytest.mark.parametrize(
    ("response", "reference"),
    [
        (r"So \boxed{13}", "12"),
        (r"12 apples, so \boxed{13}", "12"),
        (r"First \boxed{12}, but no: \boxed{11}", "12"),
        (r"So \boxed{-12}", "12"),
        ("The answer is 120.", "12"),
        (r"So \boxed{0.287}", "0.286 nm"),
        (r"So \boxed{1.9}", r"1.9 $10^{-47} \mathrm{~kg}$"),
        (r"So \boxed{3}", "3 + x"),
    ],
)
def test_incorrect(response: str, reference: str) -> None:
    found = verdict(response, reference)
    assert (found.label, found.reason) == (False, None)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (("", "12", False), "empty response"),
        ((" \n", "12", False), "empty response"),
        (("I do not know.", "12", False), "no final answer"),
        (("5 + 7 is", "12", True), "cut off before a boxed answer"),
        ((r"So \boxed{", "12", True), "cut off before a boxed answer"),
        ((r"So \boxed{}", "12", False), "answer cannot be read"),
        ((r"So \boxed{12}", "", False), "reference cannot be read"),
    ],
)
def test_null_with_reason_never_a_guess(case: tuple[str, str, bool], reason: str) -> None:
    found = verdict(*case)
    assert (found.label, found.reason) == (None, reason)


def test_a_boxed_answer_counts_even_where_the_response_is_cut_off_after_it() -> None:
    assert verdict(r"So \boxed{12}. To check, 12 - 7", truncated=True).label is True


def test_last_boxed_balances_braces() -> None:
    assert last_boxed(r"\boxed{1} and \boxed{\frac{1}{2}} end}") == r"\frac{1}{2}"
    assert last_boxed(r"\boxed{1} and \boxed{2") is None
    assert last_boxed("none") is None
