"""The first day with real answers: a hundred labels and a simulated judge give each route's accuracy, no estimator."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from calling import run

import entropy_sentinel as es
from write_weeks import SHOWN, write

pytestmark = pytest.mark.slow

ROUTE, TOPIC = "metadata.route", "metadata.topic"
SENSITIVITY, SPECIFICITY = 0.9, 0.85
N_DRAWS = 20


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first week's responses whose truth is known, in a file, with `label`."""
    folder = tmp_path_factory.mktemp("app")
    write(folder, SHOWN)
    truth = pl.read_csv(folder / "labels.csv")
    path = folder / "log.parquet"
    pl.read_parquet(folder / "logs" / "week-1.parquet").join(truth, on="item_id").drop("label").write_parquet(path)
    return path


@pytest.fixture(scope="module")
def truth(log: Path) -> pl.DataFrame:
    """The route, the topic and the label of each response."""
    labels = pl.read_csv(log.parent / "labels.csv")
    return pl.read_parquet(log, columns=[ROUTE, TOPIC, "item_id"]).join(labels, on="item_id", maintain_order="left")


def drawn_evenly(truth: pl.DataFrame, n: int, rng: np.random.Generator, by: str = ROUTE) -> pl.DataFrame:
    """Return n responses of each value of a column, or all, with their weights."""
    parts = []
    for part in truth.partition_by(by, maintain_order=True):
        k = min(n, len(part))
        rows = part[np.sort(rng.choice(len(part), k, replace=False))]
        parts.append(rows.select(by, "item_id", "label", weight=pl.lit(len(part) / k)))
    return pl.concat(parts).select(by, "item_id", "weight", "label")


def verdicts(judged: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Return what a judge of these rates says of responses with their true label."""
    says_correct = np.where(judged["label"].to_numpy(), SENSITIVITY, 1 - SPECIFICITY)
    label = pl.Series(rng.random(len(judged)) < says_correct)
    return judged.with_columns(label=label, judge=pl.lit("gpt-x"), witness=pl.lit("verdict"))


def accuracies(truth: pl.DataFrame) -> dict[str, float]:
    return dict(truth.group_by(ROUTE).agg(pl.col("label").mean()).iter_rows())


def test_three_commands(log: Path, truth: pl.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    people, judged = tmp_path / "people.csv", tmp_path / "verdicts.csv"
    assert run(capsys, "sample", log, "--by", ROUTE, "--budget", 100, "--output", people)[0] == 0
    sample = (
        pl.read_csv(people).drop("label").join(truth.select("item_id", "label"), on="item_id", maintain_order="left")
    )
    assert len(sample) == 100
    sample.write_csv(people)
    rng = np.random.default_rng(1)
    verdicts(drawn_evenly(truth, 96, rng), rng).write_csv(judged)
    status, text, _ = run(capsys, "monitor", log, "--labels", people, "--judged", judged, "--by", ROUTE, "--json")
    result, expected = json.loads(text), accuracies(truth)
    assert status == 0
    assert {row[ROUTE] for row in result["slices"]} == {*expected}
    for row in result["slices"]:
        assert row["use_lower"] <= expected[row[ROUTE]] <= row["use_upper"]
        assert row["estimated_accuracy"] is None
    assert np.mean([row["use_upper"] - row["use_lower"] for row in result["slices"]]) < 0.35


def test_the_intervals_hold(log: Path, truth: pl.DataFrame) -> None:
    """In 100 intervals of 90 %, drawn again from the same responses: at least 88 hold, and not all."""
    features, expected = es.read_features(log), accuracies(truth)
    holds, errors = [], []
    for seed in range(N_DRAWS):
        rng = np.random.default_rng(seed)
        people = drawn_evenly(truth, 20, rng)
        judged = verdicts(drawn_evenly(truth, 96, rng), rng)
        result = es.monitor(None, features, [ROUTE], labels=people, judged=judged)
        for row in result.slices.iter_rows(named=True):
            holds.append(row["use_lower"] <= expected[row[ROUTE]] <= row["use_upper"])
            errors.append(row["use_accuracy"] - expected[row[ROUTE]])
    assert len(holds) == 5 * N_DRAWS
    assert 0.88 <= np.mean(holds) < 1
    assert abs(np.mean(errors)) < 0.02


def test_labels_and_verdicts_drawn_by_topic(log: Path, truth: pl.DataFrame) -> None:
    """5 labels and 25 verdicts of each topic give all five routes an accuracy; of 5 intervals of 90 %, one may miss."""
    rng = np.random.default_rng(4)
    people = drawn_evenly(truth, 5, rng, TOPIC)
    judged = verdicts(drawn_evenly(truth, 25, rng, TOPIC), rng)
    result = es.monitor(None, es.read_features(log), [ROUTE], labels=people, judged=judged)
    expected = accuracies(truth)
    assert result.provenance["labels_drawn_by"] == [TOPIC]
    rows = result.slices.to_dicts()
    assert {row["rests_on"] for row in rows} == {"labels"}
    assert sum(row["use_lower"] <= expected[row[ROUTE]] <= row["use_upper"] for row in rows) >= 4
