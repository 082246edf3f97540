"""Engines' folders and sockets that others made, damaged or hold: nothing of them is run, followed or deleted."""

import errno
import fcntl
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from pooled import SETTINGS, wait_for

from entropy_sentinel.core.errors import EntropySentinelError, InputError
from entropy_sentinel.study.engines import engine_pool, process_connections
from entropy_sentinel.study.engines import engine_run as runs
from entropy_sentinel.study.engines.engine_client import SharedEngine
from entropy_sentinel.study.engines.engine_processes import PROCESS_FILE, remove_engine
from entropy_sentinel.study.engines.engine_run import EngineRun
from entropy_sentinel.study.engines.process_connections import ForeignProcessError, accept_connection, open_connection

NAME = f"es-{os.getuid()}-"


class Touching:
    """Unpickling it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.fixture
def run(tmp_path: Path) -> EngineRun:
    own = EngineRun.create(20)
    return EngineRun(tmp_path / f"{NAME}0a", own.pid, own.start_time, 20)


@contextmanager
def sending(path: Path, message: bytes) -> Iterator[None]:
    """A socket whose process sends a message to whoever connects."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve() -> None:
        with suppress(OSError):
            asking, _ = listener.accept()
            with Connection(asking.detach()) as connection, suppress(OSError, EOFError):
                connection.send_bytes(message)
                while True:
                    connection.recv_bytes()

    threading.Thread(target=serve, daemon=True).start()
    yield
    listener.close()


def planted_engine(run: EngineRun, mode: int) -> Path:
    folder = run.folder / f"{engine_pool._hash_settings(SETTINGS, 1)}-x"
    run.folder.mkdir()
    run.folder.chmod(mode)
    folder.mkdir()
    (folder / engine_pool.LOCK).touch()
    return folder / engine_pool.SOCKET


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o777])
def test_no_engine_of_a_folder_that_others_can_use_is_asked(run: EngineRun, tmp_path: Path, mode: int) -> None:
    with (
        sending(planted_engine(run, mode), pickle.dumps(Touching(tmp_path / "ran"))),
        pytest.raises(InputError, match=rf"must be this user's own folder .*with mode {mode:o}; delete it"),
    ):
        SharedEngine(SETTINGS, 1, run).provenance  # noqa: B018
    assert not (tmp_path / "ran").exists()


