"""How much classes of answers depend on the order in which the answers were given."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from entropy_sentinel.study.semantic_clustering.backend_interface import Backend
from entropy_sentinel.study.semantic_clustering.greedy_clustering import AnsweredQuestion, cluster_answers


@dataclass(frozen=True)
class OrderDependence:
    """How much classes depend on the order of the answers, over random orders of the answers to each question.

    `changed` is the share of questions and orders with other classes than in the order given; `spread` the mean over
    questions of the largest less the smallest number of classes.
    """

    changed: float
    spread: float


def order_dependence(
    asked: Sequence[AnsweredQuestion], backend: Backend, orders: int = 10, seed: int = 0
) -> OrderDependence:
    """Group the answers again in so many random orders; `asked` must not be empty."""
    generator = np.random.default_rng(seed)
    given = cluster_answers(asked, backend)
    counts, changed = [[max(one, default=-1) + 1 for one in given]], 0
    for _ in range(orders):
        shuffled = [generator.permutation(len(answers)) for _, answers in asked]
        result = cluster_answers(
            [(one, [of[at] for at in order]) for (one, of), order in zip(asked, shuffled, strict=True)], backend
        )
        counts.append([max(one, default=-1) + 1 for one in result])
        for order, again, before in zip(shuffled, result, given, strict=True):
            # The same classes where those of the one and the other belong together one to one.
            both = set(zip(again, (before[at] for at in order), strict=True))
            changed += not len(both) == len(set(again)) == len(set(before))
    return OrderDependence(changed / (orders * len(asked)), float(np.ptp(counts, axis=0).mean()))
