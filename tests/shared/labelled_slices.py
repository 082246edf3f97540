"""Slices of which the truth is known: whether each response is correct, and what is predicted of it."""

import numpy as np

KINDS = ("useless", "calibrated", "sharp", "too sure", "opposite", "half of the errors")


def labelled_slice(kind: str, accuracy: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Correctness, as often as `accuracy`, and predictions of n responses, (n,) each, of one of KINDS.

    Calibrated predictions are right on average, sharp ones are also near 0 or 1. Half of the errors are seen, and the
    others taken for as surely correct as what is correct.
    """
    if kind in ("useless", "half of the errors"):
        correct = rng.random(n) < accuracy
        if kind == "useless":
            return correct, rng.beta(2, 1, n)
        return correct, np.where(~correct & (rng.random(n) < 0.5), 0.1, 0.99)
    spread = 0.2 if kind == "sharp" else 2.0
    chance = rng.beta(spread * accuracy, spread * (1 - accuracy), n)
    correct = rng.random(n) < chance
    return correct, {"too sure": chance**0.3, "opposite": 1 - chance}.get(kind, chance)
