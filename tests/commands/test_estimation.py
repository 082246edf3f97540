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


def test_without_a_name_the_recommended_estimator_is_fitted_and_says_what_it_took(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    status, said, _ = run(capsys, "fit", *TRAINING, "-l", EXAMPLE.labels, "-o", tmp_path / "one")
    assert status == 0
    assert said.splitlines()[1:] == ["took consensus: leave-one-domain-out needs 3 labelled domains, there are 2"]
    status, said, _ = run(capsys, "fit", EXAMPLE.traces, "-l", EXAMPLE.labels, "-o", tmp_path / "one")
    chosen = es.load(tmp_path / "one").about["chosen"]
    errors = ", ".join(f"{name} {error:.3f}" for name, error in chosen["leave_one_out_aee"].items())
    assert said.splitlines()[1:] == [f"took {chosen['method']}: {chosen['reason']} ({errors})"]
    assert set(chosen["leave_one_out_aee"]) == {"consensus", "median-of-seven", "log-3d", "atc-max"}


def test_labels_of_nearly_one_class_come_with_a_caution(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    easy = str(EXAMPLE.traces / "one-digit-addition.parquet")
    _, said, _ = run(capsys, "fit", easy, "-l", EXAMPLE.labels, "-o", tmp_path / "one")
    assert "caution: only 0 of 40 training rows are incorrect: " in said
    status, _, said = run(capsys, "estimate", tmp_path / "one", EXAMPLE.traces)
    assert (status, said.startswith("caution: only 0 of 40 training rows")) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["estimate", "none.estimator", EXAMPLE.traces], "InputError: none.estimator: must be a file written by `fit`"),
        (["estimate", "x", EXAMPLE.traces, "-o", "x.xls"], "InputError: --output: must end with .csv, .parquet, .json"),
        (["fit", *TRAINING, "-l", EXAMPLE.labels, "-e", "atc", "-o", "x"], "ConfigError: unknown estimator 'atc'"),
        (["fit", "none*", "-l", EXAMPLE.labels, "-o", "x"], "InputError: none*: is no file"),
        (["features", EXAMPLE.labels, "-o", "x"], "must hold features or generations, holds labels"),
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
