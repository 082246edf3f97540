"""The section `analyses.entropy_area`: what is left open follows from what is run, and what cannot be is said."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from papers.entropy_area.area_exhibits import FIGURES, TABLES

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.study.config.config_loading import load_config
from entropy_sentinel.study.config.study_config import Config

PAPER = (Path(__file__).parents[3] / "config.yaml").read_text()


def load(features: tuple[str, ...] = ("tokens", "forced_answer"), answers: Any = None, **section: Any) -> Config:
    """A study of two models on four benchmarks with this section."""
    raw = yaml.safe_load(PAPER)
    raw["run"] |= {"models": ["qwen3-4b", "qwen3-8b"], "benchmarks": ["gsm8k", "svamp", "math", "gpqa"]}
    raw["run"] |= {"analyses": ["entropy_area", "responses"], "features": [*features], "groups": [], "sizes": []}
    if answers:
        raw["signals"] = {"forced_answer": {"answers": answers}}
    raw["analyses"] = {"entropy_area": section}
    return load_config(raw)


def test_what_is_left_open_is_filled_in() -> None:
    shown = load().analyses.entropy_area
    assert (shown.judges, shown.figure_model, shown.figure_benchmark) == (
        *(["grok", "math-verify"], "qwen3-4b"),
        None,
    )
    assert shown.sets(["gsm8k", "svamp"]) == {"gsm8k": ["gsm8k"], "svamp": ["svamp"]}
    assert (shown.tables, shown.figures) == (list(TABLES), list(FIGURES))


def test_without_the_pass_it_is_left_out_with_a_line() -> None:
    config = load(("tokens",))
    assert config.run.analyses == ["responses"]
    message = (
        "run.analyses: entropy_area left out because run.features has no forced_answer, which asks the model again"
    )
    assert message in config.left_out


def test_benchmarks_taken_together_stand_where_the_first_of_them_does() -> None:
    shown = load(together={"words": ["svamp", "gpqa"]}).analyses.entropy_area
    assert shown.sets(["gsm8k", "svamp", "math", "gpqa"]) == {
        "gsm8k": ["gsm8k"],
        "words": ["svamp", "gpqa"],
        "math": ["math"],
    }


def test_what_is_not_run_is_left_out_with_a_line() -> None:
    config = load(together={"words": ["svamp", "theoremqa"]}, figure_model="gemma-3-4b", figure_benchmark="math")
    shown = config.analyses.entropy_area
    assert (shown.together, shown.figure_model, shown.figure_benchmark) == ({"words": ["svamp"]}, "qwen3-4b", "math")
    assert config.left_out == [
        "analyses.entropy_area.figure_model: left out because not run: gemma-3-4b",
        "analyses.entropy_area.together.words: left out because not run, or without references: theoremqa",
    ]


def test_a_benchmark_is_in_one_set_only() -> None:
    both = {"a": ["gsm8k", "svamp"], "b": ["math", "svamp"]}
    with pytest.raises(ConfigError, match=r"together\.b: 'svamp' is in a, too"):
        load(together=both)
    with pytest.raises(ConfigError, match=r"together\.math: a benchmark has this name; choose another"):
        load(together={"math": ["gsm8k", "svamp"]})


def test_the_score_that_is_shown_is_the_papers_where_it_is_requested() -> None:
    shown = load().analyses.entropy_area
    assert shown.choose_answer(["own", "reference"]) == "reference"
    assert shown.choose_answer(["own", "none"]) == "own"
    assert load(answer="none").analyses.entropy_area.choose_answer(["own", "none"]) == "none"
    with pytest.raises(ValueError, match=r"'none' is not in signals\.forced_answer\.answers, which has own"):
        load(answer="none").analyses.entropy_area.choose_answer(["own"])
