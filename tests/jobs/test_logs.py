"""A job's log file and the check of its environment."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from entropy_sentinel.frames.errors import VersionError
from entropy_sentinel.jobs.versions import announce_versions, check_versions, installed_versions

WORKFLOW = Path(__file__).parents[2] / "workflow"


def job(log: Path, body: str) -> subprocess.CompletedProcess[str]:
    """A script with `body` inside `job_log`, in a process of its own."""
    script = f"import os\nfrom entropy_sentinel.jobs.logs import job_log\nwith job_log({str(log)!r}):\n    {body}\n"
    command = [sys.executable, "-c", script]
    return subprocess.run(command, env={"PYTHONPATH": str(WORKFLOW)}, capture_output=True, text=True, check=False)


def test_everything_printed_goes_to_the_log(tmp_path: Path) -> None:
    done = job(tmp_path / "log", "print('one'); os.system('echo two'); os.write(2, b'three ')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sorted((tmp_path / "log").read_text().split()) == ["one", "three", "two"]


def test_an_error_for_the_user_is_its_message_on_both(tmp_path: Path) -> None:
    body = "from entropy_sentinel.frames.errors import InputError; raise InputError('row 3 has no answer')"
    done = job(tmp_path / "log", body)
    assert done.returncode == 1
    assert done.stderr == (tmp_path / "log").read_text() == "InputError: row 3 has no answer\n"


def test_an_unexpected_error_leaves_its_traceback_in_the_log(tmp_path: Path) -> None:
    assert job(tmp_path / "log", "1 / 0").returncode != 0
    assert "Traceback" in (tmp_path / "log").read_text()
    assert "ZeroDivisionError" in (tmp_path / "log").read_text()


def test_versions_of_the_submitting_host_must_match(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENTROPY_SENTINEL_VERSIONS", raising=False)
    check_versions()  # nothing announced: a job started by hand
    announce_versions()
    check_versions()
    others = installed_versions() | {"polars": "0.1", "a-package-of-the-host-alone": "1"}
    monkeypatch.setenv("ENTROPY_SENTINEL_VERSIONS", json.dumps(others))
    announce_versions()  # in the job: what the host said stays
    with pytest.raises(VersionError, match=r"^polars .* on .*, 0.1 on the host that submitted the job; both must"):
        check_versions()
