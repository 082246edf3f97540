"""The exact judge: the final answer of a response against the reference, by algebra, units and a tolerance."""

import importlib.metadata
from collections.abc import Mapping, Sequence
from typing import Any

from entropy_sentinel.judges import answers, statements, words
from entropy_sentinel.judges.answers import Statement
from entropy_sentinel.judges.comparison import same_as_reference
from entropy_sentinel.judges.expressions import TimeoutException, timeout
from entropy_sentinel.judges.judge import Case, Verdict
from entropy_sentinel.judges.notation import clean
from entropy_sentinel.judges.qualifiers import box_denied, changed, guessed, no_answer, taken_back
from entropy_sentinel.judges.references import reference_quantity
from entropy_sentinel.judges.separate_process import SeparateProcess
from entropy_sentinel.judges.settings import JudgeSettings
from entropy_sentinel.judges.things import counted
from entropy_sentinel.judges.wording import Unclear

# Of one response, all in all.
_LIMIT_S = 5


class MathVerifyJudge:
    """Compares the last boxed expression, or else the last one stated, with the reference.

    `tolerance` is that of the benchmark (`sources.settings.Tolerance`), or None.
    """

    version = f"math-verify {importlib.metadata.version('math-verify')}"

    def __init__(self, tolerance: Mapping[str, Any] | None = None) -> None:
        self.tolerance = tolerance

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case, in order; null where there is no final answer or one side cannot be read."""
        return [self._verdict(case) for case in cases]

    def _verdict(self, case: Case) -> Verdict:
        answer = answers.last_boxed(case.response)
        try:
            if not case.response.strip():
                raise Unclear("empty response")
            if answer is None and case.truncated:
                raise Unclear("cut off before a boxed answer")
            if answer is not None and box_denied(*answers.around_boxes(case.response)):
                raise Unclear("words around the box say that it is not the answer")
            label, answer = timeout(_LIMIT_S)(self._compare)(case.reference.strip(), answer, case)
            return Verdict(label, answer=answer)
        except Unclear as unclear:
            return Verdict(None, answer=answer, reason=str(unclear))
        except TimeoutException:
            return Verdict(None, answer=answer, reason="comparison timed out")
        except Exception as error:  # math-verify wraps a whole computer algebra system: anything can come out
            return Verdict(None, answer=answer, reason=f"comparison failed: {type(error).__name__}")

    def _compare(self, reference: str, boxed: str | None, case: Case) -> tuple[bool, str]:
        """By the kind of the reference, which alone decides whether a row is compared."""
        if words.is_truth(reference):
            return _same_truth(reference, boxed, case.response)
        if words.is_option(reference):
            return _same_option(reference, boxed, case.response)
        if words.is_words(clean(reference)) and reference_quantity(reference) is None:
            return _same_word(reference, boxed, case.response)
        if boxed is not None:
            return same_as_reference(reference, boxed, self.tolerance, case.question), boxed
        return self._compare_stated(reference, case)

    def _compare_stated(self, reference: str, case: Case) -> tuple[bool, str]:
        """The expression in the last statement; unclear where that has the reference beside another number."""
        statement = answers.stated(case.response)
        clause, anchored = statement.clause, statement.anchored
        if not (found := statements.expression(clause, anchored)):
            raise Unclear("no final answer")
        _check(statement)
        if changed(found.before, found.after, counted(case.question)):
            raise Unclear("words around the number change it")
        if not anchored and statements.calculated_before(found):
            raise Unclear("last sentence has several numbers")
        answer = found.text
        if same_as_reference(reference, answer, self.tolerance, case.question):
            return True, answer
        others = [] if anchored else [one for one in statements.numbers(clause) if not answer.startswith(one)]
        if any(self._is(reference, other) for other in others):
            raise Unclear("last sentence has several numbers")
        return False, answer

    def _is(self, reference: str, answer: str) -> bool:
        try:
            return same_as_reference(reference, answer, self.tolerance)
        except Unclear:
            return False


def make(settings: JudgeSettings) -> SeparateProcess:
    """The judge in a process of its own, with the benchmark's tolerance where it has one."""
    return SeparateProcess(__name__, MathVerifyJudge.__name__, settings.get("tolerance"))


def _same_truth(reference: str, boxed: str | None, response: str) -> tuple[bool, str]:
    answer = boxed
    if answer is None:
        statement = answers.stated(response)
        answer = statement.clause
        if taken_back(statement.following):
            raise Unclear("the answer is taken back")
    if (found := words.truth(answer)) is None:
        raise Unclear("answer is neither true nor false")
    return found == words.truth(reference), answer


def _same_option(reference: str, boxed: str | None, response: str) -> tuple[bool, str]:
    answer = _named(boxed, response)
    if not (found := words.options(answer)):
        raise Unclear("answer is no letter of an option")
    return found == {words.option(reference)}, answer


def _same_word(reference: str, boxed: str | None, response: str) -> tuple[bool, str]:
    if (expected := words.single_word(reference)) is None:
        raise Unclear("reference is text, not an expression")
    answer = _named(boxed, response)
    if (found := words.single_word(answer)) != expected and words.mentions(answer, expected):
        raise Unclear("answer says more than the word")
    return found == expected, answer


def _named(boxed: str | None, response: str) -> str:
    """What is boxed, or what a response without a box calls its answer."""
    if boxed is not None:
        return boxed
    statement = answers.stated(response)
    if not statement.anchored or words.negated(statement.clause):
        raise Unclear("no final answer")
    _check(statement, clause=False)
    return statement.clause


def _check(statement: Statement, clause: bool = True) -> None:
    """Raises Unclear where a statement denies, asks, guesses or takes back what it says."""
    said = f"{statement.opening} {statement.clause}" if clause else statement.opening
    if no_answer(said):
        raise Unclear("last sentence says what the answer is not")
    if guessed(statement.opening) or guessed(statement.clause):
        raise Unclear("last sentence asks or guesses")
    if taken_back(statement.following):
        raise Unclear("the answer is taken back")
