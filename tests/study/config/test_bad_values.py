"""Every key of the configuration with values that it cannot have: refused by name, or harmless in all that follows."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from studies import PAPER

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.secrets import find_secret_keys
from entropy_sentinel.study.config import generation_requests, group_estimates
from entropy_sentinel.study.config.config_loading import load_config

ROOT = Path(__file__).parents[3]
BAD: dict[str, Any] = {
    "null": None,
    "switch": True,
    "empty text": "",
    "blank text": " \n",
    "half a character": "a\ud800",
    "zero byte": "a\0b",
    "long text": "x" * 5000,
    "path": "../../etc/passwd",
    "names": "a+b",
    "quotes": "'\"{}$_%\\",
    "minus one": -1,
    "zero": 0,
    "half": 0.5,
    "2^32": 2**32,
    "huge": 10**30,
    "huge hexadecimal": 16**5000,
    "largest float": 1.7e308,
    "tiny": 5e-324,
    "not a number": float("nan"),
    "infinite": float("inf"),
    "day": date(2025, 11, 1),
    "bytes": b"abc",
    "set": {"a"},
    "empty list": [],
    "null in a list": [None],
    "numbers": [1, 1],
    "huge numbers": [2**62],
    "lists": [[[]]],
    "empty section": {},
    "key of number": {1: 2},
    "empty key": {"": "x"},
    "odd key": {"a b=\n": "x"},
}


def study_of_everything() -> dict[str, Any]:
    """The paper's configuration with every key that there is, where one can be set.

    A few models and benchmarks and one group stand for the others, which are checked in the same way.
    """
    raw = deepcopy(PAPER)
    run = {"models": ["phi-3.5-mini", "qwen3-4b"], "benchmarks": ["gsm8k", "olympiadbench", "math"]}
    run |= {"groups": ["extremes"]}
    for kind, names in run.items():
        raw[kind] = {name: raw[kind][name] for name in names}
    raw["run"] |= run | {"sizes": [{"size": 1, "configurations": "default"}]}
    raw["analyses"]["accuracy"] |= {"auroc_models": ["phi-3.5-mini"], "main_groups": run["groups"]}
    raw["models"]["phi-3.5-mini"] |= {
        "revision": "main",
        "engine_args": {"tensor_parallel_size": 2, "dtype": "auto"},
        "chat_template_kwargs": {"style": "short"},
        "sampling": {"temperature": 0.1, "top_p": 0.9, "max_tokens": 100},
        "trace_after": "</think>",
        "template_date": "2025-11-01",
        "rates": raw["rates"],
    }
    api = {"model": "openai/a", "base_url": "http://a:1/v1", "concurrency": 1, "timeout_s": 3, "retries": 1}
    raw["models"]["qwen3-4b"] = {"api": api, "revision": "a"}
    raw["generation"]["environment"] = {"HF_HOME": "/x"}
    raw["benchmarks"]["gsm8k"] |= {"split": "test", "revision": "main", "only_if_empty": ["picture"]}
    return raw


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in it, sections and lists included; of a list's values the first."""
    children = node.items() if isinstance(node, Mapping) else enumerate(node[:1]) if isinstance(node, list) else ()
    for key, value in children:
        yield (*path, key)
        yield from places(value, (*path, key))


EVERYTHING = study_of_everything()
# One benchmark stands for the others.
PLACES = [path for path in places(EVERYTHING) if path[0] != "benchmarks" or path[1:2] in ((), ("gsm8k",))]


def test_thousands_of_bad_values_are_tried() -> None:
    assert len(PLACES) * len(BAD) > 3000
    assert ("generation", "sampling", "temperature") in PLACES


def replaced(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    raw = deepcopy(EVERYTHING)
    node = raw
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return raw


@pytest.mark.slow
@pytest.mark.parametrize("path", PLACES, ids=lambda path: ".".join(map(str, path)))
def test_bad_values_are_refused_with_their_key_or_are_harmless(path: tuple[Any, ...]) -> None:
    for bad, value in BAD.items():
        try:
            config = load_config(replaced(path, value), "my.yaml")
        except ConfigError as error:
            text = str(error)
            assert all(line.startswith("my.yaml: ") for line in text.splitlines()), (bad, text)
            assert str(path[0]) in text, (bad, text)
            assert len(text.splitlines()[0]) < 1500, (bad, text)
            text.encode()
            continue
        assert not isinstance(value, bytes | set), bad
        check_harmless(config, bad)


def check_harmless(config: Any, bad: str) -> None:
    """All that jobs are given is JSON with finite numbers and whole characters, and loads again as it is."""
    for model in config.run.models:
        for benchmark in config.run.benchmarks:
            settings = generation_requests.generation_settings(config, model, benchmark)
            json.dumps(
                [settings, generation_requests.count_gpus(config, model)], allow_nan=False, ensure_ascii=False
            ).encode()
    for benchmark in config.run.benchmarks:
        json.dumps(
            generation_requests.benchmark_settings(config, benchmark), allow_nan=False, ensure_ascii=False
        ).encode()
    groups = group_estimates.training_groups(config)
    assert groups, bad
    assert all(len(name) <= 150 for name in group_estimates.map_group_files(config)), bad
    again = config.model_dump(mode="json")
    json.dumps(again, allow_nan=False, ensure_ascii=False).encode()
    loaded = load_config(again)
    assert (loaded.model_dump(), loaded.left_out) == (config.model_dump(), []), bad


PLANTED = "sk-planted-0a1b2c3d4e5f6a7b"
FREE = [
    ("generation", "engine_args"),
    ("generation", "environment"),
    ("models", "phi-3.5-mini", "engine_args"),
    ("models", "phi-3.5-mini", "chat_template_kwargs"),
]
NAMES = ["tokens", "api_keys", "credentials", "passwd", "pwd", "secrets", "auth", "bearer", "cookie", "authorization"]


@pytest.mark.parametrize("path", PLACES, ids=lambda path: ".".join(map(str, path)))
def test_a_provider_key_is_refused_anywhere(path: tuple[Any, ...]) -> None:
    """By the place, before anything else is said of it; the key itself is shown nowhere."""
    shown = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
    for value in (PLANTED, f"Bearer {PLANTED}", [PLANTED], {"x": {"y": PLANTED}}):
        with pytest.raises(ConfigError, match="^my.yaml: ") as refused:
            load_config(replaced(path, value), "my.yaml")
        assert f"my.yaml: {shown}" in str(refused.value)
        assert "looks like a secret" in str(refused.value)
        assert "planted" not in str(refused.value)


@pytest.mark.parametrize("path", FREE, ids=lambda path: ".".join(path))
@pytest.mark.parametrize("name", NAMES)
def test_free_keys_named_like_a_secret_are_refused(path: tuple[str, ...], name: str) -> None:
    deep = path[-1] != "environment"
    for value in ({name: "hush"}, *([{"headers": {name.title(): "hush"}}, {"a": [{name: {"b": "hush"}}]}] * deep)):
        with pytest.raises(ConfigError, match=rf"(?i)my.yaml: .*{path[-1]}: '.*{name}' looks like a secret") as refused:
            load_config(replaced(path, value), "my.yaml")
        assert "hush" not in str(refused.value)


def test_the_projects_own_configs_contain_no_secret() -> None:
    files = [ROOT / "config.yaml", *ROOT.glob("demo/*.yaml"), *ROOT.glob("tests/workflow/*.yaml")]
    assert len(files) > 3
    for file in files:
        assert list(find_secret_keys(yaml.safe_load(file.read_text()))) == [], file
