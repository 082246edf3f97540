"""A run of the workflow on one machine: its jobs share its engines (engine_pool.py), whose processes start here.

An engine is started by the job that asks it, or for that job by the Snakemake of its Slurm job. Slurm ends all
processes of a step with the step, and each job of a group has a step of its own: an engine that such a job started
would not outlive it. So the Snakemake process that begins the steps starts engines for them.
"""

import atexit
import fcntl
import json
import logging
import os
import secrets
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock, Thread

from entropy_sentinel.core.cache_folders import open_private_folder
from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.core.file_locks import NO_LOCKS, is_at
from entropy_sentinel.study.engines.process_connections import accept_connection, limit_silence, open_connection

log = logging.getLogger(__name__)

STANDARD_ERROR = 2
SPAWNER_SOCKET = "keeper"
# Longest wait for the other side of a request to start an engine, in seconds; its most bytes and locks.
SPAWNER_TIMEOUT_S, _MAX_BYTES, _MAX_LOCKS = 60.0, 1 << 24, 64
_SPAWNING = Lock()


def start_engine_process(run: "EngineRun", engine: Path, environment: Mapping[str, str], locks: Sequence[int]) -> int:
    """Start the engine of a folder, and return the id of its process.

    It inherits the descriptors `locks`, and writes to the standard error of this process. Raises EntropySentinelError
    if the process that starts engines for a Slurm job does not.
    """
    if not (run.folder / SPAWNER_SOCKET).exists():
        return _spawn_engine(engine, environment, STANDARD_ERROR, locks)
    try:
        spawner, _ = open_connection(run.folder / SPAWNER_SOCKET, run.secret)
        with spawner, limit_silence(spawner, SPAWNER_TIMEOUT_S) as channel:
            spawner.send_bytes(json.dumps([str(engine), dict(environment), len(locks)]).encode())
            socket.send_fds(channel, [b"."], [STANDARD_ERROR, *locks])  # descriptors travel with at least one byte
            return int(spawner.recv_bytes(20))  # the engine's process id
    except (OSError, EOFError, ValueError) as error:
        raise EntropySentinelError(
            f"{run.folder}: the first process of this Slurm job must start an engine, but does not "
            f"({error or type(error).__name__}); see its log"
        ) from None


def start_spawner(run: "EngineRun") -> None:
    """Start engines for the jobs of a run from now on, in a thread of this process."""
    run.lock_folder()  # until this process ends
    atexit.register(shutil.rmtree, run.folder, ignore_errors=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(run.folder / SPAWNER_SOCKET))
    listener.listen()
    Thread(target=_serve_jobs, args=(listener, run.secret), daemon=True).start()


def _serve_jobs(listener: socket.socket, secret: str) -> None:
    """Start an engine for each job that asks; a job that fails, or that stops, holds up no other."""
    while True:
        client, _ = listener.accept()
        Thread(target=_serve_job, args=(client, secret), daemon=True).start()


def _serve_job(client: socket.socket, secret: str) -> None:
    """Start the engine that the job behind a socket asks for; log why if that fails."""
    try:
        with accept_connection(client, secret) as job, limit_silence(job, SPAWNER_TIMEOUT_S) as channel:
            _start_requested_engine(job, channel)
    except (OSError, EOFError, ValueError, TypeError, EntropySentinelError) as error:
        log.warning("an engine was not started, its job may have ended: %s", error or type(error).__name__)


def _start_requested_engine(job: Connection, channel: socket.socket) -> None:
    """Start the engine that a job asks for, with the descriptors it sends: its log, and the engine's locks."""
    engine, environment, n_locks = json.loads(job.recv_bytes(_MAX_BYTES))
    descriptors: list[int] = []
    try:
        # Closed in other engines that start meanwhile.
        _, descriptors, _, _ = socket.recv_fds(channel, 1, 1 + _MAX_LOCKS, socket.MSG_CMSG_CLOEXEC)
        if len(descriptors) != 1 + n_locks:
            raise ValueError(f"{len(descriptors)} of {1 + n_locks} descriptors arrived")
        standard_error, *locks = descriptors
        job.send_bytes(str(_spawn_engine(Path(engine), environment, standard_error, locks)).encode())
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _spawn_engine(engine: Path, environment: Mapping[str, str], standard_error: int, locks: Sequence[int]) -> int:
    """Start an engine, one at a time, so that only it inherits its locks; returns its process id."""
    with _SPAWNING:
        for lock in locks:
            os.set_inheritable(lock, True)
        try:
            return _posix_spawn(engine, environment, standard_error, locks)
        finally:
            for lock in locks:
                os.set_inheritable(lock, False)


def _posix_spawn(engine: Path, environment: Mapping[str, str], standard_error: int, locks: Sequence[int]) -> int:
    """Start engine_host.py with the engine's folder; return the id of its process, which leads a session of its own."""
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", "entropy_sentinel.study.engines.engine_host", str(engine), *map(str, locks)],
        environment,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, standard_error, 1),
            (os.POSIX_SPAWN_DUP2, standard_error, 2),
            # The engine outlives this process, and would keep files open whose closing others wait for.
            *((os.POSIX_SPAWN_CLOSE, descriptor) for descriptor in _list_inheritable_descriptors() - {*locks, 0, 1, 2}),
        ],
        setsid=True,  # Ctrl-C does not reach it
    )


