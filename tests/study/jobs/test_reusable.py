"""What a study will copy from others is told before a run; the commits of the hub are those that studies keep."""

import json
from pathlib import Path

import pytest
from item_files import write_items
from study_trees import small_study

from entropy_sentinel.schemas.generation_schema import GENERATIONS
from entropy_sentinel.study.config.config_loading import Config, load_config
from entropy_sentinel.study.config.generation_requests import benchmark_settings, generation_settings
from entropy_sentinel.study.jobs import reuse_plan
from entropy_sentinel.study.jobs.job_records import StudyRecords
from entropy_sentinel.study.jobs.result_reuse import REUSE_KEY, compute_reuse_key
from entropy_sentinel.study.jobs.reuse_plan import describe_reusable, find_reusable
from entropy_sentinel.study.planning.file_plan import plan_files
from entropy_sentinel.study.planning.forecast import forecast_costs
from entropy_sentinel.study.planning.response_cost import Outlook, count_responses

COMMIT = "1" * 40


def study(name: str, **changes: object) -> Config:
    return load_config(small_study(["gsm8k"], study=name, **changes), "test")


@pytest.fixture
def first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """A study with the responses of qwen3-4b to two items of a data set of the hub."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reuse_plan, "_open_records", StudyRecords)  # each test has a folder of the same name
    config, folder = study("first"), Path("results", "first")
    (folder / "benchmarks").mkdir(parents=True)
    items = Path(write_items(folder / "benchmarks", ["gsm8k-0", "gsm8k-1"], question=["1?", "2?"]))
    items = items.rename(folder / "benchmarks" / "gsm8k.parquet")
    StudyRecords(str(folder)).add([str(items)], {"params": [repr(benchmark_settings(config, "gsm8k"))]})
    settings = generation_settings(config, "qwen3-4b", "gsm8k")
    revisions = folder / "revisions" / "models"
    revisions.mkdir(parents=True)
    pinned = {"revision": settings["revision"], "commit": COMMIT}
    (revisions / f"{settings['weights'].replace('/', '--')}.json").write_text(json.dumps(pinned))
    key = compute_reuse_key("generations", {**settings, "commit": COMMIT}, [["gsm8k-0", "1?"], ["gsm8k-1", "2?"]])
    output = folder / "generations" / "qwen3-4b" / "gsm8k.parquet"
    GENERATIONS.write(GENERATIONS.frame([]), output, {REUSE_KEY: key})
    return config


def test_a_second_study_is_told_what_it_copies(first: Config, capsys: pytest.CaptureFixture[str]) -> None:
    second = study("second")
    path = Path("results/first/generations/qwen3-4b/gsm8k.parquet")
    assert find_reusable(second) == {("qwen3-4b", "gsm8k"): path}
    counts = count_responses(second, plan_files(second), find_reusable(second))
    assert [counts[model, "gsm8k"].left for model in second.run.models] == [0, 100]
    # A copy takes disk space, and no time of an engine.
    cost = forecast_costs(Outlook(second, plan_files(second)), [], [])["qwen3-4b"]
    assert (cost.tokens, cost.gpu_h, cost.disk_gb) == (0, 0, path.stat().st_size / 1e9)
    assert describe_reusable(find_reusable(second))[0].startswith("1 file of responses is copied from other studies ")
    assert capsys.readouterr().err == ""
    assert (find_reusable(first), describe_reusable([])) == ({}, [])


@pytest.mark.parametrize("change", ["sampling", "items", "commit"])
def test_other_responses_are_not_promised(first: Config, change: str) -> None:
    changes = {"generation": {"sampling": {"temperature": 1}}} if change == "sampling" else {}
    second = study("second", limit=50 if change == "items" else 100, **changes)
    if change == "commit":
        for record in Path("results", "first", "revisions").rglob("*.json"):
            record.write_text(json.dumps({"revision": "main", "commit": COMMIT}))
    assert find_reusable(second) == {}
