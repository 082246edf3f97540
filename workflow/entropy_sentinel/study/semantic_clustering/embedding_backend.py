"""The backend `embedding`: two answers mean the same if the cosine of their sentence embeddings is large enough.

The question is not prepended, because all answers to a long question would then be similar.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from entropy_sentinel.study.semantic_clustering.backend_interface import Pair
from entropy_sentinel.study.semantic_clustering.backend_settings import GroupingSettings
from entropy_sentinel.study.semantic_clustering.text_encoders import Encoder, Weights, locate_weights


class EmbeddingBackend:
    """Encodes each distinct answer once, and compares the vectors."""

    def __init__(self, weights: Weights, threshold: float, batch_size: int) -> None:
        """Load the encoder; raise InputError if the weights are not an encoder."""
        self._encoder, self._weights = Encoder(weights.folder, weights.name), weights
        self._threshold, self._batch_size = threshold, batch_size
        self._vectors: dict[str, np.ndarray] = {}

    def same(self, pairs: Sequence[Pair]) -> list[bool]:
        """Whether the two answers of each pair mean the same, in order."""
        texts = set[str]()
        for pair in pairs:
            texts |= {pair.first, pair.second}
        ordered = sorted(texts - self._vectors.keys(), key=lambda text: (len(text), text))
        for start in range(0, len(ordered), self._batch_size):
            batch = ordered[start : start + self._batch_size]
            self._vectors |= dict(zip(batch, self._encoder.vectors(batch), strict=True))
        # The vectors have length 1, so this is their cosine.
        return [bool(self._vectors[first] @ self._vectors[second] >= self._threshold) for _, first, second in pairs]

    @property
    def provenance(self) -> dict[str, Any]:
        """The encoder and the number of different texts that it has read."""
        counts = {"texts": len(self._vectors), "cut": self._encoder.n_cut}
        return {"backend": "embedding", **self._weights.provenance, "threshold": self._threshold, **counts}


def make(settings: GroupingSettings) -> EmbeddingBackend:
    """The backend with the encoder that the settings name."""
    return EmbeddingBackend(locate_weights(settings), settings["threshold"], settings["batch_size"])
