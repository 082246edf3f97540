"""The pictures of the monitor's page as numbers: places on bars, points of panels, dates."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from entropy_sentinel.monitor.alert_codes import AlertKind, Flag
from entropy_sentinel.monitor.episodes import Episode
from entropy_sentinel.monitor.monitor_result import Monitored
from entropy_sentinel.monitor.reading.problem_collection import Problems
from entropy_sentinel.monitor.showing.page_pictures import (
    BOTTOM,
    LEFT,
    MOST_WINDOWS,
    RIGHT,
    TOP,
    compare_labels,
    draw_over_time,
    rank_slices,
)

BEGIN = datetime(2026, 10, 26, tzinfo=UTC)


def row(route: str, accuracy: float | None, lower: float | None, upper: float | None, **more: Any) -> dict[str, Any]:
    n = 100
    ends = [None if one is None else n * (1 - one) for one in (accuracy, upper, lower)]
    return {
        "route": route,
        "n_estimated": n,
        "estimated_accuracy": accuracy,
        "lower": lower,
        "upper": upper,
        "level": 0.9,
        "change_q": None,
        "flags": [],
        "flag_codes": [],
        **dict(zip(("expected_errors", "expected_errors_lower", "expected_errors_upper"), ends, strict=True)),
        **more,
    }


def found(slices: list[dict[str, Any]], windows: list[dict[str, Any]] | None = None, window: str = "day") -> Monitored:
    provenance = {"estimators": [{}], "window": window, "reference": None, "timezone": "UTC"}
    made = [
        None
        if rows is None
        else pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"flag_codes": pl.List(pl.String)})
        for rows in (slices, windows)
    ]
    return Monitored(("route",), *made, [], provenance, Problems())


def days(accuracies: dict[int, float], **more: Any) -> list[dict[str, Any]]:
    return [row("a", one, one, one, window=BEGIN + timedelta(days=day), **more) for day, one in accuracies.items()]


def test_bars_have_values_in_per_cent_of_the_largest_limit() -> None:
    made = rank_slices(found([row("a", 0.25, 0.0, 0.5), row("b", 1.0, 0.9, 1.0), row("c", None, None, None)]))
    assert [line.name for line in made.lines] == ["a", "b"]
    (accuracy,), (errors,) = made.lines[0].bars
    assert (accuracy.at, accuracy.low, accuracy.high) == (25, 0, 50)
    assert (errors.at, errors.low, errors.high) == (75, 50, 100)  # 75 (50 to 100) of at most 100
    (accuracy,), (errors,) = made.lines[1].bars
    assert (accuracy.at, accuracy.text) == (100, "1.000 (0.900 to 1.000)")
    assert (errors.at, errors.low, errors.high, errors.text) == (0, 0, 10, "0 (0 to 10)")
    assert made.scales[1] == ("errors expected", "0", "100")
    # An estimate without an interval is a point.
    ((mark,), _) = rank_slices(found([row("a", 0.25, None, None)])).lines[0].bars
    assert (mark.at, mark.low, mark.high, mark.text) == (25, 25, 25, "0.250")


def test_nothing_to_draw() -> None:
    nothing = found([row("a", None, None, None)], days({0: 0.5}))
    assert [rank_slices(nothing), compare_labels(nothing), draw_over_time(nothing)] == [None, None, None]
    assert draw_over_time(found([row("a", 0.5, 0.4, 0.6)], days({0: 0.5}))) is None


def test_points_stand_in_the_middle_of_their_windows_and_within_the_box() -> None:
    made = draw_over_time(found([row("a", 0.5, 0.5, 0.5)], days({0: 0.0, 1: 1.0, 3: 0.5})))
    (panel,) = made.panels
    day = (RIGHT - LEFT) / 4
    assert [x for x, *_ in panel.points] == pytest.approx([LEFT + day * n for n in (0.5, 1.5, 3.5)], abs=0.1)
    assert [y for _, y, *_ in panel.points] == [BOTTOM, TOP, (BOTTOM + TOP) / 2]
    assert TOP - 5 > 0  # a dot at 1 is drawn whole
    # The third day has no estimate: the line ends before it, and begins anew.
    assert [len(line) for line in panel.lines] == [2, 1]


def test_slices_and_windows_unlike_the_labels_are_not_drawn() -> None:
    slices = [row("a", 0.5, 0.5, 0.5, flag_codes=[Flag.UNFAMILIAR.number]), row("b", 0.6, 0.6, 0.6)]
    windows = [
        row(route, accuracy, accuracy, accuracy, window=BEGIN + timedelta(days=day), flag_codes=codes)
        for route, accuracy in (("a", 0.5), ("b", 0.6))
        for day, codes in enumerate(([], [Flag.UNFAMILIAR.number], []))
    ]
    made = draw_over_time(found(slices, windows))
    ((panel,), caption) = made.panels, made.caption
    assert (panel.name, len(panel.points)) == ("b", 2)
    assert "unlike all labelled domains are left out" in caption
    assert draw_over_time(found(slices[:1], windows)) is None


def test_dates_are_those_of_the_windows_with_the_year_where_it_begins() -> None:
    week = found([row("a", 0.5, 0.5, 0.5)], days({0: 0.5, 7: 0.5, 14: 0.5, 70: 0.4}), "week")
    texts = [text for _, text in draw_over_time(week).panels[0].ticks]
    assert texts == ["26 Oct 2026", "16 Nov", "7 Dec", "28 Dec"]
    later = found([row("a", 0.5, 0.5, 0.5)], days({63: 0.5, 70: 0.5}), "week")
    assert [text for _, text in draw_over_time(later).panels[0].ticks] == ["28 Dec 2026", "4 Jan 2027"]
    hours = [row("a", 0.5, 0.5, 0.5, window=BEGIN + timedelta(hours=hour)) for hour in (22, 24)]
    texts = [text for _, text in draw_over_time(found([row("a", 0.5, 0.5, 0.5)], hours, "hour")).panels[0].ticks]
    assert texts == ["26 Oct 22:00 2026", "26 Oct 23:00", "27 Oct 00:00"]
    months = [row("a", 0.5, 0.5, 0.5, window=datetime(2026, month, 1, tzinfo=UTC)) for month in (10, 12)]
    (panel,) = draw_over_time(found([row("a", 0.5, 0.5, 0.5)], months, "month")).panels
    assert [text for _, text in panel.ticks] == ["1 Oct 2026", "1 Nov", "1 Dec"]
    width = (RIGHT - LEFT) / (31 + 30 + 31)
    assert [x for x, *_ in panel.points] == pytest.approx([LEFT + width * day for day in (15.5, 61 + 15.5)], abs=0.1)


def test_only_the_newest_windows_are_drawn_and_that_is_reported() -> None:
    made = draw_over_time(found([row("a", 0.5, 0.5, 0.5)], days(dict.fromkeys(range(MOST_WINDOWS + 1), 0.5))))
    assert len(made.panels[0].points) == MOST_WINDOWS
    assert f"newest {MOST_WINDOWS} of {MOST_WINDOWS + 1} windows" in made.caption
    assert "newest" not in draw_over_time(found([row("a", 0.5, 0.5, 0.5)], days({0: 0.5, 1: 0.5}))).caption


def test_the_windows_of_a_drop_are_marked() -> None:
    result = found([row("a", 0.5, 0.5, 0.5)], days({0: 0.9, 1: 0.4, 2: 0.4, 3: 0.9}))
    second, fourth = (BEGIN + timedelta(days=n) for n in (1, 3))
    for until, expected in ((fourth, [False, True, True, False]), (None, [False, True, True, True])):
        drop = Episode(AlertKind.DROP, {"route": "a"}, {}, "", since=second, until=until)
        dropped = replace(result, drops=[drop])
        (panel,) = draw_over_time(dropped).panels
        assert [fallen for *_, fallen, _ in panel.points] == expected


def test_labels_are_next_to_the_estimate() -> None:
    used = {"use_accuracy": 0.75, "use_lower": 0.7, "use_upper": 0.8}
    rows = [row("a", 0.5, 0.4, 0.6, improved_accuracy=0.75, **used, rests_on="labels")]
    ((estimate, with_labels),) = compare_labels(found(rows)).lines[0].bars
    assert (estimate.kind, estimate.at, with_labels.kind, with_labels.at) == ("estimate", 50, "labels", 75)
    rows = [row("b", 0.5, 0.4, 0.6, improved_accuracy=None, **used, rests_on=kind) for kind in ("opinion", "estimate")]
    picture = compare_labels(found(rows))
    assert len(picture.lines) == 1
    assert "second opinion" in picture.caption
