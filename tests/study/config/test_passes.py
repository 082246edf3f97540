"""Studies in which a model is asked again about its responses: who is asked, and what is refused while planning."""

import re
from pathlib import Path
from typing import Any

import pytest
from study_trees import small_study

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.section_base import merge_sections
from entropy_sentinel.signal_families.signal_registry import FAMILIES
from entropy_sentinel.study.config.config_loading import load_config
from entropy_sentinel.study.config.generation_requests import (
    count_pass_gpus,
    find_imported_pass,
    generation_settings,
    pass_settings,
)
from entropy_sentinel.study.config.study_config import Config


def study(models: dict[str, Any], **changes: Any) -> Config:
    run = {"features": ["tokens", "forced_answer"], "models": [next(iter(models))]}
    return load_config(merge_sections(small_study(), {"run": run, "models": models} | changes))


WEIGHTS = {"id": "owner/name", "revision": "abc"}
API = {"api": {"model": "hosted_vllm/name", "base_url": "http://localhost:1/v1"}}
needs_integers, needs_beams = (
    pytest.mark.skipif(family not in FAMILIES, reason="the analysis of this family is not installed")
    for family in ("integers", "beam_search")
)
PLAIN = {"prompts": {"bare": {"text": "Q: {question}\nA:"}}}


def test_a_pass_depends_on_its_section_and_the_settings_of_the_model() -> None:
    config = study({"mine": WEIGHTS}, signals={"forced_answer": {"answers": ["own", "reference"], "positions": 4}})
    settings = pass_settings(config, "forced_answer", "mine", "gsm8k")
    assert settings["asked_with"] == generation_settings(config, "mine", "gsm8k")
    assert settings["settings"] == {"answers": ["own", "reference"], "positions": 4, "samples": None, "options": False}
    assert (settings["family"], settings["version"]) == ("forced_answer", 2)


def test_another_model_with_the_same_weights_may_be_asked(tmp_path: Path) -> None:
    models = {"log": {"source": given(tmp_path, "gsm8k", "svamp"), "same_as": "mine"}, "mine": WEIGHTS}
    config = study(models)
    assert config.find_requery_model("forced_answer", "log") == "mine"
    assert count_pass_gpus(config, "forced_answer", "log") == 1
    assert pass_settings(config, "forced_answer", "log", "gsm8k")["asked_with"]["weights"] == "owner/name"


def test_a_server_is_asked_with_plain_text_and_a_known_vocabulary() -> None:
    config = study({"far": API | {"vocabulary": 512, "prompt": "bare"}}, **PLAIN)
    assert pass_settings(config, "forced_answer", "far", "gsm8k")["asked_with"]["vocabulary"] == 512
    assert "vocabulary" not in generation_settings(config, "far", "gsm8k"), "its traces do not depend on it"


@pytest.mark.parametrize(
    ("models", "more", "message"),
    [
        ({"far": API | {"vocabulary": 9}}, {}, "models.far: .*'forced_answer'.* token ids of a chat's prompt"),
        ({"far": API | {"prompt": "bare"}}, PLAIN, "models.far.vocabulary .*server"),
        ({"log": {"source": "x"}}, {}, "models.log.same_as, .*forced_answer/ in models.log.source_passes"),
        ({"log": {"source": "x", "same_as": "b"}}, {}, "unknown model in models.log.same_as: 'b'; known: "),
    ],
)
def test_models_that_cannot_be_asked_are_reported_while_planning(models: dict, more: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        study(models, **more)


def test_a_model_that_cannot_be_asked_is_accepted_next_to_one_that_can() -> None:
    models = {"mine": WEIGHTS, "far": API}
    config = study(models, run={"features": ["tokens", "forced_answer"], "models": ["mine", "far"]})
    assert "token ids" in pass_settings(config, "forced_answer", "far", "gsm8k")["unaskable"]
    assert "unaskable" not in pass_settings(config, "forced_answer", "mine", "gsm8k")
    assert count_pass_gpus(config, "forced_answer", "far") == 0


@needs_integers
def test_models_that_cannot_be_asked_are_named_once(tmp_path: Path) -> None:
    source, wordless = {"source": given(tmp_path, "gsm8k", "svamp")}, {"api": API["api"] | {"logprobs": False}}
    models = {"mine": WEIGHTS, "log": source, "other": source, "far": wordless | {"prompt": "bare"}}
    run = {"features": ["tokens", "forced_answer", "integers"], "models": list(models), "analyses": ["responses"]}
    config = study(models, run=run, **PLAIN)
    imported, wordless = config.left_out[-2:]
    assert "forced_answer, integers are null for log, other, " in imported
    assert re.search("forced_answer, integers are null for far, .*models.far.api.logprobs: false", wordless)
    assert pass_settings(config, "integers", "log", "gsm8k")["unaskable"].startswith("imported traces")


def given(folder: Path, *files: str) -> str:
    """The folder, with these files in it."""
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.parquet").touch()
    return str(folder)


@needs_integers
def test_imported_passes_need_no_engines(tmp_path: Path) -> None:
    files = ("gsm8k", "svamp", "passes/forced_answer/gsm8k", "passes/forced_answer/svamp")
    log = {"source": given(tmp_path, *files), "source_passes": str(tmp_path / "passes"), "same_as": "mine"}
    run = {"features": ["tokens", "forced_answer", "integers"], "models": ["log"]}
    config = study({"log": log, "mine": WEIGHTS}, run=run)
    file = f"{tmp_path}/passes/forced_answer/gsm8k.parquet"
    assert find_imported_pass(config, "forced_answer", "log", "gsm8k") == file
    section = {"answers": ["own"], "positions": "all", "samples": None, "options": False}
    expected = {"family": "forced_answer", "version": 2, "source": file, "settings": section}
    assert pass_settings(config, "forced_answer", "log", "gsm8k") == expected
    assert (config.find_requery_model("forced_answer", "log"), count_pass_gpus(config, "forced_answer", "log")) == (
        None,
        0,
    )
    # The folder has nothing of the other family, which asks the weights.
    assert (config.find_requery_model("integers", "log"), find_imported_pass(config, "integers", "log", "gsm8k")) == (
        "mine",
        None,
    )
    alone = study({"log": log | {"same_as": None}}, run=run | {"features": ["tokens", "forced_answer"]})
    assert alone.left_out == []


@pytest.mark.parametrize(("passes", "missing"), [("passes", "svamp"), ("nowhere", "gsm8k")])
def test_every_file_of_passes_is_checked_before_anything_runs(tmp_path: Path, passes: str, missing: str) -> None:
    source = given(tmp_path, "gsm8k", "svamp", "passes/forced_answer/gsm8k")
    with pytest.raises(ConfigError, match=f"models.log.source_passes: .*forced_answer/{missing}.parquet; .*/{passes}'"):
        study({"log": {"source": source, "source_passes": str(tmp_path / passes)}})


@needs_beams
def test_a_server_asked_for_beams_has_end_tokens() -> None:
    plain = API | {"prompt": "bare"}
    run = {"features": ["tokens", "beam_search"], "models": ["far"]}
    config = study({"far": plain | {"end_tokens": [2, 7]}}, run=run, **PLAIN)
    assert pass_settings(config, "beam_search", "far", "gsm8k")["asked_with"]["end_tokens"] == [2, 7]
    with pytest.raises(ConfigError, match="models.far.end_tokens .*server"):
        study({"far": plain}, run=run, **PLAIN)


def test_a_study_without_a_family_that_asks_the_model_has_no_passes() -> None:
    assert study({"far": API}, run={"features": ["tokens"], "models": ["far"]}).run.asking_families == []
