"""Methods on a few questions, worked out by hand; what they do where they have nothing to learn from."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from papers.intervals.half_questions import Questions
from papers.intervals.integer_beliefs import convert_first_steps, convert_pass, convert_samples
from papers.intervals.interval_frames import ADJUSTED_INTERVALS, DIFFERENCES, INTEGER_ANSWERS
from papers.intervals.interval_methods import FittedMethods, adjust_model, list_available_methods, name_end
from papers.intervals.interval_report import build_summaries
from papers.intervals.interval_scores import compute_differences, compute_scores
from papers.intervals.signal_families.integers.integers_frames import INTEGERS
from papers.intervals.smallest_mass import Distribution
from scipy.stats import binomtest

LEVEL = 90.0
NONE_FAR = pl.DataFrame(schema={"model": pl.String, "level": pl.Float64, "item_id": pl.String})


def questions(number: int, repeats: int = 1, readable: bool = True) -> Questions:
    """Questions 0, 1, ... with their number as the answer, and [number - 1, number + 1] as stated by every query."""
    true = np.arange(number)
    middle = np.repeat(true[:, None], repeats, axis=1) + (0.0 if readable else np.nan)
    return Questions(
        np.array([f"q-{one}" for one in true]),
        true,
        None,
        {LEVEL: (middle - 1, middle + 1)},
        {},
        {LEVEL: None},
        [None] * number,
    )


def test_methods_need_what_they_are_made_of() -> None:
    plain = ["base", "conformal", "normalised", "cqr"]
    assert list_available_methods(questions(3), LEVEL) == plain
    assert list_available_methods(questions(3, repeats=2), LEVEL) == [*plain, "tunnel"]
    grouped = replace(questions(3), group=np.array(["a", "b", "a"]))
    assert list_available_methods(grouped, LEVEL) == ["base", "conformal", "normalised", "mondrian", "cqr"]
    once = replace(questions(3), samples_by_temperature={1.0: np.zeros((3, 2))})
    assert list_available_methods(once, LEVEL) == [*plain, "sampling", "self_consistency"]
    twice = replace(once, samples_by_temperature={1.0: np.zeros((3, 2)), 0.5: np.zeros((3, 2))})
    assert "temperature_search" in list_available_methods(twice, LEVEL)
    believed = replace(questions(1), beliefs=[Distribution(np.array([1.0]), np.array([1.0]))])
    assert list_available_methods(believed, LEVEL) == [*plain, "logprob", "logprob_scaled"]


def test_conformal_shrinks_intervals_that_are_too_wide() -> None:
    """Of ten questions whose answers are in the middle of [y - 1, y + 1] every score is -1, and so is the quantile."""
    lower, upper = FittedMethods(questions(10), 0).apply("conformal", LEVEL, questions(2)).ends
    assert (lower.tolist(), upper.tolist()) == ([0, 1], [0, 1])


def test_the_first_query_is_what_is_stated_even_where_it_cannot_be_read() -> None:
    asked = questions(2, repeats=3)
    asked.stated[LEVEL][0][0, 0] = asked.stated[LEVEL][1][0, 0] = np.nan
    lower, _ = FittedMethods(asked, 0).apply("base", LEVEL, asked).ends
    assert np.isnan(lower[0])
    assert lower[1] == 0
    # The other two queries are the tunnel's.
    assert FittedMethods(asked, 0).apply("tunnel", LEVEL, asked).ends[0].tolist() == [-1, 0]


def test_self_consistency_is_the_hull_of_what_was_stated_often() -> None:
    """Of ten answers 3 is nine tenths, which does not exceed 90 %; so the next likely one is taken too."""
    drawn = np.array([[3.0] * 9 + [5.0], [3.0] * 10, [np.nan] * 10])
    asked = replace(questions(3), samples_by_temperature={1.0: drawn})
    lower, upper = FittedMethods(asked, 0).apply("self_consistency", LEVEL, asked).ends
    assert lower[:2].tolist() == [3, 3]
    assert upper[:2].tolist() == [5, 3]
    assert np.isnan(lower[2])


def test_a_temperature_is_chosen_on_the_known_questions() -> None:
    """At 0.5 all answers are right, at 1 all are off by 4."""
    known = replace(
        questions(4),
        samples_by_temperature={
            1.0: np.full((4, 2), 4.0) + np.arange(4)[:, None],
            0.5: np.tile(np.arange(4.0)[:, None], 2),
        },
    )
    result = FittedMethods(known, 100).apply("temperature_search", LEVEL, known)
    assert result.temperature == 0.5
    assert result.ends[0].tolist() == [0, 1, 2, 3]


def test_a_level_with_too_few_questions_is_reported() -> None:
    """Seven questions reach 87.5 % at most, so that only the stated intervals of 90 % have ends."""
    frame = ADJUSTED_INTERVALS.frame([{"model": "m"} | row for row in adjust_model(questions(7), questions(5), 0, 1)])
    compared = DIFFERENCES.frame(list(compute_differences(frame, {"resamples": 10, "seed": 1})))
    message = build_summaries(pl.DataFrame(list(compute_scores(frame, NONE_FAR))), compared)[0]
    assert (message.chosen, message.may_hold) == ("base", True)
    assert message.advice.startswith("No other method has finite ends at this level")


def test_scores_are_over_the_questions_of_all_methods_and_coverage_over_its_own() -> None:
    """Two methods on three questions, one of which the first cannot answer: the second is worst there."""
    ends = {"base": [(0, 2), (5, 5), None], "sampling": [(0, 4), (4, 5), (0, 1)]}
    rows = [
        {
            "model": "m",
            "method": method,
            "level": 90.0,
            "half": "test",
            "item_id": f"i{place}",
            "true": (1, 4, 9)[place],
        }
        | {"lower": one and float(one[0]), "upper": one and float(one[1])}
        for method, all_of in ends.items()
        for place, one in enumerate(all_of)
    ]
    far = [("m", 90.0, "i2"), ("m", 99.0, "i0"), ("other", 90.0, "i0"), ("m", 90.0, "of the other half")]
    base, sampling = compute_scores(ADJUSTED_INTERVALS.frame(rows), pl.DataFrame(far, NONE_FAR.schema, orient="row"))
    assert (base["n_questions"], base["n_too_far"]) == (3, 1)
    # Widths 2 and 0, and 20 for a distance of 1; widths 4 and 1: the miss by 8 (161) is on the third question.
    assert (base["score"], base["n_common"], base["n"], base["coverage"]) == (11.0, 2, 2, 0.5)
    assert (sampling["score"], sampling["median_score"], sampling["width"]) == (2.5, 2.5, 2.5)
    assert (sampling["n_common"], sampling["n"], sampling["coverage"]) == (2, 3, pytest.approx(2 / 3))


@pytest.mark.parametrize(("chosen", "end"), [(0.5, "smallest"), (1.0, None), (2.0, "largest")])
def test_a_temperature_at_the_end_of_its_candidates_is_reported(chosen: float, end: str | None) -> None:
    assert name_end(chosen, (0.5, 1.0, 2.0)) == end
    rows = [_one(method, 9.0 - covered / 100, covered) for method, covered in {"base": 20, "sampling": 95}.items()]
    rows[1][0].update(temperature=chosen, temperature_end=end)
    frames = [
        pl.DataFrame([{"half": half} | row[number] for half in ("calibration", "test") for row in rows])
        for number in (0, 1)
    ]
    (result,) = build_summaries(*frames)
    told = f"Sampling: T* {chosen:g} is the {end} candidate; a better one may lie beyond it."
    assert (told in result.advice) == (end is not None)


def _one(method: str, score: float, covered: int) -> tuple[dict, dict]:
    """Rows of SCORES and DIFFERENCES of both halves: of 100 questions so many are covered at 90 %."""
    share = binomtest(covered, 100).proportion_ci(0.95, "wilson")
    about = {"model": "m", "method": method, "level": 90.0, "n": 100, "score": score}
    held = {"coverage": covered / 100, "coverage_lower": share.low, "coverage_upper": share.high}
    return about | held | {"n_questions": 100, "n_too_far": 0}, about | {
        "difference": score - 9,
        "lower": -1.0,
        "upper": 1.0,
    }


@pytest.mark.parametrize(
    ("covered", "chosen", "may_hold", "message"),
    [
        # 95 of 100 have an upper limit of 97.8 %, 84 one of 89.9 %: the better score does not hold.
        ({"base": 20, "conformal": 95, "sampling": 84}, "conformal", True, "Use Split conformal: it has the lowest"),
        # 85 of 100 have one of 90.7 %.
        ({"base": 20, "conformal": 95, "sampling": 85}, "sampling", True, "Use Sampling: it has the lowest score of"),
        ({"base": 20, "conformal": 70, "sampling": 84}, "sampling", False, "No method with finite intervals reaches"),
        ({"base": 85, "conformal": 70, "sampling": 84}, "base", True, "Use them as they are: no other that holds has"),
    ],
)
def test_what_does_not_hold_is_not_chosen_for_its_score(
    covered: dict[str, int], chosen: str, may_hold: bool, message: str
) -> None:
    score = {"base": 9.0, "conformal": 5.0, "sampling": 4.0}
    rows = [_one(method, score[method], number) for method, number in covered.items()]
    halves = [{"half": half} for half in ("calibration", "test")]
    frames = [pl.DataFrame([half | row[number] for half in halves for row in rows]) for number in (0, 1)]
    (result,) = build_summaries(*frames)
    assert (result.chosen, result.may_hold) == (chosen, may_hold)
    assert result.advice.startswith(message)


@pytest.mark.parametrize(
    ("n", "n_too_far", "message"),
    [
        (100, 0, "Of 100 90 % intervals by m, 20% (13% to 29%) contain the truth."),
        (90, 0, "Of 90 90 % intervals by m, 20% (13% to 29%) contain the truth; 10 more answers could not be read."),
        (99, 1, "contain the truth; 1 more interval is too far from 0 to be used."),
        (79, 15, "; 6 more answers could not be read and 15 more intervals are too far from 0 to be used."),
        (0, 0, "No 90 % interval of m could be read."),
        (0, 100, "No 90 % interval of m can be used: 100 intervals are too far from 0 to be used."),
        (0, 99, "can be used: 1 answer could not be read and 99 intervals are too far from 0 to be used."),
    ],
)
def test_intervals_too_far_from_zero_are_counted_apart_from_answers_that_cannot_be_read(
    n: int, n_too_far: int, message: str
) -> None:
    score, difference = _one("base", 9.0, 20)
    score |= {"n": n, "n_too_far": n_too_far} | ({} if n else {"coverage": None})
    (result,) = build_summaries(*(pl.DataFrame([{"half": "test"} | row]) for row in (score, difference)))
    assert result.n_unread == 100 - n - n_too_far
    assert result.coverage_sentence.endswith(message)


@pytest.mark.parametrize(("known", "new"), [(False, True), (True, False), (False, False)])
def test_if_nothing_can_be_read_there_are_no_intervals_and_no_error(known: bool, new: bool) -> None:
    rows = [{"model": "m"} | row for row in adjust_model(questions(7, 1, known), questions(5, 1, new), 0, 1)]
    frame = ADJUSTED_INTERVALS.frame(rows)
    test = frame.filter(half="test")
    assert test.filter(method="base")["lower"].null_count() == (0 if new else 5)
    assert test.filter(method="conformal")["lower"].null_count() == (0 if known and new else 5)
    result = list(compute_scores(frame, NONE_FAR))
    assert {row["n"] for row in result if row["half"] == "calibration"} == {7 if known else 0}
    compared = DIFFERENCES.frame(list(compute_differences(frame, {"resamples": 10, "seed": 1})))
    reasons = dict(compared.filter(half="test").select("method", "reason").iter_rows())
    assert reasons.pop("base") == (None if new else "no question")
    assert all((reason == "no question") if known else (": 0, at" in reason) for reason in reasons.values())
    message = build_summaries(pl.DataFrame(result), compared)[0]
    nothing = "No method can be chosen: there is no question on which all have a finite interval."
    chosen = "As stated has the lowest score of those that hold on the calibration half; on the test half it has no "
    chosen += "interval."
    assert message.advice == (chosen if known else nothing)
    assert ("could be read" in message.coverage_sentence) != new


@pytest.mark.parametrize(
    ("n_readable", "left_out"),
    [(1, {"conformal": 0, "normalised": 0, "cqr": 1}), (2, {"cqr": 1}), (3, {})],
)
def test_a_method_that_cannot_be_fitted_on_every_fold_is_left_out_with_the_reason(
    n_readable: int, left_out: dict[str, int]
) -> None:
    """Of 100 calibration questions so many are readable, in folds of their own: of any fold but theirs one less is."""
    known = questions(100)
    folds = np.random.default_rng(1).permutation(100) % 5
    readable = [int(np.flatnonzero(folds == fold)[0]) for fold in range(n_readable)]
    lower, upper = known.stated[LEVEL]
    unreadable = np.setdiff1d(np.arange(100), readable)
    lower[unreadable] = upper[unreadable] = np.nan
    frame = ADJUSTED_INTERVALS.frame([{"model": "m"} | row for row in adjust_model(known, questions(40), 0, 1)])
    message, least = "some fold has too few usable intervals to fit on: {}, at least {} are needed", {"cqr": 2}
    reasons = {method: message.format(there, least.get(method, 1)) for method, there in left_out.items()}
    assert dict(frame.drop_nulls("reason").select("method", "reason").iter_rows()) == reasons
    assert frame.drop_nulls("reason")["lower"].null_count() == 140 * len(left_out)
    compared = DIFFERENCES.frame(list(compute_differences(frame, {"resamples": 10, "seed": 1}))).filter(half="test")
    assert {method: reason for method, reason in compared.select("method", "reason").iter_rows() if reason} == (
        reasons | dict.fromkeys({"conformal", "normalised", "cqr"} - {*reasons}, "an interval is infinite")
    )
    # What is left out takes no question from the others.
    assert compared.filter(method="base")["n"].item() == 40
    assert build_summaries(pl.DataFrame(list(compute_scores(frame, NONE_FAR))), compared)[
        0
    ].coverage_sentence.startswith("Of 40 ")


@pytest.mark.parametrize(("method", "number"), [("conformal", 12), ("normalised", 12), ("cqr", 24)])
def test_the_answer_to_a_calibration_question_has_no_part_in_its_own_interval(method: str, number: int) -> None:
    """With so few questions the margin is the largest of all scores: an answer far away moves other intervals alone."""
    known = questions(number)
    known.stated[LEVEL][0][:, 0] -= np.random.default_rng(0).integers(0, 4, number)

    def intervals(asked: Questions) -> dict[str, tuple[float, float]]:
        rows = [row for row in adjust_model(asked, known, 0, 1) if row["half"] == "calibration"]
        return {row["item_id"]: (row["lower"], row["upper"]) for row in rows if row["method"] == method}

    before, moved = intervals(known), set()
    for place in range(0, number, 5):
        after = intervals(replace(known, true=known.true + 1000 * (np.arange(number) == place)))
        others = {item for item in before if after[item] != before[item]}
        assert known.item_id[place] not in others
        moved |= others
    assert moved


def test_kinds_that_one_half_lacks_are_left_out() -> None:
    grouped = replace(questions(6), group=np.array(["a", "b"] * 3))
    methods = {row["method"] for row in adjust_model(grouped, questions(2), 0, 1)}
    assert "mondrian" not in methods
    methods = {row["method"] for row in adjust_model(grouped, replace(questions(2), group=np.array(["a", "c"])), 0, 1)}
    assert "mondrian" in methods


def test_distributions_of_a_pass_are_of_whole_integers_and_of_first_tokens() -> None:
    about = {"model": "m", "benchmark": "b", "item_id": "b-0", "sample": 0}
    row = about | {"values": [-1, 12], "logprobs": list(np.log([0.25, 0.5])), "missing": 0.25}
    row |= {"first_values": [1], "first_logprobs": [np.log(0.625)], "reason": None}
    none = about | {"item_id": "b-1", "reason": "no integer"}
    whole, first = convert_pass(INTEGERS.frame([dict.fromkeys(INTEGERS.schema) | one for one in (row, none)]))
    assert (whole["basis"], whole["values"], whole["probabilities"]) == ("whole", [-1, 12], pytest.approx([0.25, 0.5]))
    assert whole["missing"] == pytest.approx(0.25)
    assert (first["basis"], first["values"], first["probabilities"]) == ("first_token", [1], pytest.approx([0.625]))


def test_first_tokens_that_are_integers_are_added_up_by_their_value() -> None:
    tokens = ["3", " 3", "-", "7", "three", "07", "-2"]
    shares = [0.3, 0.1, 0.2, 0.05, 0.05, 0.02, 0.08]
    row = {"model": "m", "benchmark": "b", "item_id": "b-0", "tokens": tokens, "logprobs": list(np.log(shares))}
    (result,) = convert_first_steps(pl.DataFrame([row]))
    assert result["values"] == [-2, 3, 7]
    assert result["probabilities"] == pytest.approx([0.08, 0.4, 0.05])
    assert result["missing"] == pytest.approx(0.47)


def test_a_sampled_integer_counts_once_with_the_probability_of_its_likeliest_text() -> None:
    rows = [(3, 0.2), (3, 0.2), (3, 0.01), (-4, 0.1), (None, 0.5)]
    frame = INTEGER_ANSWERS.frame(
        [
            ("m", "b", "b-0", n, 1.0, value, share, None if value else "no_integer")
            for n, (value, share) in enumerate(rows)
        ]
    )
    (result,) = convert_samples(frame)
    assert result["values"] == [-4, 3]
    assert result["probabilities"] == pytest.approx([0.1, 0.2])
    assert result["missing"] == pytest.approx(0.7)
