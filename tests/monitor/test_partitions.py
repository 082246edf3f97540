"""The config of workflow/monitor.smk."""

import inspect
from pathlib import Path

import pytest

import entropy_sentinel as es
from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.monitor.partitions import Partitions
from entropy_sentinel.monitor.running import collect, monitor
from entropy_sentinel.monitor.settings import ASKING_OPTIONS, READING_OPTIONS, Reading


def test_options_are_those_of_the_verb() -> None:
    assert {*READING_OPTIONS, *ASKING_OPTIONS, "estimator", "logs"} == set(inspect.signature(monitor).parameters)
    named = {*inspect.signature(collect).parameters, *Reading.__dataclass_fields__} - {"options", "grain"}
    assert {*READING_OPTIONS, "estimator", "logs", "state"} == named
    assert callable(es.monitor)


def test_files_of_one_name_are_parts_of_two(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "log 1.jsonl").write_text("")
    config = {"estimator": "e", "folder": "f", "logs": [f"{tmp_path}/*/*.jsonl", f"{tmp_path}/a/log 1.jsonl"]}
    found = Partitions({**config, "options": {"by": ["route"], "level": 0.8}})
    assert sorted(found.logs.values()) == [f"{tmp_path}/a/log 1.jsonl", f"{tmp_path}/b/log 1.jsonl"]
    assert all(name.startswith("log-1.jsonl-") for name in found.logs)
    assert found.reading == {"by": ["route"]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"log": "x"}, "unknown key 'log'; known keys: estimator, logs, folder, options"),
        ({"estimator": None}, "estimator: must be there"),
        ({"logs": "/nowhere/*.jsonl"}, r"logs: /nowhere/\*.jsonl: is no file, and no pattern that a file matches"),
        ({"options": {"windows": "day"}}, "options: unknown 'windows'; known: by, window, "),
        ({"options": {"state": "x"}}, "options: unknown 'state'"),
    ],
)
def test_what_cannot_be(change: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Partitions({"estimator": "e", "folder": "f", "logs": __file__} | change)
