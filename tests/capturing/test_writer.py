"""Records that are appended to a file a day: what a kill, a full disk and a fork leave of them."""

import gzip
import json
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from entropy_sentinel.capturing.writer import LogWriter
from entropy_sentinel.frames.errors import InputError

# A program that captures until it is killed; argv: folder, most bytes of a file.
PROGRAM = """
import os, resource, signal, sys
from entropy_sentinel.capturing.writer import LogWriter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
writer = LogWriter(sys.argv[1], lambda record: [record], ".jsonl.gz")
for number in range(50):
    writer.put({"number": number, "noise": os.urandom(200).hex()})
    writer.close()
print(writer.written, writer.dropped, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def as_it_is(record: Any) -> list[Any]:
    return [record]


def numbers(folder: Path) -> list[int]:
    texts = [gzip.decompress(path.read_bytes()).decode() for path in sorted(folder.iterdir())]
    return [json.loads(line)["number"] for line in "".join(texts).splitlines()]


def run(folder: Path, most_bytes: int) -> list[int]:
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), str(most_bytes)], capture_output=True, text=True
    )
    assert result.returncode == -9, result.stderr
    return [int(count) for count in result.stdout.split()]


def test_a_kill_loses_nothing_that_was_written(tmp_path: Path) -> None:
    assert run(tmp_path, 10**6) == [50, 0]
    assert run(tmp_path, 10**6) == [50, 0]  # a second process has a file of its own
    assert numbers(tmp_path) == 2 * list(range(50))
    assert [path.name[10:] for path in sorted(tmp_path.iterdir())] == ["-2.jsonl.gz", ".jsonl.gz"]


def test_a_full_disk_stops_only_the_log_and_leaves_it_whole(tmp_path: Path) -> None:
    written, dropped = run(tmp_path, 5000)  # 300 bytes a record
    assert 10 < written < 20
    assert written + dropped == 50
    assert numbers(tmp_path) == list(range(written))


def test_when_too_many_wait_replies_are_dropped_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(record: Any) -> Any:
        begun.set()
        assert go_on.wait(30)
        return [record]

    writer = LogWriter(tmp_path, slow, ".jsonl.gz", queued=2)
    writer.put({"number": 0})
    assert begun.wait(30)
    with caplog.at_level(logging.WARNING):
        for number in range(1, 6):
            writer.put({"number": number})
    assert writer.dropped == 3
    assert [str(tmp_path) in record.getMessage() for record in caplog.records] == [True]
    go_on.set()
    writer.close()
    assert numbers(tmp_path) == [0, 1, 2]


def test_closing_waits_for_what_was_taken_but_not_for_ever(tmp_path: Path) -> None:
    go_on = threading.Event()

    def slow(record: Any) -> Any:
        assert go_on.wait(30)
        return [record]

    writer = LogWriter(tmp_path, slow, ".jsonl.gz")
    for number in range(5):
        writer.put({"number": number})
    writer.close(timeout_s=0.05)
    assert writer.written == 0
    closing = threading.Thread(target=writer.close, args=[30.0])
    closing.start()
    go_on.set()
    closing.join(30)
    assert (writer.written, numbers(tmp_path)) == (5, [0, 1, 2, 3, 4])


def test_a_reply_that_cannot_be_read_is_counted_and_the_next_is_written(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path, lambda reply: [{"number": 1 // reply}], ".jsonl.gz")
    writer.put(0)
    writer.put(1)
    writer.close()
    assert numbers(tmp_path) == [1]
    assert (writer.written, writer.dropped) == (1, 1)


def test_a_forked_worker_writes_a_file_of_its_own(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path, as_it_is, ".jsonl.gz")
    writer.put({"number": 0})
    writer.close()
    if (child := os.fork()) == 0:
        writer.put({"number": 1})
        writer.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    writer.put({"number": 2})
    writer.close()
    assert sorted(numbers(tmp_path)) == [0, 1, 2]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file/logs: "):
        LogWriter(tmp_path / "file" / "logs", as_it_is, ".jsonl.gz")
