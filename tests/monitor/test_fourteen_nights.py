"""Fourteen nights of a team with two models: what each night says, and its exit status."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from calling import run
from fourteen_nights import DAY, NEW, NO_LOGPROBS, OLD, REFERENCE, Log, october, write_estimators

EARLIER = f"reported by earlier runs, in 1 file of 2026-10-17: 72 responses without features: {NO_LOGPROBS}"
# 12 of the 24 responses of each of three routes and two models come after noon.
OUTAGE = f"NOT WATCHED: 72 of 144 responses in the day from 2026-10-17 have no estimate: {NO_LOGPROBS}"
RENAME = f"NOT WATCHED: 72 responses of {NEW} (no estimator for this model). Fit one, or continue with"
# The evidence for a drop of .29 in 24 yes-or-no values a day takes three days, at the promised rate of false alarms.
DROP = f"drop {OLD}, homework: new since 20"
NIGHTS: list[tuple[int, int, list[str], list[str]]] = [
    (12, 5, [], ["no slice has enough responses"]),
    (13, 0, [], []),
    (14, 0, [], ["20 duplicates across files, counted once"]),
    (15, 0, [], []),
    (16, 0, [], []),
    (17, 4, ["unwatched no-logprobs: new since 17"], [OUTAGE]),
    (18, 0, ["unwatched no-logprobs: over since 17"], []),
    (
        19,
        4,
        [f"unwatched {NEW}: new since 19"],
        [f"{RENAME} --same-model {OLD}={NEW}", "36 in 3 days (newest 2026-10-18)"],
    ),
    (20, 0, [f"unwatched {NEW}: over since 19"], [f"{NEW} (144 responses) counts as {OLD}", "show no difference"]),
    (21, 0, [], []),
    (22, 4, [DROP], ["to 0.250, if its model is the same under a new name (--same-model) (new, since 2026-10-20)"]),
    (
        23,
        4,
        ["unwatched no-responses: new since 23"],
        ["no responses in the day from 2026-10-23; the newest are of"],
    ),
    (24, 0, ["unwatched no-responses: over since 23"], []),
    (25, 0, [], ["ALERT gpt-x-2026-01, homework"]),
]


class Night(NamedTuple):
    status: int
    reported: list[str]
    shown: str


@pytest.mark.slow
def test_what_is_told_on_each_night(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    log, estimators = Log(), write_estimators(tmp_path)
    for number in range(5, 12):
        log.write(number, tmp_path / "logs")

    def night(number: int, *more: Any) -> Night:
        log.write(number, tmp_path / "logs")
        alerts = tmp_path / "alerts.json"
        options = ["--by", "route", "--window", "day", "--reference", REFERENCE, "--state", tmp_path / "state"]
        options += ["--alert-on", "drop", "--alert-on", "stale", "--alerts", alerts]
        now = f"{october(number) + DAY:%Y-%m-%d}T02:00"
        status, shown, errors = run(capsys, "monitor", *estimators, tmp_path / "logs", *options, "--now", now, *more)
        reported = []
        for alert in json.loads(alerts.read_text())["alerts"]:
            if alert["to_report"]:
                name = alert.get("subject") or ", ".join(alert["slice"].values())
                reported.append(f"{alert['kind']} {name}: {alert['status']} since {alert['since'][8:10]}")
        return Night(status, reported, shown + errors)

    for number, status, reported, says in NIGHTS:
        more = ["--same-model", f"{OLD}={NEW}"] if number >= 20 else []
        now = night(number, *more)
        assert (number, now.status, now.reported) == (number, status, reported)
        assert not [words for words in says if words not in now.shown], number
        # The outage of the 17th is a line of later nights, and no problem of theirs.
        assert now.shown.count("responses without features") == (number >= 17)
        assert (EARLIER in now.shown) == (number > 17)
        # What the 20th says about the new name holds in later nights.
        assert ("(--same-model), which is an assumption" in now.shown) == (number >= 20)
