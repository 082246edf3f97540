"""Known events: how they are given, and which alerts began with one."""

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from calling import run
from production import BEGIN, fitted, saved, traffic, written

from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.monitor.alert import Alert, AlertStatus, PooledWindow, SliceNumbers
from entropy_sentinel.monitor.alert_codes import AlertKind
from entropy_sentinel.monitor.event_calendar import describe_events, mark_alerts, read_events
from entropy_sentinel.monitor.monitor_options import MonitorOptions
from entropy_sentinel.monitor.partitions import Partitions

# Berlin's clock is set back on this day, which so has 25 hours.
LONG_DAY = "2026-10-25"


def options(events: Any, **more: Any) -> MonitorOptions:
    return MonitorOptions.from_values({"events": events, **more})


def test_a_day_is_of_the_zone_and_a_time_is_a_moment() -> None:
    first, second, third = read_events(
        options([f"{LONG_DAY}=a b", "2026-10-25T14:30=c", "2026-10-25 15:30+00:00 d"], timezone="Europe/Berlin")
    )
    assert first.begin.isoformat() == "2026-10-25T00:00:00+02:00"
    assert first.end.astimezone(UTC) - first.begin.astimezone(UTC) == timedelta(hours=25)
    assert (second.begin.isoformat(), second.begin) == ("2026-10-25T14:30:00+01:00", second.end)
    assert (third.begin.isoformat(), third.text) == ("2026-10-25T15:30:00+00:00", "d")


@pytest.mark.parametrize(
    "given",
    [
        {"2026-10-15": "prompt v2"},
        {"2026-10-15": ["prompt v2"]},
        {date(2026, 10, 15): "prompt v2"},
        "2026-10-15=prompt v2",
        ['2026-10-15="prompt v2"'],
        ["2026-10-15: 'prompt v2'"],
        ["2026-10-15 prompt v2", "2026-10-15=prompt v2"],
    ],
)
def test_one_event_in_all_forms(given: Any) -> None:
    (event,) = read_events(options(given))
    assert (f"{event.begin:%Y-%m-%d}", event.text) == ("2026-10-15", "prompt v2")


def test_events_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "events.txt"
    file.write_bytes("\ufeff# releases\r\n2026-10-16=b\r\n\r\n2026-10-15=a = 1\r\n".encode())
    assert [event.text for event in read_events(options([str(file), "2026-10-17=c"]))] == ["a = 1", "b", "c"]
    assert [event.text for event in read_events(options(file))] == ["a = 1", "b"]
    file.write_text("2026-10-16=b\nprompt v2\n")
    with pytest.raises(ConfigError, match=r"events.txt, line 2: must be DATE=TEXT.*got 'prompt v2'"):
        read_events(options(file))


@pytest.mark.parametrize("given", ["2026-13-15=x", "2026-10-15", "2026-10-15=", '2026-10-15=""', "2026-10-15T25:00=x"])
def test_an_event_that_cannot_be_is_refused(given: str) -> None:
    with pytest.raises(ConfigError, match="events: must be DATE=TEXT, such as 2026-10-15=prompt v2.*got '2026-1"):
        read_events(options([given]))


@pytest.mark.parametrize("given", ["prompt v2", "nowhere.txt"])
def test_a_file_that_is_none_says_what_an_event_is(given: str) -> None:
    with pytest.raises(InputError, match=f"events: {given}: cannot be read.*must be DATE=TEXT"):
        read_events(options([given]))


@pytest.mark.parametrize("given", [[""], [7], 7])
def test_what_is_no_text_is_refused_before_anything_is_read(given: Any) -> None:
    with pytest.raises(ConfigError, match="events"):
        read_events(options(given))


# An alert that began in the window from 2026-10-15 (a Thursday), and when an event says that it began.
CASES = [
    ("drop", "day", {}, "2026-10-15", "on the day of x"),
    ("drop", "day", {}, "2026-10-15T23:59", "on the day of x"),
    ("drop", "day", {}, "2026-10-14", "on the day after x"),
    ("drop", "day", {}, "2026-10-14T00:00", "on the day after x"),
    ("drop", "day", {}, "2026-10-13", ""),
    ("drop", "day", {}, "2026-10-16", ""),
    ("drop", "day", {}, "2026-10-16T00:00", ""),
    # A drop is dated by days, also in weeks and months.
    ("drop", "week", {}, "2026-10-16", ""),
    ("drop", "month", {}, "2026-10-15", "on the day of x"),
    ("below", "week", {"since": "2026-10-12"}, "2026-10-18", "in the week of x"),
    ("below", "week", {"since": "2026-10-12"}, "2026-10-05", "in the week after x"),
    ("below", "week", {"since": "2026-10-12"}, "2026-10-19", ""),
    ("below", "month", {"since": "2026-10-01"}, "2026-10-31", "in the month of x"),
    ("below", "month", {"since": "2026-10-01"}, "2026-09-01", "in the month after x"),
    ("below", "hour", {"since": "2026-10-15T14:00"}, "2026-10-15T14:30", "in the hour of x"),
    ("below", "hour", {"since": "2026-10-15T14:00"}, "2026-10-15T13:00", "in the hour after x"),
    ("below", "hour", {"since": "2026-10-15T14:00"}, "2026-10-15", "on the day of x"),
    ("below", "hour", {"since": "2026-10-15T14:00"}, "2026-10-15T15:00", ""),
    # Five days are pooled, and which of them it began in is not known.
    ("below", "day", {"window": "2026-10-19", "n_windows": 5}, "2026-10-18", "in one of the 5 days with x"),
    ("below", "day", {"window": "2026-10-19", "n_windows": 5}, "2026-10-20", ""),
    # On the first day with enough responses again, a stale slice is stale from the day after its last one.
    ("stale", "day", {}, "2026-10-16", "on the day of x"),
    ("drop", "day", {"status": "over"}, "2026-10-15", ""),
    ("below", None, {"since": None}, "2026-10-15", ""),
]


