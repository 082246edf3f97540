"""The two small judges: text letter by letter, and options of multiple-choice questions."""

import pytest

from entropy_sentinel.judges import text_judges
from entropy_sentinel.judges.choice_options import list_options
from entropy_sentinel.judges.judge_interface import Case
from entropy_sentinel.judges.math_verify import MathVerifyJudge

QUESTION = "Which gas is lightest?\nA) Helium\nB) Neon\n(C) Hydrogen, H_2\nD. Argon"


@pytest.mark.parametrize(
    ("response", "reference", "truncated", "label", "reason"),
    [
        (r"So \boxed{\text{Blue  whale}}.", "blue whale", False, True, None),
        ("The answer is blue whale.", "Blue Whale", False, True, None),
        ("Blue whale", "blue whale", False, True, None),
        ("The answer is blue.", "blue whale", False, False, None),
        (r"So \boxed{12.0}", "12", False, False, None),
        ("The answer is bl", "blue", True, None, "cut off, and the answer is not in a whole box"),
        (r"\boxed{blue}. Wait, that is wrong.", "blue", False, None, "the answer is taken back"),
    ],
)
def test_exact(response: str, reference: str, truncated: bool, label: bool | None, reason: str | None) -> None:
    verdict = text_judges.make({"kind": "exact"}).judge([Case("?", response, reference, truncated)])[0]
    assert (verdict.label, verdict.reason) == (label, reason)


@pytest.mark.parametrize(
    ("response", "reference", "label", "reason"),
    [
        (r"So \boxed{C}.", "C", True, None),
        (r"So \boxed{\text{(C)}}.", "C", True, None),
        ("The correct answer is **C) Hydrogen, H_2**", "C", True, None),
        ("The answer is hydrogen, H_2.", "C", True, None),
        ("The answer is Neon.", "C", False, None),
        (r"So \boxed{C}.", "Hydrogen, H_2", True, None),
        (r"So \boxed{Hydrogen, H_2}.", "(C)", True, None),
        ("The answer is not C.", "C", None, "last sentence says what the answer is not, or guesses"),
        (r"So \boxed{Xenon}.", "C", False, None),
        (r"So \boxed{E}.", "C", False, None),
        (r"So \boxed{H_2}.", "C", None, "which option the answer means cannot be told"),
        ("The answer is C. Neon", "C", None, "the letter and the text are of different options"),
        ("The answer is C. Neon", "B", None, "the letter and the text are of different options"),
        ("The answer is C. Neon", "A", False, None),
        (r"So \boxed{C}.", "Xenon", None, "reference is not an option of the question"),
    ],
)
def test_choice(response: str, reference: str, label: bool | None, reason: str | None) -> None:
    verdict = text_judges.make({"kind": "choice"}).judge([Case(QUESTION, response, reference, truncated=False)])[0]
    assert (verdict.label, verdict.reason) == (label, reason)


NUMBERS = "Which is it?\nA) 8\nB) 10\nC) \\frac{1}{2}\nD) 14"
MASSES = "Which is it?\nA) 8 kg\nB) 10 kg\nC) 12 kg"


@pytest.mark.parametrize(
    ("question", "answer", "label"),
    [
        (NUMBERS, "37", False),
        (NUMBERS, "0.5", True),
        (NUMBERS, "14", False),
        (NUMBERS, r"\text{Xenon}", False),
        (NUMBERS, "x + 1", None),
        (NUMBERS, r"\text{twelve}", None),
        (NUMBERS, r"\text{both}", None),
        (MASSES, "12", True),
        (MASSES, "9 kg", False),
        (MASSES, "12000 g", None),
        (QUESTION, r"\text{radon}", False),
        (QUESTION, r"\text{a noble gas}", False),
        (QUESTION, r"\text{hydrogen gas}", None),
        (QUESTION, "氢", None),
    ],
)
def test_an_answer_that_is_no_option_is_incorrect_unless_it_may_be_one(
    question: str, answer: str, label: bool | None
) -> None:
    case = Case(question, f"So $\\boxed{{{answer}}}$.", "(C)", truncated=False)
    for judge in (text_judges.ChoiceJudge(), MathVerifyJudge()):
        assert judge.judge([case])[0].label is label


def test_an_answer_that_is_no_option_can_be_left_without_a_label() -> None:
    settings = {"version": 1, "judge": "choice", "kind": "choice", "no_option": "unlabelled"}
    for answer, label in (("37", None), ("E", None), ("14", False), ("A", False), ("C", True)):
        case = Case(NUMBERS, f"So $\\boxed{{{answer}}}$.", "(C)", truncated=False)
        for judge in (text_judges.make(settings), MathVerifyJudge(None, "unlabelled")):
            verdict = judge.judge([case])[0]
            assert verdict.label is label
            assert (verdict.reason == "answer is not an option of the question") is (label is None)


def test_options_are_the_last_lettered_lines_of_a_question() -> None:
    question = "Two statements:\nA. All gas.\nB. No gas.\nI. Neither.\nWhich holds?\nA. No gas.\nB. All gas.\nD. Other."
    assert list_options(question) == [("A", "No gas."), ("B", "All gas.")]
    verdicts = text_judges.make({"kind": "choice"}).judge(
        [Case(question, "The answer is all gas.", letter, truncated=False) for letter in ("B", "A")]
    )
    assert [verdict.label for verdict in verdicts] == [True, False]
    assert list_options("No options here. A) is none\nB. nor this") == []


@pytest.mark.parametrize(
    ("response", "label"),
    [
        (r"So \boxed{(B) Not enough of vitamin C}.", True),
        (r"So \boxed{A. Vitamin D}.", False),
        (r"So \boxed{A, B}.", None),
        (r"So \boxed{(B) or (C)}.", None),
        (r"So \boxed{(B) is wrong}.", None),
        (r"So \boxed{either B}.", None),
    ],
)
def test_letters_within_an_options_text_are_not_another_answer(response: str, label: bool | None) -> None:
    question = "What is scurvy?\nA. Vitamin D\nB. Not enough of vitamin C\nC. A virus"
    assert (
        text_judges.make({"kind": "choice"}).judge([Case(question, response, "B", truncated=False)])[0].label is label
    )
