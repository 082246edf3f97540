"""A monitor without an estimator: accuracies rest on people's labels, and on a judge that they correct."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from calling import run
from production import line, log_file, saved, traffic
from scipy.stats import binomtest

import entropy_sentinel as es
from entropy_sentinel.core.errors import ConfigError, InputError, ProvenanceError
from entropy_sentinel.monitor.monitor_result import Monitored
from entropy_sentinel.monitor.monitor_run import collect, record_alerts
from entropy_sentinel.monitor.showing.monitor_terminal import make_parts

# 60 responses of `shop`, and 30 of `school`.
NUMBERS = {"shop": [n for n in range(90) if n % 3], "school": list(range(0, 90, 3))}


def plain_line(number: int, **changes: Any) -> dict[str, Any]:
    """A reply of an API that returns no log-probabilities, with the columns of `line`."""
    text = changes.pop("text", "a b c")
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    table = line(number, **changes)
    return {name: table[name] for name in ("id", "model", "time", "route")} | {"choices": [choice]}


def label_rows(numbers: Sequence[int], n_right: int, weight: float) -> list[dict[str, Any]]:
    """Labels of responses, the first of which are right."""
    return [
        {"item_id": f"req-{number:04d}", "label": place < n_right, "weight": weight}
        for place, number in enumerate(numbers)
    ]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return log_file(tmp_path_factory.mktemp("logs") / "log.jsonl", [plain_line(number) for number in range(90)])


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """7 of 10 of `shop` are right, and 3 of 5 of `school`."""
    rows = label_rows(NUMBERS["shop"][::6], 7, 6.0) + label_rows(NUMBERS["school"][::6], 3, 6.0)
    path = tmp_path_factory.mktemp("labels") / "labels.csv"
    pl.DataFrame(rows).write_csv(path)
    return path


def lines_of(result: Monitored, word: str) -> list[str]:
    return [part for part in make_parts(result) if isinstance(part, str) and word in part]


def test_accuracies_from_labels(log: Path, labels: Path, capsys: pytest.CaptureFixture) -> None:
    status, text, errors = run(capsys, "monitor", log, "--labels", labels, "--by", "route", "--json")
    assert (status, errors) == (0, "")
    result = json.loads(text)
    shop, school = result["slices"]
    names = ("route", "rank", "n_estimated", "n_excluded", "n_labelled", "rests_on", "flags")
    assert [shop[name] for name in names] == ["shop", 1, 60, 0, 10, "labels", []]
    assert [school[name] for name in names] == ["school", 2, 30, 0, 5, "labels", []]
    for row, right, n, size in ((shop, 7, 10, 60), (school, 3, 5, 30)):
        assert row["use_accuracy"] == pytest.approx(right / n)
        exact = binomtest(right, n).proportion_ci(0.9, "exact")
        assert exact.low <= row["use_lower"] <= exact.low + 0.05
        assert exact.high - 0.05 <= row["use_upper"] <= exact.high
        assert row["expected_errors"] == pytest.approx(size * (1 - right / n))
        assert row["expected_errors_lower"] == pytest.approx(size * (1 - row["use_upper"]))
        of_estimates = ("estimated_accuracy", "lower", "upper", "basis", "estimate_worth", "change")
        assert [row[name] for name in of_estimates] == [None] * len(of_estimates)
    assert (result["provenance"]["estimators"], result["provenance"]["models"]) == ([], {"m": 90})


def test_the_terminal_says_what_accuracies_rest_on(log: Path, labels: Path, capsys: pytest.CaptureFixture) -> None:
    _, text, _ = run(capsys, "monitor", log, "--labels", labels, "--by", "route")
    first, read, _, heading, *_ = text.splitlines()
    assert first == "no estimator: accuracies rest on 15 labels"
    assert read == "90 responses in 1 file"
    assert "estimated" not in heading
    for word in ("not validated", "validation", "unfamiliar", "estimator is wrong"):
        assert word not in text


def test_which_responses_count() -> None:
    """Those without features, for whatever reason; those that have no answer do not."""
    counted = [None, "no log-probabilities in the log", "equally likely alternatives", "no signal 'x'"]
    left_out = ["empty response", "refused: content_filter", "cannot be read: no text", "no token after the thinking"]
    features = traffic(80).with_columns(
        item_id=pl.Series([f"req-{number:04d}" for number in range(80)]), reason=pl.Series((counted + left_out) * 10)
    )
    labels = pl.DataFrame(label_rows(range(80), 40, 1.0))
    result = es.monitor(None, features, labels=labels, labels_at_random=True)
    (row,) = result.slices.rows(named=True)
    assert [row[name] for name in ("n_responses", "n_estimated", "n_labelled", "use_accuracy")] == [80, 40, 40, 0.5]
    assert row["reasons"] == ["40 of 80 responses have no answer"]
    assert sum(result.problems.counts.values()) + sum(result.problems.notes.values()) == 40 + 40  # labels of those


def test_tables_of_texts(labels: Path, tmp_path: Path) -> None:
    """A table with ids and texts, as CSV or Parquet, is enough."""
    names = ("id", "model", "time", "route", "text")
    table = pl.DataFrame([{name: line(number)[name] for name in names} for number in range(90)])
    table.write_csv(tmp_path / "log.csv")
    table.write_parquet(tmp_path / "log.parquet")
    for name in ("log.csv", "log.parquet"):
        rows = es.monitor(None, tmp_path / name, ["route"], labels=labels).slices
        assert rows.select("route", "n_estimated", "n_labelled", "cut_off_share").rows() == [
            ("shop", 60, 10, 0.0),
            ("school", 30, 5, 0.0),
        ]
    with pytest.raises(InputError, match="a CSV file of responses must have the columns token_logprobs"):
        es.monitor(None, labels, labels=labels)


def test_labels_of_a_part_of_the_newest_window_are_said(log: Path) -> None:
    """Of 60 responses of the newest day, two labels stand for 24: 40 %, and the whole time has all of its weights."""
    features = (
        traffic(120, days=2)
        .sort("time")
        .with_columns(item_id=pl.Series([f"req-{number:04d}" for number in range(120)]))
    )
    labels = pl.DataFrame(label_rows(range(0, 60, 6), 7, 12.0) + label_rows([60, 90], 1, 12.0))
    result = es.monitor(None, features, labels=labels, window="day")
    (row,) = result.now.rows(named=True)
    assert (row["n_labelled"], row["use_accuracy"]) == (2, None)
    (told,) = lines_of(result, "newest day")
    assert told.startswith("no accuracy of the newest day for all: the labels represent less than 60% of its responses")


@pytest.mark.parametrize(("n_without", "said"), [(1, False), (2, True)])
def test_many_drawn_responses_without_a_label_are_said(log: Path, n_without: int, said: bool) -> None:
    drawn = pl.DataFrame(label_rows(range(0, 90, 9), 7, 9.0)).with_row_index()
    labels = drawn.with_columns(label=pl.when(pl.col("index") >= n_without).then("label")).drop("index")
    told = lines_of(es.monitor(None, log, labels=labels), "have no label")
    assert [line.startswith(f"{n_without} of 10 drawn responses have no label (20%)") for line in told] == [True] * said


def test_what_lacks_labels_is_said_once(log: Path, labels: Path) -> None:
    of_shop = es.read_labels(labels).head(10)
    judged = pl.DataFrame([row for name in NUMBERS for row in label_rows(NUMBERS[name], len(NUMBERS[name]) // 2, 1.0)])
    result = es.monitor(None, log, ["route"], labels=of_shop, judged=judged)
    shop, school = result.slices.rows(named=True)
    assert (shop["route"], school["route"]) == ("shop", "school")
    assert [school[name] for name in ("use_accuracy", "use_lower", "expected_errors", "rests_on")] == [None] * 4
    (told,) = lines_of(result, "school")
    assert told.startswith("no accuracy for school: no labels. Verdicts alone do not count")
    assert "Label at least 5 responses of each: `sample LOGS --by route`" in told


def test_labels_of_other_responses(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = tmp_path / "labels.csv"
    pl.DataFrame(label_rows([900, 901], 1, 1.0)).write_csv(path)
    status, text, errors = run(capsys, "monitor", log, "--labels", path, "--by", "route")
    assert (status, errors) == (5, "2 labels without a usable response\n")
    assert "no slice has an accuracy" in text


def test_several_models(labels: Path, tmp_path: Path) -> None:
    records = [plain_line(number, model="n" if number < 30 else ("m", "azure/m")[number % 2]) for number in range(90)]
    log = log_file(tmp_path / "log.jsonl", records)
    (told,) = lines_of(es.monitor(None, log, ["route"], labels=labels), "models together")
    assert told.startswith('accuracies are over 2 models together: m (60), n (30). Use by="model"')
    by_model = es.monitor(None, log, ["model"], labels=labels, labels_at_random=True)
    assert sorted(by_model.slices["model"]) == ["m", "n"]
    assert lines_of(by_model, "models together") == []
    only = es.monitor(None, log, ["route"], labels=labels, where=["model=m"], labels_at_random=True)
    assert lines_of(only, "models together") == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": None}, "labels: must be given without an estimator"),
        ({"alert_on": ["unfamiliar", "stale"]}, "alert_on: unfamiliar needs an estimator"),
        ({"reference": "2026-11-02"}, "reference: needs an estimator"),
        ({"same_model": ["m=n"]}, 'same_model: needs an estimator: .* by="model" tells them apart'),
        ({"any_model": True}, "any_model: needs an estimator"),
        ({"any_logprobs": True}, "any_logprobs: needs an estimator"),
    ],
)
def test_options_that_need_an_estimator(log: Path, labels: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        es.monitor(None, log, **{"labels": labels, **options})


def test_fail_below_compares_the_accuracies_of_labels(log: Path, labels: Path, capsys: pytest.CaptureFixture) -> None:
    options = ["--labels", labels, "--by", "route", "--fail-below", 0.65]
    status, text, _ = run(capsys, "monitor", log, *options)
    assert status == 4
    (alert,) = [line for line in text.splitlines() if line.startswith("ALERT")]
    assert alert.startswith(
        "ALERT school: with 5 labels, accuracy 0.600 is below 0.65, but the interval reaches above it"
    )


def test_a_night_without_labels_ends_no_alert(tmp_path: Path) -> None:
    """3 of 10 labels of the first day are right, and no response of the second day has a label."""
    times = [f"2026-11-{2 + number // 40:02d}T{number % 40 // 4:02d}:00:00+00:00" for number in range(80)]
    records = [plain_line(number, route="shop", time=time) for number, time in enumerate(times)]
    logs = [log_file(tmp_path / f"{day}.jsonl", records[40 * day : 40 * day + 40]) for day in (0, 1)]
    labels = pl.DataFrame(label_rows(range(0, 40, 4), 3, 4.0))
    options = {"by": ["route"], "labels": labels, "window": "day", "fail_below": 0.65, "state": tmp_path / "state"}
    first = es.monitor(None, logs[0], **options)
    (alert,) = first.alerts
    numbers = [alert[name] for name in ("kind", "status", "use_accuracy", "estimated_accuracy")]
    assert numbers == ["below", "new", pytest.approx(0.3), None]
    record_alerts(first)
    second = es.monitor(None, logs, **options)
    assert [alert["status"] for alert in second.alerts] in ([], ["continues"])
    assert second.windows["use_accuracy"].to_list() == [pytest.approx(0.3), None]
    (told,) = lines_of(second, "no labels of the newest day")
    assert "shop, so fail_below=0.65 did not check them" in told
    assert lines_of(second, "no accuracy for shop: the labels represent less than 60% of the responses")
    record_alerts(second)
    labels = pl.concat([labels, pl.DataFrame(label_rows(range(40, 80, 4), 10, 4.0))])
    third = es.monitor(None, logs, **{**options, "labels": labels})
    assert [alert["status"] for alert in third.alerts] == ["over"]
    assert third.slices["use_accuracy"].item() == pytest.approx(0.65)


def test_a_state_goes_on_only_as_it_began(log: Path, labels: Path, tmp_path: Path) -> None:
    options = {"by": ["route"], "labels": labels}
    state, other, estimator = tmp_path / "state", tmp_path / "other", saved(tmp_path, "atc-se_sum")
    first = es.monitor(None, log, state=state, **options)
    second = es.monitor(None, log, state=state, **options)
    assert second.provenance["files"]["read_now"] == 0
    assert second.slices.equals(first.slices)
    part = tmp_path / "part"
    collect(None, log, part, ["route"])
    assert es.monitor(None, part, **options).slices.equals(first.slices)
    with pytest.raises(ProvenanceError, match="contains results without an estimator; this estimator has"):
        es.monitor(estimator, log, state=state, **options)
    with_logprobs = log_file(tmp_path / "more.jsonl", [line(number) for number in range(90)])
    es.monitor(estimator, with_logprobs, state=other, **options)
    with pytest.raises(ProvenanceError, match="of another estimator, 'atc-se_sum' .*; this run has no estimator"):
        es.monitor(None, with_logprobs, state=other, **options)


def test_a_broken_estimator_is_no_log(log: Path, labels: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "mine").write_bytes(b"entropy-sentinel estimator 5\nx\n{}")
    (tmp_path / "mine.estimator").write_bytes(b"x")
    messages = {
        "mine": "was changed or damaged",
        "mine.estimator": "must be a file written by `fit`",
        "gone.estimator": "must be a file written by `fit`, cannot be read",
    }
    for name, message in messages.items():
        status, _, errors = run(capsys, "monitor", tmp_path / name, log, "--labels", labels, "--by", "route")
        assert (status, message in errors) == (1, True), errors
