"""Judges of text: the final answer must equal the reference as text, or name an option of the question."""

import re
import unicodedata
from collections.abc import Mapping, Sequence

from entropy_sentinel.judges.answers import doubted, final_answer
from entropy_sentinel.judges.judge import Case, Unclear, Verdict
from entropy_sentinel.judges.kind import JudgeSettings
from entropy_sentinel.judges.words import option


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


def normalised(text: str) -> str:
    r"""Return text in one letter case, without runs of white space, `$`, `\text{}` and punctuation at its ends."""
    text = re.sub(r"\\(?:text|mathrm|textbf|mathbf)\{([^{}]*)\}", r"\1", unicodedata.normalize("NFKC", text))
    return " ".join(text.replace("$", "").split()).strip(" .,;:!\"'`*").casefold()


_OPTION = re.compile(r"^\s*\(?([A-J])[).:]\s+(\S.*?)\s*$", re.MULTILINE)
_LETTERED = re.compile(r"\(?([A-J])[).:]\s*(\S.*)", re.DOTALL)
_LETTERS = "ABCDEFGHIJ"


class ChoiceJudge:
    """Compares letters; the text of an option in the question counts as its letter."""

    software = "choice 4"

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """Return one verdict per case, in order; null if the reference or the answer is not an option."""
        return [self._verdict(case) for case in cases]

    def _verdict(self, case: Case) -> Verdict:
        options = {normalised(text): letter for letter, text in offered(case.question)}
        answer = None
        try:
            answer = final_answer(case.response, case.truncated).text
            if (expected := _letter(case.reference, options)) is None:
                raise Unclear("reference is not an option of the question")
            if (chosen := _chosen(answer, options)) is None:
                raise Unclear("answer is not an option of the question")
            return Verdict(chosen == expected, answer=answer)
        except Unclear as unclear:
            return Verdict(None, answer=answer, reason=str(unclear))


def make(settings: JudgeSettings) -> ExactJudge | ChoiceJudge:
    """Return the judge of this kind, which has no settings."""
    return ChoiceJudge() if settings["kind"] == "choice" else ExactJudge()


def offered(question: str) -> list[tuple[str, str]]:
    """Return the options of a question as (letter, text): its last consecutive lines `A. text`, `B. text` and so on.

    Earlier lettered lines belong to the question itself.
    """
    options: list[tuple[str, str]] = []
    for letter, text in _OPTION.findall(question):
        if letter == "A":
            options = []
        if letter == _LETTERS[len(options) : len(options) + 1]:
            options.append((letter, text))
    return options


def _chosen(answer: str, options: Mapping[str, str]) -> str | None:
    letter = _with_its_text(answer, options) or options.get(normalised(answer))
    if letter is not None:
        return letter
    return None if doubted(answer) else _letter(answer, options)


def _with_its_text(answer: str, options: Mapping[str, str]) -> str | None:
    """Return the letter of `(C) Vitamin B` if option C has that text, which is then not another answer."""
    match = _LETTERED.fullmatch(answer.strip(" *`\"'"))
    return match[1] if match and options.get(normalised(match[2])) == match[1] else None


def _letter(text: str, options: Mapping[str, str]) -> str | None:
    """Return the letter that `text` names: alone, before an option's text, or by that text alone."""
    return options.get(normalised(text)) or option(text.strip(" *`\"'"))
