"""Labels of some responses: what is true of them, and what they make of the estimates."""

from datetime import timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from production import BEGIN, change_metadata, fitted, saved, traffic, written

import entropy_sentinel as es
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.estimators.training_predictions import predict_responses
from entropy_sentinel.estimators.validation_record import Domain, Validation
from entropy_sentinel.monitor.alert_codes import Flag
from entropy_sentinel.monitor.labelling.label_corrected_estimates import improve_accuracy
from entropy_sentinel.monitor.monitor_result import make_table
from entropy_sentinel.monitor.showing.monitor_terminal import make_parts
from entropy_sentinel.statistics.monitoring.label_combination import combine_labels
from entropy_sentinel.statistics.slice_intervals import sampling_variance

ALL = ["n_labelled", "labelled_accuracy", "improved_accuracy", "improved_lower", "improved_upper", "labels_worth"]


@pytest.fixture(scope="module")
def features() -> pl.DataFrame:
    return traffic(900)


@pytest.fixture(scope="module")
def labels(features: pl.DataFrame) -> pl.DataFrame:
    """Every tenth response of two routes has a label, and a weight; some of them are null."""
    rng = np.random.default_rng(8)
    some = features.filter(pl.col("route") != "support")[::10]
    right = pl.Series(rng.random(len(some)) < 0.7)
    return some.select(
        "item_id",
        label=pl.when(pl.int_range(pl.len()) % 9 != 0).then(right),
        weight=pl.Series(rng.choice([5.0, 20.0], len(some))),
    )


def wanted(estimator, features: pl.DataFrame, labels: pl.DataFrame, level: float = 0.9) -> list[float]:
    """The columns ALL of one slice, from all its responses at once."""
    p = predict_responses(estimator.estimator, features)
    both = features.with_columns(p=pl.Series(p)).join(labels, on="item_id").filter(pl.col("label").is_not_null())
    result = improve_accuracy(both["label"].to_list(), both["p"], p, both["weight"], level)
    better = result.improved
    return [result.n_labelled, result.alone.estimate, better.estimate, better.lower, better.upper, better.n_effective]


def test_labels_and_predictions_of_a_slice(features, labels) -> None:
    estimator, route = fitted(), pl.col("route")
    result = es.monitor(estimator, features, by=["route"], labels=labels).slices
    pooled = es.monitor(estimator, features, by=["route"], labels=labels, max_slices=1).slices
    whole = es.monitor(estimator, features, labels=labels).slices
    for slices, name, rows in (
        *((result, name, features.filter(route == name)) for name in ("shop", "school")),
        (pooled, "(others)", features.filter(route != "shop")),
        (whole.rename({"slice": "route"}), "all", features),
    ):
        same = wanted(estimator, rows, labels)
        assert list(slices.filter(route == name).select(ALL).row(0)) == pytest.approx(same, abs=1e-12), name
    assert result.filter(route == "support").select(ALL).row(0) == (0, None, None, None, None, None)


def test_labels_of_a_window_and_of_what_was_read_before(features, labels, tmp_path: Path) -> None:
    estimator = saved(tmp_path)
    paths = [written(features[part::2], tmp_path / f"{part}.parquet") for part in range(2)]
    options = {"by": ["route"], "window": "day", "state": tmp_path / "state"}
    assert "n_labelled" not in es.monitor(estimator, paths, **options).slices.columns
    labels.write_csv(tmp_path / "labels.csv")
    result = es.monitor(estimator, paths, labels=tmp_path / "labels.csv", level=0.8, **options)
    assert result.provenance["files"]["read_now"] == 0
    second = pl.col("time").is_between(BEGIN + timedelta(days=1), BEGIN + timedelta(days=2), closed="left")
    same = wanted(es.load(estimator), features.filter(second, pl.col("route") == "shop"), labels, 0.8)
    day = (pl.col("window") == BEGIN + timedelta(days=1)) & (pl.col("route") == "shop")
    assert list(result.windows.filter(day).select(ALL).row(0)) == pytest.approx(same, abs=1e-12)
    assert result.windows["n_labelled"].sum() == result.slices["n_labelled"].sum() == labels["label"].count()


