"""The command as a person meets it: help, exit codes, errors of one line, nothing imported before it is needed."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from calling import run

from entropy_sentinel.cli import shared_arguments as options
from entropy_sentinel.cli.main import COMMANDS
from entropy_sentinel.core.option_classes import Panel
from entropy_sentinel.study.config.config_loading import build_study_schema

ROOT = Path(__file__).parents[2]
HEAVY = ("vllm", "torch", "litellm", "datasets", "snakemake", "matplotlib", "sklearn", "polars", "yaml")


def test_help_names_every_subcommand(capsys: pytest.CaptureFixture) -> None:
    _, text, _ = run(capsys, "--help")
    assert "without labels" in " ".join(text.split())
    assert set(COMMANDS) <= {line.split()[0] for line in text.splitlines() if line.strip()}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_every_subcommand_names_its_purpose_and_arguments(name: str, capsys: pytest.CaptureFixture) -> None:
    status, text, _ = run(capsys, name, "--help")
    usage, sentence = (block.strip() for block in text.split("\n\n")[:2])
    assert status == 0
    assert usage.split()[2:4] == [name, "[OPTIONS]"] or f" {name} " in usage
    assert sentence.endswith(".")
    assert not re.search(r"<list\[|<path>|\de\+\d", text), "names of Python's types, or 1e+09"


def test_help_is_in_sections(capsys: pytest.CaptureFixture) -> None:
    def sections(*call: str) -> dict[str, list[str]]:
        """The first words of the lines of each section."""
        blocks = [block.splitlines() for block in run(capsys, *call, "--help")[1].split("\n\n")]
        titled = {lines[0][:-1]: lines[1:] for lines in blocks if lines[0].endswith(":") and lines[0][0] != " "}
        return {title: [line.split()[0] for line in lines if line[2] != " "] for title, lines in titled.items()}

    commands = sections()
    assert list(commands) == ["Logs of a deployed model", "Studies", "Options"]
    assert commands["Logs of a deployed model"][0] == "features"
    options = sections("monitor")
    others = (Panel.SELECTION, Panel.VERDICT, Panel.JUDGE)
    assert list(options) == ["Arguments", *(panel for panel in Panel if panel not in others), "Options"]
    assert sections("fit")[Panel.VERDICT][0] == "--usable-error"
    assert "--fail-below" in options["Alerts"]
    assert options["Options"] == ["--json", "-h,"]


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("mon", ["monitor"]),
        ("monitor --fail", ["--fail-below"]),
        ("monitor --window d", ["day"]),
        ("monitor --alert-on s", ["support", "stale"]),
    ],
)
def test_a_shell_completes(typed: str, completed: list[str], capsys: pytest.CaptureFixture, monkeypatch) -> None:
    words = typed.split(" ")
    monkeypatch.setenv("_ENTROPY_SENTINEL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"entropy-sentinel {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    assert run(capsys)[1].split() == completed


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, entropy_sentinel\n"
        f"sys.modules.update(dict.fromkeys({HEAVY}))\n"  # None: importing it raises ImportError
        "from entropy_sentinel.cli.main import main\n"
        "for name in sys.argv[1:]:\n"
        "    try: main([name, '--help'])\n"
        "    except SystemExit as ended: assert not ended.code, name\n"
    )
    command = [sys.executable, "-c", code, *COMMANDS]
    done = subprocess.run(command, cwd=ROOT / "workflow", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage:") == len(COMMANDS)


def test_an_interrupt_during_start_shows_no_traceback() -> None:
    code = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name.startswith('entropy_sentinel.cli'):\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from entropy_sentinel.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "workflow", capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_version(capsys: pytest.CaptureFixture) -> None:
    newest = re.search(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert run(capsys, "--version") == (0, f"entropy-sentinel {newest[1]}\n", "")


@pytest.mark.parametrize("arguments", [["plan", "--colour"], ["serve"], ["fly"], ["progress", "--watch", "often"]])
def test_wrong_calls_have_exit_status_2(arguments: list[str], capsys: pytest.CaptureFixture) -> None:
    status, _, errors = run(capsys, *arguments)
    assert (status, "Usage:" in errors) == (2, True)


@pytest.mark.parametrize("name", ["plan", "progress"])
def test_errors_of_the_config_are_lines_without_traceback(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "entropy_sentinel.core.cache_folders.TREE", tmp_path
    )  # as if the package were installed elsewhere
    status, _, message = run(capsys, name)
    assert (status, message.startswith("ConfigError: config.yaml: "), str(tmp_path) in message) == (1, True, True)
    Path("config.yaml").write_text("stduy: mine")
    status, _, message = run(capsys, name, "--configfile", "absent.yaml")
    assert (status, message.startswith("ConfigError: absent.yaml: ")) == (1, True)


def test_schema_is_printed_or_written(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    _, printed, _ = run(capsys, "schema")
    assert json.loads(printed)["title"] == "Config"
    assert run(capsys, "schema", "-o", tmp_path / "schema.json")[0] == 0
    assert (tmp_path / "schema.json").read_text() == printed == build_study_schema()
    (tmp_path / "file").touch()
    status, _, errors = run(capsys, "schema", "-o", tmp_path / "file" / "schema.json")
    assert (status, errors.count("\n")) == (1, 1)


@pytest.mark.parametrize(("terminal", "expected"), [(True, "reading ...\n"), (False, "")])
def test_what_takes_long_is_named_on_a_terminal_only(
    terminal: bool, expected: str, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "PATIENCE_S", 0.05)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with options.announce_work("reading"):
        time.sleep(0.3)
    with options.announce_work("quick"):
        pass
    time.sleep(0.1)
    assert capsys.readouterr().err == expected
