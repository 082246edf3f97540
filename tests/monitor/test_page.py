"""The monitor's page: what it says, that it needs nothing else, that nothing in a log becomes part of it."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser import found_on, needs_browser
from page_checks import inspect_page
from tiny import TINY

import entropy_sentinel as es
from entropy_sentinel.monitor.monitor_result import Monitored
from entropy_sentinel.monitor.monitor_run import monitor
from entropy_sentinel.monitor.showing.monitor_page import MOST_ROWS, render_page, write_page
from entropy_sentinel.monitor.showing.validation_page import write_validation

HOSTILE = "<script>alert('route')</script>"


@pytest.fixture(scope="module")
def features() -> pl.DataFrame:
    """The example's responses, half of them a week later, with the domain as the route."""
    rows = es.features(es.read_logs(TINY.traces))
    when = [datetime(2026, 11, 3 if place % 2 else 10, tzinfo=UTC) for place in range(len(rows))]
    return rows.with_columns(time=pl.Series(when), route=pl.col("benchmark"))


def monitored(features: pl.DataFrame, **options: Any) -> Monitored:
    estimator = es.fit(features, es.read_labels(TINY.labels), "atc-nll_sum")
    weeks = {"window": "week", "reference": "2026-11-02..2026-11-08"}
    return monitor(estimator, features, ["route"], **{**weeks, "min_responses": 5, **options})


def test_the_page_says_what_was_found(features: pl.DataFrame) -> None:
    results = monitored(features, fail_below=0.5)
    text = render_page(results)
    first = results.slices.row(0, named=True)
    assert f"most errors are expected in {first['route']}" in text
    assert f"estimated accuracy {first['estimated_accuracy']:.3f}" in text
    for heading in ("Alerts", "Where errors are expected", "Over time", "Week from 2026-11-09 00:00 UTC"):
        assert f"<h2>{heading}</h2>" in text
    assert [alert["message"] in text for alert in results.alerts] == [True] * len(results.alerts)
    assert len(results.alerts) > 0
    numbers = {row["route"]: f"{row['estimated_accuracy']:.3f}" for row in results.slices.iter_rows(named=True)}
    for route, number in numbers.items():
        assert re.search(
            rf'<td data-heading="route">{route}</td><td class="n" data-heading="responses">40</td>'
            rf'<td class="n" data-heading="estimated">{number}</td>',
            text,
        )


def test_without_windows_there_is_no_picture_over_time(features: pl.DataFrame) -> None:
    text = render_page(monitored(features, window=None, reference=None))
    assert "Over time" not in text
    assert "Where errors are expected" in text


def headings(text: str) -> list[str]:
    return re.findall(r"<h2>(.*?)</h2>", text)


def test_the_newest_window_is_before_the_whole_time(features: pl.DataFrame) -> None:
    """Also in pictures: an alert is about the newest window, and the whole time hides a drop."""
    results = monitored(features, fail_below=0.5)
    text = render_page(results)
    first, *others = headings(text)
    assert first == "Alerts"
    newest, whole = others.index("Week from 2026-11-09 00:00 UTC"), others.index("The whole time")
    assert others.index("Where errors are expected") < newest < whole < others.index("Week from 2026-11-02 00:00 UTC")
    captions = re.findall(r"<p class=\"small\">Slices in the (.*?) by expected", text)
    assert captions == ["week from 2026-11-09", "whole time"]
    # The slice with an alert is the first panel over time.
    alerted = [alert["slice"]["route"] for alert in results.alerts]
    panels = re.findall(r"<figcaption>(.*?)</figcaption>", text)
    assert panels[: len(alerted)] == alerted


def test_a_window_without_a_row_is_a_note(features: pl.DataFrame) -> None:
    """The week before is pooled with the newest one: a heading and a table without rows would say nothing."""
    text = render_page(monitored(features, min_responses=70, reference=None))
    assert "Week from 2026-11-02 00:00 UTC: Too few responses in the newest week, so counted there: " in text
    assert "Week from 2026-11-02 00:00 UTC" not in headings(text)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "No alerts are set. Set some with --fail-below and --alert-on."),
        ({"alert_on": ["drop", "stale"]}, "None. Watched for: drop, stale."),
        ({"fail_below": 0.001}, "None. Watched for: an accuracy below 0.001."),
    ],
)
def test_without_an_alert_the_page_says_what_was_watched_for(
    features: pl.DataFrame, options: dict[str, Any], said: str
) -> None:
    results = replace(monitored(features, **options), alerts=[])
    alerts = render_page(results).partition("<h2>Alerts</h2>")[2].partition("<h2>")[0]
    assert said in alerts


def test_the_reasons_of_a_verdict_are_folded_and_not_among_the_alerts(features: pl.DataFrame) -> None:
    results = monitored(features, fail_below=0.5)
    ((flag, reason),) = results.provenance["general_flags"].items()
    text = render_page(results)
    before, _, alerts = text.partition("<h2>Alerts</h2>")
    assert f"<details><summary>Why: {flag}</summary>" in before
    for part in reason.split("; "):
        assert part in before
        assert part not in alerts.partition("<h2>")[0]


def test_traffic_that_is_left_out_is_before_the_numbers(features: pl.DataFrame) -> None:
    estimator = es.fit(features, es.read_labels(TINY.labels), "atc-nll_sum")
    renamed = features.head(9).with_columns(model=pl.lit("renamed"), item_id=pl.format("r-{}", "item_id"))
    text = render_page(monitor(estimator, pl.concat([features, renamed]), ["route"], window="week"))
    assert "9 responses of model" in text.partition("<h2>Where errors")[0]
    assert text.count("9 responses of model") == 1


