"""What is written: rows, alerts, and metrics as Prometheus' own tools and its node exporter read them."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import polars as pl
import pytest
from calling import run
from production import BEGIN, fitted, saved, traffic, written
from programs import find_program
from prometheus_client.parser import text_string_to_metric_families
from serving import free_port, serving

import entropy_sentinel as es
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.monitor.alert_codes import Flag
from entropy_sentinel.monitor.estimating import slice_rows
from entropy_sentinel.monitor.monitor_result import Monitored
from entropy_sentinel.monitor.showing.result_files import (
    format_metrics,
    make_label_names,
    write_alerts,
    write_metrics,
    write_rows,
)
from entropy_sentinel.schemas.contract import read_provenance


@pytest.fixture(scope="module")
def found() -> Monitored:
    features = traffic(900).with_columns(
        route=pl.col("route").replace("school", 'sch"ool\\\n'), user=pl.when(pl.col("route") != "shop").then("user")
    )
    options = {"window": "day", "reference": "2026-11-02", "fail_below": 0.9, "min_responses": 50}
    return es.monitor(fitted("atc-se_sum"), features, by=["route", "user"], **options)


def samples(text: str) -> dict[str, list]:
    return {family.name: family.samples for family in text_string_to_metric_families(text)}


def test_prometheus_reads_the_newest_window(found: Monitored) -> None:
    read = samples(format_metrics(found))
    newest = BEGIN + timedelta(days=3)
    assert read["entropy_sentinel_window_start_seconds"][0].value == newest.timestamp()
    rows = found.recent.filter(pl.col("window") == newest)
    for name, column in (("estimated_accuracy",) * 2, ("responses", "n_responses"), ("change",) * 2):
        values = {(one.labels["route"], one.labels["user"]): one.value for one in read[f"entropy_sentinel_{name}"]}
        table = rows.select("route", pl.col("user").fill_null("(none)"), column)
        wanted = {(route, user): value for route, user, value in table.rows()}
        assert values == pytest.approx(wanted, abs=1e-15)
    assert {one.labels["kind"] for one in read["entropy_sentinel_alert"]} == {"below"}
    few = rows.filter(pl.col("flag_codes").list.contains(Flag.FEW_RESPONSES))
    assert (
        len(few)
        == len([one for one in read["entropy_sentinel_flag"] if one.labels["flag_code"] == Flag.FEW_RESPONSES])
        > 0
    )
    (about,) = read["entropy_sentinel_monitor_info"]
    assert (about.labels["estimator"], about.labels["model"], about.value) == ("atc-se_sum", "m", 1)
    assert about.labels["verdict"] == "too few domains to say"


# What is scraped, by name: dashboards rest on these.
METRICS = {
    *("last_run_timestamp_seconds", "window_start_seconds", "last_usable_window_start_seconds"),
    *("slices", "usable_slices", "pooled_windows", "responses", "estimated_responses", "excluded_responses"),
    "effective_responses",
    *("questions", "cut_off_share", "estimated_accuracy", "accuracy_lower", "accuracy_upper", "expected_errors"),
    *("estimate_worth_labels", "newest_response_window_start_seconds", "same_model_responses"),
    *("change", "change_q", "flag", "alert", "alert_since_timestamp_seconds", "monitor_info"),
}


def test_every_metric_says_what_it_is(found: Monitored) -> None:
    text = format_metrics(found)
    families = {one.name: one for one in text_string_to_metric_families(text)}
    assert set(families) == {f"entropy_sentinel_{name}" for name in METRICS}
    share = families["entropy_sentinel_cut_off_share"]
    assert share.documentation == "Share of the estimated responses that were truncated."
    assert {one.type for one in families.values()} == {"gauge"}


def test_labels_witnesses_and_events_are_scraped(tmp_path: Path) -> None:
    """And each query of the dashboard's annotations has them."""
    features = traffic(300)
    labels = features.select("item_id", label=pl.int_range(pl.len()) % 3 > 0).head(90)
    judged = features.select("item_id", label=pl.int_range(pl.len()) % 3 > 0, judge=pl.lit("j"))
    options = {"by": ["route"], "labels": labels, "judged": judged, "labels_at_random": True, "window": "day"}
    events = ["2026-11-03=prompt v2", "2026-11-03=prompt v2", "2026-11-04=prompt v2"]
    result = es.monitor(saved(tmp_path, "atc-se_sum"), features, **options, events=events)
    read = samples(format_metrics(result))
    for name, column in (("labelled_responses", "n_labelled"), ("judged_responses", "n_judged")):
        assert sum(sample.value for sample in read[f"entropy_sentinel_{name}"]) == result.now[column].sum()
    assert {f"entropy_sentinel_{name}" for name in ("asked_responses", "labelled_accuracy", "use_accuracy")} <= set(
        read
    )
    begins = {sample.labels["begin"]: sample.value for sample in read["entropy_sentinel_event_timestamp_seconds"]}
    days = [datetime(2026, 11, day, tzinfo=UTC).timestamp() for day in (3, 4)]
    assert sorted(begins.values()) == days
    dashboard = json.loads((Path(__file__).parents[2] / "examples/monitoring/dashboard.json").read_text())
    expressions = [note["expr"] for note in dashboard["annotations"]["list"]]
    assert {name for each in expressions for name in re.findall(r"entropy_sentinel_\w+", each)} == {
        "entropy_sentinel_event_timestamp_seconds",
        "entropy_sentinel_alert_since_timestamp_seconds",
    }


