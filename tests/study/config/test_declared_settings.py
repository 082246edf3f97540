"""The types of settings that are filled from a section of the config have that section's keys, no more and no fewer."""

from dataclasses import fields

import pytest

from entropy_sentinel.estimators.estimator_settings import EstimationSettings, Fitting
from entropy_sentinel.judges.judge_base import JudgeSettings, LlmSettings
from entropy_sentinel.judges.judge_registry import KINDS
from entropy_sentinel.study.items.benchmark_settings import Benchmark, ItemsSettings


def test_items_depend_on_the_whole_section_of_their_benchmark() -> None:
    assert ItemsSettings.__optional_keys__ == Benchmark.LATER_KEYS | {"content"}
    of_the_study = {"version", "benchmark", "limit", "seed"}
    always = set(Benchmark.model_fields) - Benchmark.IGNORED_KEYS - Benchmark.LATER_KEYS
    assert ItemsSettings.__required_keys__ == of_the_study | always


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"llm"}))
def test_labels_depend_on_all_settings_of_a_judge(kind: str) -> None:
    declared = JudgeSettings.__required_keys__ | JudgeSettings.__optional_keys__
    assert set(KINDS[kind].model_fields) <= declared, "add the key to JudgeSettings, in judges/judge_kinds.py"


def test_labels_depend_on_the_prompt_of_an_llm_judge() -> None:
    assert LlmSettings.__required_keys__ == KINDS["llm"].ASKED | {"prompt_version", "messages"}


def test_fields_of_fitting_are_the_declared_settings() -> None:
    assert {field.name for field in fields(Fitting)} == EstimationSettings.__required_keys__ - {"estimators"}
