"""A run of the workflow on one machine, as its jobs know it: they share its engines (engines/shared.py)."""

import json
import os
import socket
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from entropy_sentinel.engines.starting import keep
from entropy_sentinel.frames.errors import EntropySentinelError

RUN = "ENTROPY_SENTINEL_RUN"
SAME_S = 60


@dataclass(frozen=True)
class Run:
    """Who shares engines: the process whose end is theirs, and the folder where they stand."""

    folder: Path
    process: int
    started: float
    idle_s: float
    slurm: str | None = None  # the id of the Slurm job that it is in

    @classmethod
    def of_this_process(cls, idle_s: float) -> "Run":
        """A run that ends with this process; its folder is made by the first engine."""
        import psutil

        started = psutil.Process().create_time()
        name = f"es-{os.getuid()}-{os.getpid():x}-{int(started * 100) % 2**24:x}"
        return cls(_for_sockets(name), os.getpid(), started, idle_s, os.environ.get("SLURM_JOB_ID"))

    @classmethod
    def announced(cls) -> "Run":
        """The run that the environment names; else one that is this process's own, whose engines wait for nobody."""
        if announced := os.environ.get(RUN):
            run = json.loads(announced)
            return cls(**{**run, "folder": Path(run["folder"])})
        return cls.of_this_process(0)

    @property
    def announcement(self) -> dict[str, str]:
        """What tells the processes that this one starts, in their environment."""
        return {RUN: json.dumps({**vars(self), "folder": str(self.folder)})}

    @property
    def goes_on(self) -> bool:
        """Whether its process still runs."""
        import psutil

        with suppress(psutil.Error):
            process = psutil.Process(self.process)
            # Its start moves with the machine's clock; another process with its number began long after.
            same = abs(process.create_time() - self.started) < SAME_S
            return bool(same and process.status() != psutil.STATUS_ZOMBIE)
        return False


def _for_sockets(name: str) -> Path:
    """A folder's path in the first temporary folder that takes sockets: network file systems may not.

    The path of a socket has room for 107 characters; an engine's folder takes 14 of them, vLLM's names 37.
    """
    for system in (tempfile.gettempdir(), "/tmp", "/dev/shm"):
        with suppress(OSError), tempfile.TemporaryDirectory(dir=system) as folder, socket.socket(socket.AF_UNIX) as one:
            one.bind(f"{folder}/{'x' * (len(name) + 14 + 37)}")
            return Path(system, name)
    raise EntropySentinelError("TMPDIR: must be a folder on this machine, with a short path, for the engines' sockets")


def announce_run(idle_s: float, main_process: bool) -> None:
    """Let the jobs that this process of Snakemake starts share engines.

    An engine ends after `idle_s` without a job. Where that is 0, each job has an engine of its own. Within another run
    on this machine, the jobs share its engines, as those of one Slurm job do.
    """
    slurm = os.environ.get("SLURM_JOB_ID")
    if not idle_s:
        os.environ.pop(RUN, None)
    elif not (RUN in os.environ and (main_process or Run.announced().slurm == slurm) and Run.announced().goes_on):
        run = Run.of_this_process(idle_s)
        os.environ |= run.announcement
        if slurm and not main_process:
            keep(run.folder)
