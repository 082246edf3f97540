"""What a run would lack, told before its first job."""

import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml
from calling import run
from huggingface_hub import HfApi, errors
from study_trees import make, make_all, small_study

from entropy_sentinel.core.section_base import merge_sections
from entropy_sentinel.llm_client.reply_cache import ReplyCache
from entropy_sentinel.study.config.config_loading import Config, load_config
from entropy_sentinel.study.planning.file_plan import plan_files
from entropy_sentinel.study.planning.preflight import hub_access
from entropy_sentinel.study.planning.preflight.hub_access import find_missing_access
from entropy_sentinel.study.planning.preflight.machine_resources import (
    Executor,
    find_broken_accounting,
    find_full_disk,
    find_missing_gpus,
    parse_gpu_counts,
)
from entropy_sentinel.study.planning.preflight.pending_work import PendingWork
from entropy_sentinel.study.planning.preflight.preflight_checks import find_problems
from entropy_sentinel.study.planning.preflight.preflight_problem import Problem, ProblemCode, Severity
from entropy_sentinel.study.planning.preflight.row_counts import find_small_groups
from entropy_sentinel.study.planning.preflight.server_keys import find_missing_keys

GROK = {"kind": "llm", "model": "xai/grok-4-1-fast-reasoning"}
EXACT = {"kind": "math-verify"}


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, a machine without keys, and a hub that does not answer."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.endswith(("_API_KEY", "_TOKEN")) or name.startswith("HF_"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(HfApi, "auth_check", refuse(ConnectionError()))


def refuse(error: Exception) -> Any:
    def answer(*_: Any, **__: Any) -> None:
        raise error

    return answer


def refusal(kind: type[errors.HfHubHTTPError]) -> Exception:
    """An error of the hub, without the reply that it would have."""
    return kind.__new__(kind)


def raw_study(judges: dict[str, Any], judge: str, **changes: Any) -> dict[str, Any]:
    raw = small_study(**changes)
    raw["judges"] = judges
    raw["run"]["judges"] = [judge]
    return raw


def pending(config: Config) -> PendingWork:
    return PendingWork(config, plan_files(config).to_make)


def codes(problems: Any) -> list[tuple[ProblemCode, Severity, str]]:
    return [(problem.code, problem.severity, problem.key) for problem in problems]


MISSING = [(ProblemCode.MISSING_KEY, Severity.ERROR, "judges.grok")]


@pytest.mark.parametrize(
    ("judges", "judge", "expected"),
    [
        ({"grok": GROK}, "grok", MISSING),
        ({"exact": EXACT}, "exact", []),
        ({"grok": GROK, "exact": EXACT, "cheap": {"kind": "first_of", "judges": ["exact", "grok"]}}, "cheap", MISSING),
        ({"grok": {**GROK, "model": "hosted_vllm/mine", "base_url": "http://localhost:8000/v1"}}, "grok", []),
        ({"grok": {"kind": "llm", "served": "qwen3-4b"}}, "grok", []),
    ],
)
def test_keys_of_judges(judges, judge, expected) -> None:
    raw = raw_study(judges, judge)
    raw["models"]["qwen3-4b"]["revision"] = "main"
    assert codes(find_missing_keys(pending(load_config(raw)))) == expected


def test_a_key_is_needed_only_for_work_that_is_left() -> None:
    config = load_config(raw_study({"grok": GROK, "exact": EXACT}, "grok"))
    (problem,) = find_missing_keys(PendingWork.from_absent_files(config))
    assert "XAI_API_KEY" in problem.message
    # What the remedy proposes works.
    assert "`run: {judges: [exact]}`" in problem.remedy
    assert not list(find_missing_keys(pending(load_config(raw_study({"grok": GROK, "exact": EXACT}, "exact")))))
    make_all(config)
    assert not list(find_missing_keys(PendingWork.from_absent_files(config)))
    assert not list(find_missing_keys(pending(config)))
    keep_responses(Path("results/paper"))
    assert codes(find_missing_keys(pending(config))) == MISSING


