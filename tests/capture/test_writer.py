"""Records that are appended to a file a day: what a kill, a full disk and a fork leave of them."""

import gzip
import json
import logging
import os
import stat
import subprocess
import sys
import threading
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from entropy_sentinel.capture.record_process import HelperProcess
from entropy_sentinel.capture.record_writer import LogWriter
from entropy_sentinel.core.errors import InputError

# A program that captures until it is killed; argv: folder, most bytes of a file.
PROGRAM = """
import os, resource, signal, sys
from entropy_sentinel.capture.record_writer import LogWriter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
writer = LogWriter(sys.argv[1], ".jsonl.gz")
for number in range(50):
    record = {"number": number, "noise": os.urandom(200).hex()}
    writer.put(lambda record=record: [record], 500)
    writer.close()
print(writer.written, writer.dropped, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def numbered(number: int) -> Any:
    """What makes the record of a reply."""
    return lambda: [{"number": number}]


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

    def slow() -> Any:
        begun.set()
        assert go_on.wait(30)
        return [{"number": 0}]

    writer = LogWriter(tmp_path, ".jsonl.gz", queued_bytes=300)
    writer.put(slow, 100)
    assert begun.wait(30)
    with caplog.at_level(logging.WARNING):
        for number in range(1, 6):
            writer.put(numbered(number), 100)
    assert writer.dropped == 3
    assert [str(tmp_path) in record.getMessage() for record in caplog.records] == [True]
    go_on.set()
    writer.close()
    assert numbers(tmp_path) == [0, 1, 2]


def test_room_is_free_again_for_what_was_written(tmp_path: Path) -> None:
    """Five replies of 100 bytes wait together; after them, as many bytes may wait as before."""
    writer = LogWriter(tmp_path, ".jsonl.gz", queued_bytes=600)
    for group in range(2):
        begun, go_on = threading.Event(), threading.Event()

        def slow(begun: threading.Event = begun, go_on: threading.Event = go_on) -> Any:
            begun.set()
            assert go_on.wait(30)
            return [{"number": 0}]

        writer.put(slow, 100)
        assert begun.wait(30)
        for number in range(1, 6):
            writer.put(numbered(number), 100)
        go_on.set()
        writer.close()
        assert (writer.dropped, writer.written) == (0, 6 * (group + 1))


def test_a_reply_that_is_larger_than_the_room_is_written_if_none_waits(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path, ".jsonl.gz", queued_bytes=10)
    writer.put(numbered(1), 1000)
    writer.close()
    assert (writer.dropped, numbers(tmp_path)) == (0, [1])


def test_each_day_has_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = LogWriter(tmp_path, ".jsonl.gz")
    for day in (29, 30):

        class Clock(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> datetime:
                return datetime(2026, 11, day, 23, 59, tzinfo=tz)  # noqa: B023

        monkeypatch.setattr("entropy_sentinel.capture.record_writer.datetime", Clock)
        writer.put(numbered(day), 1)
        writer.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2026-11-29.jsonl.gz", "2026-11-30.jsonl.gz"]
    assert numbers(tmp_path) == [29, 30]


def test_what_a_library_prints_in_the_other_process_is_no_answer() -> None:
    process = HelperProcess()
    assert process.call(partial(print, "a warning of a library", flush=True)) is None
    assert process.call(partial(os.system, "echo of a program")) == 0
    assert process.call(partial(abs, -3)) == 3
    with pytest.raises(RuntimeError, match="TypeError"):
        process.call(partial(abs, "x"))
    assert process._process is not None
    with process._process:  # ends with its input
        pass


def test_closing_waits_for_what_was_taken_but_not_for_ever(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    go_on = threading.Event()

    def slow(number: int) -> Any:
        assert go_on.wait(30)
        return [{"number": number}]

    writer = LogWriter(tmp_path, ".jsonl.gz")
    for number in range(5):
        writer.put(partial(slow, number), 10)
    with caplog.at_level(logging.WARNING):
        writer.close(patience_s=0.05)
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path}: 5 replies have not been written, because the disk does not answer"
    ]
    assert writer.written == 0
    closing = threading.Thread(target=writer.close, args=[30.0])
    closing.start()
    go_on.set()
    closing.join(30)
    assert (writer.written, numbers(tmp_path)) == (5, [0, 1, 2, 3, 4])


def test_a_reply_that_cannot_be_read_is_counted_and_the_next_is_written(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path, ".jsonl.gz")
    writer.put(lambda: [{"number": 1 // 0}], 1)
    writer.put(numbered(1), 1)
    writer.close()
    assert numbers(tmp_path) == [1]
    assert (writer.written, writer.dropped) == (1, 1)
    # Log files are their owner's alone.
    assert [stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()] == [0o600]


def test_a_forked_worker_writes_a_file_of_its_own(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path, ".jsonl.gz")
    writer.put(numbered(0), 1)
    writer.close()
    if (child := os.fork()) == 0:
        writer.put(numbered(1), 1)
        writer.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    writer.put(numbered(2), 1)
    writer.close()
    assert sorted(numbers(tmp_path)) == [0, 1, 2]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file/logs: "):
        LogWriter(tmp_path / "file" / "logs", ".jsonl.gz")
    for folder in (None, 3, b"logs", "a\0b"):
        with pytest.raises(InputError, match="the folder for logs must be a path, got "):
            LogWriter.get_shared(folder, ".jsonl.gz")  # type: ignore[arg-type]  # not what the signature says
    with pytest.raises(InputError, match="s3://bucket/logs: the folder for logs must be local"):
        LogWriter.get_shared("s3://bucket/logs", ".jsonl.gz")


def test_a_process_has_one_writer_for_a_folder(tmp_path: Path) -> None:
    before = threading.active_count()
    writers = {
        id(LogWriter.get_shared(folder, ".jsonl.gz")) for folder in 100 * [tmp_path, str(tmp_path), f"{tmp_path}/."]
    }
    assert (len(writers), threading.active_count() - before) == (1, 1)
    assert LogWriter.get_shared(tmp_path, ".features.jsonl.gz") is not LogWriter.get_shared(tmp_path, ".jsonl.gz")


def test_a_file_that_was_rotated_is_followed_by_a_new_one(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path / "logs", ".jsonl.gz")
    for number in range(2):
        writer.put(numbered(number), 1)
        writer.close()
        (file,) = (tmp_path / "logs").iterdir()
        file.rename(tmp_path / f"rotated-{number}.gz")
    writer.put(numbered(2), 1)
    writer.close()
    assert numbers(tmp_path / "logs") == [2]
    assert [gzip.decompress(path.read_bytes()) for path in sorted(tmp_path.glob("rotated*"))] == [
        b'{"number": 0}\n',
        b'{"number": 1}\n',
    ]


# A program that ends right after its replies; argv: folder, how.
ENDING = """
import os, signal, sys, time
from functools import partial
from entropy_sentinel.capture.record_writer import LogWriter
def slow(number):
    time.sleep(0.01)
    return [{"number": number, "text": "x" * 10**5}]
writer = LogWriter.get_shared(sys.argv[1], ".jsonl.gz")
for number in range(60):
    writer.put(partial(slow, number), 10**6)
if sys.argv[2] == "SIGTERM":
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(30)
"""


@pytest.mark.parametrize(("how", "status"), [("exit", 0), ("SIGTERM", -15)])
def test_a_program_that_ends_writes_all_its_replies(tmp_path: Path, how: str, status: int) -> None:
    result = subprocess.run([sys.executable, "-c", ENDING, str(tmp_path), how], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (status, "")
    assert numbers(tmp_path) == list(range(60))
