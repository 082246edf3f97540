"""The interface of backends, which decide for pairs of answers whether the two mean the same."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.study.semantic_clustering.backend_settings import BACKENDS, GroupingSettings


@dataclass(frozen=True)
class Question:
    """A question with its known right answers, each as a list of its names."""

    text: str
    answers: tuple[tuple[str, ...], ...] = ()


class Pair(NamedTuple):
    """Two answers to a question, neither of them empty."""

    question: Question
    first: str
    second: str


class Backend(Protocol):
    """Compares answers."""

    def same(self, pairs: Sequence[Pair]) -> list[bool]:
        """Whether the two answers of each pair mean the same, in order."""
        ...

    @property
    def provenance(self) -> dict[str, Any]:
        """The model and the number of pairs compared so far, for the provenance of files."""
        ...


def make_backend(settings: GroupingSettings) -> Backend:
    """The backend that the settings name, with its weights. Raises InputError if they are unsuitable."""
    backend: Backend = import_module(BACKENDS[settings["backend"]].module).make(settings)
    return backend


log = logging.getLogger(__name__)


def read_questions(benchmark: str) -> dict[str, Question]:
    """The questions in a file of items by item_id, with their right answers if it has them."""
    rows = BENCHMARKS.read(benchmark, ["item_id", "question", "answers"]).rows()
    questions = {}
    for item_id, text, answers in rows:
        questions[item_id] = Question(text, tuple(map(tuple, answers or ())))
    return questions


def warn_few_answers(counts: Sequence[int]) -> None:
    """Warn about items with fewer answers than others; `counts` are the numbers of answers of all items."""
    most = max(counts, default=0)
    if fewer := [count for count in counts if count < most]:
        log.warning(
            "%d of %d items have fewer than %d answers, the fewest %d: their signals are computed from these answers",
            len(fewer),
            len(counts),
            most,
            min(fewer),
        )
