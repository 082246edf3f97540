"""`--json`: one document on standard output, the same as the file that the command writes."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from calling import run
from production import change_metadata, saved, traffic, written
from tiny import TINY

import entropy_sentinel as es

PAGE = (Path(__file__).parents[2] / "docs" / "watching.md").read_text()


def documented(command: str) -> list[str]:
    """The keys that the page lists for a command."""
    (keys,) = re.findall(rf"^\| `{command}` \| (.*?) \|", PAGE, re.MULTILINE)
    return [key for key in re.findall("`([^`]+)`", keys) if not key.startswith("--")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("json")
    saved(folder, "log-3d").rename(folder / "estimator")
    written(traffic(300), folder / "log.parquet")
    return folder


def printed(capsys: pytest.CaptureFixture, *call: Any) -> str:
    _, output, _ = run(capsys, *call, "--json")
    return output


def test_fit(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    output = printed(capsys, "fit", TINY.traces, "-l", TINY.labels, "-e", "atc-nll_sum", "-o", tmp_path / "one")
    header = json.loads((tmp_path / "one").read_bytes().split(b"\n")[2])
    assert json.loads(output) == {name: value for name, value in header.items() if name != "parameters"}
    assert set(json.loads(output)) == set(documented("fit"))


@pytest.mark.parametrize(
    ("command", "options"), [("estimate", []), ("monitor", ["--window", "day", "--fail-below", "0.99"])]
)
def test_rows_and_alerts(command: str, options: list[str], folder: Path, capsys: pytest.CaptureFixture) -> None:
    file = folder / "rows.json"
    call = [command, folder / "estimator", folder / "log.parquet", "--by", "route", *options]
    output = printed(capsys, *call, "--output", file)
    assert json.loads(output) == json.loads(file.read_text())
    assert list(json.loads(output)) == documented(command)
    assert {row["route"] for row in json.loads(output)["slices"]} == {"school", "shop", "support"}


def test_score(folder: Path, capsys: pytest.CaptureFixture) -> None:
    file = folder / "scores.jsonl"
    output = printed(capsys, "score", folder / "estimator", folder / "log.parquet", "--output", file)
    assert output == file.read_text()
    output = printed(capsys, "score", folder / "estimator", folder / "log.parquet")
    rows = [json.loads(line) for line in output.split("\n")[:-1]]
    assert (len(rows), list(rows[0])) == (300, documented("score"))


@pytest.mark.parametrize("estimator", [["estimator"], []])
def test_sample(estimator: list[str], folder: Path, capsys: pytest.CaptureFixture) -> None:
    file = folder / f"to_label_{len(estimator)}.jsonl"
    call = ["sample", *(folder / name for name in (*estimator, "log.parquet")), "--by", "route", "--budget", 60]
    chosen = json.loads(printed(capsys, *call, "--output", file))
    assert chosen["responses"] == [json.loads(line) for line in file.read_text().splitlines()]
    assert list(chosen) == documented("sample")
    assert sum(row["n_to_label"] for row in chosen["slices"]) == len(chosen["responses"]) == 60
    assert (chosen["purpose"] is None) == bool(estimator)


def test_compare(folder: Path, capsys: pytest.CaptureFixture) -> None:
    other = change_metadata(es.load(folder / "estimator"), model="other")
    es.save(other, folder / "other.estimator")
    answers = pl.concat([traffic(300), traffic(300, seed=1).with_columns(model=pl.lit("other"))])
    log, file = written(answers, folder / "both.parquet"), folder / "differences.jsonl"
    call = ["compare", folder / "estimator", folder / "other.estimator", log, "--by", "route", "--output", file]
    compared = json.loads(printed(capsys, *call))
    assert list(compared) == documented("compare")
    assert compared["slices"] == [json.loads(line) for line in file.read_text().splitlines()]
    assert compared["models"] == ["m", "other"]


def test_warnings_do_not_mix_with_the_json(folder: Path, capsys: pytest.CaptureFixture) -> None:
    log = folder / "broken.jsonl"
    log.write_text("{broken")
    call = ["monitor", folder / "estimator", folder / "log.parquet", log, "--min-responses", 1, "--json"]
    status, output, errors = run(capsys, *call)
    assert status == 3
    assert f"{log}: line 1" in errors
    assert json.loads(output)["provenance"]["responses"]["in_all"] == 300
