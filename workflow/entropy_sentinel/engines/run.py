"""A run of the workflow on one machine: its jobs share its engines (engines/pool.py), whose processes start here.

An engine is started by the job that asks it, or for that job by the Snakemake of its Slurm job. Slurm ends all
processes of a step with the step, and each job of a group has a step of its own: an engine that such a job started
would not outlive it. So the Snakemake process that begins the steps starts engines for them.
"""

import atexit
import json
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Client, Connection
from multiprocessing.reduction import recv_handle, send_handle
from pathlib import Path
from threading import Thread

from entropy_sentinel.frames.errors import EntropySentinelError

STANDARD_ERROR = 2
KEEPER = "keeper"


def start(run_folder: Path, engine: Path, environment: Mapping[str, str], locks: Sequence[int]) -> int:
    """Start the engine of a folder, and return the id of its process.

    It inherits the descriptors `locks`, and writes to the standard error of this process.
    """
    if not (run_folder / KEEPER).exists():
        return _spawn(engine, environment, STANDARD_ERROR, locks)
    with Client(str(run_folder / KEEPER), family="AF_UNIX") as keeper:
        keeper.send((engine, dict(environment), len(locks)))
        for descriptor in (STANDARD_ERROR, *locks):
            send_handle(keeper, descriptor, 0)
        return int(keeper.recv())


def keep(run_folder: Path) -> None:
    """Start engines for the jobs of a run from now on, in a thread of this process."""
    run_folder.mkdir(mode=0o700, exist_ok=True)
    atexit.register(shutil.rmtree, run_folder, ignore_errors=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(run_folder / KEEPER))
    listener.listen()
    Thread(target=_serve, args=(listener,), daemon=True).start()


def _serve(listener: socket.socket) -> None:
    while True:
        asking, _ = listener.accept()
        with Connection(asking.detach()) as job:
            engine, environment, n_locks = job.recv()
            standard_error, *locks = descriptors = [recv_handle(job) for _ in range(1 + n_locks)]
            job.send(_spawn(engine, environment, standard_error, locks))
        for descriptor in descriptors:
            os.close(descriptor)


def _spawn(engine: Path, environment: Mapping[str, str], standard_error: int, locks: Sequence[int]) -> int:
    for lock in locks:
        os.set_inheritable(lock, True)
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", "entropy_sentinel.engines.host", str(engine), *map(str, locks)],
        environment,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, standard_error, 1),
            (os.POSIX_SPAWN_DUP2, standard_error, 2),
            # The engine outlives this process, and would keep files open whose closing others wait for.
            *((os.POSIX_SPAWN_CLOSE, descriptor) for descriptor in _inheritable() - {*locks, 0, 1, 2}),
        ],
        setsid=True,  # Ctrl-C does not reach it
    )


def _inheritable() -> set[int]:
    """Return the open descriptors of this process that its children would inherit."""
    descriptors = set()
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):  # the descriptor of the listing itself
            if os.get_inheritable(int(name)):
                descriptors.add(int(name))
    return descriptors


RUN = "ENTROPY_SENTINEL_RUN"
SAME_S = 60


@dataclass(frozen=True)
class Run:
    """Jobs that share engines: their folder, and the process with which the engines end."""

    folder: Path
    process: int
    started: float
    idle_s: float
    slurm: str | None = None  # the id of the Slurm job that it is in

    @classmethod
    def of_this_process(cls, idle_s: float) -> "Run":
        """Return a run that ends with this process; the first engine creates its folder."""
        import psutil

        started = psutil.Process().create_time()
        name = f"es-{os.getuid()}-{os.getpid():x}-{int(started * 100) % 2**24:x}"
        return cls(_for_sockets(name), os.getpid(), started, idle_s, os.environ.get("SLURM_JOB_ID"))

    @classmethod
    def announced(cls) -> "Run":
        """Return the run that the environment names; else one of this process, whose engines do not wait for jobs."""
        if announced := os.environ.get(RUN):
            run = json.loads(announced)
            return cls(**{**run, "folder": Path(run["folder"])})
        return cls.of_this_process(0)

    @property
    def announcement(self) -> dict[str, str]:
        """The environment variable that names this run to child processes."""
        return {RUN: json.dumps({**vars(self), "folder": str(self.folder)})}

    @property
    def goes_on(self) -> bool:
        """Whether its process still runs."""
        import psutil

        with suppress(psutil.Error):
            process = psutil.Process(self.process)
            # Its start time moves with the machine's clock; a later process with the same id started much later.
            same = abs(process.create_time() - self.started) < SAME_S
            return bool(same and process.status() != psutil.STATUS_ZOMBIE)
        return False


def _for_sockets(name: str) -> Path:
    """Return the path of `name` in the first temporary folder that supports sockets; network file systems may not.

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
    slurm = os.environ.get("SLURM_JOB_ID")
    if not idle_s:
        os.environ.pop(RUN, None)
    elif not (RUN in os.environ and (main_process or Run.announced().slurm == slurm) and Run.announced().goes_on):
        run = Run.of_this_process(idle_s)
        os.environ |= run.announcement
        if slurm and not main_process:
            keep(run.folder)
