"""An alert is told when it begins, when it becomes worse and when it is over; not every night."""

import hashlib
import json
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from calling import run
from production import BEGIN, fitted, saved, traffic, written

import entropy_sentinel as es
import entropy_sentinel.monitor.alerting.drop_alerts as module
from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.monitor.monitor_result import format_alert
from entropy_sentinel.monitor.monitor_run import record_alerts
from entropy_sentinel.monitor.showing.result_files import format_metrics
from entropy_sentinel.monitor.showing.webhook import write_message

ATC = "atc-se_sum"
REFERENCE = "2026-11-02..2026-11-08"


class Nights:
    """A monitor that runs every night on the log so far, with a state; `a` has a share of correct responses a day."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture, *options: str) -> None:
        self.folder, self._capsys, self._options = folder, capsys, options
        self.estimator = saved(folder, ATC)
        pool = traffic(3000, seed=3).with_columns(cut_off=pl.lit(False))
        above = pl.Series(fitted(ATC).estimator.values(pool.select(FEATURES))[:, 0] == 1)
        self._sides = pool.filter(above), pool.filter(~above)
        self.day = 0

    def add(self, *shares: float, n: int = 60, route: str = "a") -> None:
        """Add a day's responses for each share."""
        for share in shares:
            right = round(n * share)
            rows = pl.concat([self._sides[0].head(right), self._sides[1].head(n - right)])
            ids = pl.format("{}-{}-{}", pl.lit(route), pl.lit(self.day), pl.int_range(pl.len()))
            when = pl.lit(BEGIN + timedelta(days=self.day, hours=1))
            rows = rows.with_columns(route=pl.lit(route), time=when, item_id=ids)
            written(rows, self.folder / f"{route}-{self.day}.parquet")
            self.day += 1

    def run(self, *more: str) -> tuple[int, list[dict[str, Any]]]:
        """Run the monitor on all days; return its exit status and the alerts."""
        out = self.folder / "alerts.json"
        logs = sorted(self.folder.glob("*-*.parquet"))
        options = ["--by", "route", "--window", "day", "--state", self.folder / "state", "--alerts", out]
        status, _, _ = run(self._capsys, "monitor", self.estimator, *logs, *options, *self._options, *more)
        return status, json.loads(out.read_text())["alerts"]

    def statuses(self, *shares: float, n: int = 60, more: tuple[str, ...] = ()) -> list[list[str]]:
        """Run the monitor after each further day; return the statuses of the alerts."""
        seen = []
        for share in shares:
            self.add(share, n=n)
            seen.append([alert["status"] for alert in self.run(*more)[1]])
        return seen


@pytest.fixture
def nights(tmp_path: Path, capsys: pytest.CaptureFixture) -> Nights:
    nights = Nights(tmp_path, capsys, "--reference", REFERENCE, "--alert-on", "drop")
    nights.add(*[0.8] * 7)
    return nights


