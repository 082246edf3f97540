"""Responses that depend on each other: repeated questions, and the clusters of a column."""

import json
import sqlite3
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from production import BEGIN, fitted, line, log_file, saved, traffic, written

import entropy_sentinel as es
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.monitor.monitor_run import collect
from entropy_sentinel.monitor.reading.dependence import find_conversation_column
from entropy_sentinel.monitor.summing import cluster_sums

OPTIONS: dict[str, Any] = {"by": ["route"], "window": "day"}


def repeated(n: int, times: int, days: int = 4) -> pl.DataFrame:
    """Traffic of which each question is asked so many times on its day, by one route, with the same features."""
    questions = traffic(n, days=days).with_columns(question=pl.format("question {}", pl.int_range(pl.len())))
    parts = [questions.with_columns(item_id=pl.format("{}-{}", "item_id", pl.lit(part))) for part in range(times)]
    return pl.concat(parts).sort("time", maintain_order=True)


def test_repeated_questions_count_once() -> None:
    once, often = repeated(120, 1), repeated(120, 4)
    expected, found = (es.monitor(fitted(), rows, **OPTIONS) for rows in (once, often))
    for rows, same in ((found.slices, expected.slices), (found.windows, expected.windows)):
        assert rows["n_estimated"].to_list() == [4 * n for n in same["n_estimated"]]
        for name in ("n_effective", "lower", "upper", "conformal_lower"):
            assert rows[name].to_list() == pytest.approx(same[name].to_list()), name
    assert once.height == expected.slices["n_effective"].sum()


