"""The paper's study, without the judge that needs a key, with keys changed; and what is said of one that is refused."""

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.study.config.config_loading import load_config
from entropy_sentinel.study.config.study_config import Config

PAPER = yaml.safe_load((Path(__file__).parents[2] / "config.yaml").read_text())


def without_api_judges(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A raw config whose only judge is math-verify: without a judge behind an API, and so without agreement."""
    result = deepcopy(dict(raw))
    result["run"] |= {"judges": ["math-verify"]}
    result["run"]["analyses"] = [name for name in result["run"]["analyses"] if name != "agreement"]
    for section in result["analyses"].values():
        if section.get("judges"):
            section["judges"] = None
    return result


def raw_study(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The raw config with each key set, `a.b.c` or `a.0` for a list."""
    raw = without_api_judges(PAPER)
    for path, value in changes.items():
        *parents, last = path.split(".")
        node = raw
        for name in parents:
            node = node[int(name)] if isinstance(node, list) else node[name]
        node[last] = value
    return raw


def study(changes: Mapping[str, Any] = {}) -> Config:
    """The checked config with each key set."""
    return load_config(raw_study(changes), "config.yaml")


def refusal(changes: Mapping[str, Any]) -> str:
    """The error of a study with these keys."""
    with pytest.raises(ConfigError) as error:
        study(changes)
    return str(error.value)
