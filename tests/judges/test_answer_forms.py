"""Forms in which models state an answer are read; forms that only seem to state it are never taken for it."""

import contextlib
import time
from collections.abc import Callable

import pytest
from answer_families import FAMILIES, drawn_pairs
from answer_forms import OPTION_STATEMENTS, OPTION_TRICKS, STATEMENTS, TRICKS, questions

from entropy_sentinel.judges.final_answers import find_final_answer, find_last_boxed
from entropy_sentinel.judges.judge_interface import Case, Unclear
from entropy_sentinel.judges.math_verify import MathVerifyJudge
from entropy_sentinel.judges.text_judges import ChoiceJudge

# The answer of a response and another one.
PAIRS = [("18", "21"), (r"\frac{2}{3}", r"\frac{3}{2}"), ("True", "False"), ("[1, 2]", "[2, 1]"), ("3x + 1", "3x - 1")]


def verdicts(form: str, pairs: list[tuple[str, str]], right: bool) -> set[bool | None]:
    """Judge the form with the first of each pair as its answer; the reference is that one, or the other."""
    cases = [Case("?", form.format(a=a, o=o), a if right else o, False) for a, o in pairs]
    return {verdict.label for verdict in MathVerifyJudge().judge(cases)}


@pytest.mark.parametrize("form", STATEMENTS.values(), ids=STATEMENTS)
def test_a_stated_answer_is_read(form: str) -> None:
    assert verdicts(form, PAIRS, right=True) == {True}
    assert verdicts(form, PAIRS, right=False) == {False}


@pytest.mark.parametrize("form", TRICKS.values(), ids=TRICKS)
def test_an_answer_that_is_denied_or_left_open_is_not_right(form: str) -> None:
    assert True not in verdicts(form, PAIRS, right=True)


def chosen(judge: MathVerifyJudge | ChoiceJudge, form: str, reference: str) -> set[bool | None]:
    cases = [Case(question, form.format(**fields), f"({fields[reference]})", False) for question, fields in questions()]
    return {verdict.label for verdict in judge.judge(cases)}


@pytest.mark.parametrize("judge", [MathVerifyJudge, ChoiceJudge])
@pytest.mark.parametrize("form", OPTION_STATEMENTS.values(), ids=OPTION_STATEMENTS)
def test_a_stated_option_is_read(form: str, judge: Callable[[], MathVerifyJudge | ChoiceJudge]) -> None:
    assert chosen(judge(), form, "a") == {True}
    assert chosen(judge(), form, "o") == {False}


@pytest.mark.parametrize("judge", [MathVerifyJudge, ChoiceJudge])
@pytest.mark.parametrize("form", OPTION_TRICKS.values(), ids=OPTION_TRICKS)
def test_an_option_that_is_argued_against_is_not_right(
    form: str, judge: Callable[[], MathVerifyJudge | ChoiceJudge]
) -> None:
    assert True not in chosen(judge(), form, "a")


@pytest.mark.parametrize(
    ("response", "answer", "end"),
    [
        ("So \\boxed{ 42 } then", "42", "So \\boxed{ 42"),
        ("\\boxed{1}, no: \\boxed{\\frac{1}{2}}$ is it", "\\frac{1}{2}", "\\boxed{1}, no: \\boxed{\\frac{1}{2}"),
        ("$x = \\boxed{1}$ and $y = \\boxed{2}$ done", "1, 2", "$x = \\boxed{1}$ and $y = \\boxed{2"),
        ("It was 5. The answer is 17 apples. Good luck!", "17 apples", "It was 5. The answer is 17 apples"),
        ("4 + 5 = 9.\nSo there are 9 of them.", "9", "4 + 5 = 9.\nSo there are 9"),
        ("= 53.428 g\n\nSo it weighs $53.43$ g.", "53.43 \\text{ g}", "= 53.428 g\n\nSo it weighs $53.43$"),
        ("Paris", "Paris", "Paris"),
        ("The answer is Paris.", "Paris", "The answer is Paris"),
        ("<think>5</think>\n7", "7", "<think>5</think>\n7"),
        ("<answer>\n\\boxed{7}\n</answer> done", "7", "<answer>\n\\boxed{7"),
        ("<answer> 7 </answer>", "7", "<answer> 7"),
        ("Summe.\nAntwort: 7 Euro.", "7 Euro", "Summe.\nAntwort: 7 Euro"),
        ("### Final Answer\n\n**7**\n", "7", "### Final Answer\n\n**7"),
    ],
)
def test_the_answer_and_the_text_up_to_its_end(response: str, answer: str, end: str) -> None:
    assert find_final_answer(response, truncated=False) == (answer, len(end))
    assert response.startswith(end)


