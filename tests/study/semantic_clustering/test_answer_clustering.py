"""Answers become classes as Kuhn et al. have it, whatever says that two of them mean the same."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from order_dependence import order_dependence

from entropy_sentinel.study.semantic_clustering.backend_interface import Pair, Question
from entropy_sentinel.study.semantic_clustering.greedy_clustering import cluster_answers

WHICH = Question("Which?")


class Table:
    """Says that two answers mean the same where their ordered or unordered pair is in a table; it counts."""

    def __init__(self, *same: tuple[str, str]) -> None:
        self.table = {frozenset(pair) for pair in same}
        self.pairs: list[tuple[str, str]] = []
        self.calls = 0

    def same(self, pairs: Sequence[Pair]) -> list[bool]:
        self.calls += 1
        self.pairs += [(pair.first, pair.second) for pair in pairs]
        return [frozenset((pair.first, pair.second)) in self.table for pair in pairs]

    @property
    def provenance(self) -> dict[str, Any]:
        return {}


def of(answers: str, *same: tuple[str, str]) -> list[int]:
    return cluster_answers([(WHICH, answers.split())], Table(*same))[0]


def algorithm_1(answers: Sequence[str], table: Table) -> list[int]:
    """The paper's algorithm as printed: an answer joins the first class of whose first member it is an equal."""
    firsts: list[str] = []
    ids = []
    for answer in answers:
        for number, first in enumerate(firsts):
            if answer == first or frozenset((answer, first)) in table.table:
                ids.append(number)
                break
        else:
            ids.append(len(firsts))
            firsts.append(answer)
    return ids


def test_by_hand() -> None:
    # b is as a; d is as c, and c not as a.
    assert of("a b c d a", ("a", "b"), ("c", "d")) == [0, 0, 1, 1, 0]
    # b is as both a and c, which are not one: it joins the class that was there first.
    assert of("a b c", ("a", "b"), ("b", "c")) == [0, 0, 1]
    assert of("b a c", ("a", "b"), ("b", "c")) == [0, 0, 0]
    assert of("a c b", ("a", "b"), ("b", "c")) == [0, 1, 0]


@pytest.mark.parametrize("seed", range(20))
def test_any_relation_gives_the_classes_of_algorithm_1(seed: int) -> None:
    generator = np.random.default_rng(seed)
    letters = list("abcdefgh")
    pairs = [pair for pair in combinations(letters, 2) if generator.random() < 0.3]
    table, asked = Table(*pairs), [generator.choice(letters, size=size).tolist() for size in (1, 5, 12, 30)]
    result = cluster_answers([(WHICH, answers) for answers in asked], table)
    assert result == [algorithm_1(answers, table) for answers in asked]


def test_what_is_asked() -> None:
    """The first answer without a class, with each other such answer; the same text never, and all items at once."""
    table = Table(("a", "b"))
    assert cluster_answers([(WHICH, ["a", "b", "a", "c", "d"]), (WHICH, ["x", "x "])], table) == [
        [0, 0, 0, 1, 2],
        [0, 0],
    ]
    assert table.pairs == [("a", "b"), ("a", "c"), ("a", "d"), ("c", "d")]
    assert table.calls == 3


def test_empty_answers_are_a_class_of_their_own_and_nobody_is_asked_about_them() -> None:
    table = Table(("", "a"), ("a", ""))
    assert cluster_answers([(WHICH, ["", "a", " ", "b"]), (WHICH, ["a", "\n", ""])], table) == [[0, 1, 0, 2], [0, 1, 1]]
    assert all(first and second for first, second in table.pairs)


def test_no_answers() -> None:
    assert cluster_answers([(WHICH, [])], Table()) == [[]]
    assert cluster_answers([], Table()) == []


def test_how_much_the_order_matters() -> None:
    """Of a - b - c, with b first there is one class, else two: with a first {a, b}, {c}, with c first {c, b}, {a}."""
    result = order_dependence([(WHICH, ["a", "b", "c"])], Table(("a", "b"), ("b", "c")), orders=6000)
    # Four of the six orders have other classes than the one that is given.
    assert result.changed == pytest.approx(4 / 6, abs=0.03)
    assert result.spread == 1.0
