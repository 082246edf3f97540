"""Forms in which models state an answer are read; forms that only seem to state it are never taken for it."""

import contextlib
import time
from collections.abc import Callable

import pytest
from answer_forms import OPTION_STATEMENTS, OPTION_TRICKS, STATEMENTS, TRICKS, questions

from entropy_sentinel.judges.answers import final_answer
from entropy_sentinel.judges.exact import ChoiceJudge
from entropy_sentinel.judges.judge import Case, Unclear
from entropy_sentinel.judges.math_verify import MathVerifyJudge

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
        ("<think>5</think>\n7", "7", "<think>5</think>\n7"),
        ("<answer>\n\\boxed{7}\n</answer> done", "7", "<answer>\n\\boxed{7"),
        ("<answer> 7 </answer>", "7", "<answer> 7"),
        ("Summe.\nAntwort: 7 Euro.", "7 Euro", "Summe.\nAntwort: 7 Euro"),
        ("### Final Answer\n\n**7**\n", "7", "### Final Answer\n\n**7"),
    ],
)
def test_where_an_answer_ends(response: str, answer: str, end: str) -> None:
    found = final_answer(response, truncated=False)
    assert found.text == answer
    assert response[: found.end] == end


@pytest.mark.parametrize(
    ("response", "truncated", "reason"),
    [
        ("<think>7", False, "the thinking has no end"),
        ("<think>\\boxed{7}", True, "the thinking has no end"),
        ("<think>7</think>\n", False, "no answer after the thinking"),
        ("<answer>7</answer> and <answer>8</answer>", False, "several final answers"),
        ("<answer>7</answer>\n\\boxed{8}", False, "several final answers"),
        ("<answer>7", True, "cut off before a boxed answer"),
        ("\\boxed{7} apples and \\boxed{8} pears", False, "several boxes in one sentence"),
        ("Antwort: 7\nNein.", False, "no final answer"),
        ("B) Neon\n\nBut (C) is right.", False, "several options, or one that is argued against"),
    ],
)
def test_why_there_is_no_answer(response: str, truncated: bool, reason: str) -> None:
    with pytest.raises(Unclear, match=f"^{reason}$"):
        final_answer(response, truncated)


@pytest.mark.parametrize(
    "response",
    [
        "\n" * 50_000,
        "a " * 50_000,
        "<answer>" * 20_000,
        "Antwort: 5\n" * 5_000,
        "<think>" * 20_000,
        "la " * 50_000 + "5",
    ],
    ids=["lines", "articles", "tags", "answers", "thinking", "more articles"],
)
def test_markers_are_found_in_linear_time(response: str) -> None:
    start = time.process_time()
    with contextlib.suppress(Unclear):
        final_answer(response + "\n.\n", truncated=False)
    assert time.process_time() - start < 3
