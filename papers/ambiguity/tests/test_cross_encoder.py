"""How alike two texts are, by a real cross-encoder, made here."""

from pathlib import Path

import numpy as np
import pytest
import torch
from papers.ambiguity.signal_families.sar.relevance import Similarity
from text_models import random_classifier
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.study.semantic_clustering.text_encoders import Weights

pytestmark = pytest.mark.slow  # torch is loaded

WORDS = [f"w{number}" for number in range(20)]
TEXTS = [" ".join(np.random.default_rng(seed).choice(WORDS, size=1 + seed % 5)) for seed in range(12)]


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path / "cache"))


def test_a_cross_encoder_says_how_alike_two_texts_are(tmp_path: Path) -> None:
    folder = random_classifier(tmp_path / "cross", WORDS, ("LABEL_0",))
    pairs = list(zip(TEXTS[::2], TEXTS[1::2], strict=True))
    result = Similarity(Weights(str(folder), "cross", "1"), batch_size=4).measure_pairs(pairs)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for first, second in pairs:
        with torch.inference_mode():
            logit = float(model(**tokenizer(first, second, return_tensors="pt")).logits[0, 0])
        assert result[first, second] == pytest.approx(1 / (1 + np.exp(-logit)), abs=1e-6)
    assert len({round(score, 3) for score in result.values()}) > 3


def test_a_classifier_of_several_labels_is_not_a_cross_encoder(tmp_path: Path) -> None:
    folder = random_classifier(tmp_path / "cross", WORDS)
    message = (
        "cross: a cross-encoder of similarity must have one output, has 3: CONTRADICTION, NEUTRAL, ENTAILMENT; use"
    )
    with pytest.raises(InputError, match=message):
        Similarity(Weights(str(folder), "cross", "1"), batch_size=4)
