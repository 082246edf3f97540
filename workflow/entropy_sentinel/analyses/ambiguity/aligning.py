"""Which of a model's classes is which right answer: the same comparison by which its answers were grouped."""

from collections.abc import Sequence
from typing import NamedTuple

from entropy_sentinel.grouping.backend import Backend, Pair, Question
from entropy_sentinel.grouping.exact import ExactBackend


class Classes(NamedTuple):
    """The classes of the answers to a question, each with its different texts, the first of its samples first."""

    question: Question
    texts: Sequence[Sequence[str]]


def matched(asked: Sequence[Classes], backend: Backend) -> list[list[int | None]]:
    """Of each class of each question the number of the right answer that it is; None where it is none.

    A class with a text that is a name of an answer is that answer. Of the others the backend compares the first text
    with the first name of each answer, and the first one that means the same has the class. An answer may have several
    classes, a class one answer.
    """
    found: list[list[int | None]] = [[None] * len(one.texts) for one in asked]
    for comparing, n_texts in ((ExactBackend(), None), (backend, 1)):
        open_ = [
            (item, place, number, Pair(one.question, names[0], text))
            for item, one in enumerate(asked)
            for place, texts in enumerate(one.texts)
            if found[item][place] is None
            for number, names in enumerate(one.question.answers)
            for text in texts[:n_texts]
            if text
        ]
        same = comparing.same([pair for *_, pair in open_])
        for (item, place, number, _), is_same in zip(open_, same, strict=True):
            if is_same and found[item][place] is None:
                found[item][place] = number
    return found
