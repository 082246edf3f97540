"""The configuration: what is accepted, and what a person reads when it is not."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from entropy_sentinel.config import study, weights
from entropy_sentinel.config.config import load_config
from entropy_sentinel.config.schema import json_schema
from entropy_sentinel.config.study import benchmark_settings, generation_settings, training_groups
from entropy_sentinel.config.weights import folder_fingerprint
from entropy_sentinel.estimators.catalogue import CONFIGURATIONS
from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.jobs.servers import announce_servers, announced_server

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
    assert len(groups["gsm8k+olympiadbench"]) == 48 + 9 + 13
    leave_one_out = next(group for group in groups if group.count("+") == 8)
    assert groups[leave_one_out][0] == "forest-10d-balanced-isotonic"
    assert len(groups[leave_one_out]) == 1 + 9 + 13
    # 9 models x 385 groups x 48 configurations, the paper's number of configurations.
    assert 9 * sum(len(names) - 22 for group, names in groups.items() if group.count("+") < 8) == 166_320


def test_48_configurations_have_48_names() -> None:
    assert len({configuration.name for configuration in CONFIGURATIONS}) == 48


def test_unknown_key_names_place_and_known_keys() -> None:
    message = refusal(changed("models.qwen3-4b.temprature", 0.7))
    assert message.startswith("config.yaml: models.qwen3-4b: unknown key 'temprature'; known keys: id, revision, ")


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("run.models", ["gpt-5"], "run.models: 'gpt-5'; known: phi-3.5-mini"),
        ("run.groups", ["extreme"], "run.groups: 'extreme'; known: extremes, intermediate"),
        ("estimation.default", "forest-11d", "unknown configuration 'forest-11d'; known: logistic-17d"),
        ("estimation.beside", ["entropy"], "unknown estimator in beside: 'entropy'; known: logistic-17d"),
        ("estimation.folds", 1, "estimation.folds: Input should be greater than or equal to 2; it was 1"),
        ("generation.prompt", "solve", "unknown prompt 'solve'; known: solve-step-by-step"),
        ("generation.environment", {"HF_TOKEN": "x"}, "'HF_TOKEN' looks like a secret"),
        ("models.qwen3-4b.sampling", {"temprature": 0.7}, "models.qwen3-4b.sampling: unknown key 'temprature'; known"),
        ("limit", 0, "limit: Input should be greater than or equal to 1; it was 0"),
        ("judges.math-verify.kind", "math", "judges.math-verify: must be a section with 'kind': math-verify or file"),
        ("models.qwen3-8b.path", "somewhere", "models.qwen3-8b: needs exactly one of 'id'"),
        ("benchmarks.gsm8k.dataset", None, "benchmarks.gsm8k: needs exactly one of 'dataset'"),
        ("study", "a/b", "study: String should match pattern"),
        ("benchmarks.gsm8k.reference", ["{answer"], "reference: '{answer' is no format string: expected"),
        ("benchmarks.gsm8k.reference", ["answer"], "reference: 'answer' must name columns, each as {column}"),
        ("benchmarks.gsm8k.reference", ["{answer:.2f}"], "'{answer:.2f}' must name columns, each as {column}"),
        ("run.models", ["qwen3-4b", "qwen3-8b", "qwen3-4b"], "run.models: 'qwen3-4b' is there twice"),
        ("run.benchmarks", ["gsm8k", "gsm8k"], "run.benchmarks: 'gsm8k' is there twice"),
        ("run.judges", ["math-verify"] * 2, "run.judges: 'math-verify' is there twice"),
        ("study", "ab" * 20, "study: must not end with 20 times the same"),
        ("run.groups", ["extremes"] * 2, "run.groups: 'extremes' is there twice"),
        ("groups.extremes.benchmarks", ["gsm8k"] * 2, "groups.extremes.benchmarks: 'gsm8k' is there twice"),
        (
            "models.qwen3-4b.sampling",
            {"temperature": "warm"},
            "models.qwen3-4b.sampling.temperature: Input should be a",
        ),
        (
            "estimation.max_depth",
            [3, 0],
            "estimation.max_depth.1: Input should be greater than or equal to 1; it was 0",
        ),
        (
            "estimation.min_samples_split",
            [1],
            "estimation.min_samples_split.0: Input should be greater than or equal to 2",
        ),
        ("estimation.hidden_layers", [[5], []], "estimation.hidden_layers.1: List should have at least 1 item"),
        (
            "estimation.hidden_layers",
            [[5, 0]],
            "estimation.hidden_layers.0.1: Input should be greater than or equal to 1",
        ),
        ("models.x", {"api": {"model": "a"}, "lora": "b"}, "models.x: 'lora' cannot be sent to a server"),
        (
            "models.x",
            {"api": {"model": "a"}, "template_date": "2025-11-01"},
            "models.x: 'template_date' cannot be sent",
        ),
        ("models.x", {"path": "a", "revision": "b"}, "models.x: 'revision' goes with 'id' and 'api'"),
        ("models.x", {"source": "a", "revision": "b"}, "models.x: 'revision' goes with 'id' and 'api'"),
        (
            "benchmarks.x",
            {"path": "a.jsonl", "revision": "b", "question": ["{q}"], "reference": ["{a}"]},
            "benchmarks.x: 'revision' goes with 'dataset'",
        ),
        ("judges.labels", {"kind": "math-verify"}, "judges.labels: its results would go to the folder of the stage"),
        ("models.qwen3-4b.lora", "nowhere", "models.qwen3-4b.lora: must be a folder with an adapter_config.json"),
        ("generation.environment", {"AWS_SECRET_ACCESS_KEY": "x"}, "generation: environment: 'AWS_SECRET_ACCESS_KEY'"),
        ("generation.engine_args", {"hf_token": "x"}, "generation: engine_args: 'hf_token' looks like a secret"),
        ("models.qwen3-4b.engine_args", {"hf_token": "x"}, "models.qwen3-4b: engine_args: 'hf_token' looks like"),
        ("models.qwen3-4b.chat_template_kwargs", {"api_key": "x"}, "chat_template_kwargs: 'api_key' looks like"),
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


def test_folder_of_an_adapter_is_taken(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    assert load_config(changed("models.qwen3-4b.lora", str(tmp_path))).models["qwen3-4b"].lora == str(tmp_path)


def test_missing_folder_of_a_model_that_is_not_run_is_no_matter() -> None:
    config = changed("models.later", {"path": "models/none"})
    assert "later" in load_config(config).models


def test_missing_benchmark_file_names_it() -> None:
    gsm8k = {"path": "rows.jsonl", "question": ["{q}"], "reference": ["{a}"]}
    assert "benchmarks.gsm8k.path: must be a file; there is none at 'rows.jsonl'" in refusal(
        changed("benchmarks.gsm8k", gsm8k)
    )


def test_all_problems_are_reported_at_once() -> None:
    config = changed("estimation.folds", 1)
    config["seed"] = -1
    assert len(refusal(config).splitlines()) == 2


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
    assert announced_server("qwen3-4b")["base_url"] == "http://two:9000/v1"
    with pytest.raises(ConfigError, match=r"models.phi-3.5-mini.api: the server's address has not reached this job"):
        announced_server("phi-3.5-mini")
    newer = load_config(changed("models.qwen3-4b", {"api": api, "revision": "b"}))
    assert generation_settings(newer, "qwen3-4b", "gsm8k") != generation_settings(one, "qwen3-4b", "gsm8k")


def test_gpus_of_a_job_follow_its_parallelism() -> None:
    arguments = {"tensor_parallel_size": 2, "pipeline_parallel_size": 3}
    assert study.gpus(load_config(changed("models.qwen3-4b.engine_args", arguments)), "qwen3-4b") == 6
    assert study.gpus(load_config(changed("models.qwen3-4b", {"api": {"model": "openai/x"}})), "qwen3-4b") == 0
    assert study.gpus(load_config(PAPER), "qwen3-4b") == 1


def test_schema_file_has_not_drifted() -> None:
    schema = ROOT / "workflow" / "schemas" / "config.schema.json"
    assert schema.read_text() == json_schema(), "run: entropy-sentinel schema -o workflow/schemas/config.schema.json"
