"""The exact judge: the final answer of a response against the reference, by algebra, units and a tolerance."""

import importlib.metadata
from collections.abc import Mapping, Sequence
from typing import Any

from entropy_sentinel.judges import words
from entropy_sentinel.judges.answers import final_answer
from entropy_sentinel.judges.comparison import same_as_reference
from entropy_sentinel.judges.expressions import TimeoutException, timeout
from entropy_sentinel.judges.judge import Case, Unclear, Verdict
from entropy_sentinel.judges.notation import clean
from entropy_sentinel.judges.separate_process import SeparateProcess
from entropy_sentinel.judges.settings import JudgeSettings
from entropy_sentinel.judges.structure import reference_quantity

# Of one response, all in all.
_LIMIT_S = 5


class MathVerifyJudge:
    """Compares the last boxed expression, or else the one that is called the answer, with the reference.

    `tolerance` is that of the benchmark (`sources.settings.Tolerance`), or None.
    """

    version = f"math-verify {importlib.metadata.version('math-verify')}"

    def __init__(self, tolerance: Mapping[str, Any] | None = None) -> None:
        self.tolerance = tolerance

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case, in order; null where there is no final answer or one side cannot be read."""
        return [self._verdict(case) for case in cases]

    def _verdict(self, case: Case) -> Verdict:
        answer = None
        try:
            answer = final_answer(case.response, case.truncated).text
            same = timeout(_LIMIT_S)(self._same)(case.reference.strip(), answer, case.question)
            return Verdict(same, answer=answer)
        except Unclear as unclear:
            return Verdict(None, answer=answer, reason=str(unclear))
        except TimeoutException:
            return Verdict(None, answer=answer, reason="comparison timed out")
        except Exception as error:  # math-verify wraps a whole computer algebra system: anything can come out
            return Verdict(None, answer=answer, reason=f"comparison failed: {type(error).__name__}")

    def _same(self, reference: str, answer: str, question: str) -> bool:
        """By the kind of the reference, which alone decides whether a row is compared."""
        if words.is_truth(reference):
            return words.same_truth(reference, answer)
        if words.is_option(reference):
            return words.same_option(reference, answer)
        if words.is_words(clean(reference)) and reference_quantity(reference) is None:
            return words.same_word(reference, answer)
        return same_as_reference(reference, answer, self.tolerance, question)


def make(settings: JudgeSettings) -> SeparateProcess:
    """The judge in a process of its own, with the benchmark's tolerance where it has one."""
    return SeparateProcess(__name__, MathVerifyJudge.__name__, settings.get("tolerance"))
