"""Configs that a person could write by mistake, or somebody on purpose: `config.yaml` of this folder."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from attack_cases import PLANTED, ROOT, Case, at, attack, cases, expand, text

from entropy_sentinel.study.config import generation_requests, group_estimates, label_requests
from entropy_sentinel.study.config.config_loading import Config, load_config, read_config
from entropy_sentinel.study.config.study_paths import StudyLayout

pytestmark = pytest.mark.slow

# File systems allow 255 bytes; files are written beside their name, with a few letters more.
LONGEST_NAME = 200


def files(case: Case, folder: Path) -> list[str]:
    """The paper's study, and over it what the case says: a mapping, or the text of a file."""
    over = folder / "over.yaml"
    if "hex" in case:
        over.write_bytes(bytes.fromhex(case["hex"]))
    elif "text" in case:
        over.write_text(text(case["text"]))
    elif "over" in case:
        over.write_text(yaml.safe_dump(expand(case["over"])))
    return [str(ROOT / "config.yaml"), str(over)]


def usable(config: Config) -> None:
    """A config that is accepted gives settings that can be written down, without a key, and names of possible files."""
    run, layout, groups = config.run, StudyLayout(config.study), group_estimates.map_group_files(config)
    settings: list[Any] = [label_requests.judge_settings(config, judge) for judge in run.judges]
    settings += [generation_requests.benchmark_settings(config, benchmark) for benchmark in run.benchmarks]
    settings += [generation_requests.generation_settings(config, *both) for both in product(run.models, run.benchmarks)]
    assert PLANTED not in json.dumps(settings, allow_nan=False)
    names = {"judge": run.judges[0], "model": run.models[0]}
    paths = [layout.generations.format(**names, benchmark=benchmark) for benchmark in run.benchmarks]
    paths += [layout.estimates.format(**names, group=group) for group in groups]
    assert max(len(part.encode()) for path in paths for part in Path(path).parts) <= LONGEST_NAME
    for model in run.models:
        generation_requests.count_gpus(config, model)


@cases("config.yaml")
def test_config(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)

    def load() -> Config:
        config = load_config(read_config(files(case, tmp_path)), "my.yaml")
        usable(config)
        return config

    config = attack(case["expect"], load)
    result = config.model_dump() if config else {}
    for path, value in (case["expect"].get("ok") or {}).items():
        assert at(result, path) == value
