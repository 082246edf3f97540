"""A judge's verdicts as a second kind of label in the monitor."""

import numpy as np
import polars as pl
import pytest
from production import fitted, traffic

import entropy_sentinel as es
from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.estimators.training_predictions import predict_responses
from entropy_sentinel.monitor.showing.monitor_terminal import make_parts
from entropy_sentinel.statistics.monitoring.witnessed_mean import LabelledSample, WitnessValues, witnessed_mean
from entropy_sentinel.statistics.witness_powers import fit_witness_powers


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
    p = predict_responses(estimator.estimator, features)
    y, z = (truth[name].cast(pl.Float64).to_numpy() for name in ("label", "verdict"))
    powers = fit_witness_powers(y[::10], np.column_stack([z, p])[::10], np.zeros(90), [True, False])
    seen = (np.arange(900) % 2 == 0) * 1.0
    judge = WitnessValues(np.where(seen, z, np.nan), seen)
    expected = witnessed_mean(LabelledSample(y[::10], np.arange(0, 900, 10)), [judge], p, powers.by_label, 0.9)
    names = ("improved_accuracy", "improved_lower", "improved_upper", "labels_worth")
    wanted = (expected.estimate, expected.lower, expected.upper, expected.n_effective)
    assert tuple(found[name] for name in names) == pytest.approx(wanted, abs=1e-12)
    assert (found["n_labelled"], found["n_judged"]) == (90, 450)
    alone = es.monitor(estimator, features, **options).slices.row(0, named=True)
    assert found["labels_worth"] > 1.3 * alone["labels_worth"]


def test_two_witnesses_on_samples_of_their_own(features: pl.DataFrame, truth: pl.DataFrame) -> None:
    """A judge of every second response and a second opinion of every third; every sixth has a label."""
    options = {"labels": labels(truth, 6), "labels_at_random": True}
    judge = labels(truth, 2, "verdict").with_columns(judge=pl.lit("j"))
    coin = pl.Series(np.random.default_rng(7).random(300) < 0.5)
    opinion = labels(truth, 3).with_columns(label=coin, judge=pl.lit("o"), witness=pl.lit("second-opinion"))
    result = es.monitor(fitted(), features, by=["route"], **options, judged=[judge, opinion])
    one = es.monitor(fitted(), features, by=["route"], **options, judged=judge)
    of_judge, of_opinion = result.provenance["judge"]
    assert (of_judge["name"], of_judge["n_labelled"], of_judge["n_seen"]) == ("judge j", 150, 450)
    assert (of_opinion["name"], of_opinion["n_labelled"], of_opinion["n_seen"]) == ("second opinion of o", 150, 300)
    assert of_judge["power"] > 0.7
    # A coin has hardly any power, and does no harm.
    assert of_opinion["power"] < 0.1
    widths = [each.slices["improved_upper"] - each.slices["improved_lower"] for each in (result, one)]
    assert widths[0].mean() == pytest.approx(widths[1].mean(), rel=0.02)
    index = pl.int_range(900, eager=True)
    seen = features.filter((index % 2 == 0) | (index % 3 == 0))["route"]
    for row in result.slices.iter_rows(named=True):
        assert row["n_judged"] == (seen == row["route"]).sum()
        worth = row["labels_worth"] / row["n_labelled"]
        assert worth > 1.3 or row["n_labelled"] < 20
    lines = [str(part) for part in make_parts(result)]
    assert (
        sum(line.startswith(("judge j (450 responses): it agrees", "second opinion of o (300")) for line in lines) == 2
    )
    worth = result.slices["labels_worth"].sum() / 150
    assert any(line.endswith(f"one label counts as {worth:.1f}") for line in lines)


def test_a_label_that_a_witness_does_not_know_still_counts(features: pl.DataFrame, truth: pl.DataFrame) -> None:
    """The judge has no verdict on a third of the wrong ones; of those that it judges, .09 more are right."""
    silent = labels(truth, 1, "verdict").filter(truth["label"] | (pl.int_range(900, eager=True) % 3 > 0))
    options = {"labels": labels(truth, 10), "labels_at_random": True}
    found = es.monitor(fitted(), features, **options, judged=silent).slices.row(0, named=True)
    alone = es.monitor(fitted(), features, **options).slices.row(0, named=True)
    assert found["n_labelled"] == 90
    assert found["improved_accuracy"] == pytest.approx(alone["improved_accuracy"], abs=0.04)


def test_how_often_the_judge_agrees(features: pl.DataFrame, truth: pl.DataFrame) -> None:
    options = {"labels": labels(truth, 10), "labels_at_random": True}
    result = es.monitor(fitted(), features, by=["route"], **options, judged=labels(truth, 1, "verdict"))
    some = truth[::10]
    (judge,) = result.provenance["judge"]
    for name, right in (("sensitivity", True), ("specificity", False)):
        same = some.filter(pl.col("label") == right)
        rate = judge[name]
        assert (rate["n"], rate["share"]) == (len(same), pytest.approx((same["verdict"] == right).mean()))
        assert rate["lower"] < rate["share"] < rate["upper"]
    (line,) = [part for part in make_parts(result) if str(part).startswith("judge (900 responses): ")]
    assert "agrees with the labels on of right answers" not in line
    assert "right answers" in line


def test_probabilities_have_an_auroc_and_a_calibration_error(features: pl.DataFrame, truth: pl.DataFrame) -> None:
    """By hand: of pairs of a right and a wrong label, the share in which the right one has the larger probability."""
    p = pl.when("verdict").then(pl.lit(0.9)).otherwise(pl.lit(0.3))
    judged = truth[::2].select("item_id", probability=p, label="verdict", judge=pl.lit("j"))
    options = {"labels": labels(truth, 10), "labels_at_random": True}
    (judge,) = es.monitor(fitted(), features, **options, judged=judged).provenance["judge"]
    some = truth[::10]
    says = some["verdict"].cast(pl.Float64) * 0.6 + 0.3
    caught = some.filter("label")["verdict"].mean()
    wrongly = some.filter(~pl.col("label"))["verdict"].mean()
    area = caught * (1 - wrongly) + (caught * wrongly + (1 - caught) * (1 - wrongly)) / 2
    assert judge["auroc"]["value"] == pytest.approx(area)
    assert judge["calibration_error"]["value"] == pytest.approx(says.mean() - some["label"].mean())
    for measure in (judge["auroc"], judge["calibration_error"]):
        assert measure["lower"] < measure["value"] < measure["upper"]
    assert judge["sensitivity"] is None


def test_verdicts_without_labels_or_weights_are_refused(features: pl.DataFrame, truth: pl.DataFrame) -> None:
    with pytest.raises(ConfigError, match="judged: needs labels of some of the same responses"):
        es.monitor(fitted(), features, judged=labels(truth, 2, "verdict"))
    weighted = labels(truth, 10).with_columns(weight=pl.lit(10.0))
    with pytest.raises(InputError, match="judged: judge: 450 of 450 have no 'weight'"):
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
    assert any("it does not count" in str(part) for part in make_parts(result))
