"""The subcommands features, fit and estimate, one after the other as a user would."""

from pathlib import Path

import polars as pl
import pytest

import entropy_sentinel as es
from entropy_sentinel.commands.main import main

EXAMPLE = es.example()
TRAINING = [str(EXAMPLE.traces / f"{name}.parquet") for name in ("averages", "two-digit-multiplication")]


def run(capsys: pytest.CaptureFixture, *arguments: object) -> tuple[int, str, str]:
    """Exit status, output and errors of a call."""
    with pytest.raises(SystemExit) as end:
        main(list(map(str, arguments)))
    printed = capsys.readouterr()
    return end.value.code, printed.out, printed.err


def test_from_traces_to_an_estimate(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    kept, features, table = tmp_path / "mine.estimator", tmp_path / "features.parquet", tmp_path / "table.csv"
    status, said, _ = run(capsys, "fit", *TRAINING, "-l", EXAMPLE.labels, "-e", "atc-nll_sum", "-o", kept)
    assert status == 0
    assert "atc-nll_sum, fitted on 80 responses of tiny-1m to averages+two-digit-multiplication, 0.463 of" in said
    assert run(capsys, "features", EXAMPLE.traces, "-o", features)[:2] == (
        0,
        f"{features}: 160 responses, 0 of them without features\n",
    )
    status, said, _ = run(capsys, "estimate", kept, features, "--by", "benchmark", "-l", EXAMPLE.labels, "-o", table)
    assert status == 0
    found = pl.read_csv(table)
    same = es.estimate(es.load(kept), es.read_features(EXAMPLE.traces), ["benchmark"], es.read_labels(EXAMPLE.labels))
    assert found.equals(same)
    lines = [line.split() for line in said.splitlines() if line.startswith("multiply-then-add")]
    assert lines == [["multiply-then-add", "40", "0", "0.400", "40", "0.400", "0.450", "-0.050"]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["estimate", "none.estimator", EXAMPLE.traces], "InputError: none.estimator: must be a file written by `fit`"),
        (["estimate", "x", EXAMPLE.traces, "-o", "x.xls"], "InputError: --output: must end with .csv, .parquet, .json"),
        (["fit", *TRAINING, "-l", EXAMPLE.labels, "-e", "atc", "-o", "x"], "ConfigError: unknown estimator 'atc'"),
        (["fit", "none*", "-l", EXAMPLE.labels, "-o", "x"], "InputError: none*: is no file"),
        (["features", EXAMPLE.labels, "-o", "x"], "must be a file of stage 'generations', is one of stage 'labels'"),
        (["estimate", "x", EXAMPLE.labels], "x: must be a file written by `fit`"),
        (["fit", EXAMPLE.labels, "-l", EXAMPLE.labels, "-o", "x"], "must hold features or generations, holds labels"),
    ],
)
def test_errors_are_one_line_and_status_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, arguments: list, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (1, "")
    assert said in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.iterdir())
