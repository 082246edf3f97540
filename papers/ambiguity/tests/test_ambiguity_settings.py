"""The section `analyses.ambiguity`: what is left open follows from what is run, and what cannot be is said."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from papers.ambiguity.ambiguity_exhibits import FIGURES, TABLES

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.study.config.config_loading import load_config
from entropy_sentinel.study.config.study_config import Config

PAPER = (Path(__file__).parents[3] / "config.yaml").read_text()


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of the benchmarks, which planning looks at."""
    monkeypatch.chdir(tmp_path)
    for name in ("facts", "rules", "others"):
        (tmp_path / f"{name}.jsonl").write_text('{"q": "Which?", "a": ["one", "two"], "n": [1, 2]}\n')


def load(
    features: tuple[str, ...] = ("tokens", "semantics"),
    samples: int = 30,
    run: Sequence[str] = ("gsm8k", "facts", "rules"),
    **section: Any,
) -> Config:
    """A study of three benchmarks, of which two have answers, and another with answers that is not run."""
    raw = yaml.safe_load(PAPER)
    for name in ("facts", "rules", "others"):
        raw["benchmarks"][name] = {"path": f"{name}.jsonl", "question": ["{q}"], "answers": "a", "counts": "n"}
    raw["run"] |= {"models": ["qwen3-4b"], "benchmarks": [*run], "features": [*features]}
    raw["run"] |= {"analyses": ["ambiguity", "responses"], "groups": [], "sizes": []}
    raw["generation"]["samples"] = samples
    raw["analyses"] = {"ambiguity": section}
    return load_config(raw)


def test_what_is_left_open_is_filled_in() -> None:
    shown = load().analyses.ambiguity
    assert (shown.benchmarks, shown.source, shown.sources) == (["facts", "rules"], "benchmark", {})
    assert (shown.tables, shown.figures) == (list(TABLES), list(FIGURES))


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"features": ("tokens",)}, "run.features has no semantics, which groups the answers"),
        ({"samples": 1}, "it needs several responses to each item; set generation.samples, 30 in the paper"),
    ],
)
def test_what_it_cannot_be_made_of_leaves_it_out_with_a_line(asked: dict[str, Any], reason: str) -> None:
    config = load(**asked)
    assert config.run.analyses == ["responses"]
    assert f"run.analyses: ambiguity left out because {reason}" in config.left_out


def test_without_answers_there_is_nothing_to_compare_with() -> None:
    config = load(run=["gsm8k", "svamp"])
    assert "run.analyses: ambiguity left out because no benchmark that is run has `answers`" in config.left_out


def test_what_is_not_run_is_left_out_with_a_line() -> None:
    config = load(benchmarks=["rules", "others", "gsm8k"], sources={"pile": {"facts": "f.jsonl", "others": "o.jsonl"}})
    shown = config.analyses.ambiguity
    assert (shown.benchmarks, shown.sources) == (["rules"], {"pile": {"facts": "f.jsonl"}})
    assert config.left_out == [
        "analyses.ambiguity.benchmarks: left out because not run, or without answers: others, gsm8k",
        "analyses.ambiguity.sources.pile: left out because not run, or without answers: others",
    ]


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"benchmarks": ["fact"]}, "unknown benchmark in analyses.ambiguity.benchmarks: 'fact'"),
        ({"sources": {"benchmark": {"facts": "f.jsonl"}}}, "'benchmark' is the name of the benchmarks' own counts"),
        ({"thresholds": [1]}, "thresholds"),
    ],
)
def test_what_cannot_be_is_refused(section: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(**section)
