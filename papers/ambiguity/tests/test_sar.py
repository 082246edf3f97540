"""SAR: which texts a cross-encoder compares, and that it is LM-Polygraph's number of what it says."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from answered import Said, write_answered
from papers.ambiguity.signal_families.sar.relevance import split_response
from papers.ambiguity.signal_families.sar.sar_family import Sar
from text_models import random_classifier
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.study.stages.signal_stage import write_signals

pytestmark = pytest.mark.slow  # torch is loaded

WORDS = ["which", "planet", "has", "rings", "saturn", "jupiter", "big", "one", "the", "is"]
QUESTIONS = {"one": "which planet has rings", "two": "which is big"}
SAID = [
    Said("one", ["the", " big", " saturn", "<end>"], [-0.5, -1.5, -0.25, -0.01], text="the big saturn"),
    Said("one", ["jupiter", "<end>"], [-2.0, -0.1], text="jupiter"),
    Said("two", ["jupiter"], [-0.3]),
    Said("one", ["jupiter"], [-1.0]),
    Said("two", [" the", " one"], [-0.7, -0.9], text="the one"),
]


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_classifier(tmp_path_factory.mktemp("weights") / "cross", WORDS, ("LABEL_0",), seed=3)


def made(folder: Path, weights: Path, message: list[Said], **keys: Any) -> tuple[pl.DataFrame, dict[str, Any]]:
    files = write_answered(folder, QUESTIONS, message)
    settings = {**Sar(path=str(weights), **keys).model_dump(), "revision": "1", "revisions": ""}
    write_signals("sar", output=str(folder / "out.parquet"), settings=settings, **files)
    return pl.read_parquet(folder / "out.parquet"), read_provenance(folder / "out.parquet")


def lm_polygraph(weights: Path, question: str, message: list[Said]) -> float:
    """SAR as its classes CrossEncoderSimilarityMatrixCalculator and SAR have it, a pair at a time, temperature .001."""
    tokenizer = AutoTokenizer.from_pretrained(weights)
    model = AutoModelForSequenceClassification.from_pretrained(weights).eval()

    def alike(first: str, second: str) -> float:
        with torch.inference_mode():
            logit = float(model(**tokenizer(first, second, return_tensors="pt")).logits[0, 0])
        return 1 / (1 + np.exp(-logit))

    texts = ["".join(one.tokens) if one.text is None else one.text for one in message]
    likely = []
    for one, text in zip(message, texts, strict=True):
        relevance = [0.5]
        if len(one.tokens) > 1:
            relevance = []
            for at, token in enumerate(one.tokens):
                rest = "".join(one.tokens[:at] + one.tokens[at + 1 :]).replace("<end>", "")
                similarity = 1.0 if token == "<end>" else alike(f"{question} {text}", f"{question} {rest}")
                relevance.append(1 - similarity)
        weights_of_tokens = np.array(relevance) / sum(relevance)
        likely.append(np.exp(np.sum(weights_of_tokens * np.array(one.logprobs))))
    total = 0.0
    for i, own in enumerate(likely):
        others = sum(likely[j] * alike(texts[i], texts[j]) for j in range(len(message)) if j != i)
        total -= np.log(own + others / 0.001)
    return total / len(message)


def test_it_is_lm_polygraphs_number(cross_encoder: Path, tmp_path: Path) -> None:
    result, origin = made(tmp_path, cross_encoder, SAID, batch_size=3)
    expected = {
        item: lm_polygraph(cross_encoder, question, [one for one in SAID if one.item == item])
        for item, question in QUESTIONS.items()
    }
    assert abs(expected["one"] - expected["two"]) > 0.1
    assert result["sar"].to_list() == pytest.approx([expected[item] for item in result["item_id"]], abs=1e-4)
    # Item one: texts saturn and jupiter both ways and with themselves, and three tokens and one; item two: 4 and 2.
    assert {key: origin["similarity"][key] for key in ("pairs_asked", "pairs_saved")} == {
        "pairs_asked": 4 + 3 + 1 + 4 + 2 - 1,  # jupiter with itself is of both
        "pairs_saved": 0,
    }


def test_a_second_time_nothing_is_asked(cross_encoder: Path, tmp_path: Path) -> None:
    first, _ = made(tmp_path, cross_encoder, SAID)
    again, origin = made(tmp_path, cross_encoder, SAID)
    assert first.equals(again)
    assert origin["similarity"]["pairs_asked"] == 0


def test_the_first_samples_only(cross_encoder: Path, tmp_path: Path) -> None:
    result, _ = made(tmp_path, cross_encoder, SAID, samples=2)
    own = [one for one in SAID if one.item == "one"]
    assert (
        result["sar"][0]
        == result["sar"][3]
        == pytest.approx(lm_polygraph(cross_encoder, QUESTIONS["one"], own[:2]), abs=1e-4)
    )


def test_why_there_is_none(cross_encoder: Path, tmp_path: Path) -> None:
    message = [
        Said("one", ["saturn"], [-1.0]),
        Said("one", ["big"], [-9999.0]),
        Said("one", [], [], finish_reason="refused: too long"),
        Said("two", ["jupiter"], [-0.3], without=("tokens",)),
        Said("two", ["jup", "\ufffd"], [-0.3, -1.0], text="jupé"),
    ]
    result, _ = made(tmp_path, cross_encoder, message)
    assert result["sar"].null_count() == 5
    one = "the item has 1 usable answers, needs at least 2; log-probabilities are not known"
    two = "the item has 0 usable answers, needs at least 2; the texts of the tokens are not known"
    assert result["sar_reason"].to_list() == [one, one, "refused: too long", two, two]


@pytest.mark.parametrize(
    ("text", "tokens", "expected"),
    [
        ("a b", ["a", " b"], ["a", " b"]),
        ("a b", [" a", " b", "<end>"], ["a", " b", ""]),
        ("ab", ["<think>", "a", "b\n\n"], ["", "a", "b"]),
        ("", ["<end>"], [""]),
        ("é", ["", "é"], ["", "é"]),
        ("é", ["\ufffd", "\ufffd"], None),
    ],
)
def test_the_part_of_each_token_in_the_response(text: str, tokens: list[str], expected: list[str] | None) -> None:
    assert split_response(text, tokens) == expected