def keep_responses(study: Path) -> None:
    """Delete what is made of a study's responses."""
    for folder in study.iterdir():
        if folder.name not in ("benchmarks", "generations", "features"):
            shutil.rmtree(folder)


def test_cached_replies_need_no_key_so_a_run_may_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    config, cache = load_config(raw_study({"grok": GROK}, "grok")), ReplyCache()
    request = {"model": GROK["model"], "messages": []}
    claim = cache.claim(request, 100)
    assert claim is not None
    claim.keep({"text": "true"})
    # Replies about responses that do not exist yet cannot be cached.
    assert codes(find_missing_keys(pending(config))) == MISSING
    make_all(config)
    keep_responses(Path("results/paper"))
    assert codes(find_missing_keys(pending(config))) == [(ProblemCode.MISSING_KEY, Severity.WARNING, "judges.grok")]
    monkeypatch.setenv("XAI_API_KEY", "x")
    assert not list(find_missing_keys(pending(config)))


def test_labels_of_another_study_need_no_key_so_a_run_may_go_on() -> None:
    config = load_config(raw_study({"grok": GROK}, "grok"))
    make_all(config)
    shutil.copytree("results/paper", "results/earlier")
    keep_responses(Path("results/paper"))
    assert codes(find_missing_keys(pending(config))) == [(ProblemCode.MISSING_KEY, Severity.WARNING, "judges.grok")]
    Path("results/earlier/labels/grok/qwen3-4b/svamp.parquet").unlink()
    assert codes(find_missing_keys(pending(config))) == MISSING
    # A renamed study copies its responses, too.
    shutil.rmtree("results/paper")
    shutil.rmtree("results/earlier")
    make_all(config)
    Path("results/paper").rename("results/earlier")
    pairs = {(model, benchmark) for model in config.run.models for benchmark in config.run.benchmarks}
    work = PendingWork(config, plan_files(config).to_make, reusable=pairs)
    assert codes(find_missing_keys(work)) == [(ProblemCode.MISSING_KEY, Severity.WARNING, "judges.grok")]
    assert not work.models
    assert codes(find_missing_keys(pending(config))) == MISSING


def test_a_model_behind_an_api_needs_a_key_until_it_has_answered() -> None:
    raw = small_study()
    raw["models"]["qwen3-8b"] = {"api": {"model": "openai/gpt-4o"}}
    config = load_config(raw)
    assert codes(find_missing_keys(pending(config))) == [(ProblemCode.MISSING_KEY, Severity.ERROR, "models.qwen3-8b")]
    make_all(config)
    assert not list(find_missing_keys(pending(config)))


@pytest.mark.parametrize(
    ("answer", "code", "severity"),
    [
        (refuse(refusal(errors.GatedRepoError)), ProblemCode.NO_ACCESS, Severity.ERROR),
        (refuse(refusal(errors.RepositoryNotFoundError)), ProblemCode.NO_ACCESS, Severity.ERROR),
        (refuse(TimeoutError()), ProblemCode.HUB_NOT_CHECKED, Severity.WARNING),
        (lambda *_, **__: threading.Event().wait(60), ProblemCode.HUB_NOT_CHECKED, Severity.WARNING),
        (lambda *_, **__: None, None, None),
    ],
)
def test_the_hub_is_asked_once_and_for_a_moment(answer, code, severity, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HfApi, "auth_check", answer)
    monkeypatch.setattr(hub_access, "PATIENCE_S", 0.2)
    make("results/paper/revisions/datasets/openai--gsm8k.json", 0)  # an earlier run has found it
    found = list(find_missing_access(pending(load_config(small_study()))))
    keys = {key for problem in found for key in (problem.key or problem.message).replace(",", " ").split()}
    assert {(problem.code, problem.severity) for problem in found} == ({(code, severity)} if code else set())
    names = {"models.qwen3-4b", "models.qwen3-8b", "benchmarks.svamp", "benchmarks.gsm8k"}
    assert keys & names == (names - {"benchmarks.gsm8k"} if code else set())


