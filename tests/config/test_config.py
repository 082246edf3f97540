"""The configuration: what is accepted, and what a person reads when it is not."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from entropy_sentinel.chat.settings import announced_server
from entropy_sentinel.config import estimates, generations, judging
from entropy_sentinel.config.config import load_config
from entropy_sentinel.config.estimates import training_groups
from entropy_sentinel.config.generations import (
    announce_servers,
    benchmark_settings,
    feature_settings,
    generation_settings,
)
from entropy_sentinel.engines import weights
from entropy_sentinel.engines.weights import folder_fingerprint
from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.frames.sections import merged

ROOT = Path(__file__).parents[2]
PAPER = yaml.safe_load((ROOT / "config.yaml").read_text())


def changed(path: str, value: Any) -> dict[str, Any]:
    """The paper's configuration with one key set, `a.b.c` or `a.0` for a list."""
    config = deepcopy(PAPER)
    *parents, last = path.split(".")
    node = config
    for name in parents:
        node = node[int(name)] if isinstance(node, list) else node[name]
    node[last] = value
    return config


def refusal(config: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as error:
        load_config(config, "config.yaml")
    return str(error.value)


def test_the_papers_study_has_its_groups_and_configurations() -> None:
    config = load_config(PAPER)
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


def test_unknown_key_names_place_and_known_keys() -> None:
    message = refusal(changed("models.qwen3-4b.temprature", 0.7))
    assert message.startswith("config.yaml: models.qwen3-4b: unknown key 'temprature'; known keys: id, revision, ")


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("generation.environment", {"HF_TOKEN": "x"}, "'HF_TOKEN' looks like a secret"),
        ("models.qwen3-4b.sampling", {"temprature": 0.7}, "models.qwen3-4b.sampling: unknown key 'temprature'; known"),
        ("judges.math-verify.kind", "math", "judges.math-verify: must be a section with 'kind': math-verify or llm"),
        ("models.qwen3-8b.path", "somewhere", "models.qwen3-8b: needs exactly one of 'id'"),
        ("benchmarks.gsm8k.reference", ["answer"], "reference: 'answer' must name columns, each as {column}"),
        ("generation.engine_args", {"model": "a/b"}, "'model' is set by the pipeline; set models.<name>.id or models"),
        (
            "generation.engine_args",
            {"logprobs_mode": "processed_logprobs"},
            "'logprobs_mode' is set by the pipeline; set",
        ),
        ("generation.engine_args", {"max-logprobs": 5}, "'max-logprobs' is not a keyword argument"),
        ("models.qwen3-4b.rates", {"speed": 1}, "models.qwen3-4b.rates: unknown key 'speed'; known keys: tokens_per_r"),
        ("models.qwen3-4b.id", "/my/folder", "must be a Hugging Face id, owner/name; a folder with weights goes to"),
        (
            "judges.x",
            {"kind": "math-verify", "path": "a"},
            "judges.x: 'path' (a folder of labels) goes with kind 'file'",
        ),
        ("study", "ab" * 20, "study: must not end with 20"),
        ("models.x", {"api": {"model": "a"}, "lora": "b"}, "models.x: 'lora' cannot be sent to a server"),
        (
            "models.x",
            {"api": {"model": "a"}, "template_date": "2025-11-01"},
            "models.x: 'template_date' cannot be sent",
        ),
        (
            "models.x",
            {"api": {"model": "ollama_chat/qwen3:4b"}},
            "models.x.api.model: LiteLLM cannot ask 'ollama_chat/' for log-probabilities; Ollama's other address has "
            "them: {model: hosted_vllm/qwen3:4b, base_url: http://localhost:11434/v1}",
        ),
        ("models.x", {"path": "a", "revision": "b"}, "models.x: 'revision' goes with 'id' and 'api'"),
        (
            "benchmarks.x",
            {"path": "a.jsonl", "revision": "b", "question": ["{q}"], "reference": ["{a}"]},
            "benchmarks.x: 'revision' needs 'dataset'",
        ),
        (
            "judges.labels",
            {"kind": "math-verify"},
            "judges.labels: the study has another folder 'labels'; choose another name",
        ),
        ("models.qwen3-4b.lora", "nowhere", "models.qwen3-4b.lora: must be a folder with an adapter_config.json"),
    ],
)
def test_refusals_say_where_and_what(path: str, value: Any, expected: str) -> None:
    assert expected in refusal(changed(path, value))


