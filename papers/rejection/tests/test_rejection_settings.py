"""The section `analyses.rejection`: what is left open follows from what is run."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.study.config.config_loading import load_config
from entropy_sentinel.study.config.study_config import Config

PAPER = (Path(__file__).parents[3] / "config.yaml").read_text()


def load(run: list[str] | None = None, **section: Any) -> Config:
    """The paper's study with another section, and other named groups where they are given."""
    raw = yaml.safe_load(PAPER)
    raw["run"]["groups"] = raw["run"]["groups"] if run is None else run
    raw["analyses"]["rejection"] = section
    return load_config(raw)


def test_all_named_groups_and_kept_estimators_are_shown() -> None:
    config = load()
    shown = config.analyses.rejection
    assert shown.groups == config.run.groups
    assert (shown.headline_group, shown.accuracies) == ("extremes", [0.8, 0.9, 0.95])
    assert shown.estimators == config.estimation.keep
    assert shown.judges == config.run.judges == ["grok", "math-verify"]
    assert config.left_out == []


def test_what_is_not_run_or_kept_is_left_out_with_a_line() -> None:
    config = load(
        ["extremes", "intermediate"],
        groups=["intermediate", "sci-math"],
        headline_group="cross-domain",
        estimators=["own", "baseline-ppl"],
        accuracies=[0.9, 0.5],
    )
    shown = config.analyses.rejection
    assert (shown.groups, shown.headline_group) == (["intermediate"], "intermediate")
    assert (shown.estimators, shown.accuracies) == (["own"], [0.5, 0.9])
    assert config.left_out == [
        "analyses.rejection.groups: left out because not run: sci-math",
        "analyses.rejection.headline_group: left out because not run: cross-domain",
        "analyses.rejection.estimators: left out because not in estimation.keep: baseline-ppl",
    ]


def test_the_headline_group_is_shown() -> None:
    shown = load(groups=["extremes"], headline_group="sci-math").analyses.rejection
    assert (shown.groups, shown.headline_group) == (["extremes", "sci-math"], "sci-math")


def test_without_named_groups_it_is_left_out() -> None:
    config = load([])
    assert config.run.analyses == ["accuracy", "agreement", "responses"]
    message = "no named group is run, and only named groups keep estimators"
    assert config.left_out[-1] == f"run.analyses: rejection left out because {message}"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("groups", ["extreme"], "unknown group in analyses.rejection.groups: 'extreme'; known: extremes, "),
        ("estimators", ["forest"], "analyses.rejection: unknown estimator in estimators: 'forest'; known: own, "),
        ("tables", ["pairs"], "analyses.rejection: unknown table 'pairs'; known: best_pairs, auarc, coverage"),
        ("accuracies", [1.1], "analyses.rejection.accuracies.0: must be at most 1, got 1.1"),
    ],
)
def test_bad_values_are_refused_by_name(key: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        load(**{key: value})
    assert message in str(error.value)
