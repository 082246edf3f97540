"""Greedy clustering of answers to a question by meaning, in the order of the answers.

Algorithm 1 of Kuhn et al., Semantic Uncertainty (2023): each answer is compared with the first member of every class,
and joins the first class with the same meaning, or else starts a class. If "means the same" is not transitive, classes
depend on the order of the answers; `make bench-grouping` measures how much.

LM-Polygraph does the same. In the authors' later code (jlko/semantic_uncertainty) an answer joins the *last* class
whose first member it agrees with: the number of classes is equal; they differ if an answer agrees with two of them.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from entropy_sentinel.study.semantic_clustering.backend_interface import Backend, Pair, Question

log = logging.getLogger(__name__)

AnsweredQuestion = tuple[Question, Sequence[str]]


def cluster_answers(answered: Sequence[AnsweredQuestion], backend: Backend) -> list[list[int]]:
    """For each question the class of each answer; classes are numbered from 0 in the order of their first answers.

    Answers with the same text are in one class and are not compared. Empty answers, also of white space only, are a
    class of their own, because an empty answer is an outcome, too.
    """
    groupings = []
    for question, answers in answered:
        distinct = dict.fromkeys(map(str.strip, answers))
        groupings.append(_AnswerClasses(question, list(distinct)))
    n_pairs = 0
    # Compares the first answer without a class with all others, for all questions at once: a few large batches.
    while unfinished := [grouping for grouping in groupings if grouping.pending]:
        pairs: list[Pair] = []
        for grouping in unfinished:
            pairs += grouping.start_class()
        same = iter(backend.same(pairs))
        n_pairs += len(pairs)
        for grouping in unfinished:
            grouping.fill_class(same)
    log.info("%d pairs of answers to %d questions compared", n_pairs, len(answered))
    numbers = []
    for grouping, (_, answers) in zip(groupings, answered, strict=True):
        numbers.append([grouping.number[answer.strip()] for answer in answers])
    return numbers


@dataclass
class _AnswerClasses:
    """The distinct answers to a question: `pending` ones have no class yet, `candidates` may join the last class."""

    question: Question
    pending: list[str]
    candidates: list[str] = field(default_factory=list)
    number: dict[str, int] = field(default_factory=dict)
    n_classes: int = 0

    def start_class(self) -> list[Pair]:
        """Begin a class with the first answer in `pending`; return its pairs with each answer that may join."""
        first = self.pending.pop(0)
        self.number[first] = self.n_classes
        self.n_classes += 1
        # An empty answer is a class of its own, so it is not compared.
        self.candidates = [answer for answer in self.pending if first and answer]
        return [Pair(self.question, first, answer) for answer in self.candidates]

    def fill_class(self, same: Iterator[bool]) -> None:
        """Put the answers for which the next values of `same` are true into the last class."""
        for answer in self.candidates:
            if next(same):
                self.number[answer] = self.n_classes - 1
        self.pending = [answer for answer in self.pending if answer not in self.number]