@pytest.mark.parametrize(
    ("response", "truncated", "reason"),
    [
        (" \n", True, "empty response"),
        ("I do not know,\nnor do you", False, "no final answer"),
        ("4 + 5 = 9.\nThere are 9 of them.", False, "no final answer"),
        ("4 + 5 = 9.\nSo there are 8 of them.", False, "no final answer"),
        ("Antwort: 7\nNein.", False, "no final answer"),
        ("The answer is 4", True, "cut off, and the answer is not in a whole box"),
        ("\\boxed{4", True, "cut off, and the answer is not in a whole box"),
        ("<answer>7", True, "cut off, and the answer is not in a whole box"),
        ("4 + 5 = 9.\nSo there are less than 9.", False, "last sentence says what the answer is not, or guesses"),
        ("The answer is perhaps 4.", False, "last sentence says what the answer is not, or guesses"),
        ("The answer is 4?", False, "last sentence asks or exclaims"),
        ("The answer is 4. Wait, that is wrong.", False, "the answer is taken back"),
        ("\\boxed{4}. That is wrong.", False, "the answer is taken back"),
        ("\\boxed{4}\n#### 5", False, "several final answers"),
        ("<answer>7</answer> and <answer>8</answer>", False, "several final answers"),
        ("<answer>7</answer>\n\\boxed{8}", False, "several final answers"),
        ("\\boxed{4}. So it is 5.", False, "another number follows the answer"),
        ("\\boxed{4} or 5", False, "words around the box say that it is not the answer, or not all of it"),
        ("\\boxed{7} apples and \\boxed{8} pears", False, "several boxes in one sentence"),
        ("<think>\\boxed{7}", True, "the thinking has no end"),
        ("<think>7</think>\n", False, "no answer after the thinking"),
        ("B) Neon\n\nBut (C) is right.", False, "several options, or one that is argued against"),
    ],
)
def test_why_there_is_no_answer(response: str, truncated: bool, reason: str) -> None:
    with pytest.raises(Unclear, match=f"^{reason}$"):
        find_final_answer(response, truncated)


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "arbitrary constants"])
def test_drawn_pairs_are_never_judged_contrary_to_their_truth(family: str) -> None:
    pairs = drawn_pairs(family, 25)
    cases = [Case(pair.question, f"So it is $\\boxed{{{pair.answer}}}$.", pair.reference, False) for pair in pairs]
    labels = [verdict.label for verdict in MathVerifyJudge().judge(cases)]
    assert [
        pair for pair, label in zip(pairs, labels, strict=True) if label is not None and label is not pair.right
    ] == []
    decided = [label is not None for pair, label in zip(pairs, labels, strict=True) if pair.right is not None]
    assert sum(decided) > 0.95 * len(decided)


def test_last_boxed_balances_braces() -> None:
    assert find_last_boxed(r"\boxed{1} so \boxed{\frac{1}{2}} end}") == r"\frac{1}{2}"
    assert find_last_boxed(r"\boxed{1} and \boxed{2") is None
    assert find_last_boxed("none") is None


@pytest.mark.parametrize(
    "response",
    [
        "\n" * 50_000,
        "la " * 50_000 + "5",
        "<answer>" * 20_000,
        "<think>" * 20_000,
        "Antwort: 5\n" * 5_000,
        "answer " * 20_000,
        "\\boxed{" * 20_000,
        "\\boxed{5}. " + "9+" * 20_000,
        "\\boxed{5}. " + "The answer is 5. " * 5_000,
        "= " + "7" * 20_000 + "\nSo it is " + "7" * 20_000,
        "= 1e" + "9" * 400 + "\nSo it is 1e" + "9" * 400,
    ],
    ids=["lines", "articles", "tags", "thinking", "answers", "words", "boxes", "sum", "sentences", "digits", "power"],
)
def test_long_responses_are_read_in_linear_time_and_without_an_error(response: str) -> None:
    start = time.process_time()
    for end in ("", "\n.\n"):
        with contextlib.suppress(Unclear):
            find_final_answer(response + end, truncated=False)
    assert time.process_time() - start < 5
