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
_SAME = 1e-9


class Measures(NamedTuple):
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


def curve(scores: Numbers, correct: Numbers) -> np.ndarray:
    """The accuracy of the 1, 2, ..., n responses with the largest scores, (n_responses,) in [0, 1]."""
    [size], [right] = _blocks(scores, correct, None)
    return np.cumsum(np.repeat(right / size, size)) / np.arange(1, size.sum() + 1)


def measures(
    scores: Numbers,
    correct: Numbers,
    accuracies: Sequence[float] = (),
    counts: np.ndarray | None = None,
) -> Measures:
    """AUARC, its normalised form, and the coverage at each of `accuracies`, for each of several samples.

    `counts` is (n_samples, n_responses): how often a response is in a sample, which is not empty. By default
    there is one sample, with each response once. Raises ValueError without responses, or if a score is NaN.
    """
    size, right = _blocks(scores, correct, counts)
    upto, right_upto = np.cumsum(size, axis=1), np.cumsum(right, axis=1)
    before, right_before = upto - size, right_upto - right
    share = right / np.maximum(size, 1)
    n, n_right = upto[:, -1], right_upto[:, -1]
    harmonic = np.concatenate([[0], np.cumsum(1 / np.arange(1, n.max() + 1))])
    # In a block the accuracy of the first m is (right_before + (m - before) share) / m: a constant and a part in 1 / m.
    areas = n_right + ((right_before - share * before) * (harmonic[upto] - harmonic[before])).sum(axis=1)
    best = n_right * (1 + harmonic[n] - harmonic[n_right])
    with np.errstate(invalid="ignore"):
        prr = np.where((n_right > 0) & (n_right < n), (areas - n_right) / (best - n_right), np.nan)
    kept = [_most_kept(accuracy, size, before, right_before, share).max(axis=1) / n for accuracy in accuracies]
    return Measures(areas / n, prr, np.stack(kept, axis=1) if kept else np.empty((len(n), 0)))


def threshold(accuracy: float, scores: Numbers, correct: Numbers) -> float | None:
    """The lowest score above which the responses have at least this accuracy; None if no score reaches it.

    Tied responses are all kept or all rejected, unlike in a coverage: the threshold is meant for future responses.
    """
    if not len(scores):
        return None
    [size], [right] = _blocks(scores, correct, None)
    enough = np.flatnonzero(np.cumsum(right) >= accuracy * np.cumsum(size) - _SAME)
    if not len(enough):
        return None
    falling = np.unique(np.asarray(scores, dtype=float))[::-1]
    return float(falling[enough[-1]])


def kept(
    limit: float, scores: Numbers, correct: Numbers, counts: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Each sample's share of responses with this score or more, and their accuracy, (n_samples,) each.

    The accuracy is NaN if none is kept. `counts` is as in `measures`.
    """
    above, correct = np.asarray(scores, dtype=float) >= limit, np.asarray(correct, dtype=bool)
    counts = np.ones((1, len(above)), dtype=np.int64) if counts is None else counts
    n_kept = counts[:, above].sum(axis=1)
    n_right = counts[:, above & correct].sum(axis=1)
    with np.errstate(invalid="ignore"):
        return n_kept / counts.sum(axis=1), n_right / n_kept


def _most_kept(
    accuracy: float, size: np.ndarray, before: np.ndarray, right_before: np.ndarray, share: np.ndarray
) -> np.ndarray:
    """The largest number of responses, ending in each block, with at least the accuracy; 0 if there is none.

    Each response of a block adds share - accuracy to the surplus from before the block.
    """
    spare, loss = right_before - accuracy * before, accuracy - share
    whole = spare - loss * size >= -_SAME
    some = np.floor(np.divide(spare, loss, out=np.zeros_like(loss), where=loss > _SAME) + _SAME)
    return np.where(whole, before + size, np.where((loss > _SAME) & (some > 0), before + some, 0))


def _blocks(scores: Numbers, correct: Numbers, counts: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Group responses of equal score, highest first: their number, and the correct ones, (n_samples, n_blocks) each."""
    scores, correct = np.asarray(scores, dtype=float), np.asarray(correct, dtype=bool)
    if not len(scores) or np.isnan(scores).any():
        n_nan = int(np.isnan(scores).sum())
        raise ValueError(f"scores must be at least one number and no NaN; got {len(scores)}, of them {n_nan} NaN")
    order = np.argsort(-scores, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], np.diff(scores[order]) != 0]))
    ordered = np.ones((1, len(scores)), dtype=np.int64) if counts is None else counts[:, order]
    return np.add.reduceat(ordered, starts, axis=1), np.add.reduceat(ordered * correct[order], starts, axis=1)