def test_no_engine_behind_a_link_is_asked(run: EngineRun, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    run.folder.symlink_to(real)
    with pytest.raises(InputError, match="no link"):
        list(engine_pool._list_engines(run))


def test_nothing_is_unpickled_that_a_process_without_the_secret_sends(run: EngineRun, tmp_path: Path) -> None:
    with (
        sending(planted_engine(run, 0o700), pickle.dumps(Touching(tmp_path / "ran"))),
        pytest.raises(ForeignProcessError, match="must be of this run"),
    ):
        SharedEngine(SETTINGS, 1, run).provenance  # noqa: B018
    assert not (tmp_path / "ran").exists()


@contextmanager
def listening(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        listener.listen()
        yield listener


def answered(listener: socket.socket, secret: str) -> list[Exception | Connection]:
    """What `accepted` returns or raises for the next that connects, when the thread has ended."""
    result: list[Exception | Connection] = []

    def accept() -> None:
        try:
            result.append(accept_connection(listener.accept()[0], secret))
        except Exception as error:
            result.append(error)

    threading.Thread(target=accept, daemon=True).start()
    return result


def test_both_sides_prove_the_secret(tmp_path: Path) -> None:
    with listening(tmp_path) as listener:
        result = answered(listener, "secret")
        connection, process = open_connection(tmp_path / "socket", "secret")
        assert process == os.getpid()
        wait_for(lambda: result)
        (other,) = result
        assert isinstance(other, Connection)
        connection.send([1])
        assert other.recv() == [1]
        other.close()
        result = answered(listener, "secret")
        with pytest.raises((ForeignProcessError, EOFError)):
            open_connection(tmp_path / "socket", "another")
        wait_for(lambda: result)
        assert isinstance(result[0], ForeignProcessError)


def test_the_kernel_is_asked_whose_process_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(tmp_path):
        monkeypatch.setattr(os, "getuid", lambda: 4242)
        with pytest.raises(ForeignProcessError, match="must be of user 4242, is of user"):
            open_connection(tmp_path / "socket", "secret")


def test_a_silent_process_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_connections, "HANDSHAKE_S", 1)
    with listening(tmp_path) as listener, socket.socket(socket.AF_UNIX) as silent:
        result = answered(listener, "secret")
        silent.connect(str(tmp_path / "socket"))
        wait_for(lambda: result, 5)
        assert isinstance(result[0], OSError)


def test_of_runs_only_dead_ones_of_this_user_are_deleted(run: EngineRun, tmp_path: Path) -> None:
    """`held` is the run of another container: no process of this machine's has its id, but its engine has its lock."""
    names = ["dead", "linked", "held", "leased", "others", "of-another-name", "a-file"]
    paths = dict(
        zip(names, (tmp_path / f"{NAME}{part}" for part in ("1", "2", "3", "4", "5", "zz-y", "6")), strict=True)
    )
    home = tmp_path / "home"
    for folder in (home, *(paths[name] for name in names if name not in ("linked", "a-file"))):
        (folder / "engine").mkdir(parents=True)
        folder.chmod(0o700)
        (folder / "engine" / engine_pool.LOCK).touch()
    paths["linked"].symlink_to(home)
    paths["a-file"].touch()
    paths["others"].chmod(0o755)
    (paths["dead"] / "link").symlink_to(home)
    descriptor = os.open(paths["held"], os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    with (paths["leased"] / "engine" / engine_pool.LOCK).open() as lease:
        fcntl.flock(lease, fcntl.LOCK_EX)
        engine_pool._clear_dead_runs(run)
    os.close(descriptor)
    assert [name for name in names if not os.path.lexists(paths[name])] == ["dead"]
    assert (home / "engine" / engine_pool.LOCK).exists()
    for name in ("held", "leased", "others", "of-another-name"):
        assert (paths[name] / "engine" / engine_pool.LOCK).exists(), name


def test_runs_have_names_that_nobody_guesses_and_secrets_that_are_not_shown() -> None:
    first, second = EngineRun.create(1), EngineRun.create(1)
    assert first == second, "jobs of one process share engines"
    assert f"{os.getpid():x}" not in first.folder.name.split("-")
    assert len(first.secret) >= 32
    assert first.secret not in repr(first)
    assert runs._make_identity(os.getpid()) != runs._make_identity(os.getpid() + 1)
    assert first.is_alive
    assert not EngineRun(first.folder, first.pid, first.start_time - 2 * runs.START_TOLERANCE_S, 1).is_alive


@pytest.mark.parametrize("failing", ["mkdir", "write_text"])
def test_a_full_disk_is_reported(run: EngineRun, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    def full(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(Path, failing, full)
    with pytest.raises(EntropySentinelError, match=rf"{run.folder}.*No space left on device; .*TMPDIR"):
        SharedEngine(SETTINGS, 1, run).provenance  # noqa: B018


def test_engines_come_in_the_order_of_their_last_use(run: EngineRun) -> None:
    held = run.lock_folder()
    assert run.folder.stat().st_mode & 0o777 == 0o700
    for number, name in enumerate(("b", "c", "a")):
        (run.folder / name).mkdir()
        (run.folder / name / engine_pool.LOCK).touch()
        os.utime(run.folder / name / engine_pool.LOCK, ns=(0, 10**18 + number))
    os.close(held)
    assert [folder.name for folder in engine_pool._list_engines(run)] == ["b", "c", "a"]
    lease = next(engine_pool._lease_idle_engines(run))
    assert lease.folder.name == "b"
    lease.close()
    assert [folder.name for folder in engine_pool._list_engines(run)] == ["c", "a", "b"]


def test_a_job_that_breaks_off_or_stops_holds_up_no_other(
    run: EngineRun, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Of the jobs of a Slurm job, for which its first process starts engines."""
    started: list[tuple[str, int]] = []

    def spawned(engine: Path, environment: dict[str, str], standard_error: int, locks: list[int]) -> int:
        started.append((environment["A"], len(locks)))
        return 4711

    monkeypatch.setattr(runs, "_posix_spawn", spawned)
    runs.start_spawner(run)
    with socket.socket(socket.AF_UNIX) as broken:
        broken.connect(str(run.folder / runs.SPAWNER_SOCKET))
    without_request, _ = open_connection(run.folder / runs.SPAWNER_SOCKET, run.secret)
    without_request.close()
    unreadable, _ = open_connection(run.folder / runs.SPAWNER_SOCKET, run.secret)
    unreadable.send_bytes(b"{}")
    stopped, _ = open_connection(run.folder / runs.SPAWNER_SOCKET, run.secret)  # sends nothing, and stays
    assert runs.start_engine_process(run, run.folder / "x", {"A": "\udce9"}, [0, 1]) == 4711
    assert started == [("\udce9", 2)]
    wait_for(lambda: caplog.text.count("an engine was not started") >= 3)
    for connection in (unreadable, stopped):
        connection.close()


def test_a_process_that_starts_no_engines_is_an_error_of_the_job(run: EngineRun) -> None:
    held = run.lock_folder()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(run.folder / runs.SPAWNER_SOCKET))
    os.close(held)
    with pytest.raises(EntropySentinelError, match="the first process of this Slurm job must start an engine"):
        runs.start_engine_process(run, run.folder / "x", {}, [])


def test_a_stopped_process_is_waited_for_with_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(engine_pool, "SILENT_S", 0.05)
    here, there = socket.socketpair()
    engine = os.fork()
    if not engine:
        time.sleep(20)
        os._exit(0)
    os.kill(engine, signal.SIGSTOP)
    (tmp_path / engine_pool.LOCK).touch()
    lease = engine_pool._try_lease(tmp_path)
    assert lease is not None
    lease._connection, lease._engine_pid = Connection(here.detach()), engine
    try:
        threading.Timer(0.5, Connection(there.detach()).send, ["answer"]).start()
        assert lease.receive() == "answer"
        assert caplog.text.count(f"process {engine} is stopped; kill -CONT {engine}") == 1
    finally:
        lease.close()
        os.kill(engine, signal.SIGKILL)
        os.waitpid(engine, 0)


FORKING = """
import os, sys
from entropy_sentinel.study.engines.engine_host import _close_in_forks
lock = os.open("/dev/null", os.O_RDONLY)
_close_in_forks(lock)
if not os.fork():
    try:
        os.fstat(lock)
    except OSError:
        reused = os.open("/dev/null", os.O_RDONLY)
        if not os.fork():
            os.fstat(reused)  # it is no longer the lock
            print("closed once", reused == lock, flush=True)
        else:
            os.wait()
    os._exit(0)
os.wait()
os.fstat(lock)
print("kept")
"""


@pytest.mark.parametrize(
    "content",
    ["3", "[]", "[1, 2]", '{"a": 1}', '["a", 1, "b"]', "[1, null, 3]", '[-5, 1.0, "x"]', f'[{10**30}, 1, "x"]']
    + [f'[{2**21}, 1{"0" * 400}, "x"]', "[" * 100_000, "{", "\udcff"],
)
def test_a_damaged_file_of_an_engines_process_stops_no_other_engine(
    tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "run" / "engine"
    folder.mkdir(parents=True)
    (folder / PROCESS_FILE).write_bytes(content.encode("utf-8", "surrogateescape"))
    remove_engine(folder)
    assert not folder.exists()
    assert [record.getMessage().startswith(f"{folder / PROCESS_FILE}: is damaged") for record in caplog.records] == [
        True
    ]


def test_children_that_an_engine_forks_do_not_keep_its_run_from_deletion() -> None:
    done = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split("\n")[:2] == ["closed once True", "kept"]
