"""What families of signals that compare answers read of the items of a benchmark."""

import logging
from collections.abc import Sequence

from entropy_sentinel.frames.benchmark import BENCHMARKS
from entropy_sentinel.grouping.backend import Question

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
