"""The engines of a run on one machine: how a job finds, starts and ends them.

The first job of a model starts its engine (host.py). The engine outlives the job, and serves the next job with
the same model and engine settings on this machine. It serves one job at a time, so its answers depend on no other job.
It ends when it is idle for a while, when the run ends for any reason, and when another model needs its device.

The engines of a run are in one folder. Each has a subfolder with a socket, temporary files, and a lock that the current
job holds. A job without a run, as in a notebook, has its own run, which ends with it.
"""

import fcntl
import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle
from pathlib import Path
from typing import IO, Any

from entropy_sentinel.core.cache_folders import own_folder
from entropy_sentinel.core.errors import EntropySentinelError, InputError
from entropy_sentinel.core.file_locks import WAITING, is_at, take
from entropy_sentinel.llm_client.server_settings import ServedSettings
from entropy_sentinel.study.engines import cpu_settings, gpu_devices
from entropy_sentinel.study.engines.engine_processes import clear, is_stopped, lives
from entropy_sentinel.study.engines.engine_run import STANDARD_ERROR, EngineRun, folder_prefix, start
from entropy_sentinel.study.engines.generation_section import VllmSettings, loaded
from entropy_sentinel.study.engines.process_connections import connected

log = logging.getLogger(__name__)

SETTINGS, SOCKET, LOCK = "settings.json", "socket", "lock"
# Seconds between checks for a free device or a started engine.
POLL_S = 0.1
# Seconds without a message from an engine after which a job checks whether its process is stopped.
SILENT_S = 10.0


class EngineEnded(Exception):
    """The engine's process ended during a request."""


class Lease:
    """The right to use one engine process: while its lock is held, no other job uses it and it does not end."""

    def __init__(self, folder: Path, lock: IO[str]) -> None:
        self.folder, self._lock = folder, lock
        self._connection: Connection | None = None
        self._process = 0
        self._is_shown = False

    def connect(self, run: EngineRun, starting: int | None = None) -> None:
        """Connect to the engine of the run; wait while its process `starting` starts, or loads the model.

        Raises EngineEnded if it is gone, and OthersProcessError if it is not of this run.
        """
        while not (self.folder / SOCKET).exists() and starting and lives(starting):
            time.sleep(POLL_S)
        try:
            self._connection, self._process = connected(self.folder / SOCKET, run.secret, self._wait)
            send_handle(self._connection, STANDARD_ERROR, 0)  # the engine's output goes to this job's log
        except (OSError, EOFError) as error:
            raise EngineEnded from error

    def send(self, message: object) -> None:
        """Send a message to the engine."""
        try:
            self._open_connection.send(message)
        except OSError as error:
            raise EngineEnded from error

    def receive(self) -> Any:
        """Wait for the engine's next message."""
        try:
            self._wait(self._open_connection, self._process)
            return self._open_connection.recv()
        except (OSError, EOFError) as error:
            raise EngineEnded from error

    def _wait(self, connection: Connection, process: int) -> None:
        """Wait for the engine's next message; warn once if its process is stopped."""
        while not connection.poll(SILENT_S):
            if not self._is_shown and is_stopped(process):
                message = "waiting for the engine, whose process %d is stopped; kill -CONT %d lets it continue"
                log.warning(message, process, process, extra=WAITING)
                self._is_shown = True

    @property
    def _open_connection(self) -> Connection:
        if self._connection is None:
            raise EngineEnded
        return self._connection

    def close(self) -> None:
        """Let other jobs use the engine."""
        if self._connection:
            self._connection.close()
        self._lock.close()

    def end(self) -> None:
        """End the engine, or delete the files of a dead one."""
        clear(self.folder)
        self.close()


def lease_engine(run: EngineRun, settings: VllmSettings, threads: int) -> Lease:
    """An engine with these settings that no other job uses: an idle one of the run, or a new one.

    Raises ConfigError if there are too few GPUs, and EntropySentinelError if the run has ended.
    """
    key = _key(settings, threads)
    for lease in _idle(run, key):
        try:
            lease.connect(run)
        except EngineEnded:
            lease.end()
        except EntropySentinelError:
            lease.close()
            raise
        else:
            log.info("models.%s: using the engine that an earlier job started", settings["model"])
            return lease
    if not run.goes_on:
        raise EntropySentinelError(f"models.{settings['model']}: the run that started this job has ended")
    claim = claim_devices(run, settings, threads)
    lease, process = _start(run, key, settings, threads, claim)
    claim.release()  # the engine has inherited the locks
    with suppress(EngineEnded):  # the next message shows it
        lease.connect(run, process)
    return lease


def claim_devices(run: EngineRun, settings: ServedSettings, threads: int) -> gpu_devices.DeviceClaim:
    """Wait for GPUs of this machine that no other engine owns, and claim them; idle engines of the run make room.

    On a CPU there are no devices to claim: idle engines end if all together would need more cores than there are.
    """
    usable, is_shown = gpu_devices.usable(settings), False
    if usable is None:
        while (len(list(_engines(run))) + 1) * threads > cpu_settings.cores() and _end_an_idle_engine(run):
            pass
        return gpu_devices.DeviceClaim()
    while (claim := gpu_devices.claim(gpu_devices.needed(settings), usable)) is None:
        if not _end_an_idle_engine(run):
            if not is_shown:
                wanted = settings["model"], gpu_devices.needed(settings), ", ".join(usable)
                message = "models.%s: waiting for %d of the GPUs %s, which other engines are using"
                log.warning(message, *wanted, extra=WAITING)
            is_shown = True
            time.sleep(POLL_S)
    return claim


