"""Engines that give no log-probabilities: text, labels and pages, and no features."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from fake_api import completion, fake_api, ok, quiet_litellm

from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.core.section_base import merge_sections
from entropy_sentinel.features.feature_registry import FEATURE_FRAME, FEATURES
from entropy_sentinel.llm_client.request_sending import Sender
from entropy_sentinel.llm_client.server_settings import SERVERS_VARIABLE
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.generation_schema import GENERATIONS
from entropy_sentinel.schemas.label_schema import LABELS
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.study.analyses.responses.response_page import write_page
from entropy_sentinel.study.cli.response_terminal import ModelFiles, describe_response
from entropy_sentinel.study.config.config_loading import load_config
from entropy_sentinel.study.config.generation_requests import generation_settings, server_settings
from entropy_sentinel.study.config.label_requests import judge_settings
from entropy_sentinel.study.stages.feature_stage import write_features
from entropy_sentinel.study.stages.generation_stage import write_generations
from entropy_sentinel.study.stages.label_stage import write_labels
from entropy_sentinel.study.stages.observation_stage import write_observations

pytestmark = quiet_litellm

PAPER = yaml.safe_load((Path(__file__).parents[3] / "config.yaml").read_text())
ANSWERS = {"1 + 1?": r"\boxed{2}", "1 + 2?": r"\boxed{4}", "1 + 3?": "I cannot say."}
REASON = "no log-probabilities: the engine gives none"


def study(model: dict[str, Any], **run: Any) -> Any:
    run = {"models": ["claude"], "benchmarks": ["gsm8k"], "groups": [], "sizes": [], "analyses": ["responses"]} | run
    return load_config(merge_sections(deepcopy(PAPER), {"run": run, "models": {"claude": model}}))


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    """A folder with the files of a study of such a server, stage by stage, and the requests that it was sent."""
    with pytest.MonkeyPatch.context() as patched:
        yield make_study(tmp_path_factory.mktemp("study"), patched)


def make_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[dict[str, Any]]]:
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(Sender, "FIRST_PAUSE_S", 0.01)
    questions = list(ANSWERS)
    ids = [f"gsm8k-{n:05d}" for n in range(3)]
    items = {"item_id": ids, "question": questions, "reference": ["2", "3", "4"], "duplicate_of": ids}
    files = {name: str(tmp_path / f"{name}.parquet") for name in ("items", "traces", "features", "labels", "seen")}
    BENCHMARKS.write(BENCHMARKS.frame(items), files["items"], {})

    def reply(body: dict[str, Any], _: int) -> Any:
        (question,) = [question for question in questions if question in body["messages"][-1]["content"]]
        return ok(completion(ANSWERS[question], steps=[], n_tokens=7))

    with fake_api(reply) as api:
        config = study({"api": {"model": "hosted_vllm/claude", "base_url": api.base_url, "logprobs": False}})
        monkeypatch.setenv(SERVERS_VARIABLE, json.dumps(server_settings(config)))
        write_generations(files["items"], generation_settings(config, "claude", "gsm8k"), 1, files["traces"])
    write_features(files["traces"], {"trace_after": None, "vocabulary": None}, files["features"])
    write_labels(files["items"], files["traces"], judge_settings(config, "math-verify", "gsm8k"), files["labels"], [])
    split = {"seed": 1, "test_share": 0.5}
    write_observations([files["items"]], [files["labels"]], [files["features"]], split, files["seen"])
    return tmp_path, api.requests


def test_from_request_to_page(answered: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, requests = answered
    assert len(requests) == 3
    assert not any({"logprobs", "top_logprobs"} & set(request) for request in requests)
    assert all(request["seed"] for request in requests)
    traces = GENERATIONS.check(GENERATIONS.read(folder / "traces.parquet"))
    assert traces["text"].to_list() == list(ANSWERS.values())
    assert traces["n_tokens"].to_list() == [7, 7, 7]
    assert traces["finish_reason"].to_list() == ["stop"] * 3
    for name in ("token_logprobs", "top_logprobs", "token_ids", "tokens"):
        assert traces[name].null_count() == 3
    about = read_provenance(folder / "traces.parquet")
    assert (about["logprobs_mode"], about["top_k_returned"]) == ("none", 0)

    features = FEATURE_FRAME.read(folder / "features.parquet")
    assert features["reason"].to_list() == [REASON] * 3
    assert features.select(FEATURES).null_count().row(0) == (3,) * len(FEATURES)
    assert features["n_tokens"].to_list() == [7, 7, 7]
    assert LABELS.read(folder / "labels.parquet")["label"].to_list() == [True, False, None]
    seen = OBSERVATIONS.read(folder / "seen.parquet")
    assert seen["label"].to_list() == [True, False, None]
    assert seen["feature_reason"].to_list() == [REASON] * 3

    page = folder / "page.html"
    paths = {name: [str(folder / f"{file}.parquet")] for name, file in PAGE_FILES.items()}
    write_page(
        {"observations": str(folder / "seen.parquet"), "scores": [], **paths},
        ["gsm8k"],
        {"label": "l", "model": "claude", "estimator": None, "per_kind": 1, "most_tokens": 9, "alternatives": 5},
        str(page),
    )
    shown = page.read_text()
    for text in (*ANSWERS.values(), ">right<", ">wrong<", ">no label<", "7 tokens"):
        assert text in shown
    assert "left out" not in shown
    parts = describe_response(
        ModelFiles(*(str(folder / f"{file}.parquet") for file in ("items", "traces", "labels", "seen")), None, None),
        *("gsm8k", ("gsm8k-00001", 0), "entropy", 5),
    )
    assert r"\boxed{4}" in [str(part) for part in parts]


PAGE_FILES = {"benchmarks": "items", "generations": "traces", "labels": "labels"}


def test_its_files_are_given_traces_where_the_config_says_what_they_lack(
    answered: tuple[Path, list[dict[str, Any]]], tmp_path: Path
) -> None:
    folder, _ = answered
    settings = {"version": 1, "model": "theirs", "benchmark": "gsm8k", "engine": "source", "samples": 1}
    settings |= {"sampling": {}, "source": str(folder / "traces.parquet"), "logprobs_mode": None}
    output = tmp_path / "taken.parquet"
    with pytest.raises(InputError, match="has no log-probabilities; set models.theirs.source_logprobs_mode: none"):
        write_generations(str(folder / "items.parquet"), settings, 1, str(output))
    bare = settings | {"logprobs_mode": "none"}
    write_generations(str(folder / "items.parquet"), bare, 1, str(output))
    assert GENERATIONS.read(output).equals(GENERATIONS.read(folder / "traces.parquet"))
    assert read_provenance(output)["top_k_returned"] == 0
    # A table of text, and one that has what the config denies.
    ids = ["gsm8k-00000", "gsm8k-00002"]
    table = pl.DataFrame({"item_id": ids, "text": ["2", "4"], "finish_reason": "stop"})
    source = tmp_path / "texts.parquet"
    table.write_parquet(source)
    write_generations(str(folder / "items.parquet"), bare | {"source": str(source)}, 1, str(output))
    taken = GENERATIONS.read(output)
    assert (taken["text"].to_list(), taken["n_tokens"].to_list()) == (["2", "4"], [0, 0])
    table.with_columns(token_logprobs=[-0.5], top_logprobs=[[-0.5] * 20]).write_parquet(source)
    with pytest.raises(InputError, match="row 0: 'token_logprobs' must be null, .*models.theirs.source_logprobs_mode"):
        write_generations(str(folder / "items.parquet"), bare | {"source": str(source)}, 1, str(output))


def test_a_log_without_log_probabilities_can_be_a_source(answered: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, _ = answered
    log, output = folder / "gsm8k.jsonl", folder / "logged.parquet"
    log.write_text(json.dumps(completion("3", steps=[], n_tokens=4) | {"id": "gsm8k-00001"}) + "\n")
    settings = {"version": 1, "model": "theirs", "benchmark": "gsm8k", "engine": "source", "samples": 1}
    settings |= {"sampling": {}, "source": str(log), "logprobs_mode": "none"}
    write_generations(str(folder / "items.parquet"), settings, 1, str(output))
    assert GENERATIONS.read(output, ["text", "token_logprobs"]).rows() == [("3", None)]


API = {"api": {"model": "anthropic/claude-3-5-haiku-20241022", "logprobs": False}}
FOLDER = {"source": str(Path(__file__).parents[2] / "data"), "source_logprobs_mode": "none"}


@pytest.mark.parametrize(("model", "key"), [(API, "api.logprobs: false"), (FOLDER, "source_logprobs_mode: none")])
def test_what_needs_features_is_refused_before_anything_runs(model: dict[str, Any], key: str) -> None:
    told = rf"models.claude.{key}: without log-probabilities nothing can be trained or estimated, .* \(accuracy\)"
    with pytest.raises(ConfigError, match=told + ": leave the model out of run.models"):
        study(model, analyses=["responses", "accuracy"], benchmarks=["gsm8k", "svamp"], sizes=[{"size": 1}])
    with pytest.raises(ConfigError, match="run.features has 'forced_answer'"):
        study(model, features=["tokens", "forced_answer"])


def test_settings_of_other_servers_stay_as_they_were() -> None:
    message = {"api": {"model": "openai/gpt-4o"}}
    for model in (message, {"api": message["api"] | {"logprobs": True}}):
        assert generation_settings(study(model), "claude", "gsm8k")["api"] == {"model": "openai/gpt-4o"}
    bare = generation_settings(study(API), "claude", "gsm8k")["api"]
    assert bare == {"model": "anthropic/claude-3-5-haiku-20241022", "logprobs": False}
    assert "logprobs" not in server_settings(study(API))["models.claude.api"]


@pytest.mark.parametrize(
    ("model", "left_out"), [("anthropic/claude-3-5-haiku-20241022", True), ("xai/grok-3-mini", False)]
)
def test_a_seed_is_not_sent_to_a_provider_that_takes_none(model: str, left_out: bool, tmp_path: Path) -> None:
    sender = Sender("models.x.api", model, None, 1, 0, None)  # type: ignore[arg-type]  # no call is counted
    assert bool(sender._seed_options) is left_out
