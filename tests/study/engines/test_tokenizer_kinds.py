"""What passes ask of a tokenizer, for those of Transformers and for Mistral's own, which has fewer members."""

import random
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

from entropy_sentinel.study.engines.vllm_engine import VllmEngine

ROOT = Path(__file__).parents[3]
BACKEND = Tokenizer.from_file(str(ROOT / "demo/models/tiny-1m/tokenizer.json"))
TEXTS = ["naïve, 日本語 🙂, Tom has 3 apples", "Ünïcödé", "plain"]


class MistralsOwn:
    """As vLLM's MistralTokenizer, without `backend_tokenizer` and `unk_token_id`."""

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        return BACKEND.encode(text, add_special_tokens=add_special_tokens).ids

    def decode(self, ids: list[int], skip_special_tokens: bool = False) -> str:
        return BACKEND.decode(ids, skip_special_tokens=skip_special_tokens)


@pytest.fixture
def engine() -> VllmEngine:
    class Llm:
        @staticmethod
        def get_tokenizer() -> Any:
            return MistralsOwn()

    engine = VllmEngine.__new__(VllmEngine)
    engine._engine = Llm()
    return engine


def test_texts_of_tokens_are_those_of_the_other_tokenizers(engine: VllmEngine) -> None:
    """Also of ids in any order, with special tokens and parts of characters."""
    draw = random.Random(0)
    responses = [BACKEND.encode(text).ids for text in TEXTS]
    responses += [[draw.randrange(BACKEND.get_vocab_size()) for _ in range(20)] for _ in range(30)]
    expected = []
    for ids in responses:
        stream = DecodeStream(skip_special_tokens=True)
        expected.append([stream.step(BACKEND, token) or "" for token in ids])
    assert engine.token_texts(responses) == expected


def test_ids_of_texts(engine: VllmEngine) -> None:
    assert engine.token_ids([*TEXTS, ""]) == [
        *(BACKEND.encode(text, add_special_tokens=False).ids for text in TEXTS),
        None,
    ]