def test_the_page_names_events(features: pl.DataFrame) -> None:
    """The first is in the newest week, on the third day after its beginning."""
    text = render_page(monitored(features, events={"2026-11-11": "prompt <v2>", "2026-11-04": "new index"}))
    assert "Week from 2026-11-09 00:00 UTC, event: prompt &lt;v2&gt;" in headings(text)
    assert "Dashed: 1 2026-11-04 new index; 2 2026-11-11 prompt &lt;v2&gt;." in text
    assert "stroke-dasharray" not in render_page(monitored(features))


HIDDEN = "\x1b[31m\x07\x85\u202eback\u2066\x00"


def test_no_hidden_character_reaches_a_page_or_a_notebook(features: pl.DataFrame) -> None:
    """U+202E turns the text after it around, and others are commands of terminals that show the file."""
    hidden = features.with_columns(route=pl.format("{}{}", "benchmark", pl.lit(HIDDEN)))
    results = monitored(hidden, fail_below=0.99, name=HIDDEN, events={"2026-11-11": f"x{HIDDEN}"})
    for text in (render_page(results), results._repr_html_(), es.plot(results).html):
        assert not set(HIDDEN) - set("[31mback") & set(text)
        assert "back" in text


def test_it_is_one_file_and_escapes_what_logs_say(features: pl.DataFrame, tmp_path: Path) -> None:
    hostile = features.with_columns(
        route=pl.when(pl.col("benchmark") == "averages").then(pl.lit(HOSTILE)).otherwise("route")
    )
    write_page(monitored(hostile), tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "<script" not in text
    assert "&lt;script&gt;alert(&#39;route&#39;)" in text
    assert not re.findall(r"(?:src|href)=\"(?!data:|#)", text)


def test_many_slices_make_no_endless_page(features: pl.DataFrame) -> None:
    many = pl.concat([features.with_columns(route=pl.lit(f"r{number}")) for number in range(MOST_ROWS // 4 + 20)])
    many = many.with_columns(route=pl.col("route") + pl.col("benchmark"))
    text = render_page(monitored(many))
    # The last table proposes what to label: at most six slices.
    assert text.count("<tr>") <= 3 * (MOST_ROWS + 1) + 7
    assert "more slices: use " in text
    assert len(text) < 1_000_000


def test_labels_are_a_picture_where_they_stand_for_a_slice(features: pl.DataFrame) -> None:
    labels = es.read_labels(TINY.labels)
    assert "Estimated and labelled" in render_page(monitored(features, labels=labels))
    second = features.filter(pl.col("time") > datetime(2026, 11, 9, tzinfo=UTC))
    some = labels.join(second, on="item_id", how="semi").with_columns(weight=pl.lit(1.0))
    text = render_page(monitored(features, labels=some))
    assert "Slices in the week from 2026-11-09 that have labels." in text
    assert "they do not cover the whole slice" in text
    assert "Estimated and labelled" not in render_page(monitored(features))


@pytest.fixture(scope="module")
def long_page(features: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with all its parts: alerts and their responses, traffic left out, events, labels, flags, long names."""
    long = features.with_columns(route=pl.col("benchmark") + "/" + "a-name-without-a-place-to-break" * 3)
    renamed = long.head(9).with_columns(model=pl.lit("renamed"), item_id=pl.format("r-{}", "item_id"))
    labels = es.read_labels(TINY.labels)
    results = monitor(
        es.fit(features, labels, "atc-nll_sum"),
        pl.concat([long, renamed]),
        ["route"],
        labels=labels,
        window="week",
        reference="2026-11-02..2026-11-08",
        min_responses=5,
        fail_below=0.99,
        events={"2026-11-11": "prompt v2", "2026-11-04": "new index"},
    )
    assert results.slices["estimated_accuracy"].max() == 1
    path = tmp_path_factory.mktemp("long") / "page.html"
    write_page(results, path)
    return path


@pytest.mark.slow
@needs_browser
def test_pages_in_a_browser(long_page: Path, features: pl.DataFrame) -> None:
    """Also that of `fit`; and of a result from labels alone."""
    labels = es.read_labels(TINY.labels)
    fit, labelled = long_page.with_name("fit.html"), long_page.with_name("labels.html")
    write_validation(es.fit(features, labels, "log-3d"), fit)
    write_page(monitor(None, features, ["route"], labels=labels.with_columns(weight=pl.lit(1.0))), labelled)
    for path in (long_page, fit, labelled):
        assert inspect_page(path) == []


# Dots at 0 and 1 are whole, no box of a table scrolls upwards, and each bar says where it ends.
SIZES = """
  const boxes = [...document.querySelectorAll(".scroll")];
  const dots = [...document.querySelectorAll(".mark b, circle")].map((one) => one.getBoundingClientRect());
  const ends = [...document.querySelectorAll(".scaled")].map((one) => one.innerText.trim().split(/\\s+/));
  const found = {high: boxes.map((one) => one.scrollHeight - one.clientHeight), ends,
                 left: Math.min(...dots.map((one) => one.left)), right: Math.max(...dots.map((one) => one.right))};
"""


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_its_screen(long_page: Path, width: int) -> None:
    sizes = found_on(long_page, SIZES, width)
    assert max(sizes["high"]) <= 0
    assert sizes["left"] >= 0
    assert sizes["right"] <= width
    assert len(sizes["ends"]) > 8
    assert {len(ends) for ends in sizes["ends"]} == {2 if width == 390 else 1}
