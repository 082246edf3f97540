"""Which responses are chosen for the labels of a first `fit`."""

import math
import re
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from production import saved, traffic
from scipy.special import expit, logit

import entropy_sentinel as es
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.estimators.verdict import decide_verdict
from entropy_sentinel.monitor.labelling import cold_start_sampling as first
from entropy_sentinel.monitor.labelling.cold_start_allocation import choose_counts
from entropy_sentinel.monitor.labelling.usable_probability import (
    JudgeQuality,
    compute_prospects,
    labels_for_usable,
    labels_with_judge,
    probability_of_usable,
)
from entropy_sentinel.statistics.slice_intervals import Residuals
from entropy_sentinel.statistics.witnessed_accuracies import WitnessedDomain, estimate_accuracies


def log(sizes: dict[str, int]) -> pl.DataFrame:
    """Features of so many responses of each topic, in order of time."""
    topics = np.random.default_rng(5).permutation([name for name, n in sizes.items() for _ in range(n)])
    return traffic(len(topics)).with_columns(pl.Series("topic", topics))


def test_a_slice_is_drawn_evenly_over_time_and_over_the_entropies() -> None:
    """Of 180 responses 30: of five blocks of time six each, and in a block one of each sixth of its entropies."""
    features = log({f"topic {n}": 180 for n in range(8)} | {"rare": 4})
    chosen = es.sample(None, features, ["topic"], budget=240)
    assert chosen.slices.select("topic", "n_responses", "n_to_label").rows() == [
        (f"topic {n}", 180, 30) for n in range(8)
    ]
    assert chosen.responses["weight"].to_list() == pytest.approx([6.0] * 240)
    here = features.filter(topic="topic 3").sort("time").with_columns(block=pl.int_range(pl.len()) // 36)
    sixth = (pl.col("mean").rank("ordinal").over("block") - 1) // 6
    drawn = here.with_columns(sixth=sixth).join(chosen.responses, on="item_id", how="semi")
    assert set(drawn.select("block", "sixth").rows()) == {(block, part) for block in range(5) for part in range(6)}


def test_the_choice_does_not_depend_on_the_order_of_the_log() -> None:
    features = log(dict.fromkeys("abcdef", 60))
    choices = [es.sample(None, rows, ["topic"], budget=150).responses for rows in (features, features.reverse())]
    assert choices[0].equals(choices[1])
    assert not es.sample(None, features, ["topic"], budget=150, seed=1).responses.equals(choices[0])


def test_several_answers_to_a_question_count_once_for_a_fit() -> None:
    features = log({f"topic {n}": 30 for n in range(20)})
    twice = pl.concat([features, features.with_columns(sample=pl.lit(1, pl.UInt16))])
    chosen = es.sample(None, twice, ["topic"], budget=600)
    assert chosen.purpose == "validate"
    assert chosen.slices["n_responses"].to_list() == [30] * 20
    assert chosen.responses["item_id"].n_unique() == 600


@pytest.mark.parametrize(
    ("sizes", "budget", "expected"),
    [
        ([500] * 40, 600, [20] * 30),  # rather than 25 slices of 24 or 20 of 30
        ([500] * 4, 600, [40] * 4),  # the rest is for a second round
        ([500, 500, 25], 95, [35, 35, 25]),
    ],
)
def test_the_number_of_slices_is_that_of_most_probable_use(sizes: list[int], budget: int, expected: list[int]) -> None:
    counts, _ = choose_counts(np.array(sizes), budget, 20, partial(probability_of_usable, 0.04))
    assert counts.tolist() == expected


def test_the_table_is_what_validations_say_now() -> None:
    """Where errors are normal, .04 in the mean, and 12 domains have 60 labels each: drawn here anew."""
    rng, usable = np.random.default_rng(1), 0
    for _ in range(300):
        p = rng.uniform(0.15, 0.85, 12)
        estimated = np.clip(p + 0.04 / np.sqrt(2 / np.pi) * rng.normal(size=12), 0, 1)
        usable += decide_verdict(Residuals(estimated, rng.binomial(60, p) / 60, [60] * 12, 12), None) == "usable"
    # Four standard errors.
    assert usable / 300 == pytest.approx(probability_of_usable(0.04, 12, 60), abs=0.12)
    middle = (probability_of_usable(0.04, 12, 40) + probability_of_usable(0.04, 12, 60)) / 2
    assert probability_of_usable(0.04, 12, 50) == pytest.approx(middle)
    assert probability_of_usable(0.0, 5, 1000) == 0
    # Fewer labels than a validation needs.
    assert probability_of_usable(0.0, 40, 19) == 0


@pytest.mark.parametrize("labels", [5, 10, 20])
def test_labels_with_a_judge_by_drawing_its_verdicts(labels: int) -> None:
    """2,000 domains with verdicts on 200 responses; the noise of their accuracies, beside that of labels alone.

    P(correct) explains .12 of the variance of labels within domains, whose mean is .25 - .7 ** 2 / 12.
    """
    rng = np.random.default_rng(labels)
    domains = []
    for accuracy in rng.uniform(0.15, 0.85, 2000):
        p = rng.beta(accuracy * 22 / 3, (1 - accuracy) * 22 / 3, 200)
        right = rng.random(200) < p
        leniency, skill = 0.7 * math.sqrt(3 / 4) * rng.normal(), accuracy - 0.5 + 0.35 * rng.normal()
        rates = expit(logit(0.9) + leniency + skill), expit(logit(0.85) - leniency + skill)
        witnesses = np.column_stack([p, rng.random(200) < np.where(right, rates[0], 1 - rates[1])]).astype(float)
        domains.append(WitnessedDomain(right[:labels] * 1.0, witnesses[:labels], witnesses, p, labels, 200))
    found = estimate_accuracies(domains, (False, True))
    assert found is not None
    alike = 0.88 * (0.25 - 0.7**2 / 12) / found.variances.mean()
    assert labels_with_judge(labels, JudgeQuality(0.9, 0.85)) == pytest.approx(alike, rel=0.04)


def test_a_judge_saves_labels_and_a_better_one_more() -> None:
    alone, good, better = (
        labels_for_usable(0.04, judge) for judge in (None, JudgeQuality(0.9, 0.85), JudgeQuality(0.97, 0.95))
    )
    assert better.total < good.total < alone.total
    rows = compute_prospects(20, 20, 400, JudgeQuality(0.9, 0.85))
    assert (rows["usable_with_judge"] >= rows["usable"]).all()


def test_sample_says_what_a_judge_would_save() -> None:
    features = log(dict.fromkeys("abcdef", 60))
    notes = [
        es.sample(None, features, ["topic"], budget=150, judge_sensitivity=rate, judge_specificity=rate).notes[1]
        for rate in (0.9, 0.97)
    ]
    assert "a judge of sensitivity 0.97 and specificity 0.97" in notes[1]
    numbers = [int(re.search(r"or about (\d+) labels .* by a judge", note)[1]) for note in notes]
    assert numbers[1] < numbers[0]
    assert probability_of_usable(0.04, 20, 19) == 0


def test_a_column_with_more_domains_is_named() -> None:
    features = log({"a": 100, "b": 100, "c": 100, "d": 100})
    for by in ((), ("user",), ("route",)):
        assert "topic (4)" in es.sample(None, features, by, budget=200).notes[-1]
    with pytest.raises(InputError, match="budget: must be at least 5, .* got 4"):
        es.sample(None, features, ["topic"], budget=4)
    with pytest.raises(InputError, match='by="model"'):
        es.sample(None, features.with_columns(model=pl.col("user")), ["topic"])


@pytest.mark.parametrize("column", ["mean", "label", "weight", "question", "response", "n_responses", "n_to_label"])
@pytest.mark.parametrize("first", [True, False])
def test_slices_by_a_column_with_the_name_of_a_column_of_the_tables(column: str, first: bool, tmp_path: Path) -> None:
    features = log(dict.fromkeys("abc", 40))
    own = column if column in ("n_responses", "n_to_label", "weight", "question", "response") else f"log_{column}"
    features = features.with_columns(pl.col("topic").alias(own))
    chosen, plain = (
        es.sample(None if first else saved(tmp_path), features, [by], budget=60) for by in (column, "topic")
    )
    shown = column if column == "mean" else f"slice_{column}"
    assert chosen.slices.rename({shown: "topic"}).equals(plain.slices)
    key = ["topic", "item_id", "weight", "label"]
    assert chosen.responses.rename({shown: "topic"}).select(key).sort(key).equals(plain.responses.select(key).sort(key))


def test_within_blocks_of_time_the_entropies_go_up_and_down_in_turn() -> None:
    """Eight rows in two blocks of time, by hand: the first ascends, the second descends, every second row is drawn."""
    entropies = [0.4, 0.1, 0.3, 0.2, 0.5, 0.8, 0.6, 0.7]
    rows = pl.DataFrame({"mean": entropies, "(time)": range(1, 9), "(order)": range(8)})
    serpentine = [1, 3, 2, 0, 5, 7, 6, 4]
    seen = {tuple(first._draw_systematically(rows, 4, f"seed {number}").tolist()) for number in range(20)}
    assert seen == {tuple(serpentine[0::2]), tuple(serpentine[1::2])}


def test_values_that_get_no_labels_are_named_with_the_reason() -> None:
    """For a `fit`, of 21 large enough slices one too many; for watching, slices beyond the budget."""
    features = log({f"topic {n}": 60 for n in range(20)} | {"large enough": 21, "rare": 4})
    chosen = es.sample(None, features, ["topic"], budget=410)
    assert chosen.purpose == "validate"
    few, others = chosen.notes[2:]
    assert "rare (4)" in few
    assert "large enough (21)" in others
    assert chosen.n_responses == len(features)
    watched = es.sample(None, features, ["topic"], budget=410, per_slice=5)
    assert (watched.purpose, set(watched.slices["n_to_label"])) == ("watch", {19, 20})
    assert ["rare (4)" in note for note in watched.notes] == [False, False, True]
    few = es.sample(None, features, ["topic"], budget=50)
    assert few.slices["n_to_label"].to_list() == [5] * 10
    assert "budget=105 " in few.notes[3]
    assert few.n_left_out == len(features) - 600
