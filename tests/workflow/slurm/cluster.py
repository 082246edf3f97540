"""A Slurm cluster of one machine for the tests: munged, slurmctld and slurmd, as root, on the loopback address.

    python tests/workflow/slurm/cluster.py

starts it, and stops it on Ctrl-C. Debian packages: slurm-wlm and munge. Everything lives in a temporary folder, except
slurm.conf and gres.conf: Snakemake's jobs drop SLURM_CONF, so that only /etc/slurm is found.
"""

import fcntl
import os
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from string import Template
from typing import TypeVar

import psutil

T = TypeVar("T")
ETC = Path("/etc/slurm")
MARK = "Written by the tests of entropy_sentinel, and deleted by them."
TEMPLATES = [Path(__file__).with_name(name) for name in ("slurm.conf", "gres.conf")]
CLUSTER = "entropy-sentinel-test"  # as slurm.conf has it
DAEMONS = ("munged", "slurmctld", "slurmd")


def obstacle() -> str | None:
    """Why no cluster can be started here, or None."""
    if missing := [name for name in DAEMONS if not shutil.which(name)]:
        return f"Slurm is not installed: no {', '.join(missing)} (Debian packages slurm-wlm and munge)"
    if os.geteuid() != 0:
        return "Slurm's daemons need root"
    if foreign := [str(path) for path in _configuration() if path.exists() and MARK not in path.read_text()]:
        return f"this machine has a Slurm of its own: {', '.join(foreign)}"
    return None


@contextmanager
def cluster() -> Iterator[Path]:
    """A running cluster; yields the folder of its state and logs. All its jobs are cancelled in the end.

    A second caller waits for the first: there is one configuration, and one pair of ports.
    """
    with (
        (Path(tempfile.gettempdir()) / "entropy_sentinel_slurm.lock").open("w") as lock,
        tempfile.TemporaryDirectory(prefix="slurm-") as folder,
        ExitStack() as stack,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        state = Path(folder)
        stack.callback(_remove_configuration)
        _configure(state)
        munged, slurmctld, slurmd = _commands(state)
        stack.enter_context(_daemon(munged))
        wait_for((state / "munge.socket").exists, "munged to listen")
        stack.enter_context(_daemon(slurmctld))
        stack.enter_context(_daemon(slurmd))
        wait_for(lambda: run("sinfo", "--noheader", "--states=idle"), f"slurmd to be idle, see {state}")
        stack.callback(_empty_queue)
        yield state


def impatient() -> None:
    """Make Snakemake ask for the state of jobs every second.

    Its plugin waits as long as a setting says, at first, and ten seconds more after each time that no job has ended:
    most of a test of short jobs would be idle.
    """
    from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

    RemoteExecutor.next_seconds_between_status_checks = property(lambda self: 1, lambda self, value: None)


def run(*command: str) -> str:
    """Standard output of a command, empty when it fails."""
    return subprocess.run(command, capture_output=True, text=True).stdout


def queue(*states: str) -> dict[str, str]:
    """Comment (rule and wildcards) by job id of the queued jobs, of those in `states` if any are given."""
    states = [f"--states={','.join(states)}"] if states else []
    return dict(line.split("|", 1) for line in run("squeue", "--noheader", "--format=%i|%k", *states).splitlines())


def wait_for(condition: Callable[[], T], what: str, timeout_s: float = 60) -> T:
    """What `condition` returns once that is true. Raises TimeoutError, which names `what`."""
    end = time.monotonic() + timeout_s
    while not (result := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"waited {timeout_s} s for {what}")
        time.sleep(0.2)
    return result


def _configuration() -> list[Path]:
    return [ETC / template.name for template in TEMPLATES]


def _configure(state: Path) -> None:
    """Write the configuration, the key of munge and the invented GPUs."""
    (state / "spool").mkdir()
    key = state / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    for gpu in range(2):
        os.mknod(state / f"gpu{gpu}", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    names = {"MARK": MARK, "STATE": str(state), "HOST": socket.gethostname().split(".")[0]}
    ETC.mkdir(exist_ok=True)
    for template, path in zip(TEMPLATES, _configuration(), strict=True):
        path.write_text(Template(template.read_text()).substitute(names))


def _remove_configuration() -> None:
    for path in _configuration():
        path.unlink(missing_ok=True)


def _empty_queue() -> None:
    run("scancel", "--signal=KILL", "--full", "--user=root")
    run("scancel", "--user=root")
    with suppress(TimeoutError):
        wait_for(lambda: not queue(), "an empty queue", timeout_s=30)
    # A preempted job's step can outlive its job.
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("SLURM_CLUSTER_NAME") == CLUSTER:
                process.kill()


def _commands(state: Path) -> list[list[str]]:
    munge = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munged.pid"}
    munge |= {"log-file": "munged.log", "seed-file": "munge.seed"}
    options = [f"--{option}={state / name}" for option, name in munge.items()]
    return [["munged", "--foreground", "--force", *options], ["slurmctld", "-D"], ["slurmd", "-D"]]


@contextmanager
def _daemon(command: list[str]) -> Iterator[None]:
    """The daemon runs for as long as the context, and does not outlive this process even if that is killed."""
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "TERM", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=60)


if __name__ == "__main__":
    if problem := obstacle():
        raise SystemExit(problem)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    with cluster() as folder, suppress(KeyboardInterrupt):
        print(f"A Slurm is running, its logs are in {folder}. Ctrl-C stops it.")
        signal.pause()
