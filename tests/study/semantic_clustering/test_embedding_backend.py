"""Answers mean the same where their sentence embeddings point the same way: on a real encoder, made here."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from text_models import random_encoder
from transformers import AutoModel, AutoTokenizer

from entropy_sentinel.study.semantic_clustering.backend_interface import Pair, Question, make_backend
from entropy_sentinel.study.semantic_clustering.backend_settings import Grouping

pytestmark = pytest.mark.slow  # torch is loaded

WORDS = [f"w{number}" for number in range(20)]
TEXTS = [" ".join(np.random.default_rng(seed).choice(WORDS, size=1 + seed % 5)) for seed in range(12)]


def mean_vector(folder: Path, text: str) -> np.ndarray:
    """The mean of the last hidden states of all tokens of one text alone, [CLS] and [SEP] among them."""
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        states: np.ndarray = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].numpy()
    return states.astype(float).mean(axis=0)


def test_the_cosine_of_mean_vectors_decides(tmp_path: Path) -> None:
    folder = random_encoder(tmp_path / "encoder", WORDS)
    vectors = {text: mean_vector(folder, text) for text in TEXTS}
    pairs = [Pair(Question("w0 w1"), *two) for two in product(TEXTS, repeat=2)]
    cosines = [
        vectors[one] @ vectors[other] / np.linalg.norm(vectors[one]) / np.linalg.norm(vectors[other])
        for _, one, other in pairs
    ]
    middle = float(np.median(cosines)) + 1e-4
    section = Grouping(backend="embedding", path=str(folder), threshold=middle, batch_size=5)
    backend = make_backend({**section.model_dump(), "revision": "1", "revisions": ""})  # type: ignore[typeddict-item]
    assert min(abs(cosine - middle) for cosine in cosines) > 1e-6
    assert backend.same(pairs) == [cosine >= middle for cosine in cosines]
    assert backend.provenance["texts"] == len(set(TEXTS))
