"""What a second opinion is worth on the kinds of examples/kinds, compared with counts by hand."""

import importlib.util
import re
from types import ModuleType

import numpy as np
import polars as pl
import pytest

from entropy_sentinel.statistics.monitoring.requested_slices import (
    WitnessedSlice,
    estimate_from_witness,
    measure_witness_errors,
)
from made.how_well import second_opinion as opinion

WATCHED, PARTNER = "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"


@pytest.fixture(scope="module")
def answers() -> pl.DataFrame:
    return opinion.compare_answers(WATCHED, PARTNER)


@pytest.fixture(scope="module")
def kinds(answers: pl.DataFrame) -> pl.DataFrame:
    return opinion.add_floor(opinion.count_kinds(answers))


def texts_of(model: str, family: str, first: int, last: int) -> dict[str, str]:
    """The answers of a model to the questions `first` to `last` of a family."""
    rows = pl.read_parquet(opinion.EXAMPLE / "traces" / model / f"{family}.parquet", columns=["item_id", "text"])
    return {item: text for item, text in rows.iter_rows() if first <= int(item[-5:]) <= last}


@pytest.mark.parametrize(
    ("kind", "family", "first", "last"),
    # Answers of one word, or of a number: the same if only letters and digits count.
    [("sentiment", "extraction", 160, 259), ("reading", "extraction", 60, 159), ("atomic-numbers", "facts", 0, 71)],
)
def test_agreement_is_the_share_of_answers_that_are_the_same(
    kinds: pl.DataFrame, kind: str, family: str, first: int, last: int
) -> None:
    logged, opinions = (texts_of(model, family, first, last) for model in (WATCHED, PARTNER))
    same = [re.sub(r"\W", "", logged[item].lower()) == re.sub(r"\W", "", opinions[item].lower()) for item in opinions]
    counted = kinds.row(by_predicate=pl.col("kind") == kind, named=True)
    assert (counted["asked"], counted["agreed"], counted["comparable"]) == (60, sum(same), True)


def test_floor_is_the_mean_accuracy_of_the_other_kinds(kinds: pl.DataFrame) -> None:
    right = {"capitals": (132, 231), "capital-of": (72, 131), "atomic-numbers": (0, 71), "symbols": (232, 303)}
    labels = pl.read_parquet(opinion.EXAMPLE / "labels" / WATCHED / "facts.parquet")
    place = labels["item_id"].str.tail(5).cast(pl.Int64)
    for kind, (first, last) in right.items():
        accuracy = labels.filter(place.is_between(first, last))["label"].mean()
        assert kinds.filter(kind=kind)["accuracy"].item() == pytest.approx(accuracy)
    accuracies = kinds["accuracy"].to_list()
    by_hand = [(sum(accuracies) - one) / 22 for one in accuracies]
    assert kinds[opinion.FLOOR].to_list() == pytest.approx(by_hand)


def test_without_a_label_agreement_is_much_nearer_than_the_floor(answers: pl.DataFrame, kinds: pl.DataFrame) -> None:
    assert len(kinds) == 23
    # .101 and .067 by another program with plainer rules.
    assert opinion.measure_error(kinds, opinion.AGREEMENT) < 0.13
    comparable = kinds.filter("comparable")
    assert len(comparable) >= 15
    assert opinion.measure_error(comparable, opinion.AGREEMENT) < 0.1
    assert opinion.measure_error(kinds, opinion.FLOOR) == pytest.approx(0.262, abs=5e-4)
    for group in ("kind", "family"):
        held = opinion.measure_intervals(answers, comparable, opinion.AGREEMENT, group)
        assert held.coverage >= 0.85
        assert held.width < 0.6


@pytest.mark.parametrize(
    ("watched", "partner"), [(WATCHED, PARTNER), ("smollm2-135m", PARTNER), ("smollm2-135m", WATCHED)]
)
def test_intervals_hold_on_kinds_and_families_left_out(watched: str, partner: str) -> None:
    """Thirty questions of each kind, and ten labels of each of the others, drawn with replacement, three times."""
    answers = opinion.compare_answers(watched, partner).drop_nulls("agrees")
    kinds = opinion.count_kinds(answers).filter("comparable")
    rng = np.random.default_rng(0)

    def draw(kind: str, n: int) -> WitnessedSlice:
        rows = answers.filter(kind=kind)[rng.integers(0, answers.filter(kind=kind).height, n)]
        return WitnessedSlice(rows["agrees"].cast(pl.Float64), rows["label"].cast(pl.Float64).to_numpy(), n)

    for group in ("kind", "family"):
        held = []
        for _ in range(3):
            labelled = {kind: draw(kind, 10) for kind in kinds["kind"]}
            for kind, left_out in kinds.select("kind", pl.col(group).alias("left_out")).iter_rows():
                others = [labelled[other] for other in kinds.filter(pl.col(group) != left_out)["kind"]]
                found = estimate_from_witness(draw(kind, 30), measure_witness_errors(others), 0.9)
                assert found is not None
                held.append(found.lower <= answers.filter(kind=kind)["label"].mean() <= found.upper)
        assert np.mean(held) >= 0.86


