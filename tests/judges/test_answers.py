"""Which final answer a response has, and where it ends."""

import contextlib
import time

import pytest

from entropy_sentinel.judges.answers import final_answer, last_boxed
from entropy_sentinel.judges.judge import Unclear


@pytest.mark.parametrize(
    ("response", "answer", "end"),
    [
        ("So \\boxed{42}.", "42", "So \\boxed{42"),
        ("So \\boxed{ 42 } then", "42", "So \\boxed{ 42"),
        ("\\boxed{1}, no: \\boxed{\\frac{1}{2}}$ is it", "\\frac{1}{2}", "\\boxed{1}, no: \\boxed{\\frac{1}{2}"),
        ("$x = \\boxed{1}$ and $y = \\boxed{2}$ done", "1, 2", "$x = \\boxed{1}$ and $y = \\boxed{2"),
        ("It was 5. The answer is 17 apples. Good luck!", "17 apples", "It was 5. The answer is 17 apples"),
        ("We get 3 + 4 = 7.\nThe final answer is **7**.", "7", "We get 3 + 4 = 7.\nThe final answer is **7"),
        ("4 + 5 = 9.\nSo there are 9 of them.", "9", "4 + 5 = 9.\nSo there are 9"),
        (
            "= 53.428 g\n\nThus it weighs about $53.43$ g.",
            "53.43 \\text{ g}",
            "= 53.428 g\n\nThus it weighs about $53.43$",
        ),
        ("Paris", "Paris", "Paris"),
        ("The answer is Paris.", "Paris", "The answer is Paris"),
    ],
)
def test_the_answer_and_the_text_up_to_its_end(response: str, answer: str, end: str) -> None:
    result = final_answer(response, truncated=False)
    assert result.text == answer
    assert response[: result.end] == end


@pytest.mark.parametrize(
    ("response", "truncated", "reason"),
    [
        ("", False, "empty response"),
        (" \n", True, "empty response"),
        ("I do not know,\nnor do you", False, "no final answer"),
        ("The answer is 4", True, "cut off before a boxed answer"),
        ("\\boxed{4", True, "cut off before a boxed answer"),
        ("4 + 5 = 9.\nThere are 9 of them.", False, "no final answer"),
        ("4 + 5 = 9.\nSo there are 8 of them.", False, "no final answer"),
        ("4 + 5 = 9.\nSo there are less than 9.", False, "last sentence says what the answer is not, or guesses"),
        ("The answer is perhaps 4.", False, "last sentence says what the answer is not, or guesses"),
        ("The answer is 4?", False, "last sentence asks or exclaims"),
        ("The answer is 4. Wait, that is wrong.", False, "the answer is taken back"),
        ("\\boxed{4}. That is wrong.", False, "the answer is taken back"),
        ("\\boxed{4}\n#### 5", False, "several final answers"),
        ("\\boxed{4}. So it is 5.", False, "another number follows the answer"),
        ("\\boxed{4} or 5", False, "words around the box say that it is not the answer, or not all of it"),
    ],
)
def test_no_answer(response: str, truncated: bool, reason: str) -> None:
    with pytest.raises(Unclear, match=f"^{reason}$"):
        final_answer(response, truncated)


def test_a_box_in_a_truncated_response_is_an_answer() -> None:
    assert final_answer("\\boxed{4} and then it was", truncated=True) == ("4", len("\\boxed{4"))


def test_last_boxed_balances_braces() -> None:
    assert last_boxed(r"\boxed{1} so \boxed{\frac{1}{2}} end}") == r"\frac{1}{2}"
    assert last_boxed(r"\boxed{1} and \boxed{2") is None
    assert last_boxed("none") is None


@pytest.mark.parametrize(
    "response",
    [
        "\\boxed{5}. " + "9+" * 20_000,
        "= " + "7" * 20_000 + "\nSo it is " + "7" * 20_000,
        "\\boxed{" * 20_000,
        "answer " * 20_000,
        "\\boxed{5}. " + "The answer is 5. " * 5_000,
        "= 1e" + "9" * 400 + "\nSo it is 1e" + "9" * 400,
    ],
    ids=["sum", "digits", "boxes", "answers", "the same again", "power"],
)
def test_long_responses_are_read_in_linear_time_and_without_an_error(response: str) -> None:
    start = time.process_time()
    with contextlib.suppress(Unclear):
        final_answer(response, truncated=False)
    assert time.process_time() - start < 5
