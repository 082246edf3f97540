"""The backend `nli`: two answers mean the same if each entails the other, after the question.

Kuhn et al. (2023): a classifier of natural language inference reads "question answer" for both, and "entailment" must
be its likeliest label both ways.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.study.semantic_clustering.backend_interface import Pair
from entropy_sentinel.study.semantic_clustering.backend_settings import GroupingSettings
from entropy_sentinel.study.semantic_clustering.pair_scores import CachedScores, TextPair
from entropy_sentinel.study.semantic_clustering.text_encoders import PairClassifier, Weights, locate_weights

_ENTAILMENT = "entailment"


class NliBackend:
    """Compares with a classifier; the second direction only if the first one entails."""

    def __init__(self, weights: Weights, batch_size: int) -> None:
        """Load the classifier. Raises InputError if it is not a classifier or has no label for entailment."""
        self._classifier, self._weights = PairClassifier(weights.folder, weights.name), weights
        self._label = _find_entailment_label(self._classifier.labels, weights.name)
        self._entails = CachedScores(self._score_entailment, [weights.revision, _ENTAILMENT], batch_size)

    def same(self, pairs: Sequence[Pair]) -> list[bool]:
        """Whether the two answers of each pair mean the same, in order."""
        texts = [(f"{pair.question.text} {pair.first}", f"{pair.question.text} {pair.second}") for pair in pairs]
        forwards = self._entails(texts)
        entailed = [pair for pair in texts if forwards[pair]]
        backwards = self._entails((second, first) for first, second in entailed)
        return [bool(forwards[first, second] and backwards[second, first]) for first, second in texts]

    @property
    def provenance(self) -> dict[str, Any]:
        """The classifier, and the numbers of ordered pairs that it compared and that came from the cache."""
        return {"backend": "nli", **self._weights.provenance, **self._entails.counts, "cut": self._classifier.n_cut}

    def _score_entailment(self, pairs: Sequence[TextPair]) -> np.ndarray:
        """1 for each pair whose first text entails the second, else 0."""
        likeliest = self._classifier.logits(pairs).argmax(axis=1)
        entailed: np.ndarray = (likeliest == self._label).astype(float)
        return entailed


def _find_entailment_label(labels: Mapping[int, str], name: str) -> int:
    """The number of the label named entailment, in any case."""
    for number, label in labels.items():
        if label.lower() == _ENTAILMENT:
            return number
    raise InputError(
        f"{name}: one of the classifier's labels must be called 'entailment', they are {', '.join(labels.values())}; "
        "use a classifier of natural language inference, or name the labels in its config.json (id2label)"
    )


def make(settings: GroupingSettings) -> NliBackend:
    """The backend with the classifier that the settings name."""
    return NliBackend(locate_weights(settings), settings["batch_size"])
