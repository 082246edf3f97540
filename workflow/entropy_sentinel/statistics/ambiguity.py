"""Which questions look as if they had several right answers, from how often a model gives each; how many of a slice do.

A class of answers is stable if it comes again and again. That several are does not show that they are right: no
function of a model's own answers tells that from not knowing (Tomov et al., Entropy Is Not Enough, Proposition 1).
"""

import numpy as np

from entropy_sentinel.statistics.agreement import Interval, wilson
from entropy_sentinel.statistics.numbers import Numbers

# With fewer samples of a question nothing is said of it.
LEAST_SAMPLES = 10
# A class is stable if the lower 95 % limit of its share, one-sided, is at least this.
LEAST_MASS, ONE_SIDED = 0.05, 0.90
# With so many stable classes a question looks ambiguous.
SEVERAL = 2
# A slice is flagged if of so many questions surely more than this share look ambiguous.
LEAST_QUESTIONS, LARGEST_SHARE = 20, 0.1


def stable_classes(counts: Numbers) -> int | None:
    """The number of stable classes of a question; null with fewer than LEAST_SAMPLES samples.

    `counts`, (n_classes,), are the samples in each class. They are counted, whatever their probabilities: the limit is
    Wilson's, of a share of n samples. Of 10 samples a class is stable that was seen twice, of 30 one seen 4 times.
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
    """What speaks against the estimate of a slice of which so many questions look ambiguous; null for nothing."""
    if n_questions < LEAST_QUESTIONS or ambiguous_share(n_ambiguous, n_questions).known()[1] <= LARGEST_SHARE:
        return None
    return (
        f"{n_ambiguous / n_questions:.0%} of the {n_questions:,} questions with {LEAST_SAMPLES} samples or more have "
        "several answers that come again and again: if they are right answers, high entropy does not mean wrong"
    )