@pytest.mark.parametrize("address", ["https://me:sk-1a2b3c@example.org/v1", "https://example.org/v1?key=sk-1a2b3c"])
def test_an_address_with_a_secret_is_refused_without_showing_it(address: str) -> None:
    message = refusal(changed("models.x", {"api": {"model": "openai/a", "base_url": address}}))
    assert "models.x.api: base_url must be an address without user, password and query" in message
    assert "sk-1a2b3c" not in message


def test_names_with_the_words_for_secrets_in_them_may_be_none() -> None:
    environment = {"TOKENIZERS_PARALLELISM": "false", "MONKEY": "x"}
    assert load_config(changed("generation.environment", environment)).generation.environment == environment
    arguments = {"long_prefill_token_threshold": 4, "max_num_batched_tokens": 512, "hf_token": True}
    assert load_config(changed("generation.engine_args", arguments)).generation.engine_args == arguments


def test_sampling_of_a_model_holds_numbers_and_what_was_given_alone() -> None:
    config = load_config(changed("models.qwen3-4b.sampling", {"temperature": "0.7"}))
    assert config.models["qwen3-4b"].sampling == {"temperature": 0.7}


def test_missing_model_folder_names_it() -> None:
    config = changed("models.qwen3-8b", {"path": "models/none"})
    assert "models.qwen3-8b.path: must be a folder with a config.json; 'models/none' has none" in refusal(config)


_GGUF_REMEDY = (
    ": make such a folder of it with Transformers, or serve it with llama.cpp and name the server with 'api' in place "
    "of 'path' (docs/inputs.md, 'A GGUF file')"
)


@pytest.mark.parametrize(
    ("files", "path", "found"),
    [
        ([], "{folder}/Q4.GGUF", "'{folder}/Q4.GGUF' is a GGUF file"),  # also where it is not there
        (["q4.gguf"], "{folder}/q4.gguf", "'{folder}/q4.gguf' is a GGUF file"),
        (["b.gguf", "a.gguf"], "{folder}", "'{folder}' holds a GGUF file alone, 'a.gguf'"),
        # As repositories of the hub have it: vLLM would find no weights beside the config.
        (["q4.gguf", "config.json"], "{folder}", "'{folder}' holds a GGUF file alone, 'q4.gguf'"),
    ],
)
def test_a_gguf_file_as_weights_is_told_with_what_to_do(
    tmp_path: Path, files: list[str], path: str, found: str
) -> None:
    for name in files:
        (tmp_path / name).write_text("")
    message = refusal(changed("models.qwen3-8b", {"path": path.format(folder=tmp_path)}))
    must = "models.qwen3-8b.path: must be a folder of safetensors with a config.json; "
    assert must + found.format(folder=tmp_path) + _GGUF_REMEDY in message


def test_a_gguf_file_is_no_id_of_the_hub() -> None:
    message = refusal(changed("models.qwen3-8b", {"id": "q4.gguf"}))
    assert "models.qwen3-8b.id: must be a Hugging Face id, owner/name; weights on this machine go to 'path'" in message
    assert "'q4.gguf' is a GGUF file" + _GGUF_REMEDY in message


def test_an_unknown_name_is_told_before_a_missing_file() -> None:
    config = changed("models.qwen3-8b", {"path": "models/none"})
    config["run"]["benchmarks"] = ["gsm8k", "mathe"]
    assert refusal(config) == (
        "config.yaml: unknown name in run.benchmarks: 'mathe'; known: gsm8k, svamp, gsm-symbolic, math, theoremqa, "
        "scibench, matscibench, olympiadbench, livemathbench, gpqa"
    )


def test_a_null_takes_back_what_another_file_sets() -> None:
    api = {"id": None, "revision": None, "lora": None, "api": {"model": "hosted_vllm/qwen3-4b"}}
    assert load_config(changed("models.qwen3-4b", api)).models["qwen3-4b"].kind == "api"
    assert load_config(changed("judges.math-verify.path", None)).judges["math-verify"].kind == "math-verify"


