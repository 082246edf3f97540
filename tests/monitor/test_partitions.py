"""The config of workflow/monitor.smk."""

from pathlib import Path

import pytest

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.monitor.partitions import Partitions


def test_files_of_one_name_are_parts_of_two(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "log 1.jsonl").write_text("")
    config = {"estimator": "e", "folder": "f", "logs": [f"{tmp_path}/*/*.jsonl", f"{tmp_path}/a/log 1.jsonl"]}
    result = Partitions({**config, "options": {"by": ["route"], "level": 0.8}})
    assert sorted(result.logs.values()) == [f"{tmp_path}/a/log 1.jsonl", f"{tmp_path}/b/log 1.jsonl"]
    assert all(name.startswith("log-1.jsonl-") for name in result.logs)
    assert result.reading == {"by": ["route"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimator": None}, "labels: must be given without an estimator"),
        ({"estimator": None, "options": {"labels": ["x.csv"], "any_model": True}}, "any_model: needs an estimator"),
        ({"logs": "/nowhere/*.jsonl"}, r"logs: /nowhere/\*.jsonl: "),
        ({"options": {"state": "x"}}, "options: unknown key 'state'"),
    ],
)
def test_what_cannot_be(change: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Partitions({"estimator": "e", "folder": "f", "logs": __file__} | change)