def test_in_parts_in_several_files_and_night_by_night_it_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each question is in several files of its day, and some questions are asked again on a later day."""
    monkeypatch.setattr(cluster_sums, "MOST_CLUSTERS", 20)
    rows = repeated(150, 4).with_columns(pl.col("question").str.replace("question 1.*", "the usual one"))
    estimator, rng = saved(tmp_path), np.random.default_rng(0)
    part = rng.integers(0, 3, len(rows))
    paths = [written(rows.filter(part == number), tmp_path / f"{number}.parquet") for number in range(3)]
    whole = es.monitor(estimator, written(rows, tmp_path / "whole.parquet"), **OPTIONS)
    together = es.monitor(estimator, paths, **OPTIONS)
    for path in paths:
        nightly = es.monitor(estimator, path, state=tmp_path / "state", **OPTIONS)
    for number, path in enumerate(paths):
        collect(estimator, path, tmp_path / f"part-{number}", **OPTIONS)
    parts = es.monitor(estimator, [tmp_path / f"part-{number}" for number in range(3)], **OPTIONS)
    for result in (together, nightly, parts):
        for name in ("slices", "windows"):
            names = [*result.by, *(["window"] if name == "windows" else [])]
            found, expected = (getattr(one, name).sort(names) for one in (result, whole))
            assert found["n_effective"].to_list() == pytest.approx(expected["n_effective"].to_list(), rel=1e-9)
    assert (whole.slices["n_effective"] < whole.slices["n_estimated"] / 4 * 1.6).all()


def test_a_question_that_recurs_on_several_days_counts_once_in_the_whole_time() -> None:
    rows = repeated(120, 1).with_columns(route=pl.lit("a"), question=pl.format("{}", pl.int_range(pl.len()) % 30))
    result = es.monitor(fitted(), rows, **OPTIONS)
    assert result.slices["n_effective"].to_list() == pytest.approx([30])
    assert result.windows["n_effective"].to_list() == pytest.approx([30] * 4)


def test_requests_of_a_log_are_recognised(tmp_path: Path) -> None:
    """Two requests whose last message is the same are different questions; a table has its requests in a column."""

    def request(number: int) -> list[dict[str, str]]:
        return [{"role": "user", "content": f"question {number // 4}"}, {"role": "user", "content": "yes"}]

    estimator = saved(tmp_path)
    lines = [line(number, messages=request(number)) for number in range(60)]
    for name, records in (("records", lines), ("prompts", [line(n, prompt=f"{n // 4}") for n in range(60)])):
        result = es.monitor(estimator, log_file(tmp_path / f"{name}.jsonl", list(records)))
        assert result.slices["n_effective"].to_list() == pytest.approx([15]), name
    flat = pl.DataFrame([{**line(n), "prompt": f"{n // 4}"} for n in range(60)])
    flat.write_parquet(tmp_path / "flat.parquet")
    assert es.monitor(estimator, tmp_path / "flat.parquet").slices["n_effective"].to_list() == pytest.approx([15])


def test_samples_of_an_item_are_one_question() -> None:
    rows = traffic(120).with_columns(item_id=pl.format("{}", pl.int_range(pl.len()) // 4))
    rows = rows.with_columns(sample=(pl.int_range(pl.len()) % 4).cast(pl.UInt16))
    assert es.monitor(fitted(), rows).slices["n_effective"].to_list() == pytest.approx([30])


def test_a_column_of_clusters(tmp_path: Path) -> None:
    """Conversations of five equal turns; ten responses without a value are independent."""
    rows = repeated(60, 5).drop("question")
    rows = rows.with_columns(talk=pl.col("item_id").str.replace(r"-\d$", ""))
    alone = traffic(10, seed=7).with_columns(talk=pl.lit(None, pl.String))
    result = es.monitor(fitted(), pl.concat([rows, alone], how="diagonal"), cluster="talk", alert_on=())
    n = result.slices["n_effective"][0]
    assert 55 < n < 85
    assert result.problems.notes["no-cluster"] == 10
    estimates = es.estimate(fitted(), rows, by=["route"], cluster="talk")
    assert (estimates["n_effective"] < estimates["n_estimated"] / 3).all()
    with pytest.raises(InputError, match="'talks' does not exist; did you mean talk"):
        es.monitor(fitted(), rows, cluster="talks")


def test_the_change_allows_for_clusters() -> None:
    rows = repeated(200, 5)
    options = {"reference": "2026-11-02..2026-11-03"}
    once, often = (es.monitor(fitted(), frame, **options).slices["change_p"][0] for frame in (repeated(200, 1), rows))
    without = es.monitor(fitted(), rows.drop("question"), **options).slices["change_p"][0]
    assert often == pytest.approx(once, rel=0.25, abs=0.05)
    assert without < once


def test_what_the_log_cannot_tell_is_said_once(tmp_path: Path) -> None:
    rows = traffic(300, days=10)
    options = {**OPTIONS, "reference": "2026-11-02..2026-11-08", "alert_on": ["drop"]}
    estimator = saved(tmp_path)
    paths = [written(rows[part::2], tmp_path / f"{part}.parquet") for part in range(2)]
    notes = es.monitor(estimator, paths, **options).problems.notes
    assert notes["no-request"] == 300
    assert "no-request" not in es.monitor(estimator, paths, **OPTIONS).problems.notes


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        *((name, True) for name in ("conversation_id", "metadata.conversationId", "thread", "session_id", "chat-id")),
        *((name, False) for name in ("user", "metadata.threads", "sessions_before", "id", "item_id")),
    ],
)
def test_a_column_of_conversations_is_proposed(name: str, is_one: bool) -> None:
    assert (find_conversation_column(["route", name]) == name) == is_one
    rows = traffic(60).with_columns(pl.col("item_id").alias(name)) if name not in ("user", "item_id") else traffic(60)
    problems = es.monitor(fitted(), rows).problems
    assert [problem.subject for problem in problems if problem.kind.slug == "conversations"] == [name] * is_one


def test_a_column_of_a_log_s_metadata_is_proposed(tmp_path: Path) -> None:
    records = [line(number, metadata={"conversation_id": f"c{number // 3}"}) for number in range(30)]
    problems = es.monitor(saved(tmp_path), log_file(tmp_path / "log.jsonl", list(records))).problems
    assert any('cluster="metadata.conversation_id"' in line for line in problems.lines())
    (tmp_path / "broken.jsonl").write_text("no record\n" + (tmp_path / "log.jsonl").read_text())
    assert es.monitor(saved(tmp_path), tmp_path / "broken.jsonl").slices["n_responses"].sum() == 30


def test_a_state_of_an_earlier_version_is_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It lacks the clusters: a file that is given again is read again, the others are named."""
    rows, estimator, state = repeated(120, 4), saved(tmp_path), tmp_path / "state"
    half = pl.col("time") < BEGIN + timedelta(days=2)
    paths = [written(rows.filter(one), tmp_path / f"{name}.parquet") for name, one in (("a", half), ("b", ~half))]
    expected = es.monitor(estimator, paths, state=state, **OPTIONS)
    with sqlite3.connect(state) as file:
        for key, content in file.execute("SELECT key, content FROM about").fetchall():
            about = json.loads(content)
            if key:
                del about["n_clustered"], about["checksums"]["clusters"]
            content = json.dumps(about).encode()
            digest = sha256(f"{key}\0".encode() + content).digest()
            file.execute("UPDATE about SET content = ?, sha256 = ? WHERE key = ?", (content, digest, key))
        file.execute("DELETE FROM frames WHERE part = 'clusters'")
    found = es.monitor(estimator, paths[:1], state=state, **OPTIONS)
    assert "repeated questions was not recorded before" in caplog.text
    (note,) = [problem for problem in found.problems if problem.kind.slug == "repeats-unknown"]
    assert note.places == [str(paths[1])]
    again = es.monitor(estimator, paths, state=state, **OPTIONS)
    assert again.slices["n_effective"].to_list() == pytest.approx(expected.slices["n_effective"].to_list())