def test_numbers_that_yaml_or_snakemake_read_as_text_are_numbers() -> None:
    # `1e-1` is text to YAML 1.1, and --config 'estimation={trees: 30}' gives text for all values in braces.
    config = load_config(changed("estimation.test_share", "1e-1"))
    assert config.estimation.test_share == 0.1
    assert load_config(changed("estimation.trees", "30")).estimation.trees == 30


def test_a_tokenizer_may_be_named() -> None:
    arguments = {"tokenizer": "a/b", "tokenizer_mode": "slow"}
    config = load_config(changed("models.qwen3-4b.engine_args", arguments))
    assert generation_settings(config, "qwen3-4b", "gsm8k")["engine_args"] == {"dtype": "bfloat16", **arguments}


def test_estimation_has_a_seed_of_its_own() -> None:
    before, after = load_config(PAPER), load_config(changed("estimation.seed", 7))
    for config, seed in ((before, 42), (after, 7)):
        assert estimates.split_settings(config) == {"test_share": 0.2, "seed": seed}
        settings = estimates.estimation_settings(config, ["baseline-ppl"])
        assert (settings["seed"], settings["estimators"]) == (seed, ["baseline-ppl"])
    assert generation_settings(after, "qwen3-4b", "gsm8k") == generation_settings(before, "qwen3-4b", "gsm8k")
    assert benchmark_settings(after, "gsm8k") == benchmark_settings(before, "gsm8k")
    both = changed("estimation.seed", 7) | {"seed": 3}
    assert generation_settings(load_config(both), "qwen3-4b", "gsm8k")["seed"] == 3
    assert estimates.split_settings(load_config(both))["seed"] == 7


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
    "trace_after": None,
    "lora": None,
    "lora_revision": None,
    "keep_top_token_ids": False,
    "environment": {},
}


def test_settings_that_traces_and_labels_were_made_with_stay_the_same() -> None:
    config = load_config(PAPER)
    assert repr(generation_settings(config, "qwen3-8b", "gsm8k")) == repr(QWEN3_8B)
    assert generation_settings(config, "gpt-oss-20b", "gsm8k")["template_date"] == "2025-11-01"
    texts = load_config(merged(deepcopy(PAPER), {"generation": {"keep_top_tokens": True}}))
    assert generation_settings(texts, "qwen3-8b", "gsm8k") == QWEN3_8B | {"keep_top_tokens": True}
    people = load_config(
        changed("judges", {"math-verify": {"kind": "math-verify"}, "people": {"kind": "file", "path": "x"}})
    )
    expected_of_people = {"version": 1, "judge": "people", "kind": "file", "path": "x"}
    assert judging.judge_settings(people, "people", "scibench") == expected_of_people
    served = load_config(changed("models.qwen3-8b", {"api": {"model": "openai/x"}}))
    of_server = {"engine": "api", "api": {"model": "openai/x"}, "revision": None, "chat_template_kwargs": {}}
    expected = {key: value for key, value in QWEN3_8B.items() if key not in ("weights", "local")} | of_server
    assert generation_settings(served, "qwen3-8b", "gsm8k") == expected


def test_settings_of_a_stage_hold_what_it_depends_on_and_no_more() -> None:
    config = load_config(PAPER)
    before = generation_settings(config, "phi-3.5-mini", "gsm8k")
    folds = load_config(changed("estimation.folds", 3))
    assert generation_settings(folds, "phi-3.5-mini", "gsm8k") == before
    warm = load_config(changed("models.qwen3-4b.sampling", {"temperature": 0.7}))
    assert generation_settings(warm, "qwen3-4b", "gsm8k")["sampling"]["temperature"] == 0.7
    assert generation_settings(warm, "phi-3.5-mini", "gsm8k") == before
    assert benchmark_settings(load_config(changed("limit", 5)), "gsm8k")["limit"] == 5


def test_folder_fingerprint_sees_content_not_time(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"a" * 100)
    first = folder_fingerprint(str(tmp_path))
    file.touch()
    (tmp_path / "README.md").write_text("not part of the model")
    assert folder_fingerprint(str(tmp_path)) == first
    file.write_bytes(b"a" * 99 + b"b")
    assert folder_fingerprint(str(tmp_path)) != first


