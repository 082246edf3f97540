"""A job's own temporary folder: what a killed engine leaves there, the job's next run on the machine clears away."""

import getpass
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def job_temporary(output: str) -> Iterator[Path]:
    """Let this process and its children put sockets and temporary files into a folder that goes with the block.

    It is named by the user and `output`, so that a killed job's is found again. Only the owner of `output` may enter.
    """
    system = tempfile.gettempdir()
    key = f"{getpass.getuser()} {Path(output).resolve()}"
    # Short: the path of a socket has room for 107 characters, of which the engine takes 37.
    folder = Path(system, f"es-{hashlib.sha256(key.encode()).hexdigest()[:10]}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    # Compiled code is worth keeping; torch looks for it in the temporary folder.
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", f"{system}/torchinductor_{getpass.getuser()}")
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    try:
        yield folder
    finally:
        tempfile.tempdir = system
        if before is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before
        shutil.rmtree(folder, ignore_errors=True)
