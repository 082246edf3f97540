"""The section `analyses.intervals`: what is not run is left out, what cannot be is said; the paper's study."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from fermi_answers import write_study

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.study.config import generation_requests
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config.study_config import Config
from entropy_sentinel.study.planning.file_plan import plan_files
from entropy_sentinel.study.stages.generation_stage import fill_prompt

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def load(run: Any = None, **section: Any) -> Config:
    """The made-up study with these settings over its own."""
    raw = write_study(Path.cwd(), 6)
    raw["run"] |= run or {}
    raw["analyses"]["intervals"] |= section
    Path("toy.yaml").write_text(yaml.safe_dump(raw))
    return load_config(read_config([str(ROOT / "config.yaml"), "toy.yaml"]))


def test_levels_are_numbers_and_variants_that_are_not_run_are_left_out() -> None:
    config = load({"models": ["toy-99", "toy-integer-t0.5"]})
    shown = config.analyses.intervals
    assert shown.numbers_by_variant("stated") == {"toy-99": 99.0}
    assert shown.numbers_by_variant("integers") == {"toy-integer-t0.5": 0.5}
    assert shown.models["toy"].distribution is None
    assert config.left_out == [
        "analyses.intervals.models.toy: left out because not run: toy-90, toy-integer-t1",
    ]


def test_no_label_is_waited_for() -> None:
    config = load()
    stages = plan_files(config).stages
    assert len(stages["generations"]) == 8
    assert not stages["labels"]
    assert not stages["observations"]
    both = config.model_copy(update={"run": config.run.model_copy(update={"analyses": ["intervals", "responses"]})})
    assert len(plan_files(both).stages["labels"]) == 8


def test_without_both_halves_or_anything_stated_there_is_nothing_to_make() -> None:
    with pytest.raises(ConfigError, match="test is 'new'"):
        load({"benchmarks": ["known"]})
    with pytest.raises(ConfigError, match="calibration is not set"):
        load(calibration=None)
    with pytest.raises(ConfigError, match="names no variant that is run and states an interval"):
        load({"models": ["toy-integer-t1"]})


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"models": {"toy": {"stated": {"100": "toy-90"}}}}, "stated.100: must be below 100, got "),
        ({"models": {"toy": {"stated": {}}}}, "at least 1"),
        ({"models": {"toy": {"stated": {"90": "toy-90", "95": "toy-90"}}}}, "'toy-90' occurs twice"),
        (
            {"models": {"toy": {"stated": {"90": "toy-90"}, "distribution": "toy-99"}}},
            "unknown variant in distribution",
        ),
        (
            {"models": {"toy": {"stated": {"90": "toy-90", "99": "nobody"}}}},
            "unknown model in analyses.intervals.models.toy: 'nobody'",
        ),
        (
            {"models": {"toy": {"stated": {"90": "toy-90"}}, "twin": {"stated": {"90": "toy-90"}}}},
            "'toy-90' belongs to both toy and twin",
        ),
        ({"test": "known"}, "must be two benchmarks"),
        ({"covariates": ["nothing"]}, "unknown feature in covariates: 'nothing'"),
    ],
)
def test_impossible_settings_are_reported(section: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(**section)


def test_the_papers_study_asks_what_the_paper_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Appendix E: the system's level as it is, the user's with two decimals; the braces of the JSON are its own."""
    monkeypatch.chdir(ROOT)
    config = load_config(read_config(["config.yaml", "papers/intervals/study.yaml"]))
    assert config.left_out == []
    shown = config.analyses.intervals
    assert list(shown.models)[:3] == ["gpt-4o-mini", "claude-3.5-haiku", "grok-4-fast-non-reasoning"]
    assert {name: sorted(one.stated) for name, one in shown.models.items()} == dict.fromkeys(
        shown.models, [90.0, 95.0, 99.0, 99.8]
    )
    for name, one in shown.models.items():
        for level, variant in one.stated.items():
            settings = generation_requests.generation_settings(config, variant, "fermi-test")
            system, user = fill_prompt(settings, "How many?")
            assert 'of the form {"L": <int>, "U": <int>} where L and U are INTEGERS' in system["content"]
            assert f"representing a {level:g} percentage confidence interval" in system["content"], name
            assert f">={level:g} percentage of the mass is on exactly 10^x,\nuse L=U=x. \nDo not" in system["content"]
            assert user["content"] == (
                f"Question: How many?\n\nGive a {level:.2f}% confidence interval in the form\n [10^L, 10^U] with "
                'INTEGER L and U.\nFinish with JSON ONLY: {"L": <int>, "U": <int>}.'
            )
            assert settings["sampling"]["max_tokens"] == 256
