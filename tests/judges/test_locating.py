"""Where a final answer ends in its response."""

import pytest

from entropy_sentinel.judges.locating import located


@pytest.mark.parametrize(
    ("response", "answer", "end"),
    [
        ("So \\boxed{42}.", "42", "So \\boxed{42"),
        ("So \\boxed{ 42 } then", "42", "So \\boxed{ 42"),
        ("\\boxed{1}, no: \\boxed{\\frac{1}{2}}$ is it", "\\frac{1}{2}", "\\boxed{1}, no: \\boxed{\\frac{1}{2}"),
        ("$x = \\boxed{1}$ and $y = \\boxed{2}$ done", "1, 2", "$x = \\boxed{1}$ and $y = \\boxed{2"),
        ("It was 5. The answer is 17 apples. Good luck!", "17", "It was 5. The answer is 17"),
        ("We get 3 + 4 = 7.\nThe final answer is **7**.", "7", "We get 3 + 4 = 7.\nThe final answer is **7"),
        ("The answer is 12.5, which is not 12.", "12.5", "The answer is 12.5"),
        ("First 8, then 9.", "9", "First 8, then 9"),
        ("The answer is Paris.", "Paris", "The answer is Paris"),
    ],
)
def test_the_answer_and_the_text_up_to_its_end(response: str, answer: str, end: str) -> None:
    found = located(response, truncated=False)
    assert found is not None
    assert found.answer == answer
    assert response[: found.end] == end


@pytest.mark.parametrize(
    ("response", "truncated"),
    [("", False), ("I do not know", False), ("The answer is 4", True), ("\\boxed{4", False), ("\\boxed{4", True)],
)
def test_no_answer(response: str, truncated: bool) -> None:
    assert located(response, truncated) is None


def test_a_box_in_a_cut_off_response_is_an_answer() -> None:
    assert located("\\boxed{4} and then it was", truncated=True) == ("4", len("\\boxed{4"))
