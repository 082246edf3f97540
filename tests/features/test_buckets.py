"""The words of responses as buckets: one spelling for all servers, no marks, and counts that add up."""

import zlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import entropy_sentinel as es
from entropy_sentinel.api.response_reading import write_features
from entropy_sentinel.features.hashed_tokens import BUCKETS, COLUMN, KIND, count_buckets, hash_responses, hash_token


def crc(text: str) -> int:
    return zlib.crc32(text.encode()) % 256


@pytest.mark.parametrize("token", [" the", "the", "The ", "Ġthe", "▁The", "\nTHE"])
def test_one_spelling_for_all_tokenizers(token: str) -> None:
    assert hash_token(token) == crc("the")


@pytest.mark.parametrize("token", ["<|im_end|>", "</s>", "<eos>", "<end_of_turn>", "", "<|endoftext|>\n"])
def test_marks_of_the_end_have_no_bucket(token: str) -> None:
    assert hash_token(token) == -1


def traces(tokens: list[list[str] | None], texts: list[str], start: int = 0) -> pl.DataFrame:
    return pl.DataFrame(
        {"tokens": tokens, "text": texts, "trace_start": [start] * len(texts)},
        schema_overrides={"tokens": pl.List(pl.String)},
    )


def test_tokens_before_words_and_null_without_either() -> None:
    made = hash_responses(traces([["The", "Ġcat", " the", "</s>"], None, None, []], ["x", "The cat, the", "", ""]))
    assert made[KIND].to_list() == ["tokens", "words", None, None]
    assert made[COLUMN].to_list() == [
        sorted({crc("the"), crc("cat")}),
        sorted({crc("the"), crc("cat"), crc(",")}),
        None,
        None,
    ]


def test_only_tokens_after_the_thinking_count() -> None:
    (buckets,) = hash_responses(traces([["so", "it", "is", "4"]], ["so it is 4"], start=3))[COLUMN].to_list()
    assert buckets == [crc("4")]


def test_states_add_up() -> None:
    rng = np.random.default_rng(0)
    rows = pl.Series(
        [sorted(rng.choice(BUCKETS, 5, replace=False).tolist()) for _ in range(60)] + [None] * 3,
        dtype=pl.List(pl.UInt8),
    )
    slices = rng.integers(0, 4, 63)
    whole = count_buckets(rows, slices, 4)
    assert whole.shape == (4, 257)
    for number in range(4):
        here = [row for row, of in zip(rows.to_list(), slices, strict=True) if of == number and row is not None]
        assert whole[number, 0] == len(here)
        assert whole[number, 1:].tolist() == [sum(place in row for row in here) for place in range(BUCKETS)]
    part = rng.random(63) < 0.3
    assert (
        count_buckets(rows.filter(part), slices[part], 4) + count_buckets(rows.filter(~part), slices[~part], 4) == whole
    ).all()


def test_features_of_a_log_have_them_and_features_of_an_earlier_version_may_lack_them(tmp_path: Path) -> None:
    reply = {"id": "a", "text": "The cat", "token_logprobs": [-0.5], "top_logprobs": [[-0.5, -1.5]]}
    features = es.read_features(reply)
    assert features.select(COLUMN, KIND).rows() == [(sorted({crc("the"), crc("cat")}), "words")]
    write_features(features.drop(COLUMN, KIND), tmp_path / "old.parquet")
    assert COLUMN not in es.read_features(tmp_path / "old.parquet").columns
