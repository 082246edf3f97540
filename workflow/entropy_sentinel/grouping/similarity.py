"""How alike two texts are, by a cross-encoder of semantic textual similarity."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.special import expit

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.grouping.encoders import Classifier
from entropy_sentinel.grouping.scores import KeptScores, TextPair
from entropy_sentinel.grouping.settings import WeightsSettings
from entropy_sentinel.grouping.weights import Weights, located


class Similarity:
    """A cross-encoder with one output, whose logistic function is the similarity, as sentence-transformers has it."""

    def __init__(self, weights: Weights, batch_size: int) -> None:
        """Load the cross-encoder; InputError where it is none."""
        self._classifier, self._weights = Classifier(weights.folder, weights.name), weights
        if (n_labels := len(self._classifier.labels)) != 1:
            raise InputError(
                f"{weights.name}: a cross-encoder of similarity must have one output, has {n_labels}: "
                f"{', '.join(self._classifier.labels.values())}; use one that was trained on similarities (STS)"
            )
        self._scores = KeptScores(self._similarity, [weights.revision, "similarity"], batch_size)

    def of(self, pairs: Iterable[TextPair]) -> dict[TextPair, float]:
        """The similarity of each different pair, in [0, 1]; of the order of the two texts."""
        return self._scores(pairs)

    @property
    def provenance(self) -> dict[str, Any]:
        """The cross-encoder, and how many pairs it was asked about, and how many were known."""
        return {**self._weights.provenance, **self._scores.counts, "cut": self._classifier.n_cut}

    def _similarity(self, pairs: Sequence[TextPair]) -> np.ndarray:
        found: np.ndarray = expit(self._classifier.logits(pairs)[:, 0].astype(float))
        return found


def make(settings: WeightsSettings) -> Similarity:
    """The cross-encoder that the settings name."""
    return Similarity(located(settings), settings["batch_size"])
