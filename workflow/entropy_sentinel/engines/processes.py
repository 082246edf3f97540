"""The processes of an engine: the one that leads its session, and those that vLLM starts."""

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

from entropy_sentinel.engines.run import SAME_S

PROCESS = "process.json"
# Longest wait for a killed process to end, in seconds.
KILL_S = 30.0


def record_process(folder: Path) -> None:
    """Write which process is the engine of a folder; it leads a session, to which vLLM's own processes belong."""
    import psutil

    (folder / PROCESS).write_text(json.dumps([os.getpid(), psutil.Process().create_time(), _namespace()]))


def clear(folder: Path) -> None:
    """End the processes of an engine, and delete its folder.

    They have this temporary folder in their environment, or belong to the engine's session. vLLM renames its own
    processes, which overwrites the environment that other processes read.
    """
    if not folder.is_dir():
        return
    import psutil

    session = _session(folder)
    killed = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if process.pid != os.getpid() and (
                os.getsid(process.pid) == session or process.environ().get("TMPDIR") == str(folder)
            ):
                process.kill()
                killed.append(process)
    psutil.wait_procs(killed, timeout=KILL_S)
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        folder.parent.rmdir()


def _session(folder: Path) -> int | None:
    """Return the session of an engine; None if it is in another container, or if a later process has its id."""
    import psutil

    try:
        session, started, namespace = json.loads((folder / PROCESS).read_text())
    except (OSError, ValueError):  # the engine has not started yet
        return None
    with suppress(psutil.NoSuchProcess):  # the leader has died; no other process gets its id while the session lives
        if abs(psutil.Process(session).create_time() - started) > SAME_S:
            return None
    return int(session) if namespace == _namespace() else None


def _namespace() -> str:
    """Return the name of the space in which ids of processes are unique."""
    return os.readlink("/proc/self/ns/pid")


def lives(process: int) -> bool:
    """Whether a process runs, or is stopped."""
    import psutil

    with suppress(psutil.Error):
        return bool(psutil.Process(process).status() != psutil.STATUS_ZOMBIE)
    return False


def is_stopped(process: int) -> bool:
    """Whether a process waits for a signal to continue."""
    import psutil

    with suppress(psutil.Error):
        return bool(psutil.Process(process).status() == psutil.STATUS_STOPPED)
    return False
