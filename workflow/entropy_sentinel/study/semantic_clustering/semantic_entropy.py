"""The distribution of a model's answers over classes of equal meaning: class probabilities and semantic entropy.

Sources: Kuhn, Gal and Farquhar (2023); Farquhar et al. (2024) for the Rao form of the entropy; Tomov et al., Entropy Is
Not Enough (2025), Appendix B.1, for the probabilities.
"""

import numpy as np
from scipy.special import entr, logsumexp

from entropy_sentinel.statistics.array_types import Numbers


def class_masses(classes: Numbers, logprobs: Numbers) -> np.ndarray:
    """The log of the summed probabilities of the samples in each class, (n_classes,), in nats.

    `classes`, (n_samples,), are numbers from 0; `logprobs`, (n_samples,), are the log-probabilities of the samples in
    nats. A text that was sampled twice counts twice. An empty class has -inf.
    """
    numbers = np.asarray(classes, dtype=int)
    nats = np.asarray(logprobs, dtype=float)
    is_member = numbers == np.arange(numbers.max() + 1)[:, None]  # (n_classes, n_samples)
    return np.asarray(logsumexp(np.where(is_member, nats, -np.inf), axis=1))


def class_probabilities(classes: Numbers, logprobs: Numbers | None = None) -> np.ndarray:
    """The probability of each class, (n_classes,): its share of the summed probability of all samples.

    `classes`, (n_samples,), are numbers from 0; `logprobs`, (n_samples,), are the log-probabilities of the samples in
    nats. Without them it is the share of the samples. The form with `logprobs` is the paper's. Because probable answers
    are also sampled more often, it converges to normalised sums of *squared* probabilities; the share of the samples
    converges to sums of the probabilities.
    """
    masses = class_masses(classes, np.zeros(len(classes)) if logprobs is None else logprobs)
    return np.asarray(np.exp(masses - logsumexp(masses)))


def semantic_entropy(p: Numbers) -> float:
    """The entropy of class probabilities p, (n_classes,), in nats."""
    return float(entr(np.asarray(p, dtype=float)).sum())
