"""The numbers of the page "How well does it work?", on cases that are reckoned by hand."""

import math

import numpy as np
import polars as pl
import pytest
from worlds import world

from made.how_well import page
from made.how_well.cases import DEFAULT, FLOOR, chance, compared, mean_over_domains, with_errors
from made.how_well.fitted import FLAGS, moved, validated
from made.how_well.trivia import read_trivia


def cases(*rows: tuple[str, str, str, float, float]) -> pl.DataFrame:
    """Cases of the model, method, domain, estimated and true accuracy of each row; 100 labels, trained on two."""
    frame = pl.DataFrame(rows, schema=["model", "method", "benchmark", "estimated", "true"], orient="row")
    return with_errors(frame.with_columns(n=pl.lit(100), k=pl.lit(2), group=pl.lit("x+y")))


def test_domains_count_once_however_many_cases_they_have() -> None:
    # Errors .1 and .3 in one domain are .2; with .1 and .3 of two others the mean is .2, the deviation .1. Student's t
    # with two degrees of freedom exceeds 2.919986 in 5 % of cases.
    known = mean_over_domains(
        cases(
            ("m", FLOOR, "a", 0.6, 0.5),
            ("n", FLOOR, "a", 0.8, 0.5),
            ("m", FLOOR, "b", 0.4, 0.5),
            ("m", FLOOR, "c", 0.8, 0.5),
        )
    )
    half = 2.919986 * 0.1 / math.sqrt(3)
    assert known == pytest.approx((0.2, 0.2 - half, 0.2 + half), abs=1e-6)


def test_methods_are_compared_on_cases_that_both_estimated() -> None:
    both = cases(
        ("m", "recommended", "a", 0.6, 0.5), ("m", DEFAULT, "a", 0.9, 0.5),
        ("m", "recommended", "b", 0.6, 0.5), ("m", DEFAULT, "b", 0.7, 0.5),
        ("m", "recommended", "c", 0.9, 0.5),
    )  # fmt: skip
    # .1 - .4 and .1 - .2; the third domain has no rival.
    assert compared(both, "recommended", DEFAULT).mean == pytest.approx(-0.2)


def test_the_sampling_error_of_labels_is_the_mean_absolute_deviation_of_a_share() -> None:
    by_formula = chance(cases(("m", FLOOR, "a", 0.0, 0.3)))
    drawn = np.random.default_rng(0).binomial(100, 0.3, 400_000) / 100
    assert by_formula == pytest.approx(np.abs(drawn - 0.3).mean(), abs=5e-4)


def test_a_method_that_is_not_better_is_reported_with_its_sign() -> None:
    rows = [("m", "recommended", one, 0.6, 0.5) for one in "abcd"]
    rows += [
        ("m", "consensus", one, 0.5 + error, 0.5) for one, error in zip("abcd", (0.04, 0.05, 0.06, 0.05), strict=True)
    ]
    rows += [("m", DEFAULT, one, 0.5 + error, 0.5) for one, error in zip("abcd", (0.4, 0.41, 0.42, 0.39), strict=True)]
    rows += [("m", other, one, 0.9, 0.1) for other in ("atc-max", "median-of-seven", FLOOR) for one in "abcd"]
    message = page.not_better({"in a test": cases(*rows)})
    # .1 less .04, .05, .06, .05; the deviation is .00816, and t of three degrees of freedom 2.353.
    assert "| in a test | Consensus of 3 ATC | +0.050 (+0.040 to +0.060) |" in message
    assert "forest" not in message


def test_every_domain_outside_a_group_is_a_case_with_intervals_and_flags() -> None:
    result = validated(world(0, n_domains=4, n=60), [3])
    assert result.select("group", "benchmark").sort("benchmark").rows() == [
        ("d1+d2+d3", "d0"), ("d0+d2+d3", "d1"), ("d0+d1+d3", "d2"), ("d0+d1+d2", "d3"),
    ]  # fmt: skip
    assert result.select((pl.col("lower_80%") >= pl.col("lower_95%")).all()).item()
    assert set(FLAGS) <= set(result.columns)
    assert result["truncated"].to_list() == [False] * 4


def test_another_models_domain_is_estimated_with_and_without_its_own_labels() -> None:
    one, other = world(0, n_domains=4, n=60), world(1, n_domains=4, n=60)
    without, along = (moved(one, other, without) for without in (True, False))
    floors = without.filter(method=FLOOR), along.filter(method=FLOOR)
    accuracy = (
        one.filter(split="train").group_by("benchmark").agg(pl.col("label").mean()).sort("benchmark")["label"].to_list()
    )
    # The floor is the accuracy of the training split's rows, and domains are of one size.
    assert floors[1]["estimated"].to_list() == pytest.approx([np.mean(accuracy)] * 4)
    assert floors[0]["estimated"].to_list() == pytest.approx([(sum(accuracy) - left) / 3 for left in accuracy])


def test_an_answer_to_trivia_is_correct_if_it_names_a_right_answer() -> None:
    # "Who is the most payed player in the nba?": of thirty answers, 22 are LeBron James, one Lebron James, and three
    # Stephen Curry, all names of right answers. One of the others was cut off.
    labels = read_trivia("qwen2.5-coder-1.5b").filter(item_id="ambigqa-several-00358")["label"]
    assert (len(labels), labels.sum(), labels.null_count()) == (30, 22 + 1 + 3, 1)
