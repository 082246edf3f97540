"""A benchmark with a judge of its own: who is asked, what its jobs depend on, and that other jobs stay as they are."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from studies import PAPER, refusal, study

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config.generation_requests import benchmark_settings
from entropy_sentinel.study.config.label_requests import (
    find_benchmark_judges,
    find_paid_judges,
    judge_settings,
    list_labels_files,
    list_served_judges,
)
from entropy_sentinel.study.config.local_files import find_missing_files

ROOT = Path(__file__).parents[3]


def changes(own: dict[str, str], judges: Sequence[str] = ("math-verify",), **of_gsm8k: Any) -> dict[str, Any]:
    """Judges, those that are run, and those of benchmarks; other keys of gsm8k."""
    return {
        "judges.letters": {"kind": "choice"},
        "judges.paid": {"kind": "llm", "model": "openai/gpt-4o-mini"},
        "judges.people": {"kind": "file", "path": "labels"},
        "judges.both": {"kind": "first_of", "judges": ["letters", "paid"]},
        "run.judges": list(judges),
        **{f"benchmarks.{name}.judge": judge for name, judge in own.items()},
        **{f"benchmarks.gsm8k.{key}": value for key, value in of_gsm8k.items()},
    }


def test_jobs_of_other_benchmarks_are_unchanged() -> None:
    before, after = study(), study(changes({"gpqa": "letters"}))
    for name in PAPER["run"]["benchmarks"]:
        assert benchmark_settings(after, name) == benchmark_settings(before, name)
        labels = [judge_settings(config, "math-verify", name) for config in (before, after)]
        assert (labels[0] == labels[1]) is (name != "gpqa")
    offered = study(changes({}, options="choices", shuffle_options=True))
    changed = benchmark_settings(offered, "gsm8k")
    assert changed == benchmark_settings(before, "gsm8k") | {"options": ["choices"], "shuffle_options": True}


def test_a_benchmark_with_its_own_judge_ignores_run_judges() -> None:
    config = study(changes({"gpqa": "letters", "svamp": "both"}, ["math-verify", "grok"]))
    assert find_benchmark_judges(config) == {"svamp": "both", "gpqa": "letters"}
    for run in ("math-verify", "grok"):
        own = {"version": 5, "judge": "letters", "kind": "choice", "no_option": "incorrect", "replaces": run}
        assert judge_settings(config, run, "gpqa") == own
        assert judge_settings(config, run, "svamp")["members"].keys() == {"letters", "paid"}
        assert judge_settings(config, run, "gsm8k")["judge"] == run
        assert "replaces" not in judge_settings(config, run, "gsm8k")
    # Asked by the labels of svamp, under both judges that are run.
    assert find_paid_judges(config) == {"paid": ["math-verify", "grok"], "grok": ["grok"]}


def test_imported_labels_of_one_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    further = {"benchmarks.gpqa.reference": [], "groups": {}, "run.groups": [], "analyses.accuracy.main_groups": None}
    labelled = changes({"gpqa": "people"}, reference=[]) | further
    assert re.search("judges.people.path: .*phi-3.5-mini/gpqa.parquet.*'labels'", refusal(labelled))
    for model in PAPER["run"]["models"]:
        (tmp_path / "labels" / model).mkdir(parents=True)
        (tmp_path / "labels" / model / "gpqa.parquet").touch()
    config = study(labelled)
    assert find_missing_files(config) == []
    # gpqa has no references, but its labels are brought; gsm8k has neither.
    assert "gpqa" in config.labelled_benchmarks
    assert "gsm8k" not in config.labelled_benchmarks
    assert list_labels_files(config, "math-verify", "qwen3-8b", "gpqa") == ["labels/qwen3-8b/gpqa.parquet"]
    assert list_labels_files(config, "math-verify", "qwen3-8b", "math") == []


def test_a_served_judge_labels_the_other_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    raw = read_config(["config.yaml", "demo/config.yaml"])
    raw["benchmarks"]["averages"]["judge"] = "math-verify"
    assert list_served_judges(load_config(raw)) == ["tiny-judge"]
    raw["benchmarks"]["averages"]["judge"] = "tiny-judge"
    with pytest.raises(ConfigError, match="benchmarks.averages.judge: 'tiny-judge' has 'served'"):
        load_config(raw)
    for benchmark in raw["run"]["benchmarks"]:
        raw["benchmarks"][benchmark]["judge"] = "math-verify"
    raw["run"]["analyses"] = ["accuracy", "agreement"]
    config = load_config(raw)
    assert list_served_judges(config) == []
    assert config.left_out[-1].startswith("run.analyses: agreement left out ")
