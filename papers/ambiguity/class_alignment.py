"""Stage `aligned`: align the classes of a model's answers with the right answers of a benchmark's items.

The true probabilities p* come from the benchmark's own answer counts, or from a file with the same questions. The same
comparison that grouped the model's answers also matches the classes to right answers.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.contract import check_readable, read_provenance
from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.schemas.signal_schema import signal_contract
from entropy_sentinel.signal_families.signal_registry import FAMILIES
from entropy_sentinel.study.items.benchmark_rows import read_local_rows
from entropy_sentinel.study.items.row_fields import look_up, normalise_answer, read_answers, read_counts, to_text
from entropy_sentinel.study.semantic_clustering.backend_interface import Backend, Pair, Question, make_backend
from entropy_sentinel.study.semantic_clustering.backend_settings import GroupingSettings
from entropy_sentinel.study.semantic_clustering.exact_backend import ExactBackend
from papers.ambiguity.ambiguity_exhibits import ESTIMATORS
from papers.ambiguity.ambiguity_frames import ALIGNED_CLASSES

log = logging.getLogger(__name__)

# The columns of a file with additional counts.
_QUESTION, _ANSWERS, _COUNTS = "question", "answers", "counts"


@dataclass(frozen=True)
class PStar:
    """A question's right answers, each with all its names (aliases), and how often each occurs; None if unknown.

    p* is the true distribution of the answers, from these counts.
    """

    question: str
    answers: tuple[tuple[str, ...], ...]
    counts: tuple[float, ...] | None

    @property
    def probabilities(self) -> np.ndarray:
        """P*, (n_answers,): the shares of the counts, or equal shares without counts."""
        weights = np.ones(len(self.answers)) if self.counts is None else np.array(self.counts)
        return np.asarray(weights / weights.sum())


def read_benchmark_p_stars(benchmark: str) -> dict[str, PStar]:
    """P*, the true distribution of the right answers, by item_id, for the items of a file BENCHMARKS with answers."""
    rows = BENCHMARKS.read(benchmark, ["item_id", "question", "answers", "counts"]).drop_nulls("answers")
    p_stars = {}
    for item, question, answers, counts in rows.iter_rows():
        p_stars[item] = PStar(question, tuple(map(tuple, answers)), None if counts is None else tuple(counts))
    return p_stars


def read_file_p_stars(path: str, benchmark: str) -> dict[str, PStar]:
    """P* of a benchmark's items by item_id, from a file with columns question, answers and counts.

    Rows are matched by their question. As in the paper, rows without counts, or with a count of 0, are left out. An
    answer is extended by the aliases of the benchmark's answer with which it shares a name. Raises InputError with file
    and row for an invalid question, answers or counts, for a repeated question, and if no question is the benchmark's.
    """
    # The benchmark's items with p*, by question.
    items: dict[str, list[tuple[str, PStar]]] = {}
    for item, p_star in read_benchmark_p_stars(benchmark).items():
        items.setdefault(p_star.question, []).append((item, p_star))
    p_stars: dict[str, PStar] = {}
    row_by_question: dict[str, int] = {}
    n_uncounted = 0
    for number, row in enumerate(read_local_rows(path)):
        position = f"{path}: row {number}"
        question = to_text(look_up(_QUESTION, row, position), f"{position}: '{_QUESTION}'")
        if question in row_by_question:
            first_number = row_by_question[question]
            raise InputError(f"{position}: has the question of row {first_number}; keep one row for each question")
        row_by_question[question] = number
        answers = read_answers(_ANSWERS, row, position)
        counts = read_counts(_COUNTS, answers, row, position, zero=True)
        if question not in items:
            continue
        if not answers or not counts or not all(counts):
            n_uncounted += 1
            continue
        for item, p_star in items[question]:
            extended_answers = tuple(_extend_names(tuple(names), p_star.answers) for names in answers)
            p_stars[item] = PStar(question, extended_answers, tuple(counts))
    if not p_stars:
        n_rows = len(row_by_question)
        raise InputError(f"{path}: must have counts for questions of {benchmark}; none of its {n_rows} rows has any")
    log.info("%s: p* of %d items; %d have an answer without a count", path, len(p_stars), n_uncounted)
    return p_stars


def _extend_names(names: tuple[str, ...], answers: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The names, extended by those of the first answer in `answers` that shares a name with them."""
    normalised_names = set(map(normalise_answer, names))
    for answer in answers:
        if normalised_names & set(map(normalise_answer, answer)):
            return (*names, *answer)
    return names


class Classes(NamedTuple):
    """The classes of the answers to a question. Each lists its distinct texts, the earliest sample's first."""

    question: Question
    texts: Sequence[Sequence[str]]


def match_classes(classes: Sequence[Classes], backend: Backend) -> list[list[int | None]]:
    """The index of the matching right answer for each class of each question, or None.

    A class matches an answer if one of its texts is a name of the answer. For the other classes the backend compares
    the first text with the first name of each answer; the first answer with the same meaning gets the class. An answer
    may have several classes, but a class has at most one answer.
    """
    answer_numbers: list[list[int | None]] = [[None] * len(item.texts) for item in classes]
    # First all texts of a class by name, then, of the classes without a match, only the first text by meaning.
    for comparer, n_texts in ((ExactBackend(), None), (backend, 1)):
        comparisons: list[_Comparison] = []
        for item, item_classes in enumerate(classes):
            for class_number, texts in enumerate(item_classes.texts):
                if answer_numbers[item][class_number] is None:
                    comparisons += _list_comparisons(item, class_number, item_classes.question, texts[:n_texts])
        verdicts = comparer.same([comparison.pair for comparison in comparisons])
        for (item, class_number, number, _), is_same in zip(comparisons, verdicts, strict=True):
            if is_same and answer_numbers[item][class_number] is None:
                answer_numbers[item][class_number] = number
    return answer_numbers


