"""Advice on training groups, and what failed."""

import json

import polars as pl
import pytest
from frames import DEFAULT, MASS, UNKNOWN, domains, sweep_rows, validation

from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_frames import DOMAINS
from entropy_sentinel.study.analyses.accuracy.study_advice import describe_failures, find_gaps, write_advice
from entropy_sentinel.study.analyses.display_names import TrainingGroup

EASY = TrainingGroup("Easy", "adding+counting", DEFAULT)
# 100 + 300 responses with accuracies 1.0 and 0.8: together (100 + 240) / 400 = 0.85.
ROWS = [("a", "adding", 100, 0, 1.0), ("a", "counting", 240, 60, 0.8)]
HARD = ("a", "hard", 20, 180, 0.1)  # with these 200: (340 + 20) / 600 = 0.6
WORST = ("a", "worst", 0, 400, 0.0)  # with these 400: 340 / 800 = 0.425


def test_a_group_that_is_too_easy_gets_advice_which_domain_to_add() -> None:
    group, every = write_advice(domains([*ROWS, HARD, WORST]), [validation()], EASY)
    assert (group.accuracy, group.outside, group.add) == (pytest.approx(0.85), True, "hard")
    assert group.with_it == pytest.approx(0.6), "nearer to 0.55 than 0.425 is"
    assert group.text.startswith("training group Easy (adding, counting): weighted accuracy 0.85, too easy")
    assert group.text.endswith("between 0.4 and 0.7. Adding hard would make it 0.60.")
    assert every.accuracy == pytest.approx(360 / 1000)
    assert "all 4 labelled domains: weighted accuracy 0.36" in every.text
    assert "too hard" in every.text
    assert "No other domain" in every.text


def test_a_group_inside_the_range_is_left_alone() -> None:
    group, _ = write_advice(
        domains([("a", "adding", 60, 40, 0.6), ("a", "counting", 50, 50, 0.5), HARD]), [validation()], EASY
    )
    assert (group.outside, group.add) == (False, None)
    assert group.text.endswith("weighted accuracy 0.55, inside 0.4-0.7, where the paper's errors are smallest.")


def test_what_nobody_has_labelled_is_worth_labels_by_its_estimate() -> None:
    known = validation(unlabelled=[("puzzles", 0.2), ("riddles", 0.99), ("empty", None)])
    _, every = write_advice(domains(ROWS), [known], EASY)
    # 100 puzzles at 0.2: (340 + 20) / 500.
    assert (every.add, every.with_it) == ("puzzles", pytest.approx(0.72))
    assert every.text.endswith("Labels for puzzles would make it 0.72.")


def test_advice_is_by_model_and_says_where_an_accuracy_is_not_known() -> None:
    counts = domains([*ROWS, ("b", "adding", 0, 0, None), ("b", "counting", 50, 50, 0.5)])
    result = write_advice(counts, [validation(), validation("b")], EASY)
    assert [one.model for one in result] == ["a", "a", "b", "b"]
    assert result[2].accuracy is None
    assert "accuracy unknown" in result[2].text
    assert result[3].accuracy == pytest.approx(0.5)


def test_what_failed_is_reported_by_reason() -> None:
    sweep = pl.concat(
        [
            sweep_rows([None, 0.1], [None, None], ["a", "b"]).with_columns(reason=pl.lit("all are correct")),
            sweep_rows([None, 0.2], [None, 0.5], ["a", "b"], estimator="atc-max"),
            sweep_rows([None], [None], ["a"], estimator="atc-max", scope="all"),
        ]
    )
    lines = describe_failures(sweep, [validation(left_out=[("logic", None, 0.5)], method=None, method_reason="no row")])
    assert lines == [
        "a, logic: the recommended estimator gives no estimate: all training rows are correct.",
        "a: no recommended estimator could be fitted: no row.",
        "The error on unseen domains could not be computed for 1 of 4 combinations of model, estimator and training "
        "group (a; Random forest, 10D, balanced, "
        "isotonic): all are correct.",
        "The error on unseen domains could not be computed for 1 of 4 combinations of model, estimator and training "
        "group (a; ATC, SE max): estimated "
        "accuracies are all equal.",
    ]
    assert describe_failures(sweep_rows([0.1], [None], ["a"]), [validation()]) == []


def test_gaps_are_domains_that_lack_much() -> None:
    def row(name: str, n: int, unlabelled: int, featureless: int, cut_off: int, reasons: dict[str, int]) -> tuple:
        counts = (n, 0, n - unlabelled, unlabelled, featureless, cut_off, 0, 0, 9.0, None, None)
        return ("a", name, *counts, *MASS, json.dumps(reasons), *UNKNOWN)

    result = find_gaps(
        DOMAINS.frame(
            [
                row("whole", 100, 4, 0, 4, {"no answer": 4}),
                row("cut", 100, 0, 0, 5, {}),
                row("bare", 100, 10, 20, 0, {"no answer": 10, "empty": 20}),
                row("puzzles", 100, 100, 0, 0, {"no reference": 100}),
                row("nothing", 0, 0, 0, 0, {}),
            ]
        )
    )
    assert [(one["benchmark"], one["unlabelled"], one["featureless"], one["cut_off"]) for one in result] == [
        ("cut", 0.0, 0.0, 0.05),
        ("bare", 0.1, 0.2, 0.0),
    ]
    assert [one["reasons"] for one in result] == ["-", "no answer: 10; empty: 20"]
