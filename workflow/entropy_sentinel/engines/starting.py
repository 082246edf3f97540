"""How an engine's process is started: by the job that asks it, or for that job by the Snakemake of its Slurm job.

Slurm ends all processes of a step with the step, and each job of a group has a step of its own: an engine that such a
job started would not outlive it. So the Snakemake process that begins the steps starts engines for them.
"""

import atexit
import os
import shutil
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Client, Connection
from multiprocessing.reduction import recv_handle, send_handle
from pathlib import Path
from threading import Thread

STANDARD_ERROR = 2
KEEPER = "keeper"


def start(run_folder: Path, engine: Path, environment: Mapping[str, str], locks: Sequence[int]) -> int:
    """Start the engine of a folder, which says what it says where this process does; the id of its process.

    It inherits the descriptors `locks`.
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
            # It outlives this process, and would keep open what others wait for the end of.
            *((os.POSIX_SPAWN_CLOSE, descriptor) for descriptor in _inheritable() - {*locks, 0, 1, 2}),
        ],
        setsid=True,  # Ctrl-C does not reach it
    )


def _inheritable() -> set[int]:
    """The open descriptors of this process that its children would have."""
    found = set()
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):  # that of the listing itself
            if os.get_inheritable(int(name)):
                found.add(int(name))
    return found
