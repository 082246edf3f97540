"""The deterministic judge: correct, incorrect, or null with the reason."""

import pytest

from entropy_sentinel.judges.judge import Case
from entropy_sentinel.judges.math_verify import MathVerifyJudge


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
        (r"So \boxed{9.54 \times 10^3}", " 9.54  $10^3 \\mathrm{~J}$"),
        (r"So \boxed{-3.0 \times 10^{-6}}", r"-3.0 $10^{-6} \mathrm{C} $ "),
        (r"So \boxed{7e7}", r"7 $\mathrm{10^7} \mathrm{~km}$"),
        (r"So \boxed{300}", "300 photons"),
        (r"So \boxed{0.123 nm}", "0.123 nm"),
        (r"So \boxed{288\pi}", r"288 \pi"),
        (r"So \boxed{4 \times 10^{-5}}", "4e-05"),
        (r"So \boxed{0.00004}", "4e-05"),
        (r"So \boxed{0.002}", "2e-3"),
        (r"So \boxed{2e-3}", "0.002"),
        (r"So \boxed{6.63 \times 10^{-34}}", "6.63e-34"),
        (r"So \boxed{\text{True}}", "True"),
        (r"So \boxed{no}", "False"),
        (r"So \boxed{\text{Cyclohexanone}}", "cyclohexanone"),
        (r"So \boxed{[0, 5]}", "[0, 5]"),
        (r"So \boxed{(1, 1)}", "[1, 1]"),
        (r"So \boxed{1/3, 0.25}", "[0.333333333, 0.25]"),
        (r"So \boxed{0.333333}", r"\frac{1}{3}"),
        (r"So \boxed{\sin x}", r"$\sin x$"),
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
        (r"So \boxed{6.1 \times 10^{-34}}", "6.63e-34"),
        (r"So \boxed{0.0000004}", "0.0000001"),
        (r"So \boxed{False}", "True"),
        (r"So \boxed{1}", "[1, 1]"),
        (r"So \boxed{5, 0}", "[0, 5]"),
        (r"So \boxed{288}", r"288 \pi"),
        (r"So \boxed{5}", "5 x"),
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
        (("I do not know.", "12", False), "answer cannot be read"),
        (("I do not know,\nnor do you.", "12", False), "no final answer"),
        (("5 + 7 is", "12", True), "cut off before a boxed answer"),
        ((r"So \boxed{", "12", True), "cut off before a boxed answer"),
        ((r"So \boxed{}", "12", False), "answer cannot be read"),
        ((r"So \boxed{12}", "", False), "reference cannot be read"),
        ((r"So \boxed{proved}", "Let n be even. Then n = 2k.", False), "reference is text, not an expression"),
        ((r"So \boxed{10}", "10 yuan and 15 yuan", False), "reference is text, not an expression"),
        ((r"So \boxed{3}", "True", False), "answer is neither true nor false"),
    ],
)
def test_null_with_reason_never_a_guess(case: tuple[str, str, bool], reason: str) -> None:
    found = verdict(*case)
    assert (found.label, found.reason) == (None, reason)


def test_a_boxed_answer_counts_even_where_the_response_is_cut_off_after_it() -> None:
    assert verdict(r"So \boxed{12}. To check, 12 - 7", truncated=True).label is True


@pytest.mark.parametrize("digits", ["7" * 5_000, "1" + "0" * 4_999])
def test_more_digits_than_anybody_means_are_not_read(digits: str) -> None:
    assert verdict(rf"So \boxed{{{digits}}}", "12").reason == "answer has more than 2,000 characters"
    assert verdict(r"So \boxed{12}", digits).reason == "reference has more than 2,000 characters"


@pytest.mark.parametrize(("power", "same"), [("10^{400}", True), ("10**400", True), ("10^{399}", False)])
def test_numbers_beyond_floats_are_compared_exactly(power: str, same: bool) -> None:
    assert verdict(rf"So \boxed{{{power}}}", "10**400").label is same