class _Comparison(NamedTuple):
    """A text of the class `class_number` of a question, and the name of its right answer `number`."""

    item: int
    class_number: int
    number: int
    pair: Pair


def _list_comparisons(item: int, class_number: int, question: Question, texts: Sequence[str]) -> Iterator[_Comparison]:
    """Yield the comparisons of a class's texts with each right answer, in the order of the answers."""
    for number, names in enumerate(question.answers):
        for text in texts:
            if text:
                yield _Comparison(item, class_number, number, Pair(question, names[0], text))


SEMANTICS = signal_contract(FAMILIES[ESTIMATORS["se"].family])


def write_aligned_classes(
    benchmark: str,
    semantics: str,
    sources: Mapping[str, str],
    source: str,
    settings: GroupingSettings,
    output: str,
) -> None:
    """Align one model's classes of answers with the right answers, and write a file ALIGNED_CLASSES.

    `semantics` is the file of the family `semantics`, which has the classes. Right answers and their counts are from
    the file `benchmark`, named `source` here, and from further files, `sources` by name.
    """
    origin = read_provenance(semantics)
    origin_columns = {"model": origin["model"], "benchmark": origin["benchmark"]}
    backend = make_backend(settings)
    groups = read_classes(semantics)
    by_source = {source: read_benchmark_p_stars(benchmark)}
    for name, path in sources.items():
        by_source[name] = read_file_p_stars(path, benchmark)
    rows: list[dict[str, Any]] = []
    for name, p_stars in by_source.items():
        rows += [{**origin_columns, "source": name} | row for row in align_classes(groups, p_stars, backend)]
    ALIGNED_CLASSES.write(ALIGNED_CLASSES.frame(rows), output, {**origin_columns, "grouping": backend.provenance})


def read_classes(semantics: str) -> pl.DataFrame:
    """A row for each class of answers: item_id, answer_class, texts, p, frequency and n_samples, from a family's file.

    `frequency` is the class's share of the item's `n_samples` responses, `p` its share of their probability.
    """
    with check_readable(semantics, SEMANTICS.stage):
        columns = (*RESPONSE, "answer", "answer_class", "class_probability")
        rows = SEMANTICS.scan(semantics).select(columns).drop_nulls("answer_class").sort("item_id", "sample").collect()
    rows = rows.with_columns(n_samples=pl.len().over("item_id"))
    return (
        rows.group_by("item_id", "answer_class", maintain_order=True)
        .agg(
            texts=pl.col("answer").unique(maintain_order=True),
            p=pl.col("class_probability").first(),
            frequency=pl.len() / pl.col("n_samples").first(),
            n_samples=pl.col("n_samples").first(),
        )
        .sort("item_id", "answer_class")
    )


def align_classes(groups: pl.DataFrame, p_stars: Mapping[str, PStar], backend: Backend) -> list[dict[str, Any]]:
    """Rows of ALIGNED_CLASSES, without model, benchmark and source, for the items that have answers and p*.

    `groups` is a frame of `read_classes`, `p_stars` are by item_id, and `backend` compares answers by meaning.
    """
    items = {
        str(item): item_classes
        for (item,), item_classes in groups.group_by("item_id", maintain_order=True)
        if item in p_stars
    }
    if n_unanswered := len(p_stars) - len(items):
        log.warning("%d items have right answers, but no answer of the model: they are left out", n_unanswered)
    classes = []
    for item, item_classes in items.items():
        question = Question(p_stars[item].question, p_stars[item].answers)
        classes.append(Classes(question, item_classes["texts"].to_list()))
    rows: list[dict[str, Any]] = []
    for (item, item_classes), numbers in zip(items.items(), match_classes(classes, backend), strict=True):
        rows += [{"item_id": item} | row for row in _make_rows(p_stars[item], item_classes, numbers)]
    return rows


def _make_rows(p_star: PStar, item_classes: pl.DataFrame, numbers: Sequence[int | None]) -> list[dict[str, Any]]:
    """A row for each right answer with the model's probability, then rows for the model's other classes.

    `numbers` has for each class the index of its right answer, or None. An answer without a class has no p.
    """
    groups = item_classes.with_columns(number=pl.Series(numbers, dtype=pl.Int64))
    # An answer may have several classes of the model.
    by_answer = groups.group_by("number").agg(pl.col("p", "frequency").sum())
    sums = {number: (p, frequency) for number, p, frequency in by_answer.iter_rows()}
    counts = p_star.counts or [None] * len(p_star.answers)
    rows: list[dict[str, Any]] = []
    for number, (names, count, share) in enumerate(zip(p_star.answers, counts, p_star.probabilities, strict=True)):
        p, frequency = sums.get(number, (None, None))
        answer_columns = {"name": names[0], "right": True, "count": count, "p_star": share}
        rows.append(answer_columns | {"p": p, "frequency": frequency})
    for texts, p, frequency in groups.filter(pl.col("number").is_null()).select("texts", "p", "frequency").iter_rows():
        answer_columns = {"name": texts[0], "right": False, "count": None, "p_star": 0.0}
        rows.append(answer_columns | {"p": p, "frequency": frequency})
    return [{"class": number, "n_samples": item_classes["n_samples"][0]} | row for number, row in enumerate(rows)]
