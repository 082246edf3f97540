"""The backend `exact`: answers are the same text, as SQuAD compares texts, or names of one right answer."""

import re
import string
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from entropy_sentinel.grouping.backend import Pair, Question
from entropy_sentinel.grouping.settings import GroupingSettings

# The sign and the point of a number stay: -5 is not 5, and 3.5 not 35.
_PUNCTUATION = re.compile(rf"(?<!\w)-(?=\d)|(?<=\d)\.(?=\d)|([{re.escape(string.punctuation)}])")


class ExactBackend:
    """Compares normalised texts; one that is a name of a right answer stands for all its names."""

    def __init__(self) -> None:
        self._names: dict[Question, dict[str, int]] = {}

    def same(self, pairs: Sequence[Pair]) -> list[bool]:
        """Whether the two answers of each pair mean the same, in order."""
        return [self._key(question, first) == self._key(question, second) for question, first, second in pairs]

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """What compared; no pair is asked about."""
        return {"backend": "exact"}

    def _key(self, question: Question, answer: str) -> str | int:
        """The number of the right answer that has this name, the first of several, or else the normalised text."""
        if question not in self._names:
            numbered = list(enumerate(question.answers))
            self._names[question] = {normalised(name): one for one, names in reversed(numbered) for name in names}
        text = normalised(answer)
        return self._names[question].get(text, text)


def make(settings: GroupingSettings) -> ExactBackend:
    """The backend, which has no settings."""
    return ExactBackend()


def normalised(text: str) -> str:
    """Text without case, punctuation, the articles a, an, the, and runs of white space.

    As SQuAD's evaluation has it (Rajpurkar et al., 2016), but that the sign and the point of a number stay, and that a
    text of which nothing would be left, such as the option "A", stays as it is, in lower case.
    """
    lower = " ".join(text.lower().split())
    bare = _PUNCTUATION.sub(lambda found: "" if found[1] else found[0], lower)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split()) or lower
