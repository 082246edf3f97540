"""Accuracy-rejection curves: how well a score selects the responses to keep (PredictaBoard, 2025).

The responses with the largest scores are kept, the others rejected. The accuracy at a coverage is its mean over all
orders of tied responses. This is exact without random draws: in a block of ties, the expected number of correct
responses grows with each response by the block's share of correct ones. All measures use this curve. So a constant
score has a flat curve at the accuracy of all responses. Other programs differ: PredictaBoard's code evaluates the curve
at 100 quantiles of the score, where a constant score keeps nothing; LM-Polygraph's uses an arbitrary order of ties, and
0.5 if all labels are equal.

Scores are (n_responses,), larger for responses that are more likely correct; `correct` is (n_responses,) of bool.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from entropy_sentinel.statistics.array_types import Numbers

# Tolerance for rounding in the last bits: 19 of 20 reaches 0.95.
_TOLERANCE = 1e-9


class CurveMeasures(NamedTuple):
    """Measures of the curves of several samples: shares in [0, 1], except `prr`.

    `auarc` is (n_samples,): the mean accuracy over the coverages 1/n, 2/n, ..., 1, which is LM-Polygraph's
    prediction-rejection area. `prr` is (n_samples,): `auarc` on a scale from a random order (0) to a perfect one (1);
    negative if the order is worse than random, NaN if all responses are of one class. `coverage` is (n_samples,
    n_accuracies): the largest share of responses that can be kept with at least that accuracy, 0 without any
    (PredictaBoard's predictably valid region).
    """

    auarc: np.ndarray
    prr: np.ndarray
    coverage: np.ndarray


def compute_accuracy_curve(scores: Numbers, correct: Numbers) -> np.ndarray:
    """The accuracy of the 1, 2, ..., n responses with the largest scores, (n_responses,) in [0, 1]."""
    [sizes], [n_correct] = _group_ties(scores, correct, counts=None)
    # A response counts as the share of correct ones among those of the same score.
    expected_correct = np.repeat(n_correct / sizes, sizes)
    return np.cumsum(expected_correct) / np.arange(1, sizes.sum() + 1)


def measure_curves(
    scores: Numbers,
    correct: Numbers,
    accuracies: Sequence[float] = (),
    counts: np.ndarray | None = None,
) -> CurveMeasures:
    """AUARC, the prediction rejection ratio, and the coverage at each of `accuracies`, for each of several samples.

    `counts` is (n_samples, n_responses): how often a (bootstrap) sample has each response; no sample is empty. By
    default there is one sample, with each response once. The prediction rejection ratio is NaN for a sample in which
    all or no responses are correct. Raises ValueError without responses, or if a score is NaN.
    """
    # By block of responses with equal scores, highest first, (n_samples, n_blocks): responses in it, up to its end and
    # before it, each with the correct ones among them.
    sizes, n_correct = _group_ties(scores, correct, counts)
    n_through = np.cumsum(sizes, axis=1)
    correct_through = np.cumsum(n_correct, axis=1)
    n_before = n_through - sizes
    correct_before = correct_through - n_correct
    # A bootstrap sample may have no response of a block.
    tie_accuracy = n_correct / np.maximum(sizes, 1)
    # Of the whole sample, (n_samples,).
    n, total_correct = n_through[:, -1], correct_through[:, -1]
    harmonic = np.concatenate([[0], np.cumsum(1 / np.arange(1, n.max() + 1))])
    # An area is the sum over m of the accuracy of the first m responses. In a block of ties this accuracy is
    # (correct_before + (m - n_before) * tie_accuracy) / m. Its sum over the m of the block is
    #   size * tie_accuracy + (correct_before - tie_accuracy * n_before) * (H[n_through] - H[n_before]),
    # with the harmonic numbers H. The first terms of all blocks add up to total_correct.
    areas = total_correct + (
        (correct_before - tie_accuracy * n_before) * (harmonic[n_through] - harmonic[n_before])
    ).sum(axis=1)
    # The best order has the accuracy 1 up to m = total_correct, then total_correct / m.
    best = total_correct * (1 + harmonic[n] - harmonic[total_correct])
    # A random order has the accuracy total_correct / n at each m: its area is total_correct.
    with np.errstate(invalid="ignore"):
        prr = np.where(
            (total_correct > 0) & (total_correct < n), (areas - total_correct) / (best - total_correct), np.nan
        )
    coverages = [
        _find_largest_kept(accuracy, sizes, n_before, correct_before, tie_accuracy).max(axis=1) / n
        for accuracy in accuracies
    ]
    return CurveMeasures(areas / n, prr, np.stack(coverages, axis=1) if coverages else np.empty((len(n), 0)))


def find_threshold(accuracy: float, scores: Numbers, correct: Numbers) -> float | None:
    """The lowest score from which on the responses have at least this accuracy; None if no score reaches it.

    The threshold is meant for future responses, so those of equal score are all kept or all rejected, unlike in
    `CurveMeasures.coverage`.
    """
    if not len(scores):
        return None
    [sizes], [n_correct] = _group_ties(scores, correct, counts=None)
    reaching_blocks = np.flatnonzero(np.cumsum(n_correct) >= accuracy * np.cumsum(sizes) - _TOLERANCE)
    if not len(reaching_blocks):
        return None
    distinct_scores = np.unique(np.asarray(scores, dtype=float))[::-1]
    return float(distinct_scores[reaching_blocks[-1]])


def apply_threshold(
    threshold: float, scores: Numbers, correct: Numbers, counts: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Each sample's share of responses with this score or more, and their accuracy, (n_samples,) each.

    The accuracy is NaN if none is kept. `counts` is (n_samples, n_responses): how often a sample has each response; by
    default there is one sample, with each response once.
    """
    is_kept = np.asarray(scores, dtype=float) >= threshold
    correct = np.asarray(correct, dtype=bool)
    counts = np.ones((1, len(is_kept)), dtype=np.int64) if counts is None else counts
    n_kept = counts[:, is_kept].sum(axis=1)
    n_correct = counts[:, is_kept & correct].sum(axis=1)
    with np.errstate(invalid="ignore"):
        return n_kept / counts.sum(axis=1), n_correct / n_kept


def _find_largest_kept(
    accuracy: float, sizes: np.ndarray, n_before: np.ndarray, correct_before: np.ndarray, tie_accuracy: np.ndarray
) -> np.ndarray:
    """The most responses that can be kept with at least `accuracy` if the last one kept is in a block, for each block.

    0 if that is impossible. A block has the responses of one score; all arrays are (n_samples, n_blocks).
    """
    # Correct responses before the block beyond what `accuracy` needs; each response of the block uses up `deficit`.
    surplus = correct_before - accuracy * n_before
    deficit = accuracy - tie_accuracy
    fits_whole = surplus - deficit * sizes >= -_TOLERANCE
    is_worse = deficit > _TOLERANCE
    n_partial = np.floor(np.divide(surplus, deficit, out=np.zeros_like(deficit), where=is_worse) + _TOLERANCE)
    fits_partly = is_worse & (n_partial > 0)
    n_kept_partly = np.where(fits_partly, n_before + n_partial, 0)
    return np.where(fits_whole, n_before + sizes, n_kept_partly)


def _group_ties(scores: Numbers, correct: Numbers, counts: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """By block of responses with equal scores, highest first: responses, and correct ones, (n_samples, n_blocks) each.

    `counts` is (n_samples, n_responses): how often a sample has each response; None is one sample with each once.
    """
    scores, correct = np.asarray(scores, dtype=float), np.asarray(correct, dtype=bool)
    if not len(scores) or np.isnan(scores).any():
        n_nan = int(np.isnan(scores).sum())
        raise ValueError(f"scores must be at least one number and no NaN; got {len(scores)}, of them {n_nan} NaN")
    order = np.argsort(-scores, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], np.diff(scores[order]) != 0]))
    ordered_counts = np.ones((1, len(scores)), dtype=np.int64) if counts is None else counts[:, order]
    sizes = np.add.reduceat(ordered_counts, starts, axis=1)
    n_correct = np.add.reduceat(ordered_counts * correct[order], starts, axis=1)
    return sizes, n_correct
