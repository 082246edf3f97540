"""What a way to compare answers is: it is shown pairs, and says of each whether the two mean the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from entropy_sentinel.grouping.catalogue import BACKENDS
from entropy_sentinel.grouping.settings import GroupingSettings


@dataclass(frozen=True)
class Question:
    """What was asked, and the right answers where they are known, each with all its names."""

    text: str
    answers: tuple[tuple[str, ...], ...] = ()


class Pair(NamedTuple):
    """Two answers to a question, neither of them empty."""

    question: Question
    first: str
    second: str


class Backend(Protocol):
    """Anything that compares answers."""

    def same(self, pairs: Sequence[Pair]) -> list[bool]:
        """Whether the two answers of each pair mean the same, in order."""
        ...

    @property
    def provenance(self) -> dict[str, Any]:
        """What compared, and how many pairs of texts were asked about so far, for the files that rest on it."""
        ...


def make_backend(settings: GroupingSettings) -> Backend:
    """The backend that the settings name; loads its weights. Raises InputError where they are not what it needs."""
    backend: Backend = import_module(BACKENDS[settings["backend"]].module).make(settings)
    return backend