def test_a_drop_of_few_questions_is_no_evidence() -> None:
    """Each night's ten questions are asked eight times: such nights differ by chance, and no drop is told."""
    pool = traffic(3000, seed=3)
    high = pl.Series(fitted("log-3d").estimator.values(pool.select(FEATURES))[:, 0])
    order = pool[(high - high.mean()).abs().arg_sort()]
    nights = []
    for night in range(24):
        some = order.sample(10, seed=night)
        when = pl.lit(BEGIN + timedelta(days=night, hours=1))
        some = some.with_columns(time=when, question=pl.format("{}-{}", pl.lit(night), pl.int_range(pl.len())))
        nights += [some.with_columns(item_id=pl.format("{}-{}", "question", pl.lit(copy))) for copy in range(8)]
    rows = pl.concat(nights)
    options = {"window": "day", "reference": "2026-11-02..2026-11-08", "alert_on": ["drop"], "false_alarms": "2/week"}
    estimator = fitted("log-3d")
    assert es.monitor(estimator, rows.drop("question"), **options).drops
    assert not es.monitor(estimator, rows, **options).drops


def test_nights_that_are_alike_because_their_questions_recur_are_no_drop() -> None:
    """Fifteen questions that are asked for four nights are one piece of evidence, not four."""
    pool = traffic(4000, seed=3)
    order = pool[pl.Series(fitted("log-3d").estimator.values(pool.select(FEATURES))[:, 0]).arg_sort()]
    rng = np.random.default_rng(4)
    nights, asked = [], [rng.integers(0, 4000, 15) for _ in range(3)]
    for night in range(45):
        asked = [*asked, rng.integers(0, 4000, 15)][-4:]
        rows = order[np.concatenate(asked).tolist()]
        when = pl.lit(BEGIN + timedelta(days=night, hours=1))
        questions = pl.Series([f"{night - 3 + age}-{number}" for age in range(4) for number in range(15)])
        nights.append(
            rows.with_columns(question=questions, time=when, item_id=pl.format("{}-{}", pl.lit(night), "item_id"))
        )
    rows = pl.concat(nights).unique("item_id", maintain_order=True)
    options = {"window": "day", "reference": "2026-11-02..2026-11-08", "alert_on": ["drop"], "false_alarms": "5/week"}
    estimator = fitted("log-3d")
    assert es.monitor(estimator, rows.drop("question"), **options).drops
    assert not es.monitor(estimator, rows, **options).drops


def test_labels_of_repeated_questions_count_once() -> None:
    """Ten questions of which all four answers are labelled; the labels of a question are the same."""
    often = repeated(120, 4).with_columns(route=pl.lit("a"))
    once = often.filter(pl.col("item_id").str.ends_with("-0"))
    right = pl.int_range(pl.len()) % 3 != 0
    few = once[::12].select("item_id", "question", label=right, weight=pl.lit(12.0))
    many = often.join(few.select("question", "label", "weight"), on="question").select("item_id", "label", "weight")
    expected = es.monitor(fitted(), once, labels=few.drop("question")).slices
    found = es.monitor(fitted(), often, labels=many).slices
    assert found["n_labelled"].to_list() == [40]
    assert found["labels_worth"][0] == pytest.approx(expected["labels_worth"][0], rel=0.35)
    independent = es.monitor(fitted(), often.drop("question"), labels=many).slices
    assert independent["labels_worth"][0] > 3 * found["labels_worth"][0]


def test_recurrences_of_a_log_are_those_of_its_questions() -> None:
    """Ten questions a night, each asked on three nights in a row; their sums by hand."""
    pool = traffic(600, seed=5)
    nights = []
    for night in range(12):
        numbers = [number for number in range(10 * (night - 2), 10 * (night + 1)) if number >= 0]
        ids = pl.Series([f"{night}-{number}" for number in numbers])
        asked = pl.Series([f"question {number}" for number in numbers])
        when = pl.lit(BEGIN + timedelta(days=night, hours=1))
        nights.append(pool[numbers].with_columns(item_id=ids, question=asked, time=when))
    found: list[pl.DataFrame] = []
    method = cluster_sums.SliceClusters.measure_recurrences

    def kept(self: Any, grains: pl.DataFrame) -> pl.DataFrame:
        found.append(method(self, grains))
        return found[-1]

    options = {"window": "day", "reference": "2026-11-02..2026-11-05", "alert_on": ["drop"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster_sums.SliceClusters, "measure_recurrences", kept)
        es.monitor(fitted("log-3d"), pl.concat(nights), **options)
    estimator = fitted("log-3d").estimator
    deviations = np.zeros((12, 120))
    for night, rows in enumerate(nights):
        values = estimator.values(rows)[:, 0]
        places = rows["question"].str.extract(r"(\d+)").cast(pl.Int64).to_numpy()
        deviations[night, places] = values - values.mean()
    products = deviations @ deviations.T
    every = [products[night, :night].sum() for night in range(12)]
    near = [products[night, max(night - 7, 0) : night].sum() for night in range(12)]
    assert found[0]["squares"].to_list() == pytest.approx(np.diag(products).tolist())
    assert found[0]["near"].to_list() == pytest.approx(near)
    assert found[0]["every"].to_list() == pytest.approx(every)