def test_labels_of_one_day_say_nothing_of_all_days(features) -> None:
    """Each of them stands for ten responses of the first of three days."""
    first = features.filter(pl.col("time") < BEGIN + timedelta(days=1))
    labels = first[::10].select("item_id", label=pl.int_range(pl.len()) % 3 != 0, weight=pl.lit(10.0))
    result = es.monitor(fitted(), features, window="day", labels=labels)
    assert result.slices.select(ALL).row(0) == (len(labels), *[pytest.approx(2 / 3, abs=0.02)], None, None, None, None)
    row = result.windows.row(by_predicate=pl.col("window") == BEGIN, named=True)
    assert [row[name] for name in ALL] == pytest.approx(wanted(fitted(), first, labels), abs=1e-12)


def test_labels_that_no_response_has_are_counted(features) -> None:
    strange = pl.DataFrame({"item_id": ["0-1", "nobody", "0-2"], "label": [True, False, None]})
    result = es.monitor(fitted(), features, labels=strange, labels_at_random=True)
    assert result.slices["n_labelled"].to_list() == [1]
    assert result.problems.notes == {"label-unmatched": 1}
    none = es.monitor(fitted(), features, labels=strange[1:], labels_at_random=True).slices
    assert list(none.select(ALL).row(0)) == [0, None, None, None, None, None]


def test_the_column_of_the_weights_must_stay(features, tmp_path: Path) -> None:
    """It chooses by P(correct): without weights the labels say something else, and nothing in the file shows it."""
    estimator = fitted()
    asked = es.sample(estimator, features.select(pl.exclude("user")), ["route"], budget=60).responses
    asked = asked.with_columns(label=pl.int_range(pl.len()) % 3 != 0)
    some = asked.with_columns(pl.when(pl.int_range(pl.len()) > 2).then("weight").alias("weight"))
    for labels, missing in ((asked.drop("weight"), 60), (asked.select("item_id", "label"), 60), (some, 3)):
        labels.write_csv(tmp_path / "labels.csv")
        with pytest.raises(InputError, match=f"labels: {missing} of 60 have no 'weight'.*labels_at_random=True"):
            es.monitor(estimator, features, labels=tmp_path / "labels.csv")
    result = es.monitor(estimator, features, labels=asked.drop("weight"), labels_at_random=True).slices
    assert result["labelled_accuracy"][0] == pytest.approx(asked["label"].mean())
    every = features.select("item_id", label=pl.int_range(pl.len()) % 3 != 0)
    result = es.monitor(estimator, features, labels=every).slices
    assert result["labelled_accuracy"][0] == pytest.approx(every["label"].mean())
    weighted = es.monitor(estimator, features, labels=asked).slices["labelled_accuracy"][0]
    wanted = (asked["label"].cast(float) * asked["weight"]).sum() / asked["weight"].sum()
    assert weighted == pytest.approx(wanted)


