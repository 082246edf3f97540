"""What a way to compare answers is: it is shown pairs, and says of each whether the two mean the same."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from entropy_sentinel.frames.benchmark import BENCHMARKS
from entropy_sentinel.grouping.settings import BACKENDS, GroupingSettings


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


log = logging.getLogger(__name__)


def questions_of(benchmark: str) -> dict[str, Question]:
    """The questions in a file of items, with their right answers where it has them, by item_id."""
    rows = BENCHMARKS.read(benchmark, ["item_id", "question", "answers"]).rows()
    return {one: Question(text, tuple(tuple(names) for names in answers or ())) for one, text, answers in rows}


def tell_fewer(counts: Sequence[int]) -> None:
    """Warn of items with fewer answers than others: what is said of them rests on those."""
    most = max(counts, default=0)
    if fewer := [count for count in counts if count < most]:
        log.warning(
            "%d of %d items have fewer than %d answers, the fewest %d: their signals are of those that there are",
            *(len(fewer), len(counts), most, min(fewer)),
        )
