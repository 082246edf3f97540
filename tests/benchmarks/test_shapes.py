"""The study's nine models, scaled down, through the generation stage and features, on vLLM's CPU build."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

from entropy_sentinel.features.feature_registry import FEATURE_FRAME, FEATURES
from entropy_sentinel.schemas.generation_schema import GENERATIONS

ROOT = Path(__file__).parents[2]
PROBE = ROOT / "tests" / "shared" / "shape_probe.py"
PUBLISHED: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "benchmarks/shapes/published.yaml").read_text())
STUDY = yaml.safe_load((ROOT / "config.yaml").read_text())["models"]
THINKING = {"gpt-oss-20b": "<|message|>", "qwen3-4b": "</think>", "qwen3-8b": "</think>"}
each_shape = pytest.mark.parametrize("name", PUBLISHED)


def language_model(name: str) -> dict[str, Any]:
    config = PUBLISHED[name]["config"]
    return config.get("text_config", config)


def test_the_study_has_these_models() -> None:
    assert {name: model["id"] for name, model in STUDY.items()} == {name: PUBLISHED[name]["id"] for name in PUBLISHED}


@each_shape
def test_the_architecture_has_the_number_of_parameters_that_its_authors_publish(name: str) -> None:
    """Counted from the definition of a transformer's layers."""
    config = language_model(name)
    width, layers, heads = config["hidden_size"], config["num_hidden_layers"], config["num_attention_heads"]
    head = config.get("head_dim", width // heads)
    attention = width * head * 2 * (heads + config["num_key_value_heads"])
    experts = config.get("num_local_experts", 1)
    network = 3 * width * config["intermediate_size"] * experts
    if experts > 1:  # their biases, and the router
        network += experts * (2 * config["intermediate_size"] + width) + experts * (width + 1)
    tied = config.get("tie_word_embeddings", name.startswith("gemma"))
    embeddings = config["vocab_size"] * width * (1 if tied else 2)
    pictures = 0.42e9 if "vision_config" in PUBLISHED[name]["config"] else 0
    total = layers * (attention + network) + embeddings + pictures
    assert total / 1e9 == pytest.approx(PUBLISHED[name]["parameters"], abs=0.12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)
    folder = tmp_path_factory.mktemp("shapes")
    paths = os.pathsep.join(str(ROOT / part) for part in ("workflow", "benchmarks", "tests/shared"))
    done = subprocess.run(
        [sys.executable, PROBE, folder],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.fixture(scope="module")
def engines(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "probe.json").read_text())


def traces(folder: Path, name: str) -> pl.DataFrame:
    return GENERATIONS.read(folder / name / "results" / "generations" / name / "items.parquet")


@pytest.mark.long
@each_shape
def test_the_engine_has_the_published_vocabulary_and_end_tokens(name: str, engines: dict[str, Any]) -> None:
    published = PUBLISHED[name]
    architecture = published.get("text_architecture", published["config"]["architectures"][0])
    assert engines[name]["architecture"] == architecture
    assert engines[name]["vocabulary"] == language_model(name)["vocab_size"]
    assert engines[name]["end_tokens"] == sorted(published["end_tokens"])


@pytest.mark.long
@each_shape
def test_prompts_are_those_that_the_engine_answered(name: str, folder: Path, engines: dict[str, Any]) -> None:
    """Each turn begins and ends with the model's own tokens, not with letters of their names."""
    frame = traces(folder, name)
    prompts = engines[name]["prompts"]
    assert set(frame["prompt_hash"]) == {prompt["hash"] for prompt in prompts}
    assert set(frame["prompt_tokens"]) == {len(prompt["token_ids"]) for prompt in prompts}
    turns = {
        "phi": [32010, 32007, 32001],
        "mistral": [1, 3, 4],
        "qwen": [151644, 151645, 151644],
        "gemma": [2, 105, 106, 105],
    }
    turns |= {"llama": [128000, 128006, 128007, 128009], "harmony": [200006, 200008, 200007]}
    for prompt in prompts:
        seen = iter(prompt["token_ids"])
        assert all(token in seen for token in turns[PUBLISHED[name]["template"]])  # in this order
    thinks = [token for prompt in prompts for token in prompt["token_ids"] if token == 151668]
    assert len(thinks) == (len(prompts) if name == "qwen3-8b" else 0)  # enable_thinking: false


@pytest.mark.long
@each_shape
def test_traces_have_20_alternatives_before_temperature(name: str, folder: Path) -> None:
    """A sampled token among them has the same log-probability as there; one that is not has a smaller one."""
    for row in traces(folder, name).iter_rows(named=True):
        top, ids = np.reshape(row["top_logprobs"], (-1, 20)), np.reshape(row["top_token_ids"], (-1, 20))
        chosen = np.array(row["token_logprobs"])
        assert len(top) == row["n_tokens"] > 0
        assert (np.diff(top) <= 0).all()
        assert (np.exp(top).sum(axis=1) < 1 + 1e-4).all()
        is_there = ids == np.array(row["token_ids"])[:, None]
        assert (is_there.sum(axis=1) <= 1).all()
        np.testing.assert_allclose(chosen[is_there.any(axis=1)], top[is_there], atol=1e-5)
        outside = ~is_there.any(axis=1)
        assert (chosen[outside] <= top[outside, -1] + 1e-5).all()


@pytest.mark.long
def test_some_sampled_tokens_are_not_among_the_20(folder: Path) -> None:
    displaced = dict.fromkeys(PUBLISHED, 0)
    for name in PUBLISHED:
        for ids, chosen in traces(folder, name).select("top_token_ids", "token_ids").iter_rows():
            displaced[name] += sum(
                token not in row for token, row in zip(chosen, np.reshape(ids, (-1, 20)), strict=True)
            )
    assert sum(number > 0 for number in displaced.values()) > len(PUBLISHED) / 2, displaced


@pytest.mark.long
@each_shape
def test_a_response_ends_with_an_end_token(name: str, folder: Path) -> None:
    ends = set(PUBLISHED[name]["end_tokens"])
    reasons = set()
    for reason, tokens in traces(folder, name).select("finish_reason", "token_ids").iter_rows():
        assert (tokens[-1] in ends) == (reason == "stop")
        assert not ends & set(tokens[:-1])
        reasons.add(reason)
    assert "stop" in reasons


@pytest.mark.long
@each_shape
def test_features_are_those_of_the_tokens_after_the_thinking(name: str, folder: Path) -> None:
    """The mean entropy, computed here from the 20 alternatives."""
    frame, features = traces(folder, name), FEATURE_FRAME.read(folder / name / "features.parquet")
    bound = math.log(language_model(name)["vocab_size"])
    n_after = 0
    for row, found in zip(frame.iter_rows(named=True), features.iter_rows(named=True), strict=True):
        texts, start = row["tokens"], 0
        if mark := THINKING.get(name):
            start = len(texts) - texts[::-1].index(mark) if mark in texts else len(texts)
        assert found["trace_tokens"] == len(texts) - start
        if found["trace_tokens"] == 0:
            assert found["mean"] is None
            continue
        n_after += start > 0
        top = np.reshape(row["top_logprobs"], (-1, 20))[start:]
        assert found["mean"] == pytest.approx(-(np.exp(top) * top).sum(axis=1).mean(), rel=1e-4)
        assert all(found[feature] is not None and math.isfinite(found[feature]) for feature in FEATURES)
        assert 0 <= found["max"] <= bound
    assert n_after > 0 or name not in THINKING
