"""A file that is to be written is none that is read, by whatever name or link."""

import os
from pathlib import Path

import pytest

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.whole_files import check_outputs


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log in the working folder, which other names lead to."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "logs" / "log.jsonl"
    path.parent.mkdir()
    path.write_text("the only copy")
    (tmp_path / "link").symlink_to(path)
    (tmp_path / "folder").symlink_to(path.parent)
    os.link(path, tmp_path / "hard")
    return path


@pytest.mark.parametrize("name", ["logs/log.jsonl", "logs/../logs/log.jsonl", "link", "folder/log.jsonl", "hard"])
def test_an_output_that_is_also_an_input_is_refused(name: str, log: Path) -> None:
    for output, read in ((name, log), (log, name)):
        with pytest.raises(InputError, match=rf"--output: {output} .*(, as {read})?"):
            check_outputs({"--metrics": "other", "--output": output}, ["estimator", read])


def test_other_outputs_are_accepted(log: Path) -> None:
    check_outputs({"--output": "new.csv", "--metrics": log.parent / "new.prom", "--page": None}, [log, "none", "-"])


def test_an_input_that_does_not_exist_yet_is_recognised(log: Path) -> None:
    """As a state's file, or a label file that is named for both."""
    with pytest.raises(InputError, match=r"--output: \./later.csv .*as later.csv"):
        check_outputs({"--output": "./later.csv"}, ["later.csv"])


def test_an_output_inside_an_input_folder_is_refused(log: Path) -> None:
    for name in ("logs/rows.csv", "folder/deep/rows.csv"):
        with pytest.raises(InputError, match=rf"--output: {name} is in .*logs"):
            check_outputs({"--output": name}, [log.parent])


def test_the_file_behind_standard_input_is_an_input(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`command - --output log.jsonl < log.jsonl`."""
    real = os.fstat
    monkeypatch.setattr(os, "fstat", lambda number: log.stat() if number == 0 else real(number))
    with pytest.raises(InputError, match=r"--output: link .*as -"):
        check_outputs({"--output": "link"}, ["-"])


def test_two_outputs_with_the_same_path_are_refused(log: Path) -> None:
    with pytest.raises(InputError, match=r"--alerts: hard .*--output"):
        check_outputs({"--output": "link", "--alerts": "hard"}, [])
    with pytest.raises(InputError, match=r"--alerts: \./new .*--output"):
        check_outputs({"--output": "new", "--alerts": "./new"}, [])
    check_outputs({"--output": "/dev/null", "--alerts": "/dev/null"}, ["/dev/null"])


def test_a_folder_cannot_be_written(log: Path) -> None:
    with pytest.raises(IsADirectoryError, match="logs"):
        check_outputs({"--output": "logs"}, [])
