"""Judges without algebra: an answer must equal the reference as text, or name an option of the question."""

from collections.abc import Sequence
from functools import partial

from entropy_sentinel.judges.choice_options import (
    NotAnOptionError,
    Option,
    find_letter,
    list_options,
    normalise_text,
    same_option,
)
from entropy_sentinel.judges.final_answers import find_final_answer
from entropy_sentinel.judges.judge_base import JudgeSettings
from entropy_sentinel.judges.judge_interface import DEFAULT_UNANSWERED, Case, Unanswered, Unclear, Verdict
from entropy_sentinel.judges.unanswered_responses import make_unclear_verdict


class ExactJudge:
    """Compares the final answer (`final_answers`) with the reference.

    `unanswered` is the verdict on a response without one: "incorrect" or "unlabelled".
    """

    software = "exact 3"

    def __init__(self, unanswered: Unanswered = DEFAULT_UNANSWERED) -> None:
        self._unanswered = unanswered

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case, in order; null without a final answer."""
        return [self._verdict(case) for case in cases]

    def _verdict(self, case: Case) -> Verdict:
        """The verdict on a case: whether the texts are equal, or the reason why there is no final answer."""
        try:
            answer = find_final_answer(case.response, case.truncated).text
        except Unclear as unclear:
            return make_unclear_verdict(unclear, case, self._unanswered, lambda: None)
        return Verdict(normalise_text(answer) == normalise_text(case.reference), answer=answer)


class ChoiceJudge:
    """Compares letters; the text of an option in the question counts as its letter.

    `no_option` is the verdict on an answer that is none of the options, and `unanswered` on a response without one:
    "incorrect" or "unlabelled".
    """

    software = "choice 5"

    def __init__(self, no_option: str = "incorrect", unanswered: Unanswered = DEFAULT_UNANSWERED) -> None:
        self._no_option, self._unanswered = no_option, unanswered

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case, in order; null if the reference or the answer is not clear."""
        return [self._verdict(case) for case in cases]

    def _verdict(self, case: Case) -> Verdict:
        """The verdict on a case: whether the letters are the same, or the reason why that is unclear."""
        options = list_options(case.question)
        answer = None
        try:
            found = find_final_answer(case.response, case.truncated)
            answer = found.text
            expected = _find_expected_letter(case.reference, options)
            return Verdict(same_option(expected, answer, options, case.response[found.end :]), answer=answer)
        except Unclear as unclear:
            if isinstance(unclear, NotAnOptionError) and self._no_option == "incorrect":
                return Verdict(False, answer=answer)
            check = partial(_find_expected_letter, case.reference, options)
            return make_unclear_verdict(unclear, case, self._unanswered, check, answer)


def _find_expected_letter(reference: str, options: Sequence[Option]) -> str:
    """The letter of the option that a reference names. Raises Unclear if it names none."""
    if (letter := find_letter(reference, options)) is None:
        raise Unclear("reference is not an option of the question")
    return letter


def make(settings: JudgeSettings) -> ExactJudge | ChoiceJudge:
    """The judge of this kind."""
    unanswered = settings.get("unanswered", DEFAULT_UNANSWERED)
    if settings["kind"] == "choice":
        return ChoiceJudge(settings.get("no_option", "incorrect"), unanswered)
    return ExactJudge(unanswered)