def _list_inheritable_descriptors() -> set[int]:
    """The open descriptors of this process that its children would inherit."""
    descriptors = set()
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):  # the descriptor of the listing itself
            if os.get_inheritable(int(name)):
                descriptors.add(int(name))
    return descriptors


RUN_VARIABLE = "ENTROPY_SENTINEL_RUN"
START_TOLERANCE_S = 60


@dataclass(frozen=True)
class EngineRun:
    """Jobs that share engines: their folder, and the process `pid` with which the engines end.

    An engine ends after `idle_s` seconds without a job. `start_time` is that of the process, seconds since 1970.
    """

    folder: Path
    pid: int
    start_time: float
    idle_s: float
    slurm: str | None = None  # the id of the Slurm job that it is in
    # What its processes prove to each other that they are of it. Other users cannot read a process's environment.
    secret: str = field(default_factory=lambda: secrets.token_hex(32), repr=False)

    @classmethod
    def create(cls, idle_s: float) -> "EngineRun":
        """A run that ends with this process; the first engine creates its folder."""
        import psutil

        start_time = psutil.Process().create_time()
        number, secret = _make_identity(os.getpid())
        folder = _find_socket_path(f"{get_folder_prefix()}{number}")
        return cls(folder, os.getpid(), start_time, idle_s, os.environ.get("SLURM_JOB_ID"), secret)

    @classmethod
    def from_environment(cls) -> "EngineRun":
        """The run that the environment names; else one of this process, whose engines do not wait for jobs."""
        if announcement := os.environ.get(RUN_VARIABLE):
            run = json.loads(announcement)
            return cls(**{**run, "folder": Path(run["folder"])})
        return cls.create(0)

    @property
    def announcement(self) -> dict[str, str]:
        """The environment variable that names this run to child processes."""
        return {RUN_VARIABLE: json.dumps({**vars(self), "folder": str(self.folder)})}

    def lock_folder(self) -> int:
        """Make its folder if it is missing, and keep it from deletion while the returned descriptor is open.

        Raises EntropySentinelError if the folder is not this user's alone, or cannot be made.
        """
        while True:
            with self.explain_write_errors(), suppress(FileExistsError):
                self.folder.mkdir(mode=0o700)
            with (
                suppress(FileNotFoundError),
                open_private_folder(self.folder) as folder_descriptor,
            ):  # missing: just deleted
                descriptor = os.dup(folder_descriptor)
                _lock_shared(descriptor)
                if is_at(descriptor, self.folder):
                    return descriptor
                os.close(descriptor)

    @contextmanager
    def explain_write_errors(self) -> Iterator[None]:
        """Raise EntropySentinelError if the block cannot write to the folder, for example because a disk is full."""
        try:
            yield
        except OSError as error:
            raise EntropySentinelError(
                f"{self.folder}: the folder of the engines cannot be written: {error.strerror or error}; make room "
                "there, or set TMPDIR to another folder of this machine"
            ) from None

    @property
    def is_alive(self) -> bool:
        """Whether its process still runs."""
        import psutil

        with suppress(psutil.Error):
            process = psutil.Process(self.pid)
            # Its start time moves with the machine's clock; a later process with the same id started much later.
            is_same_process = abs(process.create_time() - self.start_time) < START_TOLERANCE_S
            return bool(is_same_process and process.status() != psutil.STATUS_ZOMBIE)
        return False


def _lock_shared(descriptor: int) -> None:
    """Lock an open folder together with others that use it, if the file system supports locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise


def get_folder_prefix() -> str:
    """How the names of the folders of this user's runs begin; hexadecimal digits follow."""
    return f"es-{os.getuid()}-"


@cache
def _make_identity(pid: int) -> tuple[str, str]:
    """The number and the secret of the run of a process, which differ from those of the process that forked it.

    No other user can guess the number, and thus make the folder first.
    """
    return secrets.token_hex(6), secrets.token_hex(32)


def _find_socket_path(name: str) -> Path:
    """The path of `name` in the first temporary folder that supports sockets; network file systems may not.

    A socket's path has at most 107 characters; an engine's folder takes 14 of them, vLLM's names 37.
    """
    for system in (tempfile.gettempdir(), "/tmp", "/dev/shm"):
        with (
            suppress(OSError),
            tempfile.TemporaryDirectory(dir=system) as folder,
            socket.socket(socket.AF_UNIX) as probe,
        ):
            probe.bind(f"{folder}/{'x' * (len(name) + 14 + 37)}")
            return Path(system, name)
    raise EntropySentinelError("TMPDIR: must be a folder on this machine, with a short path, for the engines' sockets")


def announce_run(idle_s: float, main_process: bool) -> None:
    """Let the jobs that this process of Snakemake starts share engines.

    An engine ends after `idle_s` seconds without a job; with 0, each job has its own engine. Within another run on this
    machine, or in the same Slurm job, the jobs share the engines of that run.
    """
    if not idle_s:
        os.environ.pop(RUN_VARIABLE, None)
        return
    slurm = os.environ.get("SLURM_JOB_ID")
    outer_run = EngineRun.from_environment() if RUN_VARIABLE in os.environ else None
    # A Slurm job inherits the variable from the process that submitted it, whose engines may be on another machine.
    if outer_run and (main_process or outer_run.slurm == slurm) and outer_run.is_alive:
        return
    run = EngineRun.create(idle_s)
    os.environ |= run.announcement
    if slurm and not main_process:
        start_spawner(run)
