"""Answers to a question as classes of one meaning: greedy, in the order in which the answers were given.

Algorithm 1 of Kuhn et al., Semantic Uncertainty (2023): each answer is compared with the first member of every class
there is, and joins the first class where both mean the same, or else begins one. So classes depend on the order of the
answers where "means the same" is not transitive; `make bench-grouping` measures how much.

LM-Polygraph does the same. The authors' later code (jlko/semantic_uncertainty) lets an answer go to the *last* class
with whose first member it agrees: the classes are as many, and differ where an answer agrees with two of them.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from entropy_sentinel.grouping.backend import Backend, Pair, Question

log = logging.getLogger(__name__)

Answered = tuple[Question, Sequence[str]]


def classes(answered: Sequence[Answered], backend: Backend) -> list[list[int]]:
    """Return the class of each answer to each question, numbered from 0 in the order of their first answers.

    Answers with the same text are in one class and are not compared. Empty answers, also of white space only, are a
    class of their own, because saying nothing is an outcome too.
    """
    open_ = [
        _Open(question, list(dict.fromkeys(answer.strip() for answer in answers))) for question, answers in answered
    ]
    n_pairs = 0
    # Compares the first answer without a class with all others, for all questions at once: few and large batches.
    while leading := [question for question in open_ if question.left]:
        pairs = [pair for question in leading for pair in question.lead()]
        same = iter(backend.same(pairs))
        n_pairs += len(pairs)
        for question in leading:
            question.join(same)
    log.info("%d pairs of answers to %d questions compared", n_pairs, len(answered))
    return [
        [question.number[answer.strip()] for answer in answers]
        for question, (_, answers) in zip(open_, answered, strict=True)
    ]


@dataclass
class _Open:
    """The different answers to a question: `left` have no class yet, `compared` may join the last class."""

    question: Question
    left: list[str]
    compared: list[str] = field(default_factory=list)
    number: dict[str, int] = field(default_factory=dict)
    n_classes: int = 0

    def lead(self) -> list[Pair]:
        """Begin a class with the first answer in `left`; return its pairs with each other answer."""
        first = self.left.pop(0)
        self.number[first], self.n_classes = self.n_classes, self.n_classes + 1
        self.compared = [answer for answer in self.left if first and answer]
        return [Pair(self.question, first, answer) for answer in self.compared]

    def join(self, same: Iterator[bool]) -> None:
        """Put the answers for which the next values of `same` are true into the last class."""
        joining = {answer for answer in self.compared if next(same)}
        self.number |= dict.fromkeys(joining, self.n_classes - 1)
        self.left = [answer for answer in self.left if answer not in joining]