def test_weights_that_compare_texts_are_the_hubs_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HfApi, "auth_check", refuse(refusal(errors.GatedRepoError)))
    raw = small_study(generation={**small_study()["generation"], "samples": 2})
    raw["run"]["features"] = ["tokens", "semantics"]
    raw["signals"] = {"semantics": {"backend": "nli", "model": "some/classifier"}}
    config = load_config(raw)
    assert "signals.semantics" in [problem.key for problem in find_missing_access(pending(config))]
    raw["signals"] = {"semantics": {"backend": "exact"}}
    assert "signals.semantics" not in [problem.key for problem in find_missing_access(pending(load_config(raw)))]


@pytest.mark.parametrize(
    ("shown", "most"),
    [
        ("gpu:a100:4(S:0-1)\n(null)\n", 4),
        ("gpu:2\ngpu:v100:1,gpu:a100:2(S:0,1),shard:16\n", 3),
        ("(null)\n", None),
        ("craynetwork:4\n", None),
        ("", None),
    ],
)
def test_gpus_of_the_largest_node(shown, most) -> None:
    assert parse_gpu_counts(shown) == most


@pytest.mark.parametrize(("visible", "severity"), [("0,1", Severity.ERROR), ("0,1,2,3", None)])
def test_gpus_of_this_machine(visible, severity, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = small_study()
    raw["models"]["qwen3-8b"]["engine_args"] = {"tensor_parallel_size": 4}
    work = pending(load_config(raw))
    monkeypatch.setattr("entropy_sentinel.study.planning.preflight.machine_resources.is_cpu_build", lambda: False)
    monkeypatch.setattr(
        "entropy_sentinel.study.planning.preflight.machine_resources.list_visible_devices", lambda _: visible.split(",")
    )
    found = codes(find_missing_gpus(work, Executor.LOCAL))
    assert found == ([(ProblemCode.TOO_FEW_GPUS, severity, "models.qwen3-8b")] if severity else [])
    assert not list(find_missing_gpus(work, Executor.OTHER))
    monkeypatch.setattr(
        "entropy_sentinel.study.planning.preflight.machine_resources.read_slurm_gpus", lambda: len(visible.split(","))
    )
    on_slurm = [(ProblemCode.TOO_FEW_GPUS, Severity.WARNING, "models.qwen3-8b")] if severity else []
    assert codes(find_missing_gpus(work, Executor.SLURM)) == on_slurm


def test_disk_space_is_that_of_the_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    # 2 models x 200 responses x 500 tokens x 100 bytes are 0.02 GB.
    raw = small_study(rates={"tokens_per_response": 500, "bytes_per_token": 100})
    for model in raw["models"].values():
        model.pop("rates", None)
    work = pending(load_config(raw))
    for free, expected in ((0.021e9, []), (0.019e9, [ProblemCode.DISK_SPACE])):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: shutil._ntuple_diskusage(1, 1, int(free)))
        assert [problem.code for problem in find_full_disk(work)] == expected


@pytest.mark.parametrize(
    ("limit", "folds", "is_small"),
    [
        (5, 5, True),  # 1 of 5 is held out: 4 train, and 5 folds need 10
        (12, 5, True),  # 3 of 12, by rounding up: 9 train
        (13, 5, False),  # 3 of 13: 10 train
        (5, 2, False),  # 4 train, and 2 folds need 4
    ],
)
def test_training_groups_need_rows_for_their_folds(limit, folds, is_small) -> None:
    raw = small_study(limit=limit)
    raw["estimation"] |= {"folds": folds, "test_share": 0.2}
    assert [problem.code for problem in find_small_groups(load_config(raw))] == [ProblemCode.FEW_ROWS] * is_small


def test_errors_come_first() -> None:
    found = find_problems(pending(load_config(raw_study({"grok": GROK}, "grok", limit=5))), Executor.LOCAL)
    assert [problem.severity for problem in found] == sorted((problem.severity for problem in found), key=str)
    assert {problem.code for problem in found} >= {*(code for code, _, _ in MISSING), ProblemCode.FEW_ROWS}


@pytest.fixture
def study() -> dict[str, Any]:
    """The base of the command's studies, in config.yaml."""
    raw = raw_study({"grok": GROK, "exact": EXACT}, "grok")
    Path("config.yaml").write_text(yaml.safe_dump(raw))
    return raw


