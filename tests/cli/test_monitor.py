"""The subcommand monitor, as a scheduler and a person call it."""

import json
import shlex
import sys
from pathlib import Path

import polars as pl
import pytest
from calling import run
from production import line, log_file, saved, traffic, written


@pytest.fixture(scope="module")
def estimator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("estimator"), "atc-se_sum")


def test_a_day_of_a_scheduler(estimator: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    log = written(traffic(900), tmp_path / "log.parquet")
    files = [tmp_path / name for name in ("rows.csv", "sentinel.prom", "alerts.json")]
    options = ["--by", "route", "--window", "day", "--reference", "2026-11-02..2026-11-03", "--alert-on", "drop"]
    options += ["--output", files[0], "--metrics", files[1], "--alerts", files[2], "--state", tmp_path / "state"]
    status, message, errors = run(capsys, "monitor", estimator, log, *options)
    assert status == 0
    assert [line for line in errors.splitlines() if "repeated questions" not in line] == []  # the file has none
    assert all(path.exists() for path in files)
    assert json.loads(files[2].read_text())["alerts"] == []
    lines = message.splitlines()
    assert lines[0].startswith("atc-se_sum of m, fitted on domain-0, domain-1, domain-2, domain-3")
    assert lines[1] == "900 responses in 1 file"
    table = pl.read_csv(files[0])
    (shop,) = [line.split() for line in lines if line.startswith("shop")][:1]
    assert int(shop[1]) == table.filter(pl.col("route") == "shop")["n_estimated"].sum()

    status, message, _ = run(capsys, "monitor", estimator, log, *options, "--fail-below", "0.99")
    assert status == 4
    assert "read now: 0" in message
    alerts = json.loads(files[2].read_text())["alerts"]
    assert {alert["kind"] for alert in alerts} == {"below"}
    assert message.count("ALERT ") == len(alerts) > 0


def test_the_example_of_the_help(estimator: Path, tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(traffic(900).rename({"route": "metadata.route"}), Path("logs/log.parquet"))
    Path("mine.estimator").write_bytes(estimator.read_bytes())
    _, shown, _ = run(capsys, "monitor", "--help")
    example = shown.split("entropy-sentinel monitor mine")[1].split("\n\n")[0].replace("\\\n", "")
    status, _, errors = run(capsys, "monitor", *shlex.split(f"mine{example}"))
    assert status == 0
    assert [line for line in errors.splitlines() if "repeated questions" not in line] == []  # the file has none
    assert {path.name for path in tmp_path.iterdir()} == {"logs", "mine.estimator", "state", "slices.html"}


def test_incomplete_input_has_its_own_exit_status_and_is_located(estimator: Path, tmp_path: Path, capsys) -> None:
    log = log_file(tmp_path / "log.jsonl", [line(0), "{broken", line(2)])
    assert run(capsys, "monitor", estimator, log, "--by", "route", "--min-responses", 1)[0] == 3
    # That nothing can be said goes before it.
    status, message, errors = run(capsys, "monitor", estimator, log, "--by", "route")
    assert status == 5
    assert message.endswith("no slice has enough responses (at least 30 with an estimate)\n")
    assert errors.startswith(f"1 record that cannot be read: {log}: line 2 (must be a JSON object")
    assert "few responses: school, shop: 1 response with an estimate, fewer than 30" in message
    # An alert goes before it.
    more = written(traffic(90), tmp_path / "more.parquet")
    assert run(capsys, "monitor", estimator, log, more, "--fail-below", "0.99")[0] == 4
    status, _, errors = run(capsys, "monitor", estimator, log, "--strict")
    assert (status, errors.splitlines()[0].startswith(f"InputError: {log}: line 2: ")) == (1, True)


def test_the_terminal_shows_only_the_first_of_many_slices(estimator: Path, tmp_path: Path, capsys) -> None:
    log = log_file(tmp_path / "log.jsonl", [line(number, route=f"r{number}") for number in range(30)])
    _, message, _ = run(capsys, "monitor", estimator, log, "--by", "route")
    assert "... and 10 more slices" in message


@pytest.mark.parametrize("more", [[], ["--state", "state"]])
def test_a_closed_standard_input_is_reported(
    estimator: Path, tmp_path: Path, capsys, monkeypatch, more: list[str]
) -> None:
    """As of `monitor mine.estimator - <&-`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", None)
    status, _, errors = run(capsys, "monitor", estimator, "-", *more)
    assert (status, errors.startswith("InputError: standard input: is closed")) == (1, True)
