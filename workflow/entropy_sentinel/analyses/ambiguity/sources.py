"""Where p* is from: the counts of a benchmark's own answers, or those of a file of the same questions."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from entropy_sentinel.frames.benchmark import BENCHMARKS
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.fields import look_up, normalised, one_text, read_answers, read_counts
from entropy_sentinel.sources.rows import local_rows

log = logging.getLogger(__name__)

# The columns of a file of further counts.
_QUESTION, _ANSWERS, _COUNTS = "question", "answers", "counts"


@dataclass(frozen=True)
class PStar:
    """A question's right answers, each with its names, and how often each is seen; None where that is not known."""

    question: str
    answers: tuple[tuple[str, ...], ...]
    counts: tuple[float, ...] | None

    @property
    def probabilities(self) -> np.ndarray:
        """p*, (n_answers,): the shares of the counts, or equal ones."""
        weights = np.ones(len(self.answers)) if self.counts is None else np.array(self.counts)
        return np.asarray(weights / weights.sum())


def of_items(benchmark: str) -> dict[str, PStar]:
    """p* of the items in a file of a benchmark that have answers, by item_id."""
    rows = BENCHMARKS.read(benchmark, ["item_id", "question", "answers", "counts"]).drop_nulls("answers")
    return {
        item: PStar(question, tuple(map(tuple, answers)), counts and tuple(counts))
        for item, question, answers, counts in rows.iter_rows()
    }


def of_file(path: str, benchmark: str) -> dict[str, PStar]:
    """p* of items of a benchmark by the rows of a file with columns question, answers and counts, by item_id.

    Rows are matched by their question. One without counts, or with a count of 0, is left out, as in the paper. An
    answer has all names of the benchmark's answer with which it shares one, too. Raises InputError naming file and row
    for what is no question, answers or counts, for a second row of a question, and where no question is the
    benchmark's.
    """
    items: dict[str, list[tuple[str, PStar]]] = {}
    for item, own in of_items(benchmark).items():
        items.setdefault(own.question, []).append((item, own))
    found, rows, n_rows, uncounted = dict[str, PStar](), dict[str, int](), 0, 0
    for n_rows, row in enumerate(local_rows(path), start=1):
        where = f"{path}: row {n_rows - 1}"
        question = one_text(look_up(_QUESTION, row, where), f"{where}: '{_QUESTION}'")
        if rows.setdefault(question, n_rows - 1) != n_rows - 1:
            raise InputError(f"{where}: has the question of row {rows[question]}; keep one row for each question")
        answers = read_answers(_ANSWERS, row, where)
        counts = read_counts(_COUNTS, answers, row, where, zero=True)
        if question not in items:
            continue
        if not answers or not all(counts or [0]):
            uncounted += 1
            continue
        for item, own in items[question]:
            named = tuple(_with_further_names(tuple(names), own.answers) for names in answers)
            found[item] = PStar(question, named, tuple(counts or ()))
    if not found:
        raise InputError(f"{path}: must have counts of questions of {benchmark}, none of its {n_rows} rows has")
    log.info("%s: p* of %d items; %d have an answer without a count", path, len(found), uncounted)
    return found


def _with_further_names(names: tuple[str, ...], answers: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The names, and those of the first of `answers` that shares one of them."""
    own = set(map(normalised, names))
    return (*names, *next((other for other in answers if own & set(map(normalised, other))), ()))
