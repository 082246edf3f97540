"""The engines of a run on one machine: how a job finds, starts and ends them.

The first job of a model starts its engine (engine_host.py). The engine outlives the job, and serves the next job with
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

from entropy_sentinel.core.cache_folders import open_private_folder
from entropy_sentinel.core.errors import EntropySentinelError, InputError
from entropy_sentinel.core.file_locks import WAITING, is_at, try_lock
from entropy_sentinel.llm_client.server_settings import ServedSettings
from entropy_sentinel.study.engines import cpu_settings, gpu_devices
from entropy_sentinel.study.engines.engine_processes import is_process_alive, is_process_suspended, remove_engine
from entropy_sentinel.study.engines.engine_run import STANDARD_ERROR, EngineRun, get_folder_prefix, start_engine_process
from entropy_sentinel.study.engines.generation_section import VllmSettings, select_loading_settings
from entropy_sentinel.study.engines.process_connections import open_connection

log = logging.getLogger(__name__)

SETTINGS, SOCKET, LOCK = "settings.json", "socket", "lock"
# Seconds between checks for a free device or a started engine.
POLL_S = 0.1
# Seconds without a message from an engine after which a job checks whether its process is stopped.
SILENT_S = 10.0


class EngineEnded(Exception):
    """The engine's process ended during a request."""


class EngineLease:
    """The right to use one engine process: while its lock is held, no other job uses it and it does not end."""

    def __init__(self, folder: Path, lock: IO[str]) -> None:
        self.folder, self._lock = folder, lock
        self._connection: Connection | None = None
        self._engine_pid = 0
        self._has_warned = False

    def connect(self, run: EngineRun, engine_pid: int | None = None) -> None:
        """Connect to the engine of the run; wait while its process `engine_pid` starts, or loads the model.

        Raises EngineEnded if it is gone, and ForeignProcessError if it is not of this run.
        """
        while not (self.folder / SOCKET).exists() and engine_pid and is_process_alive(engine_pid):
            time.sleep(POLL_S)
        try:
            self._connection, self._engine_pid = open_connection(self.folder / SOCKET, run.secret, self._wait)
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
            self._wait(self._open_connection, self._engine_pid)
            return self._open_connection.recv()
        except (OSError, EOFError) as error:
            raise EngineEnded from error

    def _wait(self, connection: Connection, engine_pid: int) -> None:
        """Wait for the engine's next message; warn once if its process is stopped."""
        while not connection.poll(SILENT_S):
            if not self._has_warned and is_process_suspended(engine_pid):
                message = "waiting for the engine, whose process %d is stopped; kill -CONT %d lets it continue"
                log.warning(message, engine_pid, engine_pid, extra=WAITING)
                self._has_warned = True

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
        remove_engine(self.folder)
        self.close()


def lease_engine(run: EngineRun, settings: VllmSettings, threads: int) -> EngineLease:
    """An engine with these settings that no other job uses: an idle one of the run, or a new one.

    Raises ConfigError if there are too few GPUs, and EntropySentinelError if the run has ended.
    """
    key = _hash_settings(settings, threads)
    for lease in _lease_idle_engines(run, key):
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
    if not run.is_alive:
        raise EntropySentinelError(f"models.{settings['model']}: the run that started this job has ended")
    claim = claim_devices(run, settings, threads)
    lease, engine_pid = _start_engine(run, key, settings, threads, claim)
    claim.release()  # the engine has inherited the locks
    with suppress(EngineEnded):  # the next message shows it
        lease.connect(run, engine_pid)
    return lease


def claim_devices(run: EngineRun, settings: ServedSettings, threads: int) -> gpu_devices.DeviceClaim:
    """Wait for GPUs of this machine that no other engine owns, and claim them; idle engines of the run make room.

    On a CPU there are no devices to claim: idle engines end if all together would need more cores than there are.
    """
    devices = gpu_devices.list_usable_devices(settings)
    if devices is None:  # on a CPU
        while (len(_list_engines(run)) + 1) * threads > cpu_settings.count_cores() and _end_idle_engine(run):
            pass
        return gpu_devices.DeviceClaim()
    n_gpus = gpu_devices.count_needed_gpus(settings)
    has_warned = False
    while (claim := gpu_devices.try_claim(n_gpus, devices)) is None:
        if not _end_idle_engine(run):
            if not has_warned:
                message = "models.%s: waiting for %d of the GPUs %s, which other engines are using"
                log.warning(message, settings["model"], n_gpus, ", ".join(devices), extra=WAITING)
            has_warned = True
            time.sleep(POLL_S)
    return claim


