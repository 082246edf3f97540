"""The engines of a run on one machine: how a job finds, starts and ends them.

The first job of a model starts its engine (engines/host.py). The engine outlives the job, and serves the next job with
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
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Client, Connection
from multiprocessing.reduction import send_handle
from pathlib import Path
from typing import IO, Any

from entropy_sentinel.engines import cpu, devices
from entropy_sentinel.engines.generation import ServedSettings, VllmSettings, loaded
from entropy_sentinel.engines.run import STANDARD_ERROR, Run, start
from entropy_sentinel.frames.errors import EntropySentinelError
from entropy_sentinel.frames.locks import WAITING, take

log = logging.getLogger(__name__)

SETTINGS, SOCKET, LOCK = "settings.json", "socket", "lock"
# Seconds between checks for a free device or a started engine; longest wait for a killed process to end.
POLL_S, KILL_S = 0.1, 30.0


class EngineEnded(Exception):
    """The engine's process ended during a request."""


class Lease:
    """The right to use one engine process: while its lock is held, no other job uses it and it does not end."""

    def __init__(self, folder: Path, lock: IO[str]) -> None:
        self.folder, self._lock = folder, lock
        self._connection: Connection | None = None

    def connect(self, starting: int | None = None) -> None:
        """Connect to the engine; wait while its process `starting` starts. Raises EngineEnded if it is gone."""
        while not (self.folder / SOCKET).exists() and starting and _lives(starting):
            time.sleep(POLL_S)
        try:
            self._connection = Client(str(self.folder / SOCKET), family="AF_UNIX")
            send_handle(self._connection, STANDARD_ERROR, 0)  # the engine's output goes to this job's log
        except OSError as error:
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
            return self._open_connection.recv()
        except (OSError, EOFError) as error:
            raise EngineEnded from error

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


def lease_engine(run: Run, settings: VllmSettings, threads: int) -> Lease:
    """Return an engine with these settings that no other job uses: an idle one of the run, or a new one.

    Raises ConfigError if there are too few GPUs, and EntropySentinelError if the run has ended.
    """
    key = _key(settings, threads)
    for lease in _idle(run, key):
        try:
            lease.connect()
        except EngineEnded:
            lease.end()
        else:
            log.info("models.%s: using the engine that an earlier job started", settings["model"])
            return lease
    if not run.goes_on:
        raise EntropySentinelError(f"models.{settings['model']}: the run that started this job has ended")
    claim = claim_devices(run, settings, threads)
    lease, process = _start(run, key, settings, threads, claim)
    claim.release()  # the engine has inherited the locks
    with suppress(EngineEnded):  # the next message shows it
        lease.connect(process)
    return lease


def claim_devices(run: Run, settings: ServedSettings, threads: int) -> devices.Claim:
    """Wait for GPUs of this machine that no other engine owns, and claim them; idle engines of the run make room.

    On a CPU there are no devices to claim: idle engines end if all together would need more cores than there are.
    """
    usable, is_shown = devices.usable(settings), False
    if usable is None:
        while (len(list(_engines(run))) + 1) * threads > cpu.cores() and _end_an_idle_engine(run):
            pass
        return devices.Claim()
    while (claim := devices.claim(devices.needed(settings), usable)) is None:
        if not _end_an_idle_engine(run):
            if not is_shown:
                wanted = settings["model"], devices.needed(settings), ", ".join(usable)
                message = "models.%s: waiting for %d of the GPUs %s, which other engines are using"
                log.warning(message, *wanted, extra=WAITING)
            is_shown = True
            time.sleep(POLL_S)
    return claim


def clear(folder: Path) -> None:
    """End the processes that have this temporary folder, those of an engine, and delete it."""
    if not folder.is_dir():
        return
    import psutil

    killed = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get("TMPDIR") == str(folder):
                process.kill()
                killed.append(process)
    psutil.wait_procs(killed, timeout=KILL_S)
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        folder.parent.rmdir()


def _lives(process: int) -> bool:
    import psutil

    with suppress(psutil.Error):
        return bool(psutil.Process(process).status() != psutil.STATUS_ZOMBIE)
    return False


def _engines(run: Run) -> list[Path]:
    """Return the folders of a run's engines, least recently used first."""
    folders = []
    for lock in run.folder.glob(f"[!.]*/{LOCK}"):
        with suppress(FileNotFoundError):  # it has just ended
            folders.append((lock.stat().st_mtime, lock.parent))
    return [folder for _, folder in sorted(folders)]


def _idle(run: Run, key: str = "") -> Iterator[Lease]:
    """Yield leases of the idle engines with this key."""
    for folder in _engines(run):
        if folder.name.startswith(key) and (lease := _locked(folder)):
            yield lease


def _locked(folder: Path) -> Lease | None:
    """Return the lease of an engine; None if another job has it, or if the engine is gone."""
    try:
        lock = (folder / LOCK).open()
    except OSError:
        return None
    if take(lock.fileno(), folder / LOCK):
        os.utime(folder / LOCK)
        return Lease(folder, lock)
    lock.close()
    return None


def _end_an_idle_engine(run: Run) -> bool:
    """End an idle engine of the run; return whether there was one."""
    lease = next(_idle(run), None)
    if lease:
        lease.end()
    return lease is not None


def _start(run: Run, key: str, settings: VllmSettings, threads: int, claim: devices.Claim) -> tuple[Lease, int]:
    """Start an engine that owns these devices; return its lease and process id."""
    _clear_dead_runs(run.folder.parent)
    run.folder.mkdir(mode=0o700, exist_ok=True)
    if run.folder.stat().st_uid != os.getuid():
        raise EntropySentinelError(f"{run.folder}: must be this user's own folder, for its engines; delete it")
    folder = run.folder / f"{key}-{uuid.uuid4().hex[:4]}"
    # Under another name until it is locked, because any job may end an idle engine.
    new = folder.with_name(f".{folder.name}")
    new.mkdir(mode=0o700)
    (new / SETTINGS).write_text(json.dumps({"settings": settings, "threads": threads}))
    lock = (new / LOCK).open("a")
    fcntl.flock(lock.fileno(), fcntl.LOCK_EX)
    new.rename(folder)
    log.info("starting an engine for models.%s %s", settings["model"], " ".join(claim.devices))
    locks = [lock_of_device.fileno() for lock_of_device in claim.locks]
    return Lease(folder, lock), start(run.folder, folder, _environment(run, folder, claim), locks)


def _environment(run: Run, folder: Path, claim: devices.Claim) -> dict[str, str]:
    """Return the environment of the engine of a folder."""
    package = str(Path(__file__).parents[2])
    return {
        # Keeps compiled code, which torch would write into the temporary folder.
        "TORCHINDUCTOR_CACHE_DIR": f"{tempfile.gettempdir()}/torchinductor_{os.getuid()}",
        **os.environ,
        **claim.environment,
        **run.announcement,
        "TMPDIR": str(folder),
        "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")])),
    }


def _clear_dead_runs(folder: Path) -> None:
    """Delete the leftovers of this user's killed runs on this machine."""
    import psutil

    for dead in folder.glob(f"es-{os.getuid()}-*-*"):
        if not psutil.pid_exists(int(dead.name.split("-")[2], 16)):
            for engine in dead.iterdir():
                clear(engine)
            shutil.rmtree(dead, ignore_errors=True)


def _key(settings: VllmSettings, threads: int) -> str:
    """Return a hash of an engine's loading settings; short, because a socket's path has at most 107 characters."""
    return hashlib.sha256(json.dumps([loaded(settings), threads], sort_keys=True).encode()).hexdigest()[:8]
