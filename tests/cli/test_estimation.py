"""The subcommands features, fit and estimate, one after the other as a user would."""

import math
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from calling import run
from tiny import TINY

import entropy_sentinel as es
from entropy_sentinel.cli import shared_arguments
from entropy_sentinel.schemas.contract import read_provenance

TRAINING = [str(TINY.traces / f"{name}.parquet") for name in ("averages", "two-digit-multiplication")]


@pytest.fixture
def fit(tmp_path: Path, capsys: pytest.CaptureFixture) -> Callable[..., str]:
    """Fits `mine.estimator` in the test's folder, and gives what is printed."""

    def called(*arguments: object) -> str:
        status, message, _ = run(capsys, "fit", *arguments, "-l", TINY.labels, "-o", tmp_path / "mine.estimator")
        assert status == 0
        return message

    return called


def test_from_traces_to_an_estimate(tmp_path: Path, capsys: pytest.CaptureFixture, fit) -> None:
    kept, features, table = tmp_path / "mine.estimator", tmp_path / "features.parquet", tmp_path / "table.csv"
    message = fit(*TRAINING, "-e", "atc-nll_sum")
    assert all(
        fact in message for fact in ("atc-nll_sum", "80 responses", "averages, two-digit-multiplication", "0.463")
    )
    assert run(capsys, "features", TINY.traces, "-o", features)[:2] == (
        0,
        f"{features}: 160 responses, 0 of them without features\n",
    )
    assert read_provenance(features)["log"]["log-probabilities"] == "raw_logprobs, as the file states (160)"
    status, message, _ = run(capsys, "estimate", kept, features, "--by", "benchmark", "-l", TINY.labels, "-o", table)
    assert status == 0
    result = pl.read_csv(table)
    same = es.estimate(es.load(kept), es.read_features(TINY.traces), ["benchmark"], es.read_labels(TINY.labels))
    numbers = [name for name, dtype in same.schema.items() if dtype == pl.Float64]
    assert result.select("benchmark").equals(same.select("benchmark"))
    assert result.select(numbers).cast(pl.Float64).equals(same.select(numbers))
    (line,) = [line.split() for line in message.splitlines() if line.startswith("multiply-then-add  ")]
    assert (line[1:3], line[-5:]) == (["40", "0.400"], ["0%", "40", "0.400", "0.450", "-0.050"])


