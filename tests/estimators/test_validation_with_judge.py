"""`fit` with the verdicts of a judge: what counts, the true accuracies by hand, what is printed and kept."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from calling import run
from tiny import TINY

import entropy_sentinel as es
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.estimators.saved import load_estimator

KEY = ["benchmark", "item_id"]


@pytest.fixture(scope="module")
def features() -> pl.DataFrame:
    """Forty responses of each of four domains, with the truth as `right`."""
    truth = es.read_labels(TINY.labels)
    key = [name for name in KEY if name in truth.columns]
    rows = es.read_features(TINY.traces).join(truth.select(*key, right="label"), on=key)
    return rows.with_columns(place=pl.int_range(pl.len()).over("benchmark"))


def people(features: pl.DataFrame, n: int) -> pl.DataFrame:
    """Labels of n responses of each domain, from place 10 on."""
    return features.filter(pl.col("place").is_between(10, 9 + n)).select(*KEY, label="right")


def verdicts(features: pl.DataFrame, wrong: int = 0) -> pl.DataFrame:
    """The verdicts of a judge that is wrong about the last responses of each domain."""
    says = pl.col("right") ^ (pl.col("place") >= 40 - wrong)
    return features.select(*KEY, label=says, judge=pl.lit("judge"))


def test_true_accuracies_of_a_perfect_judge_by_hand(features: pl.DataFrame) -> None:
    """They are the share of its verdicts, and only the forty responses of a domain are a sample.

    The estimate is the accuracy of the labels of the other domains: the same for each response, so that the error has
    the variance of the verdicts.
    """
    fitted = es.fit(features, people(features, 6), "group-accuracy", judged=verdicts(features))
    validation = fitted.validation
    assert validation is not None
    assert fitted.about["n_training_rows"] == 24
    for domain in validation.domains:
        share = features.filter(benchmark=domain.domain)["right"].mean()
        others = people(features, 6).filter(pl.col("benchmark") != domain.domain)["label"].mean()
        assert (domain.n, domain.n_judged) == (6, 40)
        assert domain.true == pytest.approx(share)
        assert domain.estimated == pytest.approx(others)
        assert domain.noise == pytest.approx(share * (1 - share) / 39)
    judge = validation.judge
    assert judge is not None
    assert (judge.n_labelled, judge.n_judged, judge.n_domains, judge.power) == (24, 160, 4, 1)
    assert (judge.sensitivity.share, judge.specificity.share) == (1, 1)
    # Labels are on 24 of 160 responses.
    assert judge.worth == pytest.approx(160 / 24)


def test_without_enough_verdicts_or_labels_a_domain_does_not_count(features: pl.DataFrame) -> None:
    few = es.fit(features, people(features, 4), "group-accuracy", judged=verdicts(features)).validation
    assert few is not None
    assert few.n_counted == 0
    assert few.judge is not None
    assert "No domain rests on it" in few.judge.line()
    # 19 verdicts of the first domain are too few; its six labels alone, too.
    names = features["benchmark"].unique().sort().to_list()
    some = verdicts(features.filter((pl.col("benchmark") != names[0]) | (pl.col("place") < 19)))
    part = es.fit(features, people(features, 6), "group-accuracy", judged=some).validation
    assert part is not None
    assert [domain.estimated is None for domain in part.domains] == [True, False, False, False]
    # With twenty labels, it counts by these.
    many = es.fit(features, people(features, 20), "group-accuracy", judged=some).validation
    assert many is not None
    assert [domain.noise is None for domain in many.domains] == [True, False, False, False]
    assert many.domains[0].true == people(features, 20).filter(benchmark=names[0])["label"].mean()


def test_verdicts_without_a_common_label_are_refused(features: pl.DataFrame) -> None:
    judged = verdicts(features.filter(pl.col("place") < 10))
    with pytest.raises(InputError, match="judged: no response has both a label and a verdict"):
        es.fit(features, people(features, 6), "group-accuracy", judged=judged)


def test_verdicts_with_weights_represent_their_domain(features: pl.DataFrame) -> None:
    """Correct responses count three times; verdicts without a weight only correct the judge, so they change nothing."""
    weights = pl.when("right").then(3.0).otherwise(1.0)
    judged = verdicts(features).join(features.select(*KEY, weight=weights), on=KEY)
    found = es.fit(features, people(features, 6), "group-accuracy", judged=judged).validation
    assert found is not None
    for domain in found.domains:
        right = features.filter(benchmark=domain.domain)["right"]
        assert domain.true == pytest.approx(np.average(right, weights=np.where(right, 3, 1)))


def test_the_command_says_what_the_verdict_rests_on_and_keeps_it(
    tmp_path: Path, capsys: pytest.CaptureFixture, features: pl.DataFrame
) -> None:
    people(features, 8).write_csv(tmp_path / "people.csv")
    verdicts(features, wrong=24).write_csv(tmp_path / "verdicts.csv")
    kept = tmp_path / "mine.estimator"
    options = ["-l", tmp_path / "people.csv", "-e", "atc-max", "-o", kept]
    status, message, _ = run(capsys, "fit", TINY.traces, *options, "--judged", tmp_path / "verdicts.csv")
    assert status == 0
    # Of each domain's labels, at the places 10 to 17, the judge is wrong about the last two.
    both = features.filter(pl.col("place").is_between(10, 17))
    correct = int(both["right"].sum())
    caught = int(both.filter("right", pl.col("place") < 16).height)
    assert f"says correct for {caught / correct:.2f}" in message
    assert f"of {correct} correct responses" in message
    assert "160 verdicts in all" in message
    assert "true accuracies of all of them rest on a judge" in message
    saved = load_estimator(kept)
    assert saved.validation is not None
    assert saved.validation.judge is not None
    assert [domain.noise is None for domain in saved.validation.domains] == [False] * 4
    assert kept.read_bytes().startswith(b"entropy-sentinel estimator 6\n")
    status, message, _ = run(capsys, "estimate", kept, TINY.traces, "--by", "benchmark")
    assert status == 0
    assert run(capsys, "fit", TINY.traces, *options)[0] == 0
    assert kept.read_bytes().startswith(b"entropy-sentinel estimator 5\n")