@pytest.mark.parametrize(("kind", "window", "changes", "event", "words"), CASES)
def test_an_alert_names_the_events_it_began_with(
    kind: str, window: str | None, changes: dict[str, Any], event: str, words: str
) -> None:
    dates = {"since": "2026-10-15", "window": "2026-10-19", **changes}
    since, newest = (
        dates[name] and datetime.fromisoformat(dates[name]).replace(tzinfo=UTC) for name in ("since", "window")
    )
    alert = Alert(
        kind=AlertKind.find_slug(kind),
        slice={},
        subject=None,
        status=AlertStatus(changes.get("status", "new")),
        to_report=True,
        acknowledged=False,
        since=since,
        until=None,
        window=since and PooledWindow(newest, since, changes.get("n_windows", 1)),
        numbers=SliceNumbers(),
        label_numbers=None,
        details={},
        flags=[],
        flag_codes=[],
        message="",
    )
    settings = options({event: "x"}, window=window)
    mark_alerts([alert], read_events(settings), settings)
    assert describe_events(alert) == (f"began {words}" if words else "")
    assert [event["text"] for event in alert["events"]] == ["x"] * bool(words)


def test_the_event_of_a_drop_is_in_all_outputs(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Nine days, and on the eighth all answers become uncertain."""
    estimator = saved(tmp_path, "atc-se_sum")
    pool = traffic(3000, seed=3)
    above = pl.Series(fitted("atc-se_sum").estimator.values(pool)[:, 0] == 1)
    parts = []
    for day in range(9):
        rows = (pool.filter(above) if day < 7 else pool.filter(~above)).head(60)
        named = pl.format("{}-{}", pl.lit(day), pl.int_range(pl.len()))
        parts.append(rows.with_columns(route=pl.lit("a"), time=BEGIN + timedelta(days=day), item_id=named))
    log = written(pl.concat(parts), tmp_path / "log.parquet")
    began = f"{BEGIN + timedelta(days=7):%Y-%m-%d}"
    files = {"alerts": tmp_path / "alerts.json", "page": tmp_path / "page.html", "output": tmp_path / "rows.json"}
    outputs = [text for name, path in files.items() for text in (f"--{name}", path)]
    watched = ["--by", "route", "--window", "day", "--reference", "2026-11-02..2026-11-07", "--alert-on", "drop"]
    events = ["--event", f"{began}=prompt v2", "--event", "2026-11-03=an index", "--page-url", "https://x.example/p"]
    status, shown, _ = run(capsys, "monitor", estimator, log, *watched, *events, *outputs)
    said = "began on the day of prompt v2"
    assert (status, said in shown) == (4, True)
    assert said in files["page"].read_text()
    content = json.loads(files["alerts"].read_text())
    (alert,) = content["alerts"]
    assert [(event["text"], event["relation"]) for event in alert["events"]] == [("prompt v2", "during")]
    assert [event["text"] for event in content["provenance"]["events"]] == ["an index", "prompt v2"]
    assert content["provenance"]["page_url"] == "https://x.example/p"
    assert json.loads(files["output"].read_text())["alerts"] == content["alerts"]
    status, _, errors = run(capsys, "monitor", estimator, log, "--event", "2026-11-03")
    assert (status, "DATE=TEXT" in errors) == (1, True)


def test_the_events_of_a_workflow_are_texts(tmp_path: Path) -> None:
    """YAML reads the day as a date, which a job's parameters cannot have."""
    config = {"estimator": "e", "folder": "f", "logs": __file__}
    dated = {**config, "options": {"events": {date(2026, 10, 15): "prompt v2"}}}
    assert Partitions(dated).options == {"events": ["2026-10-15=prompt v2"]}
    filed = Partitions({**config, "options": {"events": ["2026-10-15=prompt v2", "releases.txt"]}})
    assert filed.event_files == ["releases.txt"]