def _list_engines(run: EngineRun) -> list[Path]:
    """The folders of a run's engines, least recently used first.

    Raises InputError if the run's folder is not this user's alone.
    """
    folders = []
    with suppress(FileNotFoundError), open_private_folder(run.folder):
        for lock in run.folder.glob(f"[!.]*/{LOCK}"):
            with suppress(FileNotFoundError):  # it has just ended
                folders.append((lock.stat().st_mtime_ns, lock.parent))
    return [folder for _, folder in sorted(folders)]


def _lease_idle_engines(run: EngineRun, key: str = "") -> Iterator[EngineLease]:
    """Yield leases of the run's idle engines whose loading settings have this hash; of all by default."""
    for folder in _list_engines(run):
        if folder.name.startswith(key) and (lease := _try_lease(folder)):
            yield lease


def _try_lease(folder: Path) -> EngineLease | None:
    """The lease of an engine; None if another job has it, or if the engine is gone."""
    try:
        lock = (folder / LOCK).open()
    except OSError:
        return None
    if try_lock(lock.fileno(), folder / LOCK):
        # Its time says when the engine was last used.
        os.utime(folder / LOCK)
        return EngineLease(folder, lock)
    lock.close()
    return None


def _end_idle_engine(run: EngineRun) -> bool:
    """End an idle engine of the run; return whether there was one."""
    lease = next(_lease_idle_engines(run), None)
    if lease:
        lease.end()
    return lease is not None


def _start_engine(
    run: EngineRun, key: str, settings: VllmSettings, threads: int, claim: gpu_devices.DeviceClaim
) -> tuple[EngineLease, int]:
    """Start an engine that owns these devices; return its lease and process id."""
    _clear_dead_runs(run)
    folder_lock, folder = _create_hidden_folder(run, key)
    try:
        lease = _publish_engine(run, folder, {"settings": settings, "threads": threads})
        log.info("starting an engine for models.%s %s", settings["model"], " ".join(claim.devices))
        locks = [folder_lock, *(device_lock.fileno() for device_lock in claim.locks)]
        return lease, start_engine_process(run, lease.folder, _build_environment(run, lease.folder, claim), locks)
    finally:
        os.close(folder_lock)  # the engine has inherited it


def _create_hidden_folder(run: EngineRun, key: str) -> tuple[int, Path]:
    """The descriptor that holds the folder of the run, and a new engine's folder in it, named by `key`.

    Its name begins with a dot until the engine is locked, because any job may end an idle engine.
    """
    while True:
        descriptor = run.lock_folder()
        folder = run.folder / f".{key}-{uuid.uuid4().hex[:4]}"
        try:
            # Missing if the last engine has ended, and deleted the run's folder.
            with run.explain_write_errors(), suppress(FileNotFoundError):
                folder.mkdir(mode=0o700)
                return descriptor, folder
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _publish_engine(run: EngineRun, hidden_folder: Path, settings: dict[str, Any]) -> EngineLease:
    """The lease of a new engine: write its settings, lock it, and give its folder the name that other jobs see."""
    folder = hidden_folder.with_name(hidden_folder.name.removeprefix("."))
    with run.explain_write_errors():
        (hidden_folder / SETTINGS).write_text(json.dumps(settings))
        lock = (hidden_folder / LOCK).open("a")
        fcntl.flock(lock.fileno(), fcntl.LOCK_EX)
        hidden_folder.rename(folder)
    return EngineLease(folder, lock)


def _build_environment(run: EngineRun, folder: Path, claim: gpu_devices.DeviceClaim) -> dict[str, str]:
    """The environment of the engine of a folder: this process's, with the claimed GPUs and the run."""
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
    for folder in run.folder.parent.glob(f"{get_folder_prefix()}*"):
        if folder != run.folder and re.fullmatch("[0-9a-f]+", folder.name.removeprefix(get_folder_prefix())):
            with suppress(OSError, InputError), open_private_folder(folder) as descriptor:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if is_at(descriptor, folder):
                    _clear_dead_run(folder)


def _clear_dead_run(folder: Path) -> None:
    """Delete the folder of a run whose processes have all ended, unless a job still holds an engine of it."""
    engines: list[Path] = []
    leases: list[EngineLease | None] = []  # None: a job holds the engine
    for engine in folder.iterdir():
        if engine.is_dir() and not engine.is_symlink():
            engines.append(engine)
            if (engine / LOCK).exists():
                leases.append(_try_lease(engine))
    if all(leases):
        for engine in engines:
            remove_engine(engine)
        shutil.rmtree(folder, ignore_errors=True)
    for lease in filter(None, leases):
        lease.close()


def _hash_settings(settings: VllmSettings, threads: int) -> str:
    """A hash of an engine's loading settings; short, because a socket's path has at most 107 characters."""
    return hashlib.sha256(
        json.dumps([select_loading_settings(settings), threads], sort_keys=True).encode()
    ).hexdigest()[:8]