def told(alerts: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    return [(alert["status"], alert["to_report"]) for alert in alerts]


def test_a_drop_is_told_when_it_begins_worsens_and_ends(nights: Nights) -> None:
    seen = []
    for share in [0.8, 0.5, 0.5, 0.5, 0.5, 0.2, 0.2, 0.2, 0.8, 0.8, 0.8, 0.8]:
        nights.add(share)
        status, alerts = nights.run()
        seen.append((status, told(alerts)))
    statuses = [[status for status, _ in alerts] for _, alerts in seen]
    assert statuses[0] == []
    first = statuses.index(["new"])
    worse, over = statuses.index(["worse"]), statuses.index(["over"])
    assert (1 <= first <= 2, 5 <= worse <= 6, 8 <= over <= 9) == (True, True, True)
    assert all(one == ["continues"] for one in statuses[first + 1 : worse] + statuses[worse + 1 : over])
    assert all(one == [] for one in statuses[over + 1 :])
    # Exit status 4 only for what is new or worse, and what continues is not told.
    assert [status for status, _ in seen] == [4 if one in (["new"], ["worse"]) else 0 for one in statuses]
    assert [alerts[0][1] for _, alerts in seen if alerts] == [one != ["continues"] for one in statuses if one]


def test_a_run_that_was_missed_loses_nothing(nights: Nights) -> None:
    """The drop began five windows before this first run that sees it."""
    nights.add(0.8)
    nights.run()
    nights.add(*[0.4] * 5)
    status, alerts = nights.run()
    assert (status, told(alerts)) == (4, [("new", True)])
    assert told(nights.run()[1]) == [("continues", False)]


def test_without_a_state_only_the_newest_two_windows_are_new(nights: Nights) -> None:
    logs, options = nights.folder / "*-*.parquet", {"by": ["route"], "window": "day", "reference": REFERENCE}
    statuses = []
    for share in (0.8, 0.4, 0.4, 0.4, 0.4):
        nights.add(share)
        result = es.monitor(nights.estimator, str(logs), **options, alert_on=["drop"])
        statuses.append([alert["status"] for alert in result.alerts])
    assert statuses == [[], ["new"], ["new"], ["continues"], ["continues"]]


def test_without_a_state_a_drop_is_new_when_it_is_confirmed_though_it_began_before(nights: Nights) -> None:
    logs, options = nights.folder / "*-*.parquet", {"by": ["route"], "window": "day", "reference": REFERENCE}
    nights.add(0.8, 0.4, 0.4, 0.4, 0.4)
    (alert,) = es.monitor(nights.estimator, str(logs), **options, alert_on=["drop"], confirm=4).alerts
    assert (alert["since"][:10], alert["status"]) == ("2026-11-10", "new")


def test_what_could_not_be_sent_is_new_in_the_next_night(nights: Nights) -> None:
    nights.add(0.8, 0.4)
    status, alerts = nights.run("--webhook", "http://127.0.0.1:9/")
    assert (status, told(alerts)) == (4, [("new", True)])
    assert told(nights.run()[1]) == [("new", True)]


def test_a_state_of_an_earlier_release_is_continued(nights: Nights) -> None:
    """The rows are as release 0.1 wrote them; the kind is a slug, also of an extension that is gone."""
    nights.add(0.8, 0.5)
    assert [alert["status"] for alert in nights.run()[1]] == ["new"]
    since, newest = "2026-11-10T00:00:00+00:00", "2026-11-10T00:00:00+00:00"
    rows = [[kind, '["a"]', json.dumps([since, newest, 0, False])] for kind in ("below", "drop", "often-refused")]
    content = json.dumps(rows)
    digest = hashlib.sha256(b"alerts\0" + content.encode()).digest()
    with closing(sqlite3.connect(nights.folder / "state")) as file, file:
        ((before,),) = file.execute("SELECT content FROM records WHERE key = 'alerts'").fetchall()
        assert json.loads(before) == rows[1:2]
        file.execute("UPDATE records SET content = ?, sha256 = ? WHERE key = 'alerts'", (content.encode(), digest))
    nights.add(0.5)
    alerts = nights.run("--fail-below", "0.1")[1]
    assert {(alert["kind"], alert["kind_code"], alert["status"]) for alert in alerts} == {
        ("drop", "ES302", "continues"),
        ("below", "ES301", "over"),
        ("often-refused", "often-refused", "over"),
    }


def test_acknowledged_alerts_are_quiet_until_they_become_worse(nights: Nights) -> None:
    known = nights.folder / "known.txt"
    known.write_text("# the outage of the retriever\ndrop a 2026-11-11\n")
    seen = []
    for share in (0.8, 0.5, 0.5, 0.5, 0.1, 0.1):
        nights.add(share)
        status, alerts = nights.run("--acknowledged", str(known))
        seen.append((status, [(alert["status"], alert["acknowledged"]) for alert in alerts]))
    assert seen[1] == (0, [("new", True)])
    assert seen[3] == (0, [("continues", True)])
    assert (4, [("worse", False)]) in seen[4:]


def test_an_acknowledgement_is_only_of_alerts_that_began_until_its_day(nights: Nights) -> None:
    known = nights.folder / "known.txt"
    known.write_text("drop a 2026-11-09\n")
    nights.add(0.8, 0.4)
    assert nights.run("--acknowledged", str(known))[0] == 4


@pytest.mark.parametrize("line", ["drop a", "fall a 2026-11-09", "drop 2026-11-09", "drop a 2026-13-09", "a"])
def test_an_acknowledgement_that_cannot_be_read_names_its_line(nights: Nights, line: str) -> None:
    known = nights.folder / "known.txt"
    known.write_text(f"drop a 2026-11-09\n\n{line}\n")
    with pytest.raises(InputError, match=rf"known.txt, line 3: must be KIND SLICE DATE.*got '{line}'"):
        es.monitor(nights.estimator, str(nights.folder / "*-*.parquet"), by=["route"], acknowledged=known)


# Slices whose names an outsider would not expect, as outputs show them.
NAMES = {
    "a": "a",
    " a ": '" a "',
    "": '""',
    "-": '"-"',
    '" a "': r'"\" a \""',
    "x y": "x y",
    "a\u2028b": "a\N{REPLACEMENT CHARACTER}b",
}


@pytest.mark.parametrize("route", NAMES)
def test_every_slice_can_be_acknowledged(nights: Nights, route: str) -> None:
    """By the name that the alert's line has, also in a file of a Windows editor."""
    rows = traffic(60, seed=3).with_columns(route=pl.lit(route), time=BEGIN)
    options: dict[str, Any] = {"by": ["route"], "fail_below": 0.999}
    (alert,) = es.monitor(nights.estimator, rows, **options).alerts
    assert format_alert(alert).startswith(f"ALERT {NAMES[route]}: ")
    known = nights.folder / "known.txt"
    known.write_bytes(b"\xef\xbb\xbf" + f"below {NAMES[route]} 2099-11-02\r\n".encode())
    (alert,) = es.monitor(nights.estimator, rows, **options, acknowledged=known).alerts
    assert alert["acknowledged"]


def test_reminders(nights: Nights) -> None:
    nights.add(0.8, 0.4, 0.4)
    assert [nights.run("--remind")[0] for _ in range(2)] == [4, 4]


def test_a_drop_that_has_to_be_confirmed(nights: Nights) -> None:
    statuses = nights.statuses(0.8, 0.4, 0.4, 0.4, 0.4, more=("--confirm", "3"))
    assert statuses == [[], [], [], ["new"], ["continues"]]


def test_conditions_have_a_beginning_and_an_end_too(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    nights = Nights(tmp_path, capsys, "--fail-below", "0.6")
    seen = []
    for share in (0.8, 0.4, 0.4, 0.4, 0.8, 0.8):
        nights.add(share)
        status, alerts = nights.run()
        seen.append((status, [alert["status"] for alert in alerts]))
        assert {alert["since"][:10] for alert in alerts} <= {"2026-11-03"}
    lasts = (0, ["continues"])
    assert seen == [(0, []), (4, ["new"]), lasts, lasts, (0, ["over"]), (0, [])]


def test_conditions_can_be_confirmed(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """A single bad day is nothing; the second of two in a row is told."""
    nights = Nights(tmp_path, capsys, "--fail-below", "0.6", "--confirm", "2")
    assert nights.statuses(0.8, 0.4, 0.8, 0.4, 0.4, 0.4) == [[], [], [], [], ["new"], ["continues"]]


def test_a_thin_slice_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Twelve responses a day: three or more days are pooled, and other ones every night."""
    nights = Nights(tmp_path, capsys, "--fail-below", "0.6")
    assert nights.statuses(*[0.4] * 5, n=12) == [[], [], ["new"], ["continues"], ["continues"]]


def test_a_slice_without_traffic_is_not_over(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    nights = Nights(tmp_path, capsys, "--fail-below", "0.6")
    nights.add(0.4)
    nights.run()
    nights.day += 20
    nights.add(0.8, 0.8, route="b")
    assert nights.run()[1] == []
    nights.add(0.4)
    assert told(nights.run()[1]) == [("continues", False)]


def test_a_stale_slice_is_told_when_it_becomes_stale_and_when_it_is_back(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    nights = Nights(tmp_path, capsys, "--alert-on", "stale")
    nights.add(0.8)
    nights.day += 20
    seen = []
    for route in ("b", "b", "a"):
        nights.add(0.8, route=route)
        seen.append([(alert["slice"]["route"], alert["status"]) for alert in nights.run()[1]])
    assert seen == [[("a", "new")], [("a", "continues")], [("a", "over")]]


def test_messages_and_metrics_have_only_what_is_to_be_told(nights: Nights) -> None:
    nights.add(0.8, 0.4, 0.4, 0.4)
    logs, options = str(nights.folder / "*-*.parquet"), {"reference": REFERENCE, "alert_on": ["drop"]}
    result = es.monitor(nights.estimator, logs, by=["route"], window="day", **options)
    assert told(result.alerts) == [("continues", False)]
    assert "ALERT" not in write_message(result)
    text = format_metrics(result)
    assert 'entropy_sentinel_alert{kind="drop"' in text
    since = int((BEGIN + timedelta(days=8)).timestamp())
    (line,) = [line for line in text.splitlines() if line.startswith("entropy_sentinel_alert_since")]
    assert float(line.split()[-1]) == since


def test_a_reference_without_windows_is_watched_day_by_day(nights: Nights) -> None:
    nights.add(0.8, 0.8, 0.4)
    logs, options = str(nights.folder / "*-*.parquet"), {"reference": REFERENCE, "alert_on": ["drop"]}
    result = es.monitor(nights.estimator, logs, by=["route"], **options)
    assert [(alert["since"][:10], alert["status"]) for alert in result.alerts] == [("2026-11-11", "new")]


@pytest.mark.parametrize("rate", ["1", "0/month", "-1/month", "1/fortnight", "nan/day", "inf/day", "month"])
def test_a_rate_that_is_none_is_refused(rate: str) -> None:
    with pytest.raises(ConfigError, match=rf"false_alarms: must be NUMBER/PERIOD, such as 1/month.*got '{rate}'"):
        es.monitor("none", "none", false_alarms=rate)


def test_the_accepted_false_alarms_are_shared_among_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two a week for three slices: one in 10.5 days for each; and never more often than one in 20 looks."""
    rules = []
    monkeypatch.setattr(module, "find_series_drops", lambda _, rule: rules.append(rule) or [])
    rows = traffic(900)
    options = {"by": ["route"], "reference": "2026-11-02..2026-11-02"}
    es.monitor(fitted(ATC), rows, **options, window="hour", false_alarms="2/week")
    assert [rule.false_alarm_windows for rule in rules] == pytest.approx([3 * 7 * 24 / 2] * 3)
    rules.clear()
    es.monitor(fitted(ATC), rows, **options, window="day", false_alarms="30/day")
    assert [rule.false_alarm_windows for rule in rules] == [20] * 3


@pytest.mark.long
@pytest.mark.nightly
def test_a_year_in_a_state(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """365 nights, read week by week, each file once: few false alarms, and a drop in the last weeks is told once."""
    nights = Nights(tmp_path, capsys)
    options = {"by": ["route"], "window": "day", "reference": REFERENCE, "alert_on": ["drop"]}
    rng, reported, week = np.random.default_rng(1), [], []
    for day in range(365):
        nights.add(rng.binomial(60, 0.8 if day < 344 else 0.4) / 60)
        week.append(tmp_path / f"a-{day}.parquet")
        if len(week) == 7 or day == 364:
            result = es.monitor(nights.estimator, week, state=tmp_path / "state", **options)
            record_alerts(result)
            reported += [(day, alert["status"], alert["since"]) for alert in result.alerts if alert["to_report"]]
            for log in week:
                log.unlink()
            week = []
    assert result.slices["n_estimated"].to_list() == [365 * 60]
    assert len(result.windows) == 365
    assert len([status for day, status, _ in reported if day < 344 and status == "new"]) <= 12
    begins = [since[:10] for day, status, since in reported if day >= 344 and status == "new"]
    assert begins in ([f"{BEGIN + timedelta(days=day):%Y-%m-%d}"] for day in (344, 345, 346))
    assert (tmp_path / "state").stat().st_size < 2**23
