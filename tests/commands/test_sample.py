"""The subcommand sample: from a log to a file for a person to fill in."""

import csv
import json
from pathlib import Path

import pytest

import entropy_sentinel as es
from entropy_sentinel.commands.main import main

EXAMPLE = es.example()


def run(capsys: pytest.CaptureFixture, *arguments: object) -> tuple[int, str, str]:
    """Exit status, output and errors of a call."""
    with pytest.raises(SystemExit) as end:
        main(list(map(str, arguments)))
    printed = capsys.readouterr()
    return end.value.code, printed.out, printed.err


@pytest.fixture(scope="module")
def estimator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("estimator") / "log-3d.estimator"
    es.save(es.fit(es.read_features(EXAMPLE.traces), es.read_labels(EXAMPLE.labels), "log-3d"), path)
    return path


def test_a_file_to_fill_in_and_what_to_expect(estimator: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    target = tmp_path / "to_label.csv"
    call = ("sample", estimator, EXAMPLE.traces, "--by", "benchmark", "--budget", 40, "-o", target)
    status, said, errors = run(capsys, *call)
    assert (status, errors) == (0, "")
    assert said.splitlines()[-1] == f"{target}: 40 of 160 responses to label, true or false in column 'label'"
    rows = list(csv.DictReader(target.read_text().splitlines(keepends=True)))
    assert [len(rows), {row["label"] for row in rows}] == [40, {""}]
    same = es.sample(es.load(estimator), EXAMPLE.traces, ["benchmark"], 40)
    assert [row["item_id"] for row in rows] == same.responses["item_id"].to_list()
    shown = {
        line.split()[0]: line.split()[1:]
        for line in said.splitlines()
        if line.split()[1:2] == ["40"] and len(line.split()) == 7
    }
    assert set(shown) == set(same.slices["benchmark"])
    row = same.slices.row(0, named=True)
    numbers = [row[name] for name in ("estimated_accuracy", "width_before", "width_labels_alone", "width_expected")]
    assert shown[row["benchmark"]] == ["40", str(row["n_to_label"]), *(f"{one:.3f}" for one in numbers)]


def test_json_lines(estimator: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    target = tmp_path / "to_label.jsonl"
    status, said, _ = run(capsys, "sample", estimator, EXAMPLE.traces, "-n", 30, "-o", target)
    rows = [json.loads(line) for line in target.read_text().splitlines()]
    # Without --by all responses are one slice.
    assert said.splitlines()[2].split()[:3] == ["all", "160", "30"]
    assert status == 0
    assert len(rows) == 30
    assert {row["label"] for row in rows} == {None}
    assert all(row["response"].rstrip() for row in rows)


def test_wrong_calls_are_answered(estimator: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    call = ("sample", estimator, EXAMPLE.traces, "--by", "benchmark")
    status, _, errors = run(capsys, *call, "-n", 40, "-o", tmp_path / "a.xlsx")
    assert (status, "--output: must end with .csv, .jsonl" in errors) == (1, True)
    status, _, errors = run(capsys, *call, "-n", 4, "-o", tmp_path / "a.csv")
    assert (status, "budget: 4 labels are fewer than 5 for each of 4 slices, 20" in errors) == (1, True)
    assert not list(tmp_path.iterdir())
