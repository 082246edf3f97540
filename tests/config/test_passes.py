"""Studies in which a model is asked again about its responses: who is asked, and what is refused while planning."""

from typing import Any

import pytest
from study_trees import small_study

from entropy_sentinel.config.config import load_config
from entropy_sentinel.config.sections import Config
from entropy_sentinel.config.study import asked_model, generation_settings, pass_settings
from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.frames.sections import merged


def study(models: dict[str, Any], **changes: Any) -> Config:
    run = {"features": ["tokens", "forced_answer"], "models": [next(iter(models))]}
    return load_config(merged(small_study(), {"run": run, "models": models} | changes))


WEIGHTS = {"id": "owner/name", "revision": "abc"}
API = {"api": {"model": "hosted_vllm/name", "base_url": "http://localhost:1/v1"}}
PLAIN = {"prompts": {"bare": {"text": "Q: {question}\nA:"}}}


def test_a_pass_depends_on_what_the_model_depends_on_and_on_its_section() -> None:
    config = study({"mine": WEIGHTS}, signals={"forced_answer": {"answers": ["own", "reference"], "positions": 4}})
    settings = pass_settings(config, "forced_answer", "mine", "gsm8k")
    assert settings["asked_with"] == generation_settings(config, "mine", "gsm8k")
    assert settings["settings"] == {"answers": ["own", "reference"], "positions": 4, "samples": None, "options": False}
    assert (settings["family"], settings["version"]) == ("forced_answer", 1)


def test_another_model_with_the_same_weights_may_be_asked(tmp_path: Any) -> None:
    for name in ("gsm8k", "svamp"):
        (tmp_path / f"{name}.jsonl").touch()
    models = {"log": {"source": str(tmp_path), "same_as": "mine"}, "mine": WEIGHTS}
    config = study(models)
    assert asked_model(config, "log") == "mine"
    assert pass_settings(config, "forced_answer", "log", "gsm8k")["asked_with"]["weights"] == "owner/name"


def test_a_server_is_asked_with_plain_text_and_a_known_vocabulary() -> None:
    config = study({"far": API | {"vocabulary": 512, "prompt": "bare"}}, **PLAIN)
    assert pass_settings(config, "forced_answer", "far", "gsm8k")["asked_with"]["vocabulary"] == 512
    assert "vocabulary" not in generation_settings(config, "far", "gsm8k"), "its traces do not depend on it"


@pytest.mark.parametrize(
    ("models", "more", "said"),
    [
        ({"far": API | {"vocabulary": 9}}, {}, "models.far: run.features has 'forced_answer', for which the model is "),
        (
            {"far": API | {"vocabulary": 9}},
            {},
            "a server gives no token ids of a chat's prompt; run it by 'id' or 'path', ask it with a",
        ),
        (
            {"far": API | {"prompt": "bare"}},
            PLAIN,
            "models.far.vocabulary is not known, which a server does not tell; set it",
        ),
        (
            {"log": {"source": "x"}},
            {},
            "models.log has no engine ('source'); name a model with its weights in models.lo",
        ),
        ({"log": {"source": "x", "same_as": "b"}}, {}, "unknown model in models.log.same_as: 'b'; known: "),
    ],
)
def test_who_cannot_be_asked_is_said_while_planning(models: dict, more: dict, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        study(models, **more)
    assert said in str(error.value)


def test_beside_a_model_that_can_be_asked_another_is_not_refused() -> None:
    models = {"mine": WEIGHTS, "far": API}
    config = study(models, run={"features": ["tokens", "forced_answer"], "models": ["mine", "far"]})
    why = "a server gives no token ids of a chat's prompt"
    assert pass_settings(config, "forced_answer", "far", "gsm8k")["unaskable"] == why
    assert "unaskable" not in pass_settings(config, "forced_answer", "mine", "gsm8k")


def test_a_server_asked_for_beams_has_end_tokens() -> None:
    plain = API | {"prompt": "bare"}
    run = {"features": ["tokens", "beam_search"], "models": ["far"]}
    config = study({"far": plain | {"end_tokens": [2, 7]}}, run=run, **PLAIN)
    assert pass_settings(config, "beam_search", "far", "gsm8k")["asked_with"]["end_tokens"] == [2, 7]
    with pytest.raises(ConfigError, match=r"models.far.end_tokens is not known, which a server does not tell; set it"):
        study({"far": plain}, run=run, **PLAIN)


def test_without_such_a_family_nothing_is_asked_of_a_model() -> None:
    assert study({"far": API}, run={"features": ["tokens"], "models": ["far"]}).run.asking_families == []


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"answers": []}, "signals.forced_answer.answers: "),
        ({"answers": ["own", "own"]}, "signals.forced_answer.answers: "),
        ({"positions": 0}, "signals.forced_answer.positions"),
        ({"positions": "some"}, "signals.forced_answer.positions"),
        ({"every": 2}, "signals.forced_answer: unknown key 'every'; known keys: answers, positions, samples, options"),
    ],
)
def test_a_section_that_cannot_be_is_refused(section: dict, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        study({"mine": WEIGHTS}, signals={"forced_answer": section})
    assert said in str(error.value)
