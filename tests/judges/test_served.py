"""A judge whose label jobs serve its model: what its labels depend on, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.section_base import merge_sections
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config.generation_requests import server_settings
from entropy_sentinel.study.config.label_requests import judge_settings, list_hub_models, list_served_judges
from entropy_sentinel.study.config.local_files import find_missing_files
from entropy_sentinel.study.config.study_config import Config
from entropy_sentinel.study.engines.vllm_server import build_server_command

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def demo(**judge: Any) -> dict[str, Any]:
    raw = read_config(["config.yaml", "demo/config.yaml"])
    raw["judges"]["tiny-judge"] |= judge
    return raw


def revision(config: Config) -> str:
    return judge_settings(config, "tiny-judge")["llm"]["revision"]


def test_settings_say_which_model_is_served_and_how() -> None:
    config = load_config(demo())
    settings = judge_settings(config, "tiny-judge")
    assert list_served_judges(config) == ["tiny-judge"]
    assert find_missing_files(config) == []
    assert settings["llm"]["model"] == "hosted_vllm/tiny-judge"
    words = build_server_command(settings["server"], "127.0.0.1", 8123)
    assert words[3:9] == [
        "--model",
        "demo/models/tiny-judge",
        "--served-model-name",
        "tiny-judge",
        "--host",
        "127.0.0.1",
    ]
    # Where it listens is found by the job, and no setting.
    assert server_settings(config)["judges.tiny-judge"]["base_url"] is None
    assert "8123" not in str(settings)


def test_weights_of_a_served_judge_on_the_hub_are_fetched_before() -> None:
    raw = demo()
    assert list_hub_models(load_config(raw)) == []
    raw["models"] |= {"tiny-judge": {"id": "someone/judge", "revision": "c" * 40}, "tiny-3m": {"id": "someone/answers"}}
    assert list_hub_models(load_config(raw)) == ["tiny-3m", "tiny-judge"]
    raw["run"]["judges"] = ["math-verify"]
    assert list_hub_models(load_config(raw)) == ["tiny-3m"]


def test_kept_replies_are_of_the_server_as_it_was_started() -> None:
    before = load_config(demo())
    raw = demo()
    raw["models"]["tiny-judge"]["engine_args"] = {"dtype": "bfloat16"}
    assert revision(load_config(raw)) != revision(before)
    assert revision(load_config(demo(concurrency=2))) == revision(before)


@pytest.mark.parametrize(
    ("judge", "further", "expected"),
    [
        ({"base_url": "http://localhost:1/v1"}, {}, "judges.tiny-judge: 'served' starts its own server"),
        ({"served": "tiny-jugde"}, {}, "unknown model in judges.tiny-judge.served: 'tiny-jugde'"),
        (
            {},
            {"judges": {"both": {"kind": "first_of", "judges": ["math-verify", "tiny-judge"]}}},
            "judges.both.judges: 'tiny-judge' has 'served', and only its own jobs",
        ),
        (
            {},
            {"models": {"tiny-judge": {"path": "nowhere"}}},
            "models.tiny-judge.path: must be a folder with a config.json; 'nowhere'",
        ),
        (
            {"served": "x"},
            {"models": {"x": {"api": {"model": "openai/x"}}}},
            "judges.tiny-judge.served: models.x must have 'id' or 'path' to be served, has 'api'",
        ),
        (
            {"served": "x"},
            {"models": {"x": {"id": "a/b"}}},
            "judges.tiny-judge.served: models.x must have a 'revision'",
        ),
    ],
)
def test_a_judge_that_cannot_be_served_is_refused(
    judge: dict[str, Any], further: dict[str, Any], expected: str
) -> None:
    with pytest.raises(ConfigError) as error:
        load_config(merge_sections(demo(**judge), further))
    assert expected in str(error.value)
