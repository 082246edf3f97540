"""Logs from named pipes and process substitution, which can be read once."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest
from calling import run
from production import line, log_file, saved

import entropy_sentinel as es
from entropy_sentinel.core import named_pipes
from entropy_sentinel.core.errors import InputError


@pytest.fixture(autouse=True)
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies lie in the test's folder: a worker of the tests ends without deleting its own."""
    monkeypatch.setattr(named_pipes, "_make_folder", lambda: str(tmp_path))


@contextmanager
def substituted(content: bytes) -> Iterator[str]:
    """The path that a shell gives a command for `<(program)`."""
    read, write = os.pipe()

    def send() -> None:
        with open(write, "wb") as pipe:
            pipe.write(content)

    writer = threading.Thread(target=send)
    writer.start()
    yield f"/dev/fd/{read}"
    writer.join(10)
    os.close(read)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log that is larger than what a pipe holds."""
    return log_file(tmp_path / "log.jsonl", [line(number, route="shop") for number in range(90)])


def test_commands_read_a_process_substitution(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert log.stat().st_size > 1 << 16
    expected = es.read_features(log)
    with substituted(log.read_bytes()) as path:
        assert run(capsys, "features", path, "--output", tmp_path / "f.parquet")[0] == 0
    features = es.read_features(tmp_path / "f.parquet")
    assert features.select("item_id", "max").equals(expected.select("item_id", "max"))
    # A monitor looks at its files several times, and its state knows the content.
    estimator, state = saved(tmp_path, "group-accuracy"), tmp_path / "state"
    for _ in range(2):
        with substituted(log.read_bytes()) as path:
            call = ("monitor", estimator, path, "--by", "route", "--state", state, "--page", tmp_path / "p.html")
            status, out, _ = run(capsys, *call)
        assert (status, "90 responses in 1 file" in out) == (0, True)


def test_a_named_pipe_is_read_again_only_if_somebody_writes_again(tmp_path: Path, log: Path) -> None:
    """Labels within a log are read from the same path as its features."""
    pipe = tmp_path / "mine.csv"
    os.mkfifo(pipe)
    for number in range(2):
        writer = threading.Thread(target=pipe.write_text, args=[f"item_id,label\nreq-{number},true\n"])
        writer.start()
        assert es.read_labels(pipe)["item_id"].to_list() == [f"req-{number}"]
        writer.join(10)
        assert es.read_labels(pipe)["item_id"].to_list() == [f"req-{number}"]


def test_labels_from_a_process_substitution() -> None:
    with substituted(b"item_id,label\na,true\n") as path:
        assert es.read_labels(path).rows() == [("a", True)]
    with substituted(b'{"item_id": "a", "label": false}\n') as path:
        assert es.read_labels(path).rows() == [("a", False)]


def test_an_error_names_the_pipe_and_parquet_is_recognised(tmp_path: Path) -> None:
    with substituted(b'{"a": 1}\n') as path, pytest.raises(InputError, match=f"{path}: line 1: has no known format"):
        es.read_logs(path)
    traces = next(iter(sorted(es.example().traces.glob("*.parquet"))))
    with substituted(traces.read_bytes()) as path:
        assert len(es.read_logs(path)) == pl.scan_parquet(traces).select(pl.len()).collect().item()
