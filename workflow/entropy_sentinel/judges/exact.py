"""The judge of text: the final answer is the reference, letter by letter."""

import re
import unicodedata
from collections.abc import Sequence

from entropy_sentinel.judges import answers
from entropy_sentinel.judges.judge import Case, Verdict
from entropy_sentinel.judges.settings import JudgeSettings


class ExactJudge:
    """Compares the box, or else what is called the answer, or else a response of one line, with the reference."""

    version = "exact 1"

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case, in order; null where there is no final answer."""
        return [self._verdict(case) for case in cases]

    def _verdict(self, case: Case) -> Verdict:
        answer = final_answer(case)
        if answer is None:
            return Verdict(None, reason="cut off before an answer" if case.truncated else "no final answer")
        return Verdict(normalised(answer) == normalised(case.reference), answer=answer)


def make(settings: JudgeSettings) -> ExactJudge:
    """The judge, which has no settings."""
    return ExactJudge()


def final_answer(case: Case) -> str | None:
    """The answer that a response ends in; None if there is none, and if it is cut off before a boxed one."""
    if (boxed := answers.last_boxed(case.response)) is not None:
        return boxed
    if case.truncated:
        return None
    statement = answers.stated(case.response)
    whole = case.response.strip()
    return statement.clause if statement.anchored else whole if whole and "\n" not in whole else None


def normalised(text: str) -> str:
    r"""Text without case, runs of white space, `$`, `\text{}` and punctuation at its ends."""
    text = re.sub(r"\\(?:text|mathrm|textbf|mathbf)\{([^{}]*)\}", r"\1", unicodedata.normalize("NFKC", text))
    return " ".join(text.replace("$", "").split()).strip(" .,;:!\"'`*").casefold()
