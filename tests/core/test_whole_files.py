"""Files that appear whole or not at all, also where the path is a link, a device, a file that must stay as it is."""

import errno
import fcntl
import os
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.whole_files import check_outputs, is_stream, whole_file


def write(path: Path, text: str) -> None:
    with whole_file(path) as partial:
        partial.write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_link_remains_a_link(tmp_path: Path) -> None:
    real, link, other = tmp_path / "real" / "numbers.prom", tmp_path / "link.prom", tmp_path / "twice.prom"
    real.parent.mkdir()
    real.write_text("old")
    link.symlink_to(real)
    other.symlink_to(link.name)
    write(other, "new")
    assert (link.is_symlink(), other.is_symlink(), real.is_symlink()) == (True, True, False)
    assert real.read_text() == "new"
    assert names(tmp_path) == ["link.prom", "real", "twice.prom"]
    assert names(real.parent) == ["numbers.prom"]


def test_a_link_to_a_missing_file_creates_that_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "later" / "file")
    write(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "later" / "file").read_text() == "new"


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(OSError, match="one") as refused:
        write(tmp_path / "one", "new")
    assert refused.value.errno == errno.ELOOP
    assert (tmp_path / "one").is_symlink()


def test_a_pipe_gets_the_content(tmp_path: Path) -> None:
    pipe, result = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: result.append(pipe.read_text()))
    reader.start()
    write(pipe, "new")
    reader.join(10)
    assert result == ["new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_remains_a_device() -> None:
    before = os.stat("/dev/null")
    write(Path("/dev/null"), "new")
    after = os.stat("/dev/null")
    assert stat.S_ISCHR(after.st_mode)
    assert (before.st_ino, before.st_rdev) == (after.st_ino, after.st_rdev)


@pytest.mark.parametrize("to_file", [True, False])
def test_standard_output_gets_the_content_after_earlier_output(to_file: bool, tmp_path: Path) -> None:
    """A file behind it too: `command --output /dev/stdout > file`."""
    program = (
        "from entropy_sentinel.core.whole_files import whole_file\n"
        "print('before')\n"
        "for name in ('/dev/stdout', '/dev/fd/1', '/proc/self/fd/1'):\n"
        "    with whole_file(name) as partial: partial.write_text(f'{name}\\n')\n"
        "    print('after')"
    )
    with (tmp_path / "out").open("w") as out:
        done = subprocess.run([sys.executable, "-c", program], stdout=out if to_file else subprocess.PIPE, text=True)
    assert done.returncode == 0
    shown = (tmp_path / "out").read_text() if to_file else done.stdout
    assert shown == "before\n/dev/stdout\nafter\n/dev/fd/1\nafter\n/proc/self/fd/1\nafter\n"
    assert names(tmp_path) == ["out"]


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "private"
    path.write_text("old")
    path.chmod(0o640)
    write(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file away, as root can")
def test_a_replaced_file_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "theirs"
    path.write_text("old")
    os.chown(path, 1234, 2345)
    write(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


def test_a_folder_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder, must be a file"), whole_file(tmp_path):
        raise AssertionError("the block has begun")


def test_a_file_that_must_not_be_written_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kept").write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="not writable"):
        write(tmp_path / "kept", "new")
    assert (tmp_path / "kept").read_text() == "old"


WRITER = """
import sys
from entropy_sentinel.core.whole_files import whole_file
with whole_file(sys.argv[1]) as partial:
    partial.write_text("half")
    print("begun", flush=True)
    sys.stdin.read()
"""


def test_leftovers_of_a_killed_process_go_and_partial_files_of_a_running_one_stay(tmp_path: Path) -> None:
    command, target = [sys.executable, "-c", WRITER, tmp_path / "rows.csv"], tmp_path / "rows.csv"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as killed, subprocess.Popen(command, **pipes) as other:
        for process in (killed, other):
            assert process.stdout.readline() == "begun\n"
        killed.kill()
        killed.wait()
        assert len(names(tmp_path)) == 2
        write(target, "whole")
        assert len(names(tmp_path)) == 2
        assert target.read_text() == "whole"
        other.communicate("")
    assert (names(tmp_path), target.read_text()) == (["rows.csv"], "half")


def test_concurrent_writers_keep_each_other_s_partial_files(tmp_path: Path) -> None:
    """A file between its creation and its lock looked abandoned: of 3,200 writes some 95 lost theirs."""
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: write(tmp_path / "rows.csv", str(number)), range(1000)))
    assert names(tmp_path) == ["rows.csv"]


def test_without_locks_a_file_is_written_and_nothing_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", unsupported)
    (tmp_path / ".rows.csv.1.partial").touch()
    write(tmp_path / "rows.csv", "new")
    assert names(tmp_path) == [".rows.csv.1.partial", "rows.csv"]


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        OSError("No space left on device (os error 28)"),
        pl.exceptions.ComputeError("parquet: underlying IO error: No space left on device (os error 28)"),
        OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)),
    ],
)
def test_a_full_disk_keeps_the_old_file(error: Exception, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("old")

    def fill() -> None:
        with whole_file(tmp_path / "table.csv") as partial:
            partial.write_text("ne")
            raise error

    with pytest.raises(OSError, match=r"no space left on the disk.*table.csv") as full:
        fill()
    assert full.value.errno == errno.ENOSPC
    assert (tmp_path / "table.csv").read_text() == "old"
    assert names(tmp_path) == ["table.csv"]


def test_a_full_disk_of_another_file_is_not_attributed_to_this_one(tmp_path: Path) -> None:
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/elsewhere/copy")
    with pytest.raises(OSError, match="/elsewhere/copy"), whole_file(tmp_path / "table.csv"):
        raise error
    assert names(tmp_path) == []


def test_devices_pipes_and_standard_streams_are_streams(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = {name: is_stream(name) for name in ("/dev/null", "/dev/stdout", "/dev/fd/1")}
    assert result == dict.fromkeys(result, True)
    assert not is_stream(tmp_path / "file")
    assert not is_stream(tmp_path / "none")


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "a\0b", f"{tmp_path}/a\0/b.csv"):
        with pytest.raises(InputError, match="NUL"):
            write(Path(path), "a")
        with pytest.raises(InputError, match="NUL"):
            check_outputs({"--output": path}, [])


def test_a_message_shows_the_ends_of_a_name_of_any_length() -> None:
    message = str(InputError(f"a: {'x' * 1_000_000} z: wrong\nb: wrong"))
    assert len(message) < 2100
    assert message.startswith("a: xxx")
    assert message.endswith("xxx z: wrong\nb: wrong")
