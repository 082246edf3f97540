"""Judges without algebra: an answer must equal the reference as text, or name an option of the question."""

from collections.abc import Sequence

from entropy_sentinel.judges.answers import final_answer
from entropy_sentinel.judges.judge import Case, Unclear, Verdict
from entropy_sentinel.judges.kind import JudgeSettings
from entropy_sentinel.judges.options import (
    NotAnOptionError,
    letter_of,
    no_option_verdict,
    normalised,
    offered,
    same_option,
)


class ExactJudge:
    """Compares the final answer (answers.py) with the reference."""

    software = "exact 3"

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """Return one verdict per case, in order; null without a final answer."""
        return [self._verdict(case) for case in cases]

    def _verdict(self, case: Case) -> Verdict:
        try:
            answer = final_answer(case.response, case.truncated).text
        except Unclear as unclear:
            return Verdict(None, reason=str(unclear))
        return Verdict(normalised(answer) == normalised(case.reference), answer=answer)


class ChoiceJudge:
    """Compares letters; the text of an option in the question counts as its letter.

    `no_option` is the verdict on an answer that is none of the options: "incorrect" or "unlabelled".
    """

    software = "choice 5"

    def __init__(self, no_option: str = "incorrect") -> None:
        self._no_option = no_option

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """Return one verdict per case, in order; null if the reference or the answer is not clear."""
        return [self._verdict(case) for case in cases]

    def _verdict(self, case: Case) -> Verdict:
        options = offered(case.question)
        answer = None
        try:
            found = final_answer(case.response, case.truncated)
            answer = found.text
            if (expected := letter_of(case.reference, options)) is None:
                raise Unclear("reference is not an option of the question")
            return Verdict(same_option(expected, answer, options, case.response[found.end :]), answer=answer)
        except NotAnOptionError as error:
            return no_option_verdict(self._no_option, answer, str(error))
        except Unclear as unclear:
            return Verdict(None, answer=answer, reason=str(unclear))


def make(settings: JudgeSettings) -> ExactJudge | ChoiceJudge:
    """Return the judge of this kind."""
    return ChoiceJudge(settings.get("no_option", "incorrect")) if settings["kind"] == "choice" else ExactJudge()
