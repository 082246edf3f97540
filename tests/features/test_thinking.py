"""Where the features of a response that thinks begin."""

import numpy as np
import polars as pl
import pytest
from test_compute import frame, random_trace, row

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.features.feature_computation import start_after
from entropy_sentinel.features.feature_registry import FEATURE_FRAME, FEATURES
from entropy_sentinel.schemas.arrow_lists import read_traces
from entropy_sentinel.schemas.generation_schema import GENERATIONS
from entropy_sentinel.study.stages.feature_stage import write_features

TOKENS = [["a", "</t>", "b", "</t>", "c"], ["a", "b"], [], None]


def traces(texts=TOKENS) -> pl.DataFrame:
    lengths = [0 if tokens is None else len(tokens) for tokens in texts]
    result = frame(*(random_trace(np.random.default_rng(7), length) for length in lengths))
    return result.with_columns(tokens=pl.Series(texts, dtype=pl.List(pl.String)))


def written(folder, result: pl.DataFrame, **facts) -> str:
    path = folder / "traces.parquet"
    origin = {"model": "m", "benchmark": "b", "logprobs_mode": "raw_logprobs", "top_k_returned": 20}
    GENERATIONS.write(result.select(GENERATIONS.schema.names()), path, origin | facts)
    return str(path)


def settings(trace_after: str | None = None, vocabulary: int | None = None) -> dict:
    return {"trace_after": trace_after, "vocabulary": vocabulary}


def test_the_answer_begins_after_the_last_mark_or_at_the_end_without_one() -> None:
    assert start_after(traces(), "</t>", None)["trace_start"].to_list() == [4, 2, 0, 0]


def test_an_earlier_start_stays_and_a_mark_can_be_removed() -> None:
    made = traces([None] * 4).with_columns(trace_start=pl.Series([3, 0, 0, 0], dtype=pl.UInt32))
    assert start_after(made, "</t>", "</t>")["trace_start"].to_list() == [3, 0, 0, 0]
    assert start_after(made, None, "</t>")["trace_start"].to_list() == [0, 0, 0, 0]
    assert start_after(made, None, None)["trace_start"].to_list() == [3, 0, 0, 0]  # made elsewhere


def test_a_new_mark_without_texts_is_refused(tmp_path) -> None:
    made = traces(TOKENS[:2]).with_columns(tokens=pl.lit(None, pl.List(pl.String)))
    with pytest.raises(InputError, match=r"models\.m\.trace_after: '</t>' must be searched for .* of b .*'item-0'"):
        write_features(written(tmp_path, made), settings("</t>"), str(tmp_path / "f.parquet"))


def test_another_mark_changes_the_features_and_not_the_traces(tmp_path) -> None:
    made = traces(TOKENS[:2])
    path, output = written(tmp_path, made), str(tmp_path / "features.parquet")
    write_features(path, settings(), output)
    whole = FEATURE_FRAME.read(output)
    assert whole["trace_tokens"].to_list() == [5, 2]
    write_features(path, settings("</t>"), output)
    after = FEATURE_FRAME.read(output)
    assert after["reason"].to_list() == [None, "no token after the thinking"]
    last = row(made["token_logprobs"][0][4:].to_list(), made["top_logprobs"][0][4:].to_list())
    assert {name: after[name][0] for name in FEATURES} == {name: last[name] for name in FEATURES}


def test_a_file_of_an_earlier_version_lacks_the_column(tmp_path) -> None:
    path = tmp_path / "old.parquet"
    metadata = pl.read_parquet_metadata(written(tmp_path, traces()))
    kept = {name: value for name, value in metadata.items() if name != "ARROW:schema"}
    old = traces().select(GENERATIONS.schema.names()).drop("tokens")
    old.write_parquet(path, metadata=kept)
    assert GENERATIONS.read(path)["tokens"].null_count() == 4
    assert pl.concat(read_traces(path))["tokens"].null_count() == 4
    write_features(str(path), settings(), str(tmp_path / "f.parquet"))
    assert FEATURE_FRAME.read(tmp_path / "f.parquet").height == 4
