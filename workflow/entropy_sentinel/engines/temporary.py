"""A job's own temporary folder, and what a killed engine leaves: sockets, and processes that hold the GPU's memory."""

import contextlib
import getpass
import hashlib
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger(__name__)

# How long a killed process may take to give back its memory.
KILL_S = 30.0


@contextmanager
def job_temporary(output: str) -> Iterator[Path]:
    """Let this process and its children put sockets and temporary files into a folder that goes with the block.

    It is named by the user and `output`: the next run of a killed job on this machine ends the processes of its engine
    and clears their folder away. Only the owner of `output` (jobs/ownership.py) may enter.
    """
    system = tempfile.gettempdir()
    key = f"{getpass.getuser()} {Path(output).resolve()}"
    # Short: the path of a socket has room for 107 characters, of which the engine takes 37.
    folder = Path(system, f"es-{hashlib.sha256(key.encode()).hexdigest()[:10]}")
    _end_leftovers(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    # Compiled code is worth keeping; torch looks for it in the temporary folder.
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", f"{system}/torchinductor_{getpass.getuser()}")
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    try:
        with open(folder / "mark", "w"):
            yield folder
    finally:
        tempfile.tempdir = system
        if before is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before
        shutil.rmtree(folder, ignore_errors=True)


def _end_leftovers(folder: Path) -> None:
    """Kill what a dead job has started: processes with its mark open, or its folder as theirs.

    Those it has forked have the first, those it has spawned the second.
    """
    if not folder.is_dir():
        return
    import psutil

    killed = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            marked = any(Path(file.path).parent == folder for file in process.open_files())
            if marked or process.environ().get("TMPDIR") == str(folder):
                log.warning("killing process %d (%s), which a killed run has left", process.pid, process.name())
                process.kill()
                killed.append(process)
    psutil.wait_procs(killed, timeout=KILL_S)
