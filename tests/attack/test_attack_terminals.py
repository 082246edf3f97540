"""Terminals that know few letters, or are closed: what is said is said in the letters that there are."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from attack_cases import ROOT
from tiny import TINY

import entropy_sentinel as es

pytestmark = pytest.mark.slow

ROUTE = "Zürich → 東京 😀"
COMMANDS = ("monitor", "features", "sample", "an error")
TERMINALS = {
    "Latin-1": {"PYTHONIOENCODING": "latin-1"},
    "ASCII, strict": {"PYTHONIOENCODING": "ascii:strict", "LC_ALL": "C"},
    "POSIX without UTF-8": {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An estimator of five alternatives, and the example's log with a route of many letters."""
    folder = tmp_path_factory.mktemp("folder")
    features = es.features(es.read_logs(TINY.traces, top_k=5))
    es.save(es.fit(features, es.read_labels(TINY.labels), "log-3d"), folder / "mine.estimator")
    lines = [json.loads(line) for line in TINY.log.read_text().splitlines()]
    text = "".join(json.dumps(line).replace('"averages"', json.dumps(ROUTE)) + "\n" for line in lines)
    (folder / "log.jsonl").write_text(text)
    (folder / "änderung.jsonl").write_text("{")
    return folder


def arguments(command: str, folder: Path) -> list[str]:
    mine, log = str(folder / "mine.estimator"), str(folder / "log.jsonl")
    return {
        "monitor": ["monitor", mine, log, "--by", "metadata.route"],
        "features": ["features", log, "--columns", "metadata.route", "-o", str(folder / "features.parquet")],
        "sample": ["sample", mine, log, "--budget", "20", "--by", "metadata.route", "-o", str(folder / "label.csv")],
        "--help": ["--help"],
        "an error": ["features", str(folder / "änderung.jsonl"), "-o", str(folder / "none.parquet")],
    }[command]


def command_line(command: str, folder: Path) -> list[str]:
    return [sys.executable, "-m", "entropy_sentinel", *arguments(command, folder)]


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME")}
    return kept | {"PYTHONPATH": str(ROOT / "workflow"), "POLARS_MAX_THREADS": "1"} | more


@pytest.mark.long
@pytest.mark.parametrize(("command", "terminal"), [(command, name) for command in COMMANDS for name in TERMINALS])
def test_few_letters(command: str, terminal: str, folder: Path) -> None:
    done = subprocess.run(
        command_line(command, folder), env=environment(**TERMINALS[terminal]), capture_output=True, timeout=60
    )
    assert b"Traceback" not in done.stderr, done.stderr[-2000:]
    # Twelve responses are too few for the monitor to say anything: 5.
    assert done.returncode == {"an error": 1, "monitor": 5}.get(command, 0), done.stderr
    if command in ("monitor", "sample"):
        # The letters that are there stand as they are, the others as Python writes them.
        letters = "latin-1" if terminal == "Latin-1" else "ascii"
        assert ROUTE.encode(letters, "backslashreplace") in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("command", ["monitor", "--help"])
def test_closed(command: str, folder: Path) -> None:
    """`| head -1`, `>&-` and `2>&-`: no traceback, and no error of a library about it."""
    line = " ".join(f"'{part}'" for part in command_line(command, folder))
    for shell in (f"{line} | true", f"{line} | head -1 > /dev/null", f"{line} >&-", f"{line} 2>&- > /dev/null"):
        done = subprocess.run(["bash", "-c", shell], env=environment(), capture_output=True, text=True, timeout=60)
        for word in ("Traceback", "Exception ignored", "BrokenPipe", "Bad file descriptor"):
            assert word not in done.stderr, (shell, done.stderr[-2000:])
