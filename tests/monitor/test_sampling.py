"""Which responses are chosen for labels, and what becomes of the labels."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tiny import TINY

import entropy_sentinel as es
from entropy_sentinel.core.errors import InputError, ProvenanceError
from entropy_sentinel.estimators.training_predictions import predict_responses
from entropy_sentinel.monitor.labelling.label_corrected_estimates import improve_accuracy
from entropy_sentinel.monitor.labelling.neyman_sampling import allocate_counts, draw_slice
from entropy_sentinel.statistics.monitoring.prediction_powered import labelled_mean, prediction_powered_mean

ROOT = Path(__file__).parents[2]
FACTS = ["item_id", "stratum", "inclusion_probability", "weight", "question", "response", "label"]


@pytest.fixture(scope="module")
def features() -> pl.DataFrame:
    return es.read_features(TINY.traces)


@pytest.fixture(scope="module")
def estimator(features: pl.DataFrame) -> object:
    return es.fit(features, es.read_labels(TINY.labels), "log-3d")


def test_the_sample_stands_for_all_responses(features: pl.DataFrame, estimator: object) -> None:
    """40 responses in each of four slices: in every stratum, weight times labels is what it has."""
    chosen = es.sample(estimator, features, ["benchmark"], budget=60, per_slice=8)
    assert chosen.responses.columns == ["benchmark", *FACTS]
    assert chosen.responses["item_id"].n_unique() == 60
    assert chosen.responses["label"].null_count() == 60
    assert chosen.slices["n_to_label"].sum() == 60
    assert chosen.slices["n_to_label"].min() >= 8
    sums = chosen.responses.group_by("benchmark").agg(pl.col("weight").sum())
    assert sums["weight"].to_list() == pytest.approx([40] * 4)
    product = chosen.responses["weight"] * chosen.responses["inclusion_probability"]
    assert product.to_list() == pytest.approx([1] * 60)
    p = pl.DataFrame({"item_id": features["item_id"], "p": predict_responses(estimator.estimator, features)})
    strata = chosen.responses.join(p, on="item_id").group_by("benchmark", "stratum").agg(pl.col("p").mean(), pl.len())
    assert strata["len"].min() >= 2
    for _, slice_ in strata.sort("stratum").group_by("benchmark"):
        assert slice_["p"].is_sorted()


def test_ids_that_are_there_twice_come_with_what_tells_them_apart(features: pl.DataFrame, estimator: object) -> None:
    samples = pl.concat([features, features.with_columns(sample=pl.lit(1, pl.UInt16))])
    chosen = es.sample(estimator, samples, ["benchmark"], budget=60).responses
    assert chosen.columns[:4] == ["benchmark", "model", "item_id", "sample"]
    assert not chosen.select("item_id", "sample").is_duplicated().any()


def test_a_slice_gets_more_labels_where_less_is_known(features: pl.DataFrame, estimator: object) -> None:
    slices = es.sample(estimator, features, ["benchmark"], budget=60, per_slice=0).slices
    p = pl.DataFrame({"benchmark": features["benchmark"], "p": predict_responses(estimator.estimator, features)})
    mean = p.group_by("benchmark").agg(pl.col("p").mean()).sort("benchmark")["p"].clip(0.05, 0.95)
    deviation = (mean * (1 - mean)).sqrt()
    assert np.abs(slices["n_to_label"] - 60 * deviation / deviation.sum()).max() <= 1


def test_the_choice_depends_only_on_ids_and_seed(features: pl.DataFrame, estimator: object) -> None:
    shuffled = features.sample(fraction=1, shuffle=True, seed=1)
    first, same, other = (
        es.sample(estimator, rows, ["benchmark"], budget=30, seed=seed).responses
        for rows, seed in ((features, 42), (shuffled, 42), (features, 43))
    )
    assert same.equals(first)
    assert not other["item_id"].equals(first["item_id"])


def test_of_a_log_the_question_and_the_response_are_shown(tmp_path: Path) -> None:
    log = ROOT / "demo" / "logs" / "week-1.jsonl.gz"
    features, labels = es.read_features(log), es.read_labels(ROOT / "demo" / "truth" / "logs.csv")
    estimator = es.fit(features, labels, "log-3d", domain="metadata.route")
    chosen = es.sample(estimator, log, ["metadata.route"], budget=40)
    shown = {row["item_id"]: row for row in chosen.responses.iter_rows(named=True)}
    assert {row["metadata.route"] for row in shown.values()} == {"school", "shop", "support", "travel"}
    row = next(iter(shown.values()))
    assert "Question: " in row["question"]
    assert "Answer: \\boxed{" in row["response"]
    # What has been fitted on the routes has a width before.
    assert chosen.slices["width_before"].null_count() == 0
    assert (chosen.slices["width_expected"] < chosen.slices["width_labels_alone"]).all()


def test_improved_is_the_prediction_powered_mean_of_what_is_labelled() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(200)
    labels = [bool(one) for one in rng.random(30) < p[:30]]
    weights = rng.uniform(1, 4, 30)
    result = improve_accuracy([*labels, None], p[:31], p, [*weights, 1.0], 0.9)
    assert result.n_labelled == 30
    assert result.improved == prediction_powered_mean(labels, p[:30], p, 0.9, weights)
    assert result.alone == labelled_mean(labels, 0.9, weights)
    assert improve_accuracy([None], p[:1], p) is None
    # No weight is as good as equal ones.
    assert improve_accuracy(labels, p[:30], p, [np.nan] * 30).improved == improve_accuracy(labels, p[:30], p).improved
    with pytest.raises(InputError, match="1 have none"):
        improve_accuracy(labels, p[:30], p, [np.nan, *weights[1:]])


def test_sampling_is_refused_without_usable_responses(features: pl.DataFrame, estimator: object) -> None:
    empty, other = features.with_columns(reason=pl.lit("empty response")), features.with_columns(model=pl.lit("other"))
    for rows, by, budget, error, message in (
        (features, "benchmark", 12, InputError, "budget: 12 .* 5 .* 4 slices .20"),
        (features, "route", 40, InputError, "column 'route' .*: model, benchmark$"),
        (empty, "benchmark", 40, InputError, "no response has features"),
        (other, "benchmark", 40, ProvenanceError, "the estimator has model tiny-1m"),
    ):
        with pytest.raises(error, match=message):
            es.sample(estimator, rows, [by], budget=budget)
    taken = es.sample(estimator, other, ["benchmark"], any_model=True)
    assert taken.taken == {"of model 'other'": 160}
    assert taken.slices["width_before"].null_count() == len(taken.slices)


def test_slices_may_be_of_several_columns_of_nothing_or_one(features: pl.DataFrame, estimator: object) -> None:
    route = pl.Series(["shop", None] * 80)
    both = es.sample(estimator, features.with_columns(route=route), ["benchmark", "route"], budget=80).slices
    assert both["n_responses"].to_list() == [20] * 8
    assert both["route"].null_count() == 4
    whole = es.sample(estimator, features, [], budget=30)
    assert whole.slices.row(0)[:2] == (160, 30)
    assert whole.responses["weight"].sum() == pytest.approx(160)


def test_more_labels_than_responses_take_all(features: pl.DataFrame, estimator: object) -> None:
    chosen = es.sample(estimator, features, ["benchmark"], budget=1000)
    assert len(chosen.responses) == 160
    assert chosen.responses["weight"].to_list() == [1.0] * 160


def test_without_probabilities_a_slice_is_one_stratum(features: pl.DataFrame) -> None:
    constant = es.fit(features, es.read_labels(TINY.labels), "group-accuracy")
    chosen = es.sample(constant, features, ["benchmark"], budget=40)
    assert chosen.responses["stratum"].to_list() == [0] * 40
    assert chosen.slices["n_to_label"].to_list() == [10] * 4


def test_small_slices_get_their_part() -> None:
    """By the square root of the size: 900 and 100 of equal accuracy get 3 : 1, and not 9 : 1."""
    p = np.full(1000, 0.5)
    assert allocate_counts(p, [np.arange(900), np.arange(900, 1000)], 40, 5).tolist() == [30, 10]


@pytest.mark.slow
@pytest.mark.parametrize("accuracy", [0.1, 0.95])
def test_stratified_labels_cover_and_are_as_exact_as_expected(accuracy: float) -> None:
    """1,000 draws of 40 labels of 600 responses, P(correct) calibrated: coverage, width, and the width foretold."""
    rng, inside, widths, foretold, plain = np.random.default_rng(7), 0, [], [], []
    for _ in range(1000):
        p = rng.beta(2 * accuracy, 2 * (1 - accuracy), 600)
        correct = rng.random(600) < p
        drawn = draw_slice(p, rng.permutation(600).astype(np.uint64), 40)
        rows = drawn.rows
        result = improve_accuracy(correct[rows], p[rows], p, 1 / drawn.inclusion, 0.9)
        inside += result.improved.lower <= accuracy <= result.improved.upper
        widths.append(result.improved.upper - result.improved.lower)
        plain.append(result.alone.upper - result.alone.lower)
        foretold.append(drawn.expected_width(p, 0.9))
    assert inside / 1000 > 0.88
    assert np.mean(widths) < np.mean(plain)
    assert np.mean(foretold) == pytest.approx(np.mean(widths), rel=0.05)
