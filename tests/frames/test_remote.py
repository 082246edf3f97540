"""Files behind URLs, in a store in memory: found, copied once, read, written; a connection that is lost."""

from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFile, MemoryFileSystem

import entropy_sentinel as es
from entropy_sentinel.frames import remote
from entropy_sentinel.frames.errors import ConfigError, InputError
from entropy_sentinel.frames.files import url_of

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
    assert url_of(Path("s3://bucket/key.jsonl")) == url_of("s3://bucket/key.jsonl") == "s3://bucket/key.jsonl"
    assert [url_of(path) for path in ("logs/a.jsonl", "C:/a", "/s3/a", "s3")] == [None] * 4


def test_files_folders_and_patterns(store: MemoryFileSystem) -> None:
    n = len(es.read_logs(es.example().log))
    for url in ("memory://logs", "memory://logs/day-1.jsonl", "memory://logs/*.jsonl", Path("memory://logs")):
        assert len(es.read_logs(url)) == n
    assert es.read_labels("memory://logs/labels.csv").rows() == [("x", True)]
    with pytest.raises(InputError, match="memory://logs/day-3"):
        es.read_logs("memory://logs/day-3.jsonl")


def test_a_monitor_reads_and_gets_only_what_is_new(
    store: MemoryFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    features, labels = es.features(es.read_logs(es.example().traces)), es.read_labels(es.example().labels)
    es.save(es.fit(features, labels, "group-accuracy"), "memory://logs/mine.estimator")
    copied: list[str] = []
    download = remote._download

    def counted(fs: MemoryFileSystem, path: str, *more: object) -> None:
        copied.append(Path(path).name)
        download(fs, path, *more)

    monkeypatch.setattr(remote, "_download", counted)

    def n_responses() -> int:
        state = tmp_path / "state"
        found = es.monitor("memory://logs/mine.estimator", "memory://logs", state=state, any_logprobs=True)
        return found.slices["n_responses"].sum()

    n = len(es.read_logs(es.example().log))
    assert [n_responses(), n_responses()] == [n, n]
    assert sorted(copied) == ["day-1.jsonl", "labels.csv", "mine.estimator"]
    first = LOG.splitlines(keepends=True)[0]
    store.pipe_file("/logs/day-1.jsonl", LOG + first.replace(b'"id":', b'"id": "another", "old_id":'))
    assert n_responses() == n + 1
    assert copied[3:] == ["day-1.jsonl"]
    with pytest.raises(ConfigError, match="state"):
        es.monitor("memory://logs/mine.estimator", "memory://logs", state="memory://logs/state")


def test_a_lost_connection_is_told_and_taken_up_again(store: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_BLOCK", 1000)
    read, places = MemoryFile.read, list[int]()

    def lost(file: MemoryFile, size: int = -1) -> bytes:
        places.append(file.tell())
        if file.tell() == 3000 and places.count(3000) == 1:
            raise ConnectionError("reset by peer")
        return read(file, size)

    monkeypatch.setattr(MemoryFile, "read", lost)
    with pytest.raises(InputError, match=r"memory://logs/day-1\.jsonl.*3,000 bytes.*reset by peer"):
        es.read_logs("memory://logs/day-1.jsonl")
    assert remote.local("memory://logs/day-1.jsonl").read_bytes() == LOG
    assert places[:6] == [0, 1000, 2000, 3000, 3000, 4000]


def test_nothing_secret_of_a_url_is_told(store: MemoryFileSystem) -> None:
    with pytest.raises(InputError) as error:
        es.read_logs("https://me:secret@127.0.0.1:9/a.jsonl?X-Amz-Signature=signed")
    assert "127.0.0.1:9/a.jsonl" in str(error.value)
    assert not {"secret", "signed"} & set(str(error.value).replace("=", " ").replace(":", " ").split())