def test_fit_says_on_a_terminal_how_far_its_validation_is(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_arguments, "PATIENCE_S", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    every = sorted(TINY.traces.glob("*.parquet"))
    status, _, errors = run(
        capsys, "fit", *every, "-l", TINY.labels, "-e", "group-accuracy", "-o", tmp_path / "a.estimator"
    )
    assert status == 0
    assert errors.splitlines()[-4:] == [f"validating: domain {number} of 4" for number in (1, 2, 3, 4)]


def test_fit_counts_how_often_the_labels_were_validated(tmp_path: Path, fit) -> None:
    """Adding domains until the verdict is `usable` is more than one look; the same look again is not."""
    three = [*TRAINING, TINY.traces / "multiply-then-add.parquet"]
    assert "validation 2" not in fit(*three, "-e", "atc-nll_sum")
    assert "validation 2" not in fit(*three, "-e", "atc-nll_sum")
    every = sorted(TINY.traces.glob("*.parquet"))
    assert len(every) == 4
    assert "validation 2 of these labels" in fit(*every, "-e", "atc-nll_sum")
    assert "validation 2 of these labels" in fit(*every, "-e", "atc-nll_sum")
    assert "validation 3 of these labels" in fit(*every, "-e", "atc-max")
    assert es.load(tmp_path / "mine.estimator").metadata.n_validations == 3


def test_without_a_name_the_recommended_estimator_is_fitted_and_named(fit) -> None:
    headline, chosen, verdict, reason, *rest = fit(*TRAINING).splitlines()[1:]
    assert headline == "too few domains to say"
    assert [line[:12] for line in rest if not line.startswith(("  ", "--verbose"))][:1] == ["familiarity:"]
    assert (chosen[:19], verdict) == ("method: consensus (", "verdict: too few domains to say")
    assert "label 1 more domain" in reason


def test_errors_of_the_candidates_are_reported(tmp_path: Path, fit, monkeypatch) -> None:
    monkeypatch.setattr("entropy_sentinel.estimators.combination.FEWEST_TO_CHOOSE", 4)
    message = fit(TINY.traces)
    chosen = es.load(tmp_path / "mine.estimator").metadata.chosen
    errors = ", ".join(f"{name} {error:.3f}" for name, error in chosen["leave_one_out_aee"].items())
    assert message.splitlines()[2:4] == [f"method: {chosen['method']} ({chosen['reason']})", f"mean errors: {errors}"]
    assert set(chosen["leave_one_out_aee"]) == {"consensus", "median-of-seven", "log-3d", "atc-max"}


def test_labels_of_almost_one_class_give_a_warning(tmp_path: Path, capsys, fit) -> None:
    message = fit(TINY.traces / "one-digit-addition.parquet")
    assert "caution: only 0 of 40 training rows are incorrect" in message
    status, message, _ = run(capsys, "estimate", tmp_path / "mine.estimator", TINY.traces)
    assert (status, "training accuracy: only 0 of 40 training rows" in message) == (0, True)


def test_a_log_is_summarised_with_its_unreadable_rows(tmp_path: Path, capsys) -> None:
    log, features = tmp_path / "monday.jsonl", tmp_path / "features.parquet"
    log.write_text(TINY.log.read_text() + "broken\n")
    status, out, err = run(capsys, "features", log, "-o", features, "--columns", "metadata.route,time")
    assert (status, out) == (3, f"{features}: 12 responses, 0 of them without features\n")
    message = [" ".join(line.split()) for line in err.splitlines() if line.strip()]
    understood = {"format openai-pairs (12)", "alternatives per token 5"}
    assert understood | {"log-probabilities raw_logprobs, assumed (12)"} <= {*message}
    assert message[-1] == f"{log}: line 13: must be a JSON object: Expecting value, column 1"
    result = es.read_features(features)
    assert result["metadata.route"].n_unique() == 4
    assert result["benchmark"].unique().to_list() == ["monday"]
    assert result["top_k_returned"].unique().to_list() == [5]
    status, out, err = run(capsys, "features", log, "-o", features, "--strict")
    assert (status, out, err) == (1, "", f"InputError: {message[-1]}\n")


def test_a_log_is_estimated_by_its_own_columns(tmp_path: Path, capsys, fit) -> None:
    kept = tmp_path / "mine.estimator"
    fit(*TRAINING)
    status, _, err = run(capsys, "estimate", kept, TINY.log, "--by", "metadata.route")
    assert (status, "(an estimator fitted with --top-k 5 takes them, " in err) == (1, True)
    fit(*TRAINING, "--top-k", 5)
    status, out, _ = run(capsys, "estimate", kept, TINY.log, "--by", "metadata.route")
    assert status == 0
    assert [line.split()[:2] for line in out.splitlines() if line.startswith("averages")] == [["averages", "3"]]


def test_logs_with_several_numbers_of_alternatives(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    features = tmp_path / "features.parquet"
    status, _, err = run(capsys, "features", TINY.log, TINY.traces, "-o", features)
    assert (status, "--top-k 5" in err, "--where top_k_returned=20" in err, "--split" in err) == (3, True, True, True)
    assert "left out, because the others have 20 alternatives per token (raw_logprobs): 12 responses with 5" in err
    assert es.read_features(features)["top_k_returned"].value_counts().rows() == [(20, 160)]
    status, out, _ = run(capsys, "features", TINY.log, TINY.traces, "-o", features, "--split")
    names = ", ".join(str(tmp_path / f"features-top{k}.parquet") for k in (5, 20))
    assert (status, out) == (0, f"{names}: 172 responses, 0 of them without features\n")
    status, out, _ = run(capsys, "features", TINY.log, TINY.traces, "-o", features, "--top-k", 5)
    assert (status, es.read_features(features)["top_k_returned"].unique().to_list()) == (0, [5])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["estimate", "none.estimator", TINY.traces], "InputError: none.estimator: must be a file written by `fit`"),
        (["estimate", "x", TINY.traces, "-o", "x.xls"], "InputError: output: must end with .csv, .parquet, .json"),
        (["fit", *TRAINING, "-l", TINY.labels, "-e", "atc", "-o", "x"], "ConfigError: unknown estimator 'atc'"),
        (["fit", "none*", "-l", TINY.labels, "-o", "x"], "InputError: none*: no file matches this pattern"),
        (["features", TINY.labels, "-o", "x"], "must hold features or generations, holds labels"),
        (["estimate", "x", TINY.labels], "x: must be a file written by `fit`"),
        (["fit", TINY.labels, "-l", TINY.labels, "-o", "x"], "must hold features or generations, holds labels"),
    ],
)
def test_errors_are_one_line_and_status_1(tmp_path: Path, monkeypatch, capsys, arguments: list, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (1, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_the_missing_mass_is_in_the_file_of_features(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    features = tmp_path / "features.parquet"
    run(capsys, "features", TINY.traces, "-o", features)
    mass = read_provenance(features)["missing_mass"]
    rows = pl.read_parquet(features)
    by_token = (rows["captured_mass"] * rows["trace_tokens"]).sum() / rows["trace_tokens"].sum()
    assert mass["captured_mass"] == pytest.approx(by_token)
    assert 0.9 < by_token <= 1 + 1e-6
    assert (mass["trace_tokens"], mass["entropy_error_bound"]) == (rows["n_tokens"].sum(), None)
    run(capsys, "features", TINY.traces, "-o", features, "--vocabulary", 100)
    known = read_provenance(features)["missing_mass"]
    # Concave in eps: the mean of the steps' bounds is at most the bound at their mean.
    assert 0 < known["entropy_error_bound"] <= (1 - by_token) * math.log(80 / (1 - by_token))


def test_a_log_with_a_bad_line_is_read_unless_strict(tmp_path: Path, capsys, fit) -> None:
    log, kept = tmp_path / "log.jsonl", tmp_path / "mine.estimator"
    log.write_text(TINY.log.read_text() + "{broken\n")
    fit(*TRAINING, "-e", "atc-max", "--top-k", 5)
    status, _, err = run(capsys, "estimate", kept, log)
    assert (status, err.startswith(f"1 record that cannot be read: {log}: line 13")) == (3, True)
    status, _, err = run(capsys, "estimate", kept, log, "--strict")
    assert (status, f"{log}: line 13" in err) == (1, True)
    assert run(capsys, "fit", log, "-l", TINY.labels, "-e", "atc-max", "--strict", "-o", kept)[0] == 1


def test_the_domains_of_a_log_are_the_values_of_a_column(tmp_path: Path, capsys, caplog) -> None:
    rows = es.read_features(TINY.log)
    labels, routes = tmp_path / "labels.csv", rows["metadata.route"].unique().sort().to_list()
    rows.select("item_id", label=pl.int_range(pl.len()) % 2 == 0).write_csv(labels)
    answers = ["fit", TINY.log, "-l", labels, "-e", "atc-max", "-o", tmp_path / "kept"]
    status, message, _ = run(capsys, *answers, "--domain", "metadata.route")
    assert status == 0
    assert f"of tiny-1m to {len(routes)} domains; " in message
    assert all(route in message for route in routes)
    # Without it all are of the log's name, and the column is named that gives more domains of 20 labels.
    text = TINY.log.read_text().replace('"route"', '"tier": "a", "route"')
    weeks = [text.replace('"prompt_id":"', f'"prompt_id":"{n}-') for n in range(7)]
    (tmp_path / "week.jsonl").write_text("\n".join(weeks))
    rows = es.read_features(tmp_path / "week.jsonl")
    assert rows["metadata.route"].value_counts()["count"].to_list() == [21] * len(routes)
    rows.select("item_id", label=pl.int_range(pl.len()) % 2 == 0).write_csv(labels)
    assert run(capsys, "fit", tmp_path / "week.jsonl", *answers[2:])[0] == 0
    assert f"metadata.route ({len(routes)})" in caplog.text
    status, _, err = run(capsys, *answers, "--domain", "route")
    assert (status, "domain: column 'route' is empty for every response; columns: " in err) == (1, True)


def test_the_verdicts_come_first_and_every_reason_comes_only_on_request(fit) -> None:
    short, long = fit(TINY.traces).splitlines(), fit(TINY.traces, "--verbose").splitlines()
    assert short[1] == long[1]
    reasons = [line for line in long if line.startswith("  ")]
    assert [line for line in short if line.startswith("  ")] == [
        *reasons[:3],
        *(line for line in reasons[3:] if "for usable, label" in line),
    ]
    assert short.count("--verbose prints every reason") == 1