def test_the_command_lists_all_problems_and_its_status_is_that_of_a_run(study, capsys: pytest.CaptureFixture) -> None:
    status, shown, _ = run(capsys, "check", "--config", "limit=5")
    assert status == 1
    for text in (
        "ERROR judges.grok: XAI_API_KEY",
        "WARNING access to the Hugging Face hub",
        "WARNING estimation.folds",
    ):
        assert text in shown
    status, shown, _ = run(capsys, "check", "-C", "run={judges: [exact]}", "-C", "limit=50", "--json")
    assert (status, [problem["code"] for problem in json.loads(shown)["problems"]]) == (0, ["hub-not-checked"])


def test_all_missing_files_are_listed(study, capsys: pytest.CaptureFixture) -> None:
    mine = {"benchmarks": {"gsm8k": {"path": "sums.jsonl"}, "svamp": {"path": "words.jsonl"}}}
    Path("mine.yaml").write_text(yaml.safe_dump(mine))
    status, shown, _ = run(capsys, "check", "-c", "mine.yaml", "--json")
    (problem,) = json.loads(shown)["problems"]
    assert (status, problem["code"]) == (1, "config")
    assert "sums.jsonl" in problem["message"]
    assert "words.jsonl" in problem["message"]


def test_the_resolved_configuration_is_a_config(study, capsys: pytest.CaptureFixture) -> None:
    Path("mine.yaml").write_text(yaml.safe_dump({"models": {"warm": {"extends": "qwen3-4b", "samples": 3}}}))
    status, shown, _ = run(capsys, "check", "-c", "mine.yaml", "--config", "limit=7", "--resolved")
    resolved = yaml.safe_load(shown)
    assert (status, resolved["limit"], resolved["models"]["warm"]["id"]) == (0, 7, study["models"]["qwen3-4b"]["id"])
    assert resolved["estimation"]["folds"] == 5  # a default
    assert load_config(resolved) == load_config(merge_sections(study, resolved))
    Path("resolved.yaml").write_text(shown)
    assert run(capsys, "check", "-c", "resolved.yaml", "--resolved")[1] == shown


@pytest.mark.parametrize("text", ["limit", "=5", "limit={", "1x=3"])
def test_a_value_of_another_form_is_an_error(text, study, capsys: pytest.CaptureFixture) -> None:
    status, _, shown = run(capsys, "plan", "--config", text)
    assert (status, "ConfigError: --config" in shown) == (1, True)


def test_a_problem_is_a_line() -> None:
    problem = Problem(ProblemCode.MISSING_KEY, Severity.ERROR, "judges.grok", "KEY is not set", "Set it.")
    assert str(problem) == "ERROR judges.grok: KEY is not set. Set it."


@pytest.mark.parametrize(
    ("executor", "status_command", "severities"),
    [
        (Executor.SLURM, "sacct", [Severity.ERROR]),
        (Executor.SLURM, None, [Severity.WARNING]),  # the profile may have set `squeue`
        (Executor.SLURM, "squeue", []),
        (Executor.LOCAL, None, []),
        (Executor.OTHER, None, []),
    ],
)
def test_accounting_that_does_not_work_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executor: Executor, status_command: str, severities: list[Severity]
) -> None:
    put_sacct(tmp_path, monkeypatch, "echo 'Slurm accounting storage is disabled' >&2; exit 1")
    found = list(find_broken_accounting(executor, status_command))
    assert [problem.severity for problem in found] == severities
    assert all("(Slurm accounting storage is disabled)" in problem.message for problem in found)
    assert all("slurm-status-command: squeue" in problem.remedy for problem in found)


def test_accounting_that_works_or_is_absent_is_no_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_sacct(tmp_path, monkeypatch, "exit 0")
    assert list(find_broken_accounting(Executor.SLURM, "sacct")) == []
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert list(find_broken_accounting(Executor.SLURM, "sacct")) == []


def put_sacct(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Make `sacct` a script, the first on PATH."""
    script = folder / "sacct"
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
