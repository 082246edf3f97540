"""The configuration: what is accepted, and what it means to the jobs."""

from pathlib import Path
from typing import Any

import pytest
from studies import PAPER, study

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.llm_client.server_settings import read_announced_server
from entropy_sentinel.study.config import generation_requests, group_estimates, label_requests
from entropy_sentinel.study.config.generation_requests import (
    announce_servers,
    benchmark_settings,
    feature_settings,
    generation_settings,
)
from entropy_sentinel.study.config.group_estimates import training_groups
from entropy_sentinel.study.engines import model_weights
from entropy_sentinel.study.engines.model_weights import fingerprint_folder


def test_the_papers_study_has_its_groups_and_configurations() -> None:
    config = study()
    groups = training_groups(config)
    sizes = [group.count("+") + 1 for group in groups]
    # Binomial coefficients of ten over 1, 2, 3, 4 and 9.
    assert [sizes.count(k) for k in (1, 2, 3, 4, 9)] == [10, 45, 120, 210, 10]
    assert len(groups) == 395
    assert len(groups["gsm8k+olympiadbench"]) == 48 + 9 + 16
    leave_one_out = next(group for group in groups if group.count("+") == 8)
    assert groups[leave_one_out][0] == "forest-10d-balanced-isotonic"
    assert len(groups[leave_one_out]) == 1 + 9 + 16
    # 9 models x 385 groups x 48 configurations, the paper's number of configurations.
    assert 9 * sum(len(names) - 25 for group, names in groups.items() if group.count("+") < 8) == 166_320


@pytest.mark.parametrize(
    ("path", "value", "read"),
    [
        # Names with the words for secrets in them, and a tokenizer.
        ("generation.environment", {"TOKENIZERS_PARALLELISM": "false", "MONKEY": "x"}, ...),
        ("generation.engine_args", {"long_prefill_token_threshold": 4, "hf_token": True}, ...),
        ("models.qwen3-4b.engine_args", {"tokenizer": "a/b", "tokenizer_mode": "slow"}, ...),
        # `1e-1` is text to YAML 1.1, and --config 'estimation={trees: 30}' gives text for all values in braces.
        ("estimation.test_share", "1e-1", 0.1),
        ("estimation.trees", "30", 30),
        ("models.qwen3-4b.sampling", {"temperature": "0.7"}, {"temperature": 0.7}),
    ],
)
def test_values_are_read(path: str, value: Any, read: Any) -> None:
    node = study({path: value}).model_dump()
    for key in path.split("."):
        node = node[key]
    assert node == (value if read is ... else read)


def test_null_undoes_the_setting_of_another_file() -> None:
    api = {"id": None, "revision": None, "lora": None, "api": {"model": "hosted_vllm/qwen3-4b"}}
    assert study({"models.qwen3-4b": api}).models["qwen3-4b"].kind == "api"
    assert study({"judges.math-verify.path": None}).judges["math-verify"].kind == "math-verify"


def test_arguments_of_a_model_are_added_to_those_of_all() -> None:
    config = study({"models.qwen3-4b.engine_args": {"tokenizer": "a/b"}})
    expected = {"dtype": "bfloat16", "tokenizer": "a/b"}
    assert generation_settings(config, "qwen3-4b", "gsm8k")["engine_args"] == expected


def test_estimation_has_a_seed_of_its_own() -> None:
    before, after = study(), study({"estimation.seed": 7})
    for config, seed in ((before, 42), (after, 7)):
        assert group_estimates.split_settings(config) == {"test_share": 0.2, "seed": seed}
        settings = group_estimates.estimation_settings(config, ["baseline-ppl"])
        assert (settings["seed"], settings["estimators"]) == (seed, ["baseline-ppl"])
    assert generation_settings(after, "qwen3-4b", "gsm8k") == generation_settings(before, "qwen3-4b", "gsm8k")
    assert benchmark_settings(after, "gsm8k") == benchmark_settings(before, "gsm8k")
    both = study({"estimation.seed": 7, "seed": 3})
    assert generation_settings(both, "qwen3-4b", "gsm8k")["seed"] == 3
    assert group_estimates.split_settings(both)["seed"] == 7


# What every trace and label of the paper's study was made with so far; another dict, or order, would make all again.
QWEN3_8B = {
    "version": 1,
    "model": "qwen3-8b",
    "benchmark": "gsm8k",
    "engine": "vllm",
    "weights": "Qwen/Qwen3-8B",
    "revision": None,
    "local": False,
    "prompt": "solve-step-by-step",
    "prompt_version": 1,
    "samples": 1,
    "sampling": {"temperature": 0.5, "top_p": 1.0, "max_tokens": 2048},
    "top_k": 20,
    "seed": 42,
    "engine_args": {"dtype": "bfloat16"},
    "chat_template_kwargs": {"enable_thinking": False},
    "template_date": None,
    "lora": None,
    "lora_revision": None,
    "keep_top_token_ids": False,
    "environment": {},
}