def test_a_partner_that_is_weaker_is_told_from_a_stronger_one(answers: pl.DataFrame) -> None:
    assert opinion.check_strength(answers).verdict == "strong"
    swapped = answers.rename({"label": "partner_label", "partner_label": "label"})
    assert opinion.check_strength(swapped).verdict == "weak"


def test_few_labels_and_questions_have_the_errors_of_all_draws() -> None:
    # Two of four answers are right. One label is off by .5; of the six pairs of labels, four are right and two off by
    # .5. The partner agrees with three of them: a question is off by .5, too, and three are off by 1/6 on average over
    # the draws {1, 1, 1} (once: .5) and {1, 1, 0} (three times: 1/6).
    one = pl.DataFrame({"accuracy": [0.5], "n": [4], "asked": [4], "agreed": [3]})
    assert opinion.expect_label_error(one, 1) == pytest.approx(0.5)
    assert opinion.expect_label_error(one, 2) == pytest.approx(1 / 6)
    assert opinion.expect_error_of_questions(one, 1) == pytest.approx(0.5)
    assert opinion.expect_error_of_questions(one, 3) == pytest.approx((0.5 + 3 / 6) / 4)
    # All four: .75 for .5.
    assert opinion.expect_error_of_questions(one, 60) == pytest.approx(0.25)
    # An error of 1/3 lies in the middle between the errors of one label and of two.
    assert opinion.count_labels_worth(one, 1 / 3) == pytest.approx(1.5)


def test_differences_are_bootstrapped_over_families() -> None:
    # Two families of one kind each: errors .1 and .3 against .2 and .2. A draw has the first twice (-.1), the second
    # twice (.1) or both (0), with chances 1/4, 1/4 and 1/2.
    rows = pl.DataFrame({"family": ["a", "b"], "accuracy": [0.5, 0.5], "one": [0.6, 0.8], "other": [0.7, 0.7]})
    assert opinion.compare_ways(rows, "one", "other") == pytest.approx((0, -0.1, 0.1), abs=1e-9)


@pytest.fixture(scope="module")
def labelling() -> ModuleType:
    spec = importlib.util.spec_from_file_location("label_answers", opinion.EXAMPLE / "label_answers.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("model", [WATCHED, PARTNER, "smollm2-135m"])
def test_labels_of_the_example_are_those_of_its_program(labelling: ModuleType, model: str) -> None:
    differ: dict[str, int] = {}
    for path in sorted((opinion.EXAMPLE / "traces" / model).glob("*.parquet")):
        if path.stem != "code":  # a process for each answer
            stored = pl.read_parquet(opinion.EXAMPLE / "labels" / model / path.name)
            both = stored.join(labelling.label_family(path), on=["item_id", "sample"], validate="1:1", suffix="_again")
            assert len(both) == len(stored)
            if n := both.filter(pl.col("label") != pl.col("label_again")).height:
                differ[path.stem] = n
    # Two answers of the smallest model state several letters.
    assert differ == ({"steps": 2} if model == "smollm2-135m" else {})


def test_code_is_run_and_queries_are_asked(labelling: ModuleType) -> None:
    squares = "```python\ndef f(x):\n    return sum(v * v for v in x)\n```"
    assert labelling.check_code(squares, ["0"])
    assert not labelling.check_code(squares.replace("v * v", "v"), ["0"])
    assert not labelling.check_code("def f(x):\n    return open('/etc/hostname').read()", ["0"])
    right = '["books", "score", "SELECT MAX(score) FROM books"]'
    assert labelling.check_sql("SELECT score FROM books ORDER BY score DESC LIMIT 1;", [right])
    assert not labelling.check_sql("SELECT MIN(score) FROM books", [right])
    assert not labelling.check_sql("I cannot say.", [right])


def test_labels_count_at_least_one(kinds: pl.DataFrame) -> None:
    assert opinion.count_labels_worth(kinds, 0.9) == 1
    errors = [opinion.expect_label_error(kinds, n) for n in (1, 2, 5, 30)]
    assert np.all(np.diff(errors) < 0)
