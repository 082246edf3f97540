"""Files behind URLs, in a store in memory: found, copied once, read, written; a connection that is lost."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFile, MemoryFileSystem
from serving import PROGRAMS, needs_program, object_store

import entropy_sentinel as es
from entropy_sentinel.core import object_stores
from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.core.urls import parse_url

LOG = es.example().log.read_bytes()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryFileSystem]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    filesystem = fsspec.filesystem("memory")
    filesystem.pipe_file("/logs/day-1.jsonl", LOG)
    filesystem.pipe_file("/logs/labels.csv", b"item_id,label\nx,true\n")
    yield filesystem
    filesystem.rm("/logs", recursive=True)


def test_a_path_keeps_its_url() -> None:
    assert parse_url(Path("s3://bucket/key.jsonl")) == parse_url("s3://bucket/key.jsonl") == "s3://bucket/key.jsonl"
    assert [parse_url(path) for path in ("logs/a.jsonl", "C:/a", "/s3/a", "s3")] == [None] * 4


def test_files_folders_and_patterns(store: MemoryFileSystem) -> None:
    n = len(es.read_logs(es.example().log))
    for url in ("memory://logs", "memory://logs/day-1.jsonl", "memory://logs/*.jsonl", Path("memory://logs")):
        assert len(es.read_logs(url)) == n
    assert es.read_labels("memory://logs/labels.csv").rows() == [("x", True)]
    with pytest.raises(InputError, match="memory://logs/day-3"):
        es.read_logs("memory://logs/day-3.jsonl")


def test_error_messages_name_the_url(store: MemoryFileSystem) -> None:
    store.pipe_file("/logs/labels.csv", b"item_id,label\nx,maybe\n")
    with pytest.raises(InputError, match=r"^memory://(/)?logs/labels.csv: row 1: 'label'"):
        es.read_labels("memory://logs/labels.csv")
    store.pipe_file("/logs/day-1.jsonl", LOG + b"{\n")
    logs = es.open_logs("memory://logs/day-1.jsonl")
    assert sum(map(len, logs)) == 15
    (line,) = logs.summary.format_problems()
    assert line.startswith("memory://")


def test_a_monitor_downloads_only_new_files(
    store: MemoryFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    features, labels = es.features(es.read_logs(es.example().traces)), es.read_labels(es.example().labels)
    es.save(es.fit(features, labels, "group-accuracy"), "memory://logs/mine.estimator")
    copied: list[str] = []
    download = object_stores._download_rest

    def counted(fs: MemoryFileSystem, path: str, *more: object) -> None:
        copied.append(Path(path).name)
        download(fs, path, *more)

    monkeypatch.setattr(object_stores, "_download_rest", counted)

    def n_responses() -> int:
        state = tmp_path / "state"
        result = es.monitor("memory://logs/mine.estimator", "memory://logs", state=state, any_logprobs=True)
        return result.slices["n_responses"].sum()

    n = len(es.read_logs(es.example().log))
    assert [n_responses(), n_responses()] == [n, n]
    assert sorted(copied) == ["day-1.jsonl", "labels.csv", "mine.estimator"]
    first = LOG.splitlines(keepends=True)[0]
    store.pipe_file("/logs/day-1.jsonl", LOG + first.replace(b'"item_id":"', b'"item_id":"another-'))
    assert n_responses() == n + 1
    assert copied[3:] == ["day-1.jsonl"]
    with pytest.raises(ConfigError, match="state"):
        es.monitor("memory://logs/mine.estimator", "memory://logs", state="memory://logs/state")


def test_a_lost_connection_is_reported_and_resumed(store: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_stores, "_BLOCK", 1000)
    read, places = MemoryFile.read, list[int]()

    def lost(file: MemoryFile, size: int = -1) -> bytes:
        places.append(file.tell())
        if file.tell() == 3000 and places.count(3000) == 1:
            raise ConnectionError("reset by peer")
        return read(file, size)

    monkeypatch.setattr(MemoryFile, "read", lost)
    with pytest.raises(InputError, match=r"memory://logs/day-1\.jsonl.*3,000 bytes.*reset by peer"):
        es.read_logs("memory://logs/day-1.jsonl")
    assert object_stores.get_local_path("memory://logs/day-1.jsonl").read_bytes() == LOG
    assert places[:6] == [0, 1000, 2000, 3000, 3000, 4000]


@pytest.mark.long
@needs_program("moto_server")
def test_commands_read_and_write_a_store_with_the_interface_of_s3(tmp_path: Path) -> None:
    """By the light installation with the extra `cloud`."""
    example = es.example()
    with object_store(tmp_path, "lab") as client:
        client.upload_file(str(example.labels), "lab", "labels.parquet")
        for path in Path(example.traces).iterdir():
            client.upload_file(str(path), "lab", f"traces/{path.name}")

        def command(line: str) -> str:
            words = [str(PROGRAMS / "entropy-sentinel"), *line.split()]
            environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
            done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stderr
            return done.stdout

        command("fit s3://lab/traces --labels s3://lab/labels.parquet -e group-accuracy -o s3://lab/mine.estimator")
        monitor = f"monitor s3://lab/mine.estimator s3://lab/traces/* --by benchmark --state {tmp_path}/state"
        command(f"{monitor} -o s3://lab/slices.csv")
        first = client.get_object(Bucket="lab", Key="slices.csv")["Body"].read()
        assert first.count(b"\n") > 1
        command(f"{monitor} -o s3://lab/again.csv")
        assert client.get_object(Bucket="lab", Key="again.csv")["Body"].read() == first