def test_without_a_usable_verdict_labels_are_used_and_why_an_interval_is_wider(features) -> None:
    estimator = fitted()
    route = pl.col("route")
    few, many, wrong = (features.filter(route == one) for one in ("school", "shop", "support"))
    right = {frame["route"][0]: es.monitor(estimator, frame).slices["estimated_accuracy"][0] for frame in (few, many)}
    groups = (few, len(few) // 8, right["school"]), (many, 1, right["shop"]), (wrong, 2, 0.0)
    labels = pl.concat([labelled(*part) for part in groups])
    result = es.monitor(estimator, features, by=["route"], labels=labels, level=0.8)
    rows = {row["route"]: row for row in result.slices.iter_rows(named=True)}
    assert {one["rests_on"] for one in rows.values()} == {"labels"}
    for one in rows.values():
        used = [one["use_accuracy"], one["use_lower"], one["use_upper"]]
        assert used == [one["improved_accuracy"], one["improved_lower"], one["improved_upper"]]
    wide = rows["school"]
    before, after = wide["upper"] - wide["lower"], wide["improved_upper"] - wide["improved_lower"]
    assert after > before
    assert f"({after:.2f} instead of {before:.2f})" in wide["note"]
    n = wide["n_labelled"]
    assert f"({n} labels, with the estimator as exact as {wide['labels_worth']:.0f} without" in wide["note"]
    # An interval is as wide as one over the root of the labels.
    more = int(np.ceil(n * (after / before) ** 2)) - n
    assert wide["note"].partition("; ")[2].startswith(f"about {more:,} more labels")
    assert rows["shop"]["note"] is None
    assert rows["support"]["note"].startswith("the labels contradict the estimate")
    none = es.monitor(estimator, features, by=["route"], labels=labels.filter(pl.col("item_id").is_in(few["item_id"])))
    used = dict(none.slices.select("route", "rests_on").rows())
    assert used == {"shop": "estimate", "school": "labels", "support": "estimate"}
    estimates = none.slices.filter(pl.col("rests_on") == "estimate")
    assert (
        estimates.select("use_accuracy", "use_lower").rows() == estimates.select("estimated_accuracy", "lower").rows()
    )
    message = "\n".join(part for part in make_parts(result) if isinstance(part, str))
    assert "If it rests on the labels, it holds even if the estimator is wrong." in message
    assert "rests on both" not in message
    assert f"school: {wide['note']}" in message
    headings, cells = make_table(result, result.slices, 10)
    assert headings[6:10] == ["labels say (n)", "use", "interval", "rests on"]
    assert {row[0]: row[7] for row in cells}["school"] == f"{wide['labelled_accuracy']:.3f} ({n})"


@pytest.fixture(scope="module")
def usable() -> FittedEstimator:
    """An estimator whose validation says `usable`: twenty domains with errors of .03 to either side."""
    estimator = fitted()
    domains = tuple(
        Domain(f"d{number}", 60, 0.5 + (0.03 if number % 2 else -0.03), 0.5, None, None) for number in range(20)
    )
    validation = Validation("log-3d", 20, domains)
    assert validation.verdict == "usable"
    return change_metadata(estimator, validation=validation)


def test_with_a_usable_verdict_estimate_and_labels_are_combined(usable: FittedEstimator, features) -> None:
    """Each slice's labels say what is estimated, but those of `support` say that nothing is correct."""
    routes = features.partition_by("route", as_dict=True)
    right = {route: es.monitor(usable, frame).slices["estimated_accuracy"][0] for (route,), frame in routes.items()}
    right["support"] = 0.0
    labels = pl.concat([labelled(frame, len(frame) // 12, right[route]) for (route,), frame in routes.items()])
    result = es.monitor(usable, features, by=["route"], labels=labels)
    rows = {row["route"]: row for row in result.slices.iter_rows(named=True)}
    assert {route: row["rests_on"] for route, row in rows.items()} == {
        "shop": "both",
        "school": "both",
        "support": "labels",
    }
    for route in ("shop", "school"):
        row = rows[route]
        [variance] = sampling_variance([row["estimated_accuracy"]], [row["n_estimated"]])
        spread = usable.validation.residuals.spread
        expected = combine_labels(
            spread, row["estimated_accuracy"], variance, row["improved_accuracy"], row["labels_worth"], 0.9
        )
        used = (row["use_accuracy"], row["use_lower"], row["use_upper"])
        assert used == pytest.approx(tuple(expected[:3]), abs=1e-12)
        assert used[2] - used[1] < min(row["upper"] - row["lower"], row["improved_upper"] - row["improved_lower"])
    assert rows["support"]["use_accuracy"] == rows["support"]["improved_accuracy"]
    assert rows["support"]["flag_codes"].count(Flag.CONTRADICTED) == 1
    assert result.slices["flag_codes"].list.contains(Flag.CONTRADICTED).sum() == 1
    message = "\n".join(part for part in make_parts(result) if isinstance(part, str))
    assert "If it rests on both, it combines" in message
    alerts = es.monitor(usable, features, by=["route"], labels=labels, alert_on=["contradicted"]).alerts
    assert [(alert["kind"], alert["slice"]) for alert in alerts] == [("contradicted", {"route": "support"})]


def test_labels_are_not_combined_with_an_estimate_of_other_responses(usable: FittedEstimator, features) -> None:
    other = features.with_columns(model=pl.lit("another"))
    labels = labelled(other, 20, 0.5)
    result = es.monitor(usable, other, labels=labels, any_model=True)
    assert result.slices["rests_on"].to_list() == ["labels"]


def labelled(frame: pl.DataFrame, every: int, share: float) -> pl.DataFrame:
    """Labels of every so manieth response, this share of them true."""
    some = frame[::every]
    n = len(some)
    label, weight = pl.Series(np.arange(n) < round(share * n)), pl.lit(len(frame) / n, pl.Float64)
    return some.select("item_id", label=label, weight=weight)
