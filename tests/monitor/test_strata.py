"""Labels drawn by another column than the slices: weights by stratum, and what is not represented."""

from datetime import timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from production import BEGIN, fitted, saved, traffic, written

import entropy_sentinel as es
from entropy_sentinel.api.label_reading import read_sample_columns
from entropy_sentinel.monitor.labelling.label_corrected_estimates import improve_accuracy
from entropy_sentinel.monitor.labelling.post_stratification import weigh_by_strata
from entropy_sentinel.monitor.reading.dependence import STRATUM
from entropy_sentinel.monitor.showing.monitor_terminal import make_parts

TOPICS = ("algebra", "geometry", "history", "law")


def frame(strata: list[int | None], **columns: list[float]) -> pl.DataFrame:
    return pl.DataFrame({STRATUM: strata, **columns}, schema_overrides={STRATUM: pl.UInt64})


def test_weights_by_hand() -> None:
    """A slice of 30 responses to topic 1 and 10 to topic 2; the log has 60 and 40."""
    responses, population = frame([1] * 30 + [2] * 10), frame([1] * 60 + [2] * 40)
    labelled = frame([1, 1, 2, 2], weight=[10.0, 20.0, 5.0, 5.0])
    sample = frame([1, 1, 1, 2, 2], weight=[10.0, 20.0, 30.0, 20.0, 20.0])
    found = weigh_by_strata(labelled, responses, sample, population, "weight")
    assert found["weight"].to_list() == pytest.approx([10, 20, 5, 5])
    only_first = weigh_by_strata(labelled[:1], responses, sample, population, "weight")
    assert only_first["weight"].to_list() == pytest.approx([30])
    # With labels of half of topic 2's time, a quarter of the slice is not represented.
    assert weigh_by_strata(labelled, responses, sample[:4], population, "weight") is None
    unknown = frame([1] * 30 + [None] * 10)
    assert weigh_by_strata(labelled, unknown, sample, population, "weight") is None


def test_the_intervals_hold() -> None:
    """Topics of different accuracies, drawn at different rates; a slice has other shares of them than the log."""
    rng = np.random.default_rng(0)
    share, rate = np.array([0.9, 0.6, 0.3, 0.1]), np.array([0.3, 0.05, 0.2, 0.1])
    topic = np.repeat(np.arange(4), 400)
    in_slice = rng.random(1600) < np.array([0.1, 0.5, 0.2, 0.6])[topic]
    inside, unweighted, errors = [], [], []
    for _ in range(150):
        right, drawn = rng.random(1600) < share[topic], rng.random(1600) < rate[topic]
        p = np.clip(share[topic] + 0.1 * rng.standard_normal(1600), 0, 1)
        whole = frame(topic.tolist(), weight=(1 / rate[topic]).tolist(), p=p.tolist(), label=right.tolist())
        sample, part = whole.filter(pl.Series(drawn)), whole.filter(pl.Series(in_slice))
        labelled = weigh_by_strata(whole.filter(pl.Series(drawn & in_slice)), part, sample, whole, "weight")
        if labelled is None:  # by chance a rare topic has too few labels
            continue
        found = improve_accuracy(labelled["label"].to_list(), labelled["p"], part["p"], labelled["weight"].to_list())
        truth = right[in_slice].mean()
        inside.append(found.improved.lower <= truth <= found.improved.upper)
        errors.append(found.alone.estimate - truth)
        unweighted.append(right[drawn & in_slice].mean() - truth)
    assert len(inside) > 130
    assert np.mean(inside) >= 0.87
    assert abs(np.mean(errors)) < 0.015 < abs(np.mean(unweighted))


@pytest.fixture(scope="module")
def features() -> pl.DataFrame:
    rows = traffic(900).drop("user")
    topics = np.random.default_rng(3).choice(TOPICS, 900, p=[0.4, 0.3, 0.2, 0.1])
    return rows.with_columns(topic=pl.Series(topics))


def sampled(features: pl.DataFrame, folder: Path, budget: int = 120) -> Path:
    """Labels drawn by topic, as a person has filled them in: five of six."""
    drawn = es.sample(fitted(), features, ["topic"], budget=budget).responses
    label = pl.when(pl.int_range(pl.len()) % 6 != 0).then(pl.int_range(pl.len()) % 3 != 0)  # some are left empty
    drawn.with_columns(label=label).write_csv(folder / "labels.csv")
    return folder / "labels.csv"


def test_labels_drawn_by_topic_improve_routes(features: pl.DataFrame, tmp_path: Path) -> None:
    """Also those of a state, in which a log that is given again is read again, once."""
    labels, estimator = sampled(features, tmp_path), saved(tmp_path)
    assert read_sample_columns(labels) == ["topic"]
    log = written(features, tmp_path / "log.parquet")
    result = es.monitor(estimator, log, by=["route"], labels=labels)
    assert result.slices["improved_accuracy"].null_count() == 0
    assert result.slices["n_labelled"].sum() == 100
    es.monitor(estimator, log, by=["route"], state=tmp_path / "state")
    for _ in range(2):
        again = es.monitor(estimator, log, by=["route"], labels=labels, state=tmp_path / "state")
        columns = ["route", "improved_accuracy", "improved_lower", "labels_worth"]
        assert again.slices.select(columns).equals(result.slices.select(columns))
    assert again.provenance["files"]["read_now"] == 0


def test_topics_that_nobody_sampled_are_told_with_what_to_do(features: pl.DataFrame, tmp_path: Path) -> None:
    some = features.filter(pl.col("topic").is_in(TOPICS[:2]))
    labels = sampled(some, tmp_path)
    result = es.monitor(fitted(), features, by=["route"], labels=labels)
    assert result.slices["improved_accuracy"].null_count() == 3
    (told,) = [part for part in make_parts(result) if isinstance(part, str) and part.startswith("labels ignored for ")]
    assert "they were drawn by topic and do not cover the whole slice" in told
    assert "`sample --by route`" in told


def test_labels_of_one_day_do_not_represent_a_topic_of_all_days(features: pl.DataFrame, tmp_path: Path) -> None:
    labels = sampled(features.filter(pl.col("time") < BEGIN + timedelta(days=1)), tmp_path, budget=80)
    result = es.monitor(fitted(), features, by=["route"], window="day", labels=labels)
    assert result.slices["improved_accuracy"].null_count() == 3
    first = result.windows.filter(pl.col("window") == BEGIN)
    assert first["improved_accuracy"].null_count() == 0


def test_verdicts_drawn_by_topic_count_too(features: pl.DataFrame, tmp_path: Path) -> None:
    labels = sampled(features, tmp_path)
    drawn = es.sample(fitted(), features, ["topic"], budget=400, seed=1).responses
    judged = drawn.select("item_id", "weight", label=pl.int_range(pl.len()) % 3 != 0)
    extra = es.read_labels(labels).join(drawn.select("item_id"), on="item_id", how="anti")
    extra = extra.select("item_id", weight=pl.lit(None, pl.Float64), label="label")
    alone, both = (
        es.monitor(fitted(), features, by=["route"], labels=labels, judged=verdicts).slices.sort("route")
        for verdicts in (None, pl.concat([judged, extra]))
    )
    assert both["improved_accuracy"].null_count() == 0
    assert both["n_judged"].sum() == 400
    assert not both["improved_lower"].equals(alone["improved_lower"])
