"""The processes of an engine: the one that leads its session, and those that vLLM starts."""

import json
import logging
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from entropy_sentinel.study.engines.engine_run import START_TOLERANCE_S

log = logging.getLogger(__name__)

PROCESS_FILE = "process.json"
# Longest wait for a killed process to end, in seconds.
KILL_S = 30.0
# Linux has no larger process ids.
_MAX_PID = 2**22


def record_process(folder: Path) -> None:
    """Write which process is the engine of a folder; it leads a session, to which vLLM's own processes belong."""
    import psutil

    (folder / PROCESS_FILE).write_text(json.dumps([os.getpid(), psutil.Process().create_time(), _read_pid_namespace()]))


def remove_engine(folder: Path) -> None:
    """End the processes of an engine, and delete its folder.

    They have this temporary folder in their environment, or belong to the engine's session. vLLM renames its own
    processes, which overwrites the environment that other processes read.
    """
    if not folder.is_dir():
        return
    import psutil

    session = _find_session(folder)
    killed = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if process.pid == os.getpid():
                continue
            if os.getsid(process.pid) == session or process.environ().get("TMPDIR") == str(folder):
                process.kill()
                killed.append(process)
    psutil.wait_procs(killed, timeout=KILL_S)
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        folder.parent.rmdir()


def _find_session(folder: Path) -> int | None:
    """The session of an engine; None if it is in another container, or if a later process has its id."""
    import psutil

    leader = _read_leader(folder / PROCESS_FILE)
    if leader is None or leader.namespace != _read_pid_namespace():
        return None
    with suppress(psutil.NoSuchProcess):  # the leader has died; no other process gets its id while the session lives
        if abs(psutil.Process(leader.session).create_time() - leader.start_time) > START_TOLERANCE_S:
            return None
    return leader.session


class _Leader(NamedTuple):
    """The process that leads an engine's session, with the time of its start in seconds since 1970."""

    session: int
    start_time: float
    namespace: str


def _read_leader(file: Path) -> _Leader | None:
    """What `record_process` wrote; None if the engine has not started yet, or if the file is damaged."""
    try:
        match json.loads(file.read_text()):
            case [int(session), float() | int() as started, str(namespace)] if 0 < session < _MAX_PID:
                return _Leader(session, float(started), namespace)
    except OSError:
        return None
    except (ValueError, OverflowError, RecursionError):  # no JSON, or a number that is no time
        pass
    log.warning("%s: is damaged; processes of this engine may still run", file)
    return None


def _read_pid_namespace() -> str:
    """The name of the space in which ids of processes are unique."""
    return os.readlink("/proc/self/ns/pid")


def is_process_alive(pid: int) -> bool:
    """Whether a process runs, or is suspended."""
    import psutil

    with suppress(psutil.Error):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


def is_process_suspended(pid: int) -> bool:
    """Whether the process is suspended (SIGSTOP)."""
    import psutil

    with suppress(psutil.Error):
        return bool(psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    return False