def _engines(run: EngineRun) -> list[Path]:
    """The folders of a run's engines, least recently used first.

    Raises InputError if the run's folder is not this user's alone.
    """
    folders = []
    with suppress(FileNotFoundError), own_folder(run.folder):
        for lock in run.folder.glob(f"[!.]*/{LOCK}"):
            with suppress(FileNotFoundError):  # it has just ended
                folders.append((lock.stat().st_mtime_ns, lock.parent))
    return [folder for _, folder in sorted(folders)]


def _idle(run: EngineRun, key: str = "") -> Iterator[Lease]:
    """Yield leases of the idle engines with this key."""
    for folder in _engines(run):
        if folder.name.startswith(key) and (lease := _locked(folder)):
            yield lease


def _locked(folder: Path) -> Lease | None:
    """The lease of an engine; None if another job has it, or if the engine is gone."""
    try:
        lock = (folder / LOCK).open()
    except OSError:
        return None
    if take(lock.fileno(), folder / LOCK):
        os.utime(folder / LOCK)
        return Lease(folder, lock)
    lock.close()
    return None


def _end_an_idle_engine(run: EngineRun) -> bool:
    """End an idle engine of the run; return whether there was one."""
    lease = next(_idle(run), None)
    if lease:
        lease.end()
    return lease is not None


def _start(
    run: EngineRun, key: str, settings: VllmSettings, threads: int, claim: gpu_devices.DeviceClaim
) -> tuple[Lease, int]:
    """Start an engine that owns these devices; return its lease and process id."""
    _clear_dead_runs(run)
    lock_of_folder, folder = _new_folder(run, key)
    try:
        lease = _new_engine(run, folder, {"settings": settings, "threads": threads})
        log.info("starting an engine for models.%s %s", settings["model"], " ".join(claim.devices))
        locks = [lock_of_folder, *(lock_of_device.fileno() for lock_of_device in claim.locks)]
        return lease, start(run, lease.folder, _environment(run, lease.folder, claim), locks)
    finally:
        os.close(lock_of_folder)  # the engine has inherited it


def _new_folder(run: EngineRun, key: str) -> tuple[int, Path]:
    """The descriptor that holds the folder of the run, and a new engine's folder in it.

    Its name begins with a dot until the engine is locked, because any job may end an idle engine.
    """
    while True:
        descriptor = run.hold_folder()
        folder = run.folder / f".{key}-{uuid.uuid4().hex[:4]}"
        try:
            with run.writing(), suppress(FileNotFoundError):  # the last engine has ended, and deleted the run's folder
                folder.mkdir(mode=0o700)
                return descriptor, folder
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _new_engine(run: EngineRun, new: Path, settings: dict[str, Any]) -> Lease:
    """The lease of a new engine, whose folder gets its own name."""
    folder = new.with_name(new.name.removeprefix("."))
    with run.writing():
        (new / SETTINGS).write_text(json.dumps(settings))
        lock = (new / LOCK).open("a")
        fcntl.flock(lock.fileno(), fcntl.LOCK_EX)
        new.rename(folder)
    return Lease(folder, lock)


def _environment(run: EngineRun, folder: Path, claim: gpu_devices.DeviceClaim) -> dict[str, str]:
    """The environment of the engine of a folder."""
    package = str(Path(__file__).parents[3])
    return {
        # Keeps compiled code, which torch would write into the temporary folder.
        "TORCHINDUCTOR_CACHE_DIR": f"{tempfile.gettempdir()}/torchinductor_{os.getuid()}",
        **os.environ,
        **claim.environment,
        **run.announcement,
        "TMPDIR": str(folder),
        "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")])),
    }


def _clear_dead_runs(run: EngineRun) -> None:
    """Delete the leftovers of this user's killed runs: own folders beside that of `run`, without a held lock.

    Process ids do not show whether a run has ended: it may be in another container, with ids of its own.
    """
    for folder in run.folder.parent.glob(f"{folder_prefix()}*"):
        if folder != run.folder and re.fullmatch("[0-9a-f]+", folder.name.removeprefix(folder_prefix())):
            with suppress(OSError, InputError), own_folder(folder) as descriptor:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if is_at(descriptor, folder):
                    _clear_dead_run(folder)


def _clear_dead_run(folder: Path) -> None:
    """Delete the folder of a run whose processes have all ended, unless a job still holds an engine of it."""
    engines, leases = [], []
    for engine in folder.iterdir():
        if engine.is_dir() and not engine.is_symlink():
            engines.append(engine)
            if (engine / LOCK).exists():
                leases.append(_locked(engine))
    if all(leases):
        for engine in engines:
            clear(engine)
        shutil.rmtree(folder, ignore_errors=True)
    for lease in filter(None, leases):
        lease.close()


def _key(settings: VllmSettings, threads: int) -> str:
    """A hash of an engine's loading settings; short, because a socket's path has at most 107 characters."""
    return hashlib.sha256(json.dumps([loaded(settings), threads], sort_keys=True).encode()).hexdigest()[:8]