def test_settings_of_existing_traces_and_labels_are_unchanged() -> None:
    config = study()
    assert repr(generation_settings(config, "qwen3-8b", "gsm8k")) == repr(QWEN3_8B)
    assert generation_settings(config, "gpt-oss-20b", "gsm8k")["template_date"] == "2025-11-01"
    texts = study({"generation.keep_top_tokens": True})
    assert generation_settings(texts, "qwen3-8b", "gsm8k") == QWEN3_8B | {"keep_top_tokens": True}
    people = study({"judges.people": {"kind": "file", "path": "x"}})
    expected_of_people = {"version": 1, "judge": "people", "kind": "file", "path": "x"}
    assert label_requests.judge_settings(people, "people", "scibench") == expected_of_people
    served = study({"models.qwen3-8b": {"api": {"model": "openai/x"}}})
    of_server = {"engine": "api", "api": {"model": "openai/x"}, "revision": None, "chat_template_kwargs": {}}
    expected = {key: value for key, value in QWEN3_8B.items() if key not in ("weights", "local")} | of_server
    assert generation_settings(served, "qwen3-8b", "gsm8k") == expected


def test_settings_of_a_stage_contain_only_what_it_depends_on() -> None:
    config = study()
    before = generation_settings(config, "phi-3.5-mini", "gsm8k")
    folds = study({"estimation.folds": 3})
    assert generation_settings(folds, "phi-3.5-mini", "gsm8k") == before
    warm = study({"models.qwen3-4b.sampling": {"temperature": 0.7}})
    assert generation_settings(warm, "qwen3-4b", "gsm8k")["sampling"]["temperature"] == 0.7
    assert generation_settings(warm, "phi-3.5-mini", "gsm8k") == before
    assert benchmark_settings(study({"limit": 5}), "gsm8k")["limit"] == 5


def test_the_fingerprint_of_a_folder_depends_on_content_and_not_on_time(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"a" * 100)
    first = fingerprint_folder(str(tmp_path))
    file.touch()
    (tmp_path / "README.md").write_text("not part of the model")
    assert fingerprint_folder(str(tmp_path)) == first
    file.write_bytes(b"a" * 99 + b"b")
    assert fingerprint_folder(str(tmp_path)) != first


def test_the_fingerprint_samples_all_parts_of_a_large_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_weights, "_WHOLE_BYTES", 1000)
    monkeypatch.setattr(model_weights, "_BLOCK_BYTES", 10)
    monkeypatch.setattr(model_weights, "_BLOCKS", 100)
    file = tmp_path / "model.safetensors"
    seen = {}
    for changed_part in (None, 0, 5, 9):
        parts = [bytes([number]) * 500 for number in range(10)]
        if changed_part is not None:
            parts[changed_part] = b"x" * 500
        file.write_bytes(b"".join(parts))
        seen[changed_part] = fingerprint_folder(str(tmp_path))
    assert len(set(seen.values())) == 4


def test_a_new_address_of_a_server_invalidates_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTROPY_SENTINEL_SERVERS", "{}")  # put back after the test
    api = {"model": "openai/x", "base_url": "http://one:8000/v1", "concurrency": 4}
    one = study({"models.qwen3-4b": {"api": api}})
    other = study({"models.qwen3-4b": {"api": api | {"base_url": "http://two:9000/v1", "retries": 1}}})
    assert generation_settings(one, "qwen3-4b", "gsm8k") == generation_settings(other, "qwen3-4b", "gsm8k")
    announce_servers(other)
    assert read_announced_server("models.qwen3-4b.api")["base_url"] == "http://two:9000/v1"
    with pytest.raises(ConfigError, match=r"models.phi-3.5-mini.api: the server's address has not reached this job"):
        read_announced_server("models.phi-3.5-mini.api")
    newer = study({"models.qwen3-4b": {"api": api, "revision": "b"}})
    assert generation_settings(newer, "qwen3-4b", "gsm8k") != generation_settings(one, "qwen3-4b", "gsm8k")


def test_gpus_of_a_job_follow_its_parallelism() -> None:
    arguments = {"tensor_parallel_size": 2, "pipeline_parallel_size": 3}
    assert generation_requests.count_gpus(study({"models.qwen3-4b.engine_args": arguments}), "qwen3-4b") == 6
    assert generation_requests.count_gpus(study({"models.qwen3-4b": {"api": {"model": "openai/x"}}}), "qwen3-4b") == 0
    assert generation_requests.count_gpus(study(), "qwen3-4b") == 1


def test_a_tolerance_is_a_setting_of_the_labels_of_its_benchmark_only() -> None:
    """The paper's three: of SciBench's, TheoremQA's and MatSciBench's own graders."""
    config = study()
    made_with = {"version": 6, "judge": "math-verify", "kind": "math-verify", "no_option": "incorrect"}
    result = {name: label_requests.judge_settings(config, "math-verify", name) for name in config.run.benchmarks}
    tolerances = {
        "scibench": {"relative": 0.05},
        "theoremqa": {"relative": 0.04, "whole_numbers": False},
        "matscibench": {"relative": 0.05},
    }
    assert result == {
        name: made_with | ({"tolerance": tolerances[name]} if name in tolerances else {})
        for name in config.run.benchmarks
    }
    assert "tolerance" not in benchmark_settings(config, "scibench")


def test_the_end_of_thinking_and_the_vocabulary_are_settings_of_features() -> None:
    before = study()
    model = PAPER["models"]["qwen3-8b"] | {"trace_after": "</think>", "vocabulary": 151936}
    after = study({"models.qwen3-8b": model})
    assert generation_settings(after, "qwen3-8b", "gsm8k") == generation_settings(before, "qwen3-8b", "gsm8k")
    assert feature_settings(before, "qwen3-8b") == {"trace_after": None, "vocabulary": None}
    assert feature_settings(after, "qwen3-8b") == {"trace_after": "</think>", "vocabulary": 151936}
