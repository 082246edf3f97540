"""A judge's verdicts as a second kind of label in the monitor."""

import numpy as np
import polars as pl
import pytest
from production import fitted, traffic

import entropy_sentinel as es
from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.monitor.showing.terminal import parts
from entropy_sentinel.monitor.summing.sums import predictions
from entropy_sentinel.statistics.monitoring.judged import Verdicts, judged_mean, powers_of


@pytest.fixture(scope="module")
def features() -> pl.DataFrame:
    return traffic(900)


@pytest.fixture(scope="module")
def truth(features: pl.DataFrame) -> pl.DataFrame:
    """Which responses are right, and what a judge says, who errs in a tenth."""
    rng = np.random.default_rng(2)
    right = rng.random(len(features)) < 0.6
    verdict = right ^ (rng.random(len(features)) < 0.1)
    return features.select("item_id", "route").with_columns(label=pl.Series(right), verdict=pl.Series(verdict))


def labels(truth: pl.DataFrame, every: int, column: str = "label") -> pl.DataFrame:
    return truth[::every].select("item_id", label=column)


def test_labels_correct_the_verdicts(features: pl.DataFrame, truth: pl.DataFrame) -> None:
    """The whole log is one slice; every tenth response has a label, every second a verdict."""
    estimator = fitted()
    options = {"labels": labels(truth, 10), "labels_at_random": True}
    found = es.monitor(estimator, features, **options, judged=labels(truth, 2, "verdict")).slices.row(0, named=True)
    p = predictions(estimator.estimator, features)
    some, judged = truth[::10], truth[::2]
    y, z = (some[name].cast(pl.Float64).to_numpy() for name in ("label", "verdict"))
    powers = powers_of(y, z, p[::10], np.zeros(len(y)))
    verdicts = Verdicts(judged["verdict"].cast(pl.Float64).to_numpy(), p[::2], None)
    expected = judged_mean(y, z, p[::10], verdicts, p, 0.9, powers)
    names = ("improved_accuracy", "improved_lower", "improved_upper", "labels_worth")
    wanted = (expected.estimate, expected.lower, expected.upper, expected.n_effective)
    assert tuple(found[name] for name in names) == pytest.approx(wanted, abs=1e-12)
    assert (found["n_labelled"], found["n_judged"]) == (90, 450)
    alone = es.monitor(estimator, features, **options).slices.row(0, named=True)
    assert found["labels_worth"] > 1.3 * alone["labels_worth"]


def test_how_often_the_judge_agrees(features: pl.DataFrame, truth: pl.DataFrame) -> None:
    options = {"labels": labels(truth, 10), "labels_at_random": True}
    result = es.monitor(fitted(), features, by=["route"], **options, judged=labels(truth, 1, "verdict"))
    some = truth[::10]
    for name, right in (("sensitivity", True), ("specificity", False)):
        same = some.filter(pl.col("label") == right)
        rate = result.provenance["judge"][name]
        assert (rate["n"], rate["share"]) == (len(same), pytest.approx((same["verdict"] == right).mean()))
        assert rate["lower"] < rate["share"] < rate["upper"]
    (line,) = [part for part in parts(result) if str(part).startswith("judge: ")]
    assert "agrees with the labels on of right answers" not in line
    assert "right answers" in line


def test_verdicts_without_labels_or_weights_are_refused(features: pl.DataFrame, truth: pl.DataFrame) -> None:
    with pytest.raises(ConfigError, match="judged: needs --labels of some of the same responses"):
        es.monitor(fitted(), features, judged=labels(truth, 2, "verdict"))
    weighted = labels(truth, 10).with_columns(weight=pl.lit(10.0))
    with pytest.raises(InputError, match="judged: 450 of 450 have no 'weight'"):
        es.monitor(fitted(), features, labels=weighted, judged=labels(truth, 2, "verdict"))
    first = labels(truth, 2, "verdict")
    twice = pl.concat([first, first[:1].with_columns(~pl.col("label"))])
    with pytest.raises(InputError, match=r"judged: item_id '0-0' has different labels in rows 1 \(.*, 451 \("):
        es.monitor(fitted(), features, labels=weighted, judged=twice)


def test_too_few_common_labels_change_nothing(features: pl.DataFrame, truth: pl.DataFrame) -> None:
    options = {"labels": labels(truth, 150), "labels_at_random": True}
    alone = es.monitor(fitted(), features, **options).slices.drop("n_judged", "n_asked")
    result = es.monitor(fitted(), features, **options, judged=labels(truth, 2, "verdict"))
    assert result.slices.drop("n_judged", "n_asked").equals(alone)
    assert any("too few labels to use its verdicts" in str(part) for part in parts(result))
