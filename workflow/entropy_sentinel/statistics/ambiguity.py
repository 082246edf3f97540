"""Find questions that seem to have several right answers, because the model repeatedly gives several.

A class of answers is stable if it recurs. Stable classes need not be right: no function of a model's answers
distinguishes ambiguity from lack of knowledge (Tomov et al., Entropy Is Not Enough, Proposition 1).
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from entropy_sentinel.statistics.array_types import Numbers
from entropy_sentinel.statistics.judge_agreement import Interval, wilson_interval

# With fewer samples of a question, it is unknown whether it is ambiguous.
LEAST_SAMPLES = 10
# A class is stable if the one-sided lower 95 % limit of its share is at least LEAST_MASS.
LEAST_MASS, ONE_SIDED = 0.05, 0.90
# The name of the signal, which is the same for all responses to a question.
_SIGNAL = "stable_classes"
# With at least this many stable classes, a question looks ambiguous.
LEAST_STABLE_CLASSES = 2
# A slice is flagged if it has this many questions and the lower limit of the ambiguous share is above this share.
LEAST_QUESTIONS, LARGEST_SHARE = 20, 0.1


def count_stable_classes(counts: Numbers) -> int | None:
    """The number of stable classes of a question; null with fewer than LEAST_SAMPLES samples.

    `counts`, (n_classes,), are the numbers of samples in each class. The limit is Wilson's for a share of n samples.
    For example, a class is stable if it has 2 of 10 samples, or 4 of 30.
    """
    class_counts = np.asarray(counts, dtype=int)
    n = int(class_counts.sum())
    if n < LEAST_SAMPLES:
        return None
    n_stable = 0
    for count in class_counts.tolist():
        _, lower, _ = wilson_interval(count, n, ONE_SIDED).require_values()
        n_stable += lower >= LEAST_MASS
    return n_stable


def estimate_ambiguous_share(n_ambiguous: int, n_questions: int) -> Interval:
    """The share of questions that look ambiguous with Wilson's 95 % interval; null without questions."""
    return wilson_interval(n_ambiguous, n_questions)


def explain_ambiguity(n_ambiguous: int, n_questions: int) -> str | None:
    """The warning for a slice with this many questions that look ambiguous; null if it needs none."""
    if n_questions < LEAST_QUESTIONS:
        return None
    share, lower, _ = estimate_ambiguous_share(n_ambiguous, n_questions).require_values()
    if lower <= LARGEST_SHARE:
        return None
    return (
        f"{share:.0%} of the {n_questions:,} questions with {LEAST_SAMPLES} samples or more have "
        "several answers that occur repeatedly: if they are right answers, high entropy does not mean wrong"
    )


def count_ambiguous_questions(responses: pl.DataFrame) -> tuple[int, int] | None:
    """The number of questions that look ambiguous, and of those for which this is known; null if known for none.

    `responses` has the column `item_id`, and, if the study computes it, `stable_classes`: how many different answers to
    the question recur.
    """
    if _SIGNAL not in responses.columns:
        return None
    # A log may store it as text.
    questions = (
        responses.with_columns(pl.col(_SIGNAL).cast(pl.Float64, strict=False)).drop_nulls(_SIGNAL).unique("item_id")
    )
    if questions.is_empty():
        return None
    return int((questions[_SIGNAL] >= LEAST_STABLE_CLASSES).sum()), len(questions)


@dataclass(frozen=True)
class AmbiguousShare:
    """The share of a domain's questions that look ambiguous, of those for which this is known."""

    share: float
    n_questions: int


def measure_ambiguous_shares(responses: pl.DataFrame, domain: str = "benchmark") -> dict[str, AmbiguousShare] | None:
    """The share of questions that look ambiguous, by value of the column `domain`; null if it is never known."""
    by_domain = {}
    for (name,), rows in responses.group_by(domain, maintain_order=True):
        if counts := count_ambiguous_questions(rows):
            n_ambiguous, n_questions = counts
            by_domain[str(name)] = AmbiguousShare(n_ambiguous / n_questions, n_questions)
    return by_domain or None
