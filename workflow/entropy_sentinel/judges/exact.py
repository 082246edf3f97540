"""The judge of text: the final answer is the reference, letter by letter."""

import re
import unicodedata
from collections.abc import Sequence

from entropy_sentinel.judges.answers import final_answer
from entropy_sentinel.judges.judge import Case, Unclear, Verdict
from entropy_sentinel.judges.settings import JudgeSettings


class ExactJudge:
    """Compares the final answer (answers.py) with the reference."""

    version = "exact 2"

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case, in order; null where there is no final answer."""
        return [self._verdict(case) for case in cases]

    def _verdict(self, case: Case) -> Verdict:
        try:
            answer = final_answer(case.response, case.truncated).text
        except Unclear as unclear:
            return Verdict(None, reason=str(unclear))
        return Verdict(normalised(answer) == normalised(case.reference), answer=answer)


def make(settings: JudgeSettings) -> ExactJudge:
    """The judge, which has no settings."""
    return ExactJudge()


def normalised(text: str) -> str:
    r"""Text without case, runs of white space, `$`, `\text{}` and punctuation at its ends."""
    text = re.sub(r"\\(?:text|mathrm|textbf|mathbf)\{([^{}]*)\}", r"\1", unicodedata.normalize("NFKC", text))
    return " ".join(text.replace("$", "").split()).strip(" .,;:!\"'`*").casefold()
