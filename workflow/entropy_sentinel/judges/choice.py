"""The judge of multiple-choice questions: the letter of an option, or its text."""

import re
from collections.abc import Mapping, Sequence

from entropy_sentinel.judges.answers import doubted, final_answer
from entropy_sentinel.judges.exact import normalised
from entropy_sentinel.judges.judge import Case, Unclear, Verdict
from entropy_sentinel.judges.settings import JudgeSettings
from entropy_sentinel.judges.words import option

_OPTION = re.compile(r"^\s*\(?([A-J])[).:]\s+(\S.*?)\s*$", re.MULTILINE)
_LETTERED = re.compile(r"\(?([A-J])[).:]\s*(\S.*)", re.DOTALL)
_LETTERS = "ABCDEFGHIJ"


class ChoiceJudge:
    """Compares letters; a text counts as the letter of the option that has it, by the options in the question."""

    version = "choice 3"

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case, in order; null where the reference or the answer is none of the options."""
        return [self._verdict(case) for case in cases]

    def _verdict(self, case: Case) -> Verdict:
        options = {normalised(text): letter for letter, text in offered(case.question)}
        answer = None
        try:
            answer = final_answer(case.response, case.truncated).text
            if (expected := _letter(case.reference, options)) is None:
                raise Unclear("reference is no option of the question")
            if (chosen := _chosen(answer, options)) is None:
                raise Unclear("answer is no option of the question")
            return Verdict(chosen == expected, answer=answer)
        except Unclear as unclear:
            return Verdict(None, answer=answer, reason=str(unclear))


def make(settings: JudgeSettings) -> ChoiceJudge:
    """The judge, which has no settings."""
    return ChoiceJudge()


def offered(question: str) -> list[tuple[str, str]]:
    """The options of a question, letter and text: its last lines `A. text`, `B. text` and so on, one after the other.

    A question can have lettered lines of its own before them.
    """
    found: list[tuple[str, str]] = []
    for letter, text in _OPTION.findall(question):
        if letter == "A":
            found = []
        if letter == _LETTERS[len(found) : len(found) + 1]:
            found.append((letter, text))
    return found


def _chosen(answer: str, options: Mapping[str, str]) -> str | None:
    if (letter := _with_its_text(answer, options)) is not None or normalised(answer) in options:
        return letter or options[normalised(answer)]
    return None if doubted(answer) else _letter(answer, options)


def _with_its_text(answer: str, options: Mapping[str, str]) -> str | None:
    """The letter of `(C) Vitamin B` where C is that option: what its text says is no other answer."""
    found = _LETTERED.fullmatch(answer.strip(" *`\"'"))
    return found[1] if found and options.get(normalised(found[2])) == found[1] else None


def _letter(text: str, options: Mapping[str, str]) -> str | None:
    """The letter that `text` names, by itself, before an option's text, or through that text."""
    return options.get(normalised(text)) or option(text.strip(" *`\"'"))