def test_the_node_exporter_passes_every_sample_on(found: Monitored, tmp_path: Path) -> None:
    write_metrics(found, tmp_path / "sentinel.prom")
    address = f"127.0.0.1:{free_port()}"
    options = ["--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={tmp_path}"]
    exporter = find_program("prometheus-node-exporter", "prometheus-node-exporter")
    command = [exporter, *options, f"--web.listen-address={address}"]
    with serving(command, tmp_path / "exporter.log", url := f"http://{address}/metrics"), urlopen(url) as answer:
        read = samples(answer.read().decode())
    assert read["node_textfile_scrape_error"][0].value == 0
    assert {name: passed(read.get(name, [])) for name in samples(format_metrics(found))} == {
        name: passed(written) for name, written in samples(format_metrics(found)).items()
    }


def passed(family: list[Any]) -> set[tuple[Any, ...]]:
    """Labels and value of each sample of a family."""
    return {(*sorted(sample.labels.items()), sample.value) for sample in family}


def test_two_monitors_in_one_folder_have_no_sample_in_common(tmp_path: Path) -> None:
    """Two models whose slices have the same names; the name is the model and the file, or what the user says."""
    labels = []
    for name in (None, "night"):
        result = es.monitor(saved(tmp_path, "atc-se_sum"), traffic(90), by=["route"], window="day", name=name)
        every = [one for family in samples(format_metrics(result)).values() for one in family]
        labels.append({(one.name, *sorted(one.labels.items())) for one in every})
    assert not labels[0] & labels[1]
    names = [{dict(label[1:])["monitor"] for label in every} for every in labels]
    assert names == [{"m atc-se_sum"}, {"night"}]


def test_names_of_labels_are_those_that_prometheus_knows_and_each_is_there_once() -> None:
    names = make_label_names(["metadata.route", "metadata_route", "7th", "__name__", "flag", "größe"])
    assert names == {
        "metadata_route": "metadata.route",
        "metadata_route_2": "metadata_route",
        "_7th": "7th",
        "_name__": "__name__",
        "flag_2": "flag",
        "gr__e": "größe",
    }


def test_the_rows_as_files(found: Monitored, tmp_path: Path) -> None:
    for name in ("rows.csv", "rows.parquet", "rows.json"):
        write_rows(found, tmp_path / name)
    table = pl.read_csv(tmp_path / "rows.csv")
    assert len(table) == len(found.windows)
    assert table["estimated_accuracy"].to_list() == found.windows["estimated_accuracy"].to_list()
    assert set(table["window"]) == {f"2026-11-0{day}T00:00Z" for day in (2, 3, 4, 5)}
    assert pl.read_parquet(tmp_path / "rows.parquet").equals(found.windows)
    assert read_provenance(tmp_path / "rows.parquet")["estimators"][0]["name"] == "atc-se_sum"
    read = json.loads((tmp_path / "rows.json").read_text())
    assert set(read) == {"slices", "windows", "recent", "drops", "alerts", "provenance"}
    assert [row["n_responses"] for row in read["slices"]] == found.slices["n_responses"].to_list()
    write_alerts(found, tmp_path / "alerts.json")
    (first, *_), about = json.loads((tmp_path / "alerts.json").read_text()).values()
    assert (first["kind"], set(first["slice"]), first["level"]) == ("below", {"route", "user"}, 0.9)
    assert about["window"] == "day"
    with pytest.raises(InputError, match=r"output: must end with .csv, .parquet, .json, got 'rows.xlsx'"):
        write_rows(found, "rows.xlsx")


def test_an_alert_below_says_whether_the_interval_is_too() -> None:
    estimator, features = fitted("atc-se_sum"), traffic(900)
    accuracy, upper = es.monitor(estimator, features).slices.select("estimated_accuracy", "upper").row(0)
    for threshold, expected in ((accuracy + 1e-9, "interval reaches above it"), (upper + 1e-9, "whole interval")):
        (alert,) = es.monitor(estimator, features, fail_below=threshold).alerts
        assert alert["message"].endswith(expected)
    assert es.monitor(estimator, features, fail_below=accuracy).alerts == []
    assert es.monitor(estimator, features, fail_below=0.99, min_responses=901).alerts == []


@pytest.mark.parametrize(("target", "more"), [("page.html", 0), ("rows.csv", 1)])
def test_the_changes_of_old_windows_are_tested_only_for_files_that_have_them(
    target: str, more: int, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a page of a year would take minutes for numbers that it does not show."""
    n_days, n_slices, calls = 12, 3, []
    monkeypatch.setattr(slice_rows, "compute_p_value", lambda *_: calls.append(0) or 0.5)
    days = [BEGIN + timedelta(days=day) for day in range(n_days)]
    rows = pl.concat([traffic(90, seed=day).with_columns(time=when) for day, when in enumerate(days)])
    rows = rows.with_columns(
        route=pl.format("r{}", pl.int_range(pl.len()) % n_slices), item_id=pl.int_range(pl.len()).cast(pl.String)
    )
    given = [saved(tmp_path, "atc-se_sum"), written(rows, tmp_path / "log.parquet")]
    options = ["--by", "route", "--window", "day", "--reference", "2026-11-02..2026-11-04", "--min-responses", "20"]
    option = {"page.html": "--page", "rows.csv": "--output"}[target]
    assert run(capsys, "monitor", *given, *options, option, tmp_path / target)[0] == 0
    # The whole time and the newest two days; with rows, each of the days after the reference.
    assert len(calls) == n_slices * (3 + more * (n_days - 3))
