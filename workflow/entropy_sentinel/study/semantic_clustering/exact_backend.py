"""The backend `exact`: answers mean the same if equal after SQuAD's normalisation, or names of one right answer."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from entropy_sentinel.study.items.row_fields import normalise_answer
from entropy_sentinel.study.semantic_clustering.backend_interface import Pair, Question
from entropy_sentinel.study.semantic_clustering.backend_settings import GroupingSettings


class ExactBackend:
    """Compares normalised texts; a name of a right answer counts as all its names."""

    def __init__(self) -> None:
        # By question: the number of the right answer that has a normalised name.
        self._names: dict[Question, dict[str, int]] = {}

    def same(self, pairs: Sequence[Pair]) -> list[bool]:
        """Whether the two answers of each pair mean the same, in order."""
        return [
            self._normalise_name(question, first) == self._normalise_name(question, second)
            for question, first, second in pairs
        ]

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """The backend for the provenance; it compares no pairs."""
        return {"backend": "exact"}

    def _normalise_name(self, question: Question, answer: str) -> str | int:
        """The number of the first right answer with this name, or else the normalised text."""
        if question not in self._names:
            numbers: dict[str, int] = {}
            for number, names in enumerate(question.answers):
                for name in names:
                    numbers.setdefault(normalise_answer(name), number)
            self._names[question] = numbers
        text = normalise_answer(answer)
        return self._names[question].get(text, text)


def make(settings: GroupingSettings) -> ExactBackend:
    """The backend, which has no settings."""
    return ExactBackend()
