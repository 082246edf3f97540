"""Measures by domain against the definitions, computed anew by Polars and numpy."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from assessed import ASSESSORS, BASELINE, EXTREMES, FOREST, SETTINGS, UNLABELLED, observed, scores
from papers.rejection.evaluated_rows import read_scores, slice_responses
from papers.rejection.rejection_exhibits import QUESTION_ONLY
from papers.rejection.rejection_frames import ASSESSMENTS, MEASURES
from papers.rejection.rejection_measures import measure_model, write_measures

from entropy_sentinel.core.errors import ContractError
from entropy_sentinel.schemas.estimate_schema import SCORES
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS

FRAME = observed("tiny-a")


@pytest.fixture(scope="module")
def found() -> pl.DataFrame:
    return MEASURES.check(measure_model(FRAME, scores(FRAME), SETTINGS))


def judged(role: str, benchmark: str, name: str) -> pl.DataFrame:
    """Columns p and label of the responses that an assessor trained on EXTREMES is judged on."""
    trains = pl.col("benchmark").is_in(EXTREMES.split("+"))
    wanted = trains & (pl.col("split") == "test") if role == "training" else ~trains
    of = scores(FRAME).filter(group=EXTREMES, estimator=name)
    rows = FRAME.filter(wanted, pl.col("label").is_not_null()).join(of, on=["item_id", "sample"])
    return rows if benchmark == "*" else rows.filter(benchmark=benchmark)


def row(found: pl.DataFrame, **of: str) -> dict[str, object]:
    rows = found.filter(group=EXTREMES, **of)
    assert len(rows) == 1
    return rows.row(0, named=True)


@pytest.mark.parametrize(("role", "benchmark", "n"), [("held_out", "logic", 60), ("training", "words", 12)])
def test_auarc_and_coverage_by_definition_where_nothing_is_tied(found, role, benchmark, n) -> None:
    label = judged(role, benchmark, BASELINE).sort("p", descending=True)["label"].to_numpy()
    assert len(label) == n
    accuracies = np.cumsum(label) / np.arange(1, n + 1)
    of = {"role": role, "benchmark": benchmark, "assessor": BASELINE}
    auarc = row(found, measure="auarc", **of)
    assert auarc["value"] == pytest.approx(accuracies.mean(), abs=1e-12)
    assert (auarc["n_responses"], auarc["accuracy"]) == (n, pytest.approx(label.mean()))
    kept = max((m for m in range(1, n + 1) if accuracies[m - 1] >= 0.8), default=0)
    assert row(found, measure="coverage_0.8", **of)["value"] == kept / n


def test_domains_together_are_all_their_responses(found) -> None:
    for role, n in {"held_out": 60, "training": 24}.items():
        assert row(found, role=role, benchmark="*", assessor=FOREST, measure="auarc")["n_responses"] == n
    label = judged("training", "*", BASELINE).sort("p", descending=True)["label"].to_numpy()
    together = row(found, role="training", benchmark="*", assessor=BASELINE, measure="auarc")
    assert together["value"] == pytest.approx((np.cumsum(label) / np.arange(1, 25)).mean(), abs=1e-12)


def test_gain_is_the_difference_from_question_only_on_the_same_samples(found) -> None:
    of = {"role": "held_out", "benchmark": "logic"}
    gain = row(found, assessor=FOREST, measure="gain", **of)
    own, question = (row(found, assessor=name, measure="auarc", **of) for name in (FOREST, QUESTION_ONLY))
    assert gain["value"] == pytest.approx(own["value"] - question["value"], abs=1e-12)
    assert gain["lower"] < gain["value"] < gain["upper"]
    # What both have in common cancels: independent samples would have made the interval wider than either's.
    width = gain["upper"] - gain["lower"]
    assert width < (own["upper"] - own["lower"]) + (question["upper"] - question["lower"])
    assert found.filter(assessor=QUESTION_ONLY, measure="gain").is_empty()


def test_interval_is_that_of_samples_of_items_written_out(found) -> None:
    rows = judged("held_out", "logic", BASELINE).sort("item_id")  # one response to an item
    p, label = rows["p"].to_numpy(), rows["label"].to_numpy()
    areas = []
    for drawn in np.random.default_rng(42).integers(60, size=(50, 60)):
        kept = label[drawn][np.argsort(-p[drawn], kind="stable")]
        areas.append((np.cumsum(kept) / np.arange(1, 61)).mean())
    of = row(found, role="held_out", benchmark="logic", assessor=BASELINE, measure="auarc")
    assert [of["lower"], of["upper"]] == pytest.approx(list(np.quantile(areas, [0.025, 0.975])), abs=1e-12)


def test_intervals_are_around_values_and_the_same_again(found) -> None:
    areas = found.filter(pl.col("measure") == "auarc", pl.col("value").is_not_null())
    assert (areas["lower"] <= areas["value"]).all()
    assert (areas["value"] <= areas["upper"]).all()
    assert measure_model(FRAME, scores(FRAME), SETTINGS).equals(found)
    other = measure_model(FRAME, scores(FRAME), SETTINGS | {"seed": 43})
    assert other["value"].equals(found["value"])
    assert not other["lower"].equals(found["lower"])


def test_a_domain_without_labels_is_null_with_the_reason_and_not_among_all(found) -> None:
    rows = found.filter(benchmark=UNLABELLED)
    assert set(rows["reason"]) == {"no response with a label and features"}
    assert rows["value"].null_count() == rows["accuracy"].null_count() == len(rows) > 0
    assert (rows["n_responses"] == 0).all()
    without = FRAME.filter(pl.col("benchmark") != UNLABELLED)
    assert measure_model(without, scores(without), SETTINGS).height == found.height - rows.height
    key = [name for name in MEASURES.schema if name not in ("value", "lower", "upper", "reason")]
    assert (
        found.filter(benchmark="*")
        .select(key)
        .equals(measure_model(without, scores(without), SETTINGS).filter(benchmark="*").select(key))
    )


def test_responses_of_one_class_have_an_area_and_no_prr() -> None:
    frame = FRAME.with_columns(label=pl.when(pl.col("benchmark") == "logic").then(True).otherwise("label"))
    rows = measure_model(frame, scores(frame), SETTINGS).filter(group=EXTREMES, benchmark="logic", assessor=FOREST)
    by_measure = {row["measure"]: row for row in rows.iter_rows(named=True)}
    assert by_measure["auarc"]["value"] == pytest.approx(1)
    assert by_measure["coverage_0.95"]["value"] == 1
    assert (by_measure["prr"]["value"], by_measure["prr"]["reason"]) == (None, "all responses are correct")


def test_a_response_without_a_score_is_named() -> None:
    lacking = scores(FRAME).filter(pl.col("item_id") != "logic-00007")
    with pytest.raises(ContractError, match="1 of 84 labelled responses have no score"):
        list(slice_responses(FRAME, lacking, EXTREMES, [FOREST]))


def test_scores_of_files_say_their_group_and_shared_ones_count_once(tmp_path: Path) -> None:
    every = scores(FRAME)
    trained = every.filter(group=EXTREMES).filter(pl.col("estimator") != QUESTION_ONLY)
    # Two named groups of the same benchmarks: one keeps the forest and the baseline, the other the baseline alone.
    for name, part in {"one": trained, "other": trained.filter(estimator=BASELINE)}.items():
        SCORES.write(part.drop("group"), tmp_path / f"{name}.parquet", {"group": EXTREMES})
    asked = every.filter(group=EXTREMES, estimator=QUESTION_ONLY)
    ASSESSMENTS.write(asked, tmp_path / "questions.parquet", {})
    paths = [str(tmp_path / f"{name}.parquet") for name in ("one", "other")]
    found = ASSESSMENTS.check(read_scores(paths, [str(tmp_path / "questions.parquet")]))
    assert found.sort(ASSESSMENTS.key).equals(every.filter(group=EXTREMES).sort(ASSESSMENTS.key))
    OBSERVATIONS.write(FRAME, tmp_path / "m.parquet", {})
    settings, output = SETTINGS | {"assessors": {EXTREMES: ASSESSORS[EXTREMES]}}, tmp_path / "measures.parquet"
    write_measures(str(tmp_path / "m.parquet"), paths, str(tmp_path / "questions.parquet"), settings, str(output))
    assert MEASURES.read(output).equals(measure_model(FRAME, every, settings))


def test_the_threshold_is_chosen_on_the_training_group_and_used_on_unseen_domains() -> None:
    # Of words, the training group's test split: from .9 on 2 of 2, from .7 on 3 of 4, from .2 on 3 of 6 are correct.
    scored_words = [(0.9, True), (0.9, True), (0.7, True), (0.7, False), (0.2, False), (0.2, False)]
    # Of logic, unseen: five have .7 or more, of which two are correct; at best one could keep the first alone.
    scored_logic = [(0.95, True), (0.8, False), (0.75, False), (0.7, True), (0.7, False), (0.6, True), (0.1, True)]
    frame, assessed = written_out({"words": scored_words, "logic": scored_logic})
    settings = {"assessors": {"words": [BASELINE]}, "accuracies": [0.7, 0.95, 1.0], "resamples": 20, "seed": 1}
    found = MEASURES.check(measure_model(frame, assessed, settings))
    value = {
        (row["role"], row["benchmark"], row["measure"]): row["value"]
        for row in found.filter(pl.col("measure").str.contains("_")).iter_rows(named=True)
    }
    assert value["training", "*", "threshold_0.7"] == 0.7
    assert value["training", "*", "threshold_0.95"] == value["training", "*", "threshold_1"] == 0.9
    for domain in ("*", "logic"):
        assert value["held_out", domain, "kept_0.7"] == pytest.approx(5 / 7)
        assert value["held_out", domain, "kept_accuracy_0.7"] == pytest.approx(2 / 5)
        assert value["held_out", domain, "kept_0.95"] == pytest.approx(1 / 7)
        assert value["held_out", domain, "kept_accuracy_0.95"] == 1
        # With the labels of these very responses one finds the first alone for all three.
        assert [value["held_out", domain, f"coverage_{at}"] for at in ("0.7", "0.95", "1")] == pytest.approx(
            [1 / 7] * 3
        )
    assert not [key for key in value if key[0] == "training" and key[2].startswith("kept")]


def test_without_a_threshold_nothing_is_kept_and_the_reason_is_reported() -> None:
    frame, assessed = written_out({"words": [(0.9, False), (0.5, True)], "logic": [(0.9, True), (0.1, True)]})
    settings = {"assessors": {"words": [BASELINE]}, "accuracies": [0.5, 0.8], "resamples": 20, "seed": 1}
    found = measure_model(frame, assessed, settings)
    told = {(row["role"], row["measure"]): row for row in found.filter(benchmark="*").iter_rows(named=True)}
    reason = "no threshold reaches 0.8 on the training group"
    assert told["training", "threshold_0.8"]["reason"] == reason
    assert told["held_out", "kept_0.8"]["value"] == told["held_out", "kept_0.8"]["upper"] == 0
    assert (told["held_out", "kept_accuracy_0.8"]["value"], told["held_out", "kept_accuracy_0.8"]["reason"]) == (
        None,
        reason,
    )
    # From .5 on one of two is correct; of the unseen ones only the first has that.
    assert told["training", "threshold_0.5"]["value"] == 0.5
    assert told["held_out", "kept_0.5"]["value"] == 0.5


def written_out(responses: dict[str, list[tuple[float, bool]]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Observations of the test split, and their scores by BASELINE, trained on words."""
    parts = []
    for benchmark, rows in responses.items():
        p, label = zip(*rows, strict=True)
        frame = FRAME.filter(benchmark=benchmark).head(len(rows))
        parts.append(frame.with_columns(split=pl.lit("test"), label=pl.Series(label), p=pl.Series(p)))
    frame = pl.concat(parts)
    assessed = frame.with_columns(group=pl.lit("words"), estimator=pl.lit(BASELINE)).select(ASSESSMENTS.schema.names())
    return frame.drop("p"), assessed
