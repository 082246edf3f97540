"""A job's temporary folder, and what is left of a killed job in it."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from entropy_sentinel.engines.temporary import job_temporary

pytestmark = pytest.mark.slow

# A job that binds a socket, starts a process of its own, and is killed.
KILLED = """
import os, signal, socket, subprocess, sys, tempfile
from entropy_sentinel.engines.temporary import job_temporary
with job_temporary(sys.argv[1]) as folder:
    socket.socket(socket.AF_UNIX).bind(tempfile.mktemp())
    child = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    print(folder, child.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def _system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another temporary folder of the system, and no trace of what the job changes."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "")
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_a_job_has_a_folder_of_its_own_which_goes_with_it(tmp_path: Path) -> None:
    with job_temporary("results/a.parquet") as folder:
        assert folder.parent == tmp_path
        assert folder.stat().st_mode & 0o777 == 0o700
        assert tempfile.gettempdir() == os.environ["TMPDIR"] == str(folder)
        shown = subprocess.check_output(
            [sys.executable, "-c", "import tempfile; print(tempfile.gettempdir())"], text=True
        )
        assert shown.strip() == str(folder)
        with job_temporary("results/b.parquet") as other:
            assert other != folder
    assert list(tmp_path.iterdir()) == []
    assert tempfile.gettempdir() == os.environ["TMPDIR"] == str(tmp_path)


def test_a_socket_has_room_in_it() -> None:
    """vLLM's are named by a UUID; a path may have 107 characters."""
    with job_temporary("results/a.parquet") as folder:
        assert len(str(folder)) - len(str(folder.parent)) + 1 + 36 <= 107 - len("/scratch/user/12345678")


def test_the_next_run_clears_away_what_a_killed_one_left() -> None:
    run = subprocess.run(
        [sys.executable, "-c", KILLED, "results/a.parquet"],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "workflow")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == -signal.SIGKILL, run.stderr
    folder, child = Path(run.stdout.split()[0]), int(run.stdout.split()[1])
    assert any(path.is_socket() for path in folder.iterdir())
    assert psutil.pid_exists(child)
    with job_temporary("results/other.parquet"):
        assert psutil.pid_exists(child), "another job's"
    begin = time.monotonic()
    with job_temporary("results/a.parquet") as same:
        assert same == folder
        assert [path.name for path in folder.iterdir()] == ["mark"]
        assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE
    assert time.monotonic() - begin < 10
