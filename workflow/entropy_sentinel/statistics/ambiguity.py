"""Which questions look as if they had several right answers, from how often a model gives each; how many of a slice do.

A class of answers is stable if it recurs. Several stable classes need not be right: no function of a model's own
answers tells ambiguity from not knowing (Tomov et al., Entropy Is Not Enough, Proposition 1).
"""

from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.statistics.agreement import Interval, wilson
from entropy_sentinel.statistics.numbers import Numbers

# With fewer samples of a question, its ambiguity is unknown.
LEAST_SAMPLES = 10
# A class is stable if the lower 95 % limit of its share, one-sided, is at least this.
LEAST_MASS, ONE_SIDED = 0.05, 0.90
# The signal of that name, the same for all responses to a question.
_STABLE = "stable_classes"
# With at least this many stable classes, a question looks ambiguous.
SEVERAL = 2
# A slice is flagged if it has this many questions and surely more than this share of them look ambiguous.
LEAST_QUESTIONS, LARGEST_SHARE = 20, 0.1


def stable_classes(counts: Numbers) -> int | None:
    """The number of stable classes of a question; null with fewer than LEAST_SAMPLES samples.

    `counts`, (n_classes,), are the samples in each class, regardless of their probabilities. The limit is Wilson's for
    a share of n samples. A class is stable if seen twice in 10 samples, or 4 times in 30.
    """
    seen = np.asarray(counts, dtype=int)
    n = int(seen.sum())
    if n < LEAST_SAMPLES:
        return None
    return sum(wilson(count, n, ONE_SIDED).known()[1] >= LEAST_MASS for count in seen.tolist())


def ambiguous_share(n_ambiguous: int, n_questions: int) -> Interval:
    """The share of questions that look ambiguous, with its 95 % interval (Wilson); null without any question."""
    return wilson(n_ambiguous, n_questions)


def why_ambiguous(n_ambiguous: int, n_questions: int) -> str | None:
    """Warn about the estimate of a slice with this many questions that look ambiguous; null without a warning."""
    if n_questions < LEAST_QUESTIONS or ambiguous_share(n_ambiguous, n_questions).known()[1] <= LARGEST_SHARE:
        return None
    return (
        f"{n_ambiguous / n_questions:.0%} of the {n_questions:,} questions with {LEAST_SAMPLES} samples or more have "
        "several answers that occur repeatedly: if they are right answers, high entropy does not mean wrong"
    )


def ambiguous_questions(responses: pl.DataFrame) -> tuple[int, int] | None:
    """The number of questions that look ambiguous, and for how many this is known; null if unknown for all.

    `responses` have the column `item_id`, and `stable_classes` if the study makes it.
    """
    if _STABLE not in responses.columns:
        return None
    # A log may store it as text.
    known = responses.with_columns(pl.col(_STABLE).cast(pl.Float64, strict=False)).drop_nulls(_STABLE).unique("item_id")
    return (int((known[_STABLE] >= SEVERAL).sum()), len(known)) if len(known) else None


def ambiguous_shares(responses: pl.DataFrame, domain: str = "benchmark") -> dict[str, dict[str, Any]] | None:
    """By domain, the share of questions that look ambiguous and `n_questions` for which it is known, null if none."""
    groups = {}
    for (name,), rows in responses.group_by(domain, maintain_order=True):
        if counts := ambiguous_questions(rows):
            groups[str(name)] = {"share": counts[0] / counts[1], "n_questions": counts[1]}
    return groups or None
