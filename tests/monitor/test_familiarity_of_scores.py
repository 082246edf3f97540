"""The verdict `usable` covers a response only if its slice was judged to be like a labelled domain."""

import csv
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from calling import run
from fake_api import fake_api
from production import change_metadata, traffic, written
from rows import rows

import entropy_sentinel as es
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.estimators.verdict import USABLE
from entropy_sentinel.monitor.showing.open_telemetry import make_events

OF_MATHS, OF_TRIVIA = list(range(40)), list(range(100, 140))


def words(n: int, vocabulary: list[int], seed: int) -> pl.Series:
    rng = np.random.default_rng(seed)
    chosen = [sorted(rng.choice(vocabulary, 12, replace=False).tolist()) for _ in range(n)]
    return pl.Series(chosen, dtype=pl.List(pl.UInt8))


@pytest.fixture(scope="module")
def estimator() -> FittedEstimator:
    """An estimator with the verdict `usable`, of 20 domains of mathematics."""
    features = traffic(800, seed=99).with_columns(
        benchmark=pl.Series([f"domain-{number % 20}" for number in range(800)]),
        buckets=words(800, OF_MATHS, 1),
        buckets_of=pl.lit("tokens"),
    )
    fitted = es.fit(features, features.select("item_id", label=pl.Series(rows(800, 99)[1])), "log-3d")
    assert fitted.validation is not None
    assert fitted.validation.verdict == USABLE
    return fitted


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    """A log of one file: 40 answers of mathematics, 40 of trivia, 4 of a new route."""
    routes = pl.Series("route", ["maths"] * 40 + ["trivia"] * 40 + ["new"] * 4)
    mixed = pl.concat([words(40, OF_MATHS, 2), words(40, OF_TRIVIA, 3), words(4, OF_MATHS, 4)])
    return traffic(84, seed=3).with_columns(routes, buckets=mixed, buckets_of=pl.lit("tokens"))


def by_route(scores: pl.DataFrame) -> dict[str, tuple[str, bool | None, str | None]]:
    columns = ("route", "verdict", "unfamiliar", "familiarity_reason")
    return {route: (verdict, flag, why) for route, verdict, flag, why in scores.select(columns).unique().rows()}


def test_without_slices_nothing_is_judged(estimator: FittedEstimator, log: pl.DataFrame) -> None:
    scores = es.score(estimator, log)
    assert scores.select("verdict", "unfamiliar", "familiarity_reason").unique().rows() == [
        ("not judged", None, "no-slices")
    ]
    assert scores["p_correct"].null_count() == 0
    (row,) = es.score(estimator, log.head(1)).select("verdict", "unfamiliar").rows()
    assert row == ("not judged", None)


def test_each_slice_is_judged_if_it_is_large_enough(estimator: FittedEstimator, log: pl.DataFrame) -> None:
    assert by_route(es.score(estimator, log, by="route")) == {
        "maths": ("usable", False, None),
        "trivia": ("unfamiliar", True, None),
        "new": ("not judged", None, "few-responses"),
    }


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"buckets_of": pl.lit("words")}, "other-words"),
        ({"buckets_of": pl.lit(None, pl.String), "buckets": pl.lit(None, pl.List(pl.UInt8))}, "no-words"),
        ({"reason": pl.lit("empty response")}, "few-responses"),
    ],
)
def test_what_cannot_be_judged_has_the_reason(columns, reason, estimator: FittedEstimator, log: pl.DataFrame) -> None:
    scores = es.score(estimator, log.filter(route="maths").with_columns(**columns), by=["route"])
    assert scores.select("unfamiliar", "familiarity_reason").unique().rows() == [(None, reason)]
    plain = change_metadata(estimator, familiarity=None)
    assert set(es.score(plain, log, by="route")["familiarity_reason"]) == {"estimator-without-words"}
    assert USABLE not in set(es.score(plain, log, by="route")["verdict"])


def test_every_output_says_what_was_judged(
    estimator: FittedEstimator, log: pl.DataFrame, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    es.save(estimator, tmp_path / "mine.estimator")
    path = written(log, tmp_path / "log.parquet")
    target = tmp_path / "scores.csv"
    call = ["score", tmp_path / "mine.estimator", path, "-o", target]
    _, _, errors = run(capsys, *call)
    assert "not judged: familiarity: it is judged for slices; name their column" in errors
    assert {row["unfamiliar"] for row in csv.DictReader(target.read_text().splitlines())} == {""}
    _, _, errors = run(capsys, *call, "--by", "route")
    assert "unfamiliar: trivia: unlike every labelled domain" in errors
    assert "not judged: familiarity of new: the slice has fewer than 5 responses" in errors
    labels = {row["route"]: row["unfamiliar"] for row in csv.DictReader(target.read_text().splitlines())}
    assert labels == {"maths": "false", "trivia": "true", "new": ""}
    sent = [event["attributes"] for event in make_events(es.score(estimator, log, by="route"))]
    assert [sent[place]["gen_ai.evaluation.score.label"] for place in (0, 40, 80)] == [
        "usable",
        "unfamiliar",
        "not judged",
    ]
    assert "fewer than 5" in sent[80]["gen_ai.evaluation.explanation"]
    assert "gen_ai.evaluation.explanation" not in sent[0]
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-1")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk-lf-1")
    with fake_api(lambda *_: (200, {}, {}, 0.0)) as server:
        monkeypatch.setenv("LANGFUSE_BASE_URL", server.base_url.removesuffix("/v1"))
        run(capsys, *call, "--langfuse", "trace")
    assert len(server.requests) == 84
    for body in server.requests:
        assert body["comment"].startswith("estimated by entropy-sentinel; not judged: ")
        assert USABLE not in body["comment"]
