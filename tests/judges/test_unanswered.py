"""Responses without a final answer, by hand: which ones count, and their labels with either setting."""

import pytest

from entropy_sentinel.judges import text_judges
from entropy_sentinel.judges.judge_base import JudgeSettings
from entropy_sentinel.judges.judge_interface import Case, Judge, Unanswered
from entropy_sentinel.judges.judge_kinds import Choice, Exact, MathVerify
from entropy_sentinel.judges.math_verify import MathVerifyJudge
from entropy_sentinel.schemas.label_schema import NoAnswer

QUESTION = "Which gas is it?\nA. Helium\nB. Neon\nC. Hydrogen"
# response, whether it is cut off, and the cause; None for a response in which there may be an answer
CASES = [
    (" \n", False, NoAnswer.EMPTY),
    ("<answer> </answer>", False, NoAnswer.EMPTY),
    ("<think>We add them", True, NoAnswer.ENDLESS_THINKING),
    ("<think>We add 2 and 3, so \\boxed{5}", True, NoAnswer.ENDLESS_THINKING),
    ("<think>It is 5.</think>\n", False, NoAnswer.NOTHING_AFTER_THINKING),
    ("Let us add:\n2 + 3 = 5, and then", True, NoAnswer.CUT_OFF),
    ("We compute the sum.\n\nThe final answer is", True, NoAnswer.CUT_OFF),
    ("We compute the sum.\n<answer>", True, NoAnswer.CUT_OFF),
    ("Of the gases, the lightest one", True, NoAnswer.CUT_OFF),
    ("I'm sorry, but I can't help with that.", False, NoAnswer.REFUSAL),
    ("I cannot determine this.\nPlease provide more information.", False, NoAnswer.REFUSAL),
    ("<think>Hm, 5?</think>As an AI, I am unable to see pictures.", False, NoAnswer.REFUSAL),
    # An answer, or what may be one
    ("The answer is 5. Let me check", True, None),
    ("#### 5\nLet me check", True, None),
    ("The answer is (B) Ne", True, None),
    ("B) Neon, because\nit", True, None),
    ("Antwort: 5\nDenn", True, None),
    ("So \\boxed{5", True, None),
    ("So \\boxed{5}. Or is it \\boxed{", True, None),
    ("<answer>5", True, None),
    ("<answer></answer> \\boxed{5}", False, None),
    ("<think>So \\boxed{5}", False, None),
    ("5", True, None),
    ("\\boxed{5}. Wait, that is wrong.", False, None),
    ("\\boxed{5} or 7", False, None),
    ("2 + 3 = 5.\nThere are 5 of them.", False, None),
    ("I cannot be sure.\nIt is neon, I think.", False, None),
    ("I don't think that it is anything but neon.", False, None),
    ("I cannot see the picture, but it is neon.", False, None),
    ("I cannot see the picture.\nSorry, neon it is.", False, None),
    ("I can't help but choose neon.", False, None),
    ("I cannot determine any gas other than neon.", False, None),
    ("I can't say whether it is 5 or 6.\nSorry.", False, None),
    ("I cannot decide between (A) and (B).\nSorry.", False, None),
]


def judges(unanswered: Unanswered) -> list[Judge]:
    choice = text_judges.ChoiceJudge("unlabelled", unanswered)
    return [MathVerifyJudge(None, "unlabelled", unanswered), choice]


@pytest.mark.parametrize(("response", "truncated", "cause"), CASES)
def test_which_responses_have_no_answer(response: str, truncated: bool, cause: NoAnswer | None) -> None:
    case = Case(QUESTION, response, "(C)", truncated)
    for before, after in zip(judges("unlabelled"), judges("incorrect"), strict=True):
        (kept,), (counted,) = before.judge([case]), after.judge([case])
        if cause is None:
            assert kept == counted
            assert kept.reason not in set(NoAnswer)
        else:
            assert (kept.label, kept.answer, kept.reason) == (None, None, cause)
            assert (counted.label, counted.answer, counted.reason) == (False, None, cause)


def test_exact_text_without_an_answer() -> None:
    case = Case("?", "", "blue", truncated=False)
    settings: list[JudgeSettings] = [
        {"version": 3, "judge": "exact", "kind": "exact", "unanswered": "unlabelled"},
        {"version": 3, "judge": "exact", "kind": "exact", "unanswered": "incorrect"},
        {"version": 5, "judge": "choice", "kind": "choice", "unanswered": "incorrect"},
    ]
    cases = [case, case, Case(QUESTION, "", "B", truncated=False)]
    assert [text_judges.make(one).judge([it])[0].label for one, it in zip(settings, cases, strict=True)] == [
        None,
        False,
        False,
    ]
    # As in labels of earlier versions, whose settings lack the key.
    assert text_judges.make({"version": 3, "judge": "exact", "kind": "exact"}).judge([case])[0].label is None


@pytest.mark.parametrize(
    ("judge", "reference", "reason"),
    [
        (0, "sampling survey of all", "reference is text, not an expression"),
        (1, "Xenon", "reference is not an option of the question"),
    ],
)
def test_a_reference_that_cannot_be_compared_leaves_the_label_null(judge: int, reference: str, reason: str) -> None:
    settings: tuple[Unanswered, ...] = ("unlabelled", "incorrect")
    for unanswered in settings:
        (verdict,) = judges(unanswered)[judge].judge([Case(QUESTION, "", reference, truncated=False)])
        assert (verdict.label, verdict.reason) == (None, reason)


@pytest.mark.parametrize("kind", [MathVerify(kind="math-verify"), Exact(kind="exact"), Choice(kind="choice")])
def test_only_another_value_than_the_default_reruns_labels(kind: MathVerify | Exact | Choice) -> None:
    assert "unanswered" not in kind.tracked({}, None)
    assert kind.model_copy(update={"unanswered": "incorrect"}).tracked({}, None)["unanswered"] == "incorrect"