def test_folder_fingerprint_looks_all_over_a_large_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "_WHOLE_BYTES", 1000)
    monkeypatch.setattr(weights, "_BLOCK_BYTES", 10)
    monkeypatch.setattr(weights, "_BLOCKS", 100)
    file = tmp_path / "model.safetensors"
    seen = {}
    for changed_part in (None, 0, 5, 9):
        parts = [bytes([number]) * 500 for number in range(10)]
        if changed_part is not None:
            parts[changed_part] = b"x" * 500
        file.write_bytes(b"".join(parts))
        seen[changed_part] = folder_fingerprint(str(tmp_path))
    assert len(set(seen.values())) == 4


def test_address_of_a_server_is_no_reason_to_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTROPY_SENTINEL_SERVERS", "{}")  # put back after the test
    api = {"model": "openai/x", "base_url": "http://one:8000/v1", "concurrency": 4}
    one = load_config(changed("models.qwen3-4b", {"api": api}))
    other = load_config(changed("models.qwen3-4b", {"api": api | {"base_url": "http://two:9000/v1", "retries": 1}}))
    assert generation_settings(one, "qwen3-4b", "gsm8k") == generation_settings(other, "qwen3-4b", "gsm8k")
    announce_servers(other)
    assert announced_server("models.qwen3-4b.api")["base_url"] == "http://two:9000/v1"
    with pytest.raises(ConfigError, match=r"models.phi-3.5-mini.api: the server's address has not reached this job"):
        announced_server("models.phi-3.5-mini.api")
    newer = load_config(changed("models.qwen3-4b", {"api": api, "revision": "b"}))
    assert generation_settings(newer, "qwen3-4b", "gsm8k") != generation_settings(one, "qwen3-4b", "gsm8k")


def test_gpus_of_a_job_follow_its_parallelism() -> None:
    arguments = {"tensor_parallel_size": 2, "pipeline_parallel_size": 3}
    assert generations.gpus(load_config(changed("models.qwen3-4b.engine_args", arguments)), "qwen3-4b") == 6
    assert generations.gpus(load_config(changed("models.qwen3-4b", {"api": {"model": "openai/x"}})), "qwen3-4b") == 0
    assert generations.gpus(load_config(PAPER), "qwen3-4b") == 1


def test_a_tolerance_is_a_setting_of_the_labels_of_its_benchmark_alone() -> None:
    """The paper's three: of SciBench's, TheoremQA's and MatSciBench's own graders."""
    config = load_config(PAPER)
    made_with = {"version": 4, "judge": "math-verify", "kind": "math-verify"}
    found = {name: judging.judge_settings(config, "math-verify", name) for name in config.run.benchmarks}
    tolerances = {
        "scibench": {"relative": 0.05},
        "theoremqa": {"relative": 0.04, "whole_numbers": False},
        "matscibench": {"relative": 0.05},
    }
    assert found == {
        name: made_with | ({"tolerance": tolerances[name]} if name in tolerances else {})
        for name in config.run.benchmarks
    }
    assert "tolerance" not in benchmark_settings(config, "scibench")


@pytest.mark.parametrize(
    ("tolerance", "expected"),
    [
        ({"relative": 0.05, "significant_digits": 3}, "needs exactly one of 'relative'"),
        ({}, "needs exactly one of 'relative'"),
        ({"relative": 5}, "tolerance.relative"),
        ({"significant_digits": "three"}, "tolerance.significant_digits"),
        ({"absolute": 0.1}, "unknown key 'absolute'; known keys: relative, significant_digits, whole_numbers"),
    ],
)
def test_a_tolerance_that_means_nothing_is_refused(tolerance: dict, expected: str) -> None:
    assert expected in refusal(changed("benchmarks.scibench.tolerance", tolerance))


def test_the_end_of_thinking_and_the_vocabulary_are_matters_of_features() -> None:
    before = load_config(PAPER)
    model = PAPER["models"]["qwen3-8b"] | {"trace_after": "</think>", "vocabulary": 151936}
    after = load_config(changed("models.qwen3-8b", model))
    assert generation_settings(after, "qwen3-8b", "gsm8k") == generation_settings(before, "qwen3-8b", "gsm8k")
    assert feature_settings(before, "qwen3-8b") == {"trace_after": None, "vocabulary": None}
    assert feature_settings(after, "qwen3-8b") == {"trace_after": "</think>", "vocabulary": 151936}
