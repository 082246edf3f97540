"""The judge of multiple-choice questions: the letter of an option, or its text."""

import re
from collections.abc import Mapping, Sequence

from entropy_sentinel.judges.exact import final_answer, normalised
from entropy_sentinel.judges.judge import Case, Verdict
from entropy_sentinel.judges.settings import JudgeSettings
from entropy_sentinel.judges.words import negated, option

_OPTION = re.compile(r"^\s*\(?([A-J])[).:]\s+(\S.*?)\s*$", re.MULTILINE)
_LETTERED = re.compile(r"\(?([A-J])[).:]\s*(\S.*)", re.DOTALL)
_LETTERS = "ABCDEFGHIJ"


class ChoiceJudge:
    """Compares letters; a text counts as the letter of the option that has it, by the options in the question."""

    version = "choice 2"

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case, in order; null where the reference or the answer is none of the options."""
        return [self._verdict(case) for case in cases]

    def _verdict(self, case: Case) -> Verdict:
        options = {normalised(text): letter for letter, text in offered(case.question)}
        expected, answer = _letter(case.reference, options), final_answer(case)
        if expected is None:
            return Verdict(None, answer=answer, reason="reference is no option of the question")
        if answer is None:
            return Verdict(None, reason="cut off before an answer" if case.truncated else "no final answer")
        found = _with_its_text(answer, options)
        if found is None and not (negated(answer) and normalised(answer) not in options):
            found = _letter(answer, options)
        if found is None:
            return Verdict(None, answer=answer, reason="answer is no option of the question")
        return Verdict(found == expected, answer=answer)


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


def _with_its_text(answer: str, options: Mapping[str, str]) -> str | None:
    """The letter of `(C) Vitamin B` where C is that option: what its text says is no other answer."""
    found = _LETTERED.fullmatch(answer.strip(" *`\"'"))
    return found[1] if found and options.get(normalised(found[2])) == found[1] else None


def _letter(text: str, options: Mapping[str, str]) -> str | None:
    """The letter that `text` names, by itself, before an option's text, or through that text."""
    return options.get(normalised(text)) or option(text.strip(" *`\"'"))
