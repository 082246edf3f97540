"""Studies in a folder of their own: their paths begin there, and errors name the folders."""

from pathlib import Path

import pytest
import yaml
from calling import run

from entropy_sentinel.core.cache_folders import TREE, find_base
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.study.cli.study_loading import load_study
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.jobs.job_inputs import parse_study_path

MINE = {
    "study": "mine",
    "run": {"models": ["qwen3-4b"], "benchmarks": ["sums"], "groups": ["sums"], "analyses": ["accuracy"]},
    "benchmarks": {"sums": {"path": "sums.jsonl", "question": ["{question}"], "reference": ["{answer}"]}},
    "groups": {"sums": {"benchmarks": ["sums"]}},
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(MINE))
    (tmp_path / "sums.jsonl").write_text('{"question": "1 + 1?", "answer": "2"}\n' * 60)
    return tmp_path


def test_commands_work_in_any_folder(folder: Path, capsys: pytest.CaptureFixture) -> None:
    status, shown, errors = run(capsys, "plan", "-c", "mine.yaml")
    assert (status, "Study 'mine'" in shown) == (0, True), errors
    assert "60" in shown
    assert find_base() == TREE / "config.yaml"
    (folder / "config.yaml").write_text("study: here\n")
    assert find_base() == Path("config.yaml")


def test_errors_name_the_folder_in_which_paths_begin(folder: Path) -> None:
    Path("sums.jsonl").unlink()
    with pytest.raises(ConfigError) as error:
        load_config(read_config([TREE / "config.yaml", "mine.yaml"]))
    assert "none at 'sums.jsonl'" in str(error.value)
    assert f"relative paths begin at the working folder, {folder}" in str(error.value)
    assert "--directory" not in str(error.value)
    with pytest.raises(ConfigError, match=f"{TREE} has these files: run there, or with `snakemake --directory {TREE}`"):
        load_study([TREE / "examples" / "real" / "study.yaml"])


def test_a_config_of_the_working_folder_that_is_not_whole_is_named(folder: Path) -> None:
    mine = {name: MINE[name] for name in ("study", "run", "benchmarks")}
    (folder / "config.yaml").write_text(yaml.safe_dump(mine))
    with pytest.raises(ConfigError) as error:
        load_config(read_config(["config.yaml"]))
    assert f"{folder / 'config.yaml'} replaces the paper's study" in str(error.value)
    assert "has no models, judges" in str(error.value)


def test_another_workflow_puts_results_elsewhere() -> None:
    config = load_config(read_config([TREE / "config.yaml", "mine.yaml"]), roots=("inner/results/", "inner/logs/"))
    assert config.layout.labels == "inner/results/mine/labels/{judge}/{model}/{benchmark}.parquet"
    assert config.layout.logs == "inner/logs/mine"
    named = {"judge": "j", "model": "m", "benchmark": "b"}
    assert parse_study_path(config.layout.labels.format(**named)) == named
    assert parse_study_path("/elsewhere/results/mine/labels/j/m/b.parquet") == {}
