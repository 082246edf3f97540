"""The command that starts a server for a model, and the config files that it is made of."""

import sys
from pathlib import Path

import pytest
import yaml
from calling import run
from snakemake.utils import update_config
from studies import study

from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config.generation_requests import generation_settings, served_settings, write_config_snippet
from entropy_sentinel.study.engines.vllm_server import build_server_command, build_server_environment, format_option

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def with_model(tmp_path: Path, text: str) -> str:
    path = tmp_path / "more.yaml"
    path.write_text(f"models: {{mine: {text}}}")
    return str(path)


def adapter(tmp_path: Path) -> Path:
    folder = tmp_path / "adapter"
    folder.mkdir()
    (folder / "adapter_config.json").write_text("{}")
    return folder


def test_files_are_merged_as_snakemake_does(tmp_path: Path) -> None:
    more = tmp_path / "more.yaml"
    more.write_text("run: {models: [a]}\nmodels: {a: {id: b/c}}\nlimit: {of: 3}\ngeneration: {environment: {}}")
    files = ["config.yaml", "demo/config.yaml", more]
    expected: dict = {}
    for file in files:
        update_config(expected, yaml.safe_load(Path(file).read_text()))
    assert read_config(files) == expected
    assert expected["run"]["models"] == ["a"]
    assert {"a", "tiny-1m", "qwen3-8b"} <= set(expected["models"])


def test_command_is_the_offline_engine_as_a_server(capsys: pytest.CaptureFixture) -> None:
    status, printed, _ = run(capsys, "serve", "tiny-1m", "--configfile", "demo/config.yaml", "--port", 8123, "--print")
    assert status == 0
    assert printed.split() == [
        *("OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1", "VLLM_CPU_KVCACHE_SPACE=1", "VLLM_CPU_OMP_THREADS_BIND=nobind"),
        *("VLLM_ENABLE_V1_MULTIPROCESSING=0", "HF_HUB_OFFLINE=1", "TORCH_COMPILE_DISABLE=1"),
        *(sys.executable, "-m", "vllm.entrypoints.openai.api_server"),
        *("--model", "demo/models/tiny-1m", "--served-model-name", "tiny-1m", "--host", "127.0.0.1", "--port", "8123"),
        *("--max-logprobs", "20", "--logprobs-mode", "raw_logprobs", "--generation-config", "vllm", "--seed", "42"),
        *("--dtype", "float32", "--enforce-eager", "--no-enable-chunked-prefill", "--max-model-len", "512"),
        *("--block-size", "32"),
    ]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, ["--an-arg"]),
        (False, ["--no-an-arg"]),
        (None, []),
        (0.5, ["--an-arg", "0.5"]),
        ({"a": [1, None]}, ["--an-arg", '{"a": [1, null]}']),
        (["x", "y"], ["--an-arg", "x", "y"]),
    ],
)
def test_engine_arguments_become_flags(value: object, words: list[str]) -> None:
    assert format_option("an_arg", value) == words


def test_lora_is_served_under_the_models_name(tmp_path: Path) -> None:
    lora = adapter(tmp_path)
    config = study({"models.mine": {"id": "a/b", "revision": "c0ffee", "lora": str(lora)}})
    command = " ".join(build_server_command(served_settings(config, "mine"), "0.0.0.0", 1))
    assert "--model a/b --revision c0ffee --served-model-name mine-base" in command
    assert f"--enable-lora --lora-modules mine={lora}" in command


def test_pinned_date_reaches_the_server() -> None:
    environment = build_server_environment(served_settings(study(), "gpt-oss-20b"), 1)
    assert environment["VLLM_SYSTEM_START_DATE"] == "2025-11-01"


@pytest.mark.parametrize("model", ["gpt-oss-20b", "qwen3-8b", "mine"])
def test_the_snippet_replaces_the_engine_by_the_server(tmp_path: Path, model: str) -> None:
    files = ["config.yaml", with_model(tmp_path, f"{{id: a/b, revision: c0ffee, lora: {adapter(tmp_path)}}}")]
    before = load_config(read_config(files))
    (tmp_path / "served.yaml").write_text(write_config_snippet(before, model, "http://localhost:8000/v1"))
    after = load_config(read_config([*files, tmp_path / "served.yaml"]))
    old, new = (generation_settings(config, model, "gsm8k") for config in (before, after))
    assert new["engine"] == "api"
    assert new["api"]["model"] == f"hosted_vllm/{model}"
    assert after.models[model].api.base_url == "http://localhost:8000/v1"
    assert new["revision"] == old["revision"]
    assert new["lora"] is new["template_date"] is None
    kept = {"model", "prompt", "sampling", "seed", "chat_template_kwargs"}
    assert {key: new[key] for key in kept} == {key: old[key] for key in kept}


def test_what_cannot_be_served_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    status, _, message = run(capsys, "serve", "phi")
    assert (status, message.startswith("ConfigError: no model 'phi'; known: phi-3.5-mini, ")) == (1, True)
    more = with_model(tmp_path, "{api: {model: openai/x}}")
    status, _, message = run(capsys, "serve", "mine", "--configfile", more)
    assert (status, "models.mine: must have 'id' or 'path'" in message) == (1, True)
