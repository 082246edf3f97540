"""A job's log file and the check of its environment."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from entropy_sentinel.core.errors import VersionError
from entropy_sentinel.study.jobs.job_logs import read_cause
from entropy_sentinel.study.jobs.package_versions import announce_versions, check_versions, list_installed_versions

WORKFLOW = Path(__file__).parents[3] / "workflow"


def job(log: Path, body: str) -> subprocess.CompletedProcess[str]:
    """A script with `body` inside `job_log`, in a process of its own."""
    imported = "import os\nfrom entropy_sentinel.study.jobs.job_logs import job_log"
    script = f"{imported}\nwith job_log({str(log)!r}):\n    {body}\n"
    command = [sys.executable, "-c", script]
    return subprocess.run(command, env={"PYTHONPATH": str(WORKFLOW)}, capture_output=True, text=True, check=False)


def test_everything_printed_goes_to_the_log(tmp_path: Path) -> None:
    done = job(tmp_path / "log", "print('one'); os.system('echo two'); os.write(2, b'three ')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sorted((tmp_path / "log").read_text().split()) == ["one", "three", "two"]


def test_causes_are_read_from_the_end_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert read_cause(log) is None
    log.write_bytes(b"\xff\n" * 100_000 + b"FAILED: one\nFAILED: two\nINFO engine: bye\n")
    assert read_cause(log) == "two"
    log.write_text("it FAILED: not at the start of a line\n")
    assert read_cause(log) is None


def test_a_long_message_is_shortened_only_on_the_terminal(tmp_path: Path) -> None:
    assert job(tmp_path / "log", "raise ValueError('x' * 5000)").returncode == 1
    *traceback, cause = (tmp_path / "log").read_text().splitlines()
    assert cause == f"FAILED: ValueError: {'x' * 988} ..."
    assert traceback[-1] == f"ValueError: {'x' * 5000}"


def test_the_terminal_shows_the_cause_if_the_log_cannot_be_written(tmp_path: Path) -> None:
    done = job(Path("/dev/full"), "1 / 0")
    assert done.returncode != 0
    assert "/dev/full: FAILED: ZeroDivisionError: division by zero" in done.stderr


def test_scripts_import_their_function_inside_the_job_log() -> None:
    """So that an import that fails is in the log, too."""
    for script in sorted(WORKFLOW.rglob("scripts/*.py")):
        code = script.read_text()
        if "job_log" in code:
            top = {node.module for node in ast.parse(code).body if isinstance(node, ast.ImportFrom)}
            assert top == {"entropy_sentinel.study.jobs.job_logs"}, script.name


def test_versions_of_the_submitting_host_must_match(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENTROPY_SENTINEL_VERSIONS", raising=False)
    check_versions()  # nothing announced: a job started by hand
    announce_versions()
    check_versions()
    others = list_installed_versions() | {"polars": "0.1", "a-package-of-the-host-alone": "1"}
    monkeypatch.setenv("ENTROPY_SENTINEL_VERSIONS", json.dumps(others))
    announce_versions()  # in the job: what the host said stays
    with pytest.raises(VersionError, match=r"^polars .* on .*, 0.1 on the host that submitted the job; both must"):
        check_versions()
