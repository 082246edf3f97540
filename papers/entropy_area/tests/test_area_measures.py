"""Items, correlations, spread, truncation, variety and decayed sums: by hand, by SciPy and by NumPy."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from papers.entropy_area.area_exhibits import ALL_BENCHMARKS
from papers.entropy_area.area_frames import (
    ANSWER_CLASSES,
    CORRELATIONS,
    ITEMS,
    RESPONSES,
    SPREAD,
    TRUNCATION,
)
from papers.entropy_area.area_measures import RANGES, compute_spreads, correlate_measures
from papers.entropy_area.item_variety import (
    answer_entropy,
    correctness_entropy,
    entropy_bits,
    join_measures,
    summarise_items,
    write_truncation,
)
from papers.entropy_area.trajectories import compute_decayed_sums
from scipy import stats

from entropy_sentinel.study.signal_families.forced_answer.forced_answer_frames import FORCED_ANSWERS

P = np.array([[0.1, 0.4, 0.2, 0.9], [0.8, 0.1, 0.1, 0.05]])


def test_decayed_sums_by_the_definition() -> None:
    """Third step of the first option: 0.1 / sqrt(3) + 0.4 / sqrt(2) + 0.2; and all by the double sum."""
    result = compute_decayed_sums(P, 0.5)
    assert result[0, 2] == pytest.approx(0.1 / np.sqrt(3) + 0.4 / np.sqrt(2) + 0.2, abs=1e-12)
    for option, t in np.ndindex(P.shape):
        assert result[option, t] == pytest.approx(
            sum(P[option, k - 1] / (t + 1 - k + 1) ** 0.5 for k in range(1, t + 2)), abs=1e-12
        )
    assert compute_decayed_sums(P, 0) == pytest.approx(np.cumsum(P, axis=1), abs=1e-12)
    assert compute_decayed_sums(P, np.inf) == pytest.approx(P, abs=0)
    assert compute_decayed_sums(P, 200) == pytest.approx(P, abs=1e-12)
    assert compute_decayed_sums(np.empty((0, 4))).shape == (0, 4)
    # Sums of vocabulary probabilities, not renormalised: two options that add up to 0.9 stay at 0.9.
    assert result[:, 0].sum() == pytest.approx(0.9)


def test_entropy_of_counts_is_in_bits() -> None:
    assert entropy_bits([8]) == 0
    assert entropy_bits([1, 1]) == 1
    assert entropy_bits([2, 2, 2, 2, 0]) == 2
    # 3/4 log2(4/3) + 1/4 log2(4) = 2 - 3/4 log2(3)
    assert entropy_bits([3, 1]) == pytest.approx(2 - 0.75 * np.log2(3), abs=1e-15)
    assert entropy_bits([5, 7, 1, 51]) == pytest.approx(stats.entropy([5, 7, 1, 51], base=2), abs=1e-12)
    assert str(entropy_bits([8])) == "0.0"  # and not -0.0
    with pytest.raises(ValueError, match="above 0"):
        entropy_bits([0, 0])


def test_samples_without_an_answer_are_one_class_or_left_out() -> None:
    answers = [4, 4, 7, None, None, None, None, 4]
    # 3, 1 and 4 of 8: 3/8 log2(8/3) + 1/8 * 3 + 1/2 = 2 - 3/8 log2(3)
    assert answer_entropy(answers) == pytest.approx(2 - 3 / 8 * np.log2(3), abs=1e-15)
    assert answer_entropy(answers, unreadable=False) == pytest.approx(2 - 0.75 * np.log2(3), abs=1e-15)
    assert answer_entropy([None, None]) == 0
    assert answer_entropy([None, None], unreadable=False) is None
    assert answer_entropy([0, 0, 0]) == 0  # class 0 is a class


def test_correctness_entropy_is_that_of_a_coin() -> None:
    assert [correctness_entropy(right, 64) for right in (0, 32, 64)] == [0, 1, 0]
    # p = 1/8: 3/8 + 7/8 log2(8/7)
    assert correctness_entropy(8, 64) == pytest.approx(3 / 8 + 7 / 8 * np.log2(8 / 7), abs=1e-15)
    # Four answers, one of them right as often as wrong: wrong ones that differ count for nothing here.
    assert correctness_entropy(2, 4) == 1 < answer_entropy(["a", "a", "b", "c"])
    with pytest.raises(ValueError, match="between 0 and n_samples 4, got 5"):
        correctness_entropy(5, 4)


SETTINGS: Any = {"sets": {"b": ["b"], "both": ["c", "d"]}, "answers": ["reference", "own"], "resamples": 50, "seed": 1}


def response(item: str, sample: int, label: bool | None, answer: int | None, **further: Any) -> dict[str, Any]:
    row = dict.fromkeys(RESPONSES.schema) | {"model": "m", "benchmark": "b", "item_id": item, "sample": sample}
    return row | {"label": label, "answer_class": answer, "n_tokens": 10, **further}


def test_an_item_is_summed_up_over_its_samples_and_measured_on_the_first() -> None:
    rows = [
        response("b-0", 3, None, None),
        response("b-0", 1, True, 0, eas_own=4.0, mean_eas_own=0.5, ppl=1.5, n_tokens=9),
        response("b-0", 4, False, 1, eas_own=9.0),
        response("b-0", 5, True, 0),
        response("b-1", 1, None, None),
    ]
    items = ITEMS.check(summarise_items(RESPONSES.frame(rows)))
    result = items.row(0, named=True)
    assert (result["n_samples"], result["n_unreadable"], result["n_answers"], result["accuracy"]) == (4, 1, 2, 0.5)
    # 2, 1, 1 of 4: 1.5 bits; 2 and 1 of 3; 2 of 4 correct.
    assert result["answer_entropy"] == 1.5
    assert result["answer_entropy_readable"] == pytest.approx(stats.entropy([2, 1], base=2), abs=1e-12)
    assert result["correctness_entropy"] == 1
    assert (result["sample"], result["eas_own"], result["mean_eas_own"], result["ppl"]) == (1, 4.0, 0.5, 1.5)
    assert result["eas_reference"] is None
    # Nothing could be read: one answer, and none.
    silent = items.row(1, named=True)
    assert (silent["answer_entropy"], silent["answer_entropy_readable"], silent["n_answers"]) == (0, None, 0)


def test_measures_are_next_to_their_response() -> None:
    answers = ANSWER_CLASSES.frame(
        [("m", "b", "b-0", 0, True, "7", 0, None), ("m", "b", "b-0", 1, None, None, None, "?")]
    )
    which = {"model": "m", "benchmark": "b", "item_id": "b-0"}
    numbers = {"sample": pl.UInt16, "n_tokens": pl.UInt32}
    features = pl.DataFrame(
        [which | {"sample": s, "ppl": 1 + s, "n_tokens": 5} for s in (1, 0)], schema_overrides=numbers
    )
    asked = pl.DataFrame(
        [
            which | {"sample": 1, "answer": kind, "eas": eas, "mean_eas": 0.1}
            for kind, eas in (("own", 2.0), ("none", 3.0))
        ],
        schema_overrides=numbers,
    )
    result = RESPONSES.check(join_measures(answers, features.cast({"ppl": pl.Float64}), asked))
    assert result["ppl"].to_list() == [1, 2]
    assert result.select("eas_own", "eas_none", "eas_reference").rows() == [(None, None, None), (2.0, 3.0, None)]


def items_of(benchmark: str, n: int, seed: int, **further: Any) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    entropy = random.uniform(0, 3, n)
    columns: dict[str, Any] = dict.fromkeys(ITEMS.schema) | {
        "model": ["m"] * n,
        "benchmark": [benchmark] * n,
        "item_id": [f"{benchmark}-{number}" for number in range(n)],
        "n_samples": [16] * n,
        "n_unreadable": [0] * n,
        "n_answers": [3] * n,
        "accuracy": random.uniform(0, 1, n),
        "answer_entropy": entropy,
        "answer_entropy_readable": entropy / 2,
        "correctness_entropy": random.uniform(0, 1, n),
        "sample": [0] * n,
        "n_tokens": random.integers(20, 90, n),
        "ppl": random.uniform(1, 2, n),
    }
    for kind in ("own", "reference"):
        columns[f"eas_{kind}"] = 10 * entropy + random.normal(0, 5, n)
        columns[f"mean_eas_{kind}"] = random.uniform(0, 1, n)
    return ITEMS.frame(columns | further)


def test_r_of_each_measure_is_that_of_scipy_on_the_items_that_have_all() -> None:
    items = pl.concat([items_of("b", 20, 1), items_of("c", 9, 2), items_of("d", 8, 3)])
    gone = pl.col("item_id").is_in(["b-3", "b-4"])
    items = items.with_columns(eas_own=pl.when(~gone).then("eas_own"))
    result = CORRELATIONS.check(CORRELATIONS.frame(list(correlate_measures(items, SETTINGS))))
    # Two sets, three entropies, and six measures: two of each kind of answer, perplexity and length.
    assert len(result) == 2 * 3 * 6
    rows = items.filter(pl.col("benchmark") == "b", ~gone)
    (one,) = result.filter(benchmark="b", measure="ppl", target="answer_entropy").iter_rows(named=True)
    expected = stats.pearsonr(rows["ppl"], rows["answer_entropy"])
    assert (one["n_items"], one["r"], one["p"]) == (
        18,
        pytest.approx(expected.statistic),
        pytest.approx(expected.pvalue),
    )
    assert one["rho"] == pytest.approx(stats.spearmanr(rows["ppl"], rows["answer_entropy"]).statistic)
    together = result.filter(benchmark="both", measure="eas_reference", target="answer_entropy_readable").row(
        0, named=True
    )
    both = items.filter(pl.col("benchmark").is_in(["c", "d"]))
    assert together["n_items"] == 17
    assert together["r"] == pytest.approx(np.corrcoef(both["eas_reference"], both["answer_entropy"])[0, 1])


def test_the_reason_for_a_missing_r_is_reported() -> None:
    items = items_of(
        "b", 6, 1, ppl=[1.5] * 6, eas_own=[None] * 6, mean_eas_own=[None] * 6, correctness_entropy=[0.0] * 6
    )
    rows = CORRELATIONS.frame(list(correlate_measures(items, SETTINGS | {"sets": {"b": ["b"]}})))
    reasons = {(row["measure"], row["target"]): row["reason"] for row in rows.iter_rows(named=True)}
    assert reasons["ppl", "answer_entropy"] == "Perplexity is the same for all items"
    assert reasons["eas_own", "answer_entropy"] == "no response has it"
    assert reasons["n_tokens", "correctness_entropy"] == "correctness entropy is the same for all items"
    assert reasons["eas_reference", "answer_entropy"] is None
    # What no response has takes no item from the others.
    assert set(rows["n_items"]) == {6}


def test_spread_of_the_score_over_samples_by_hand() -> None:
    items = items_of("b", 3, 1, answer_entropy=[0.0, 1.0, 2.0])
    scores = {"b-0": [1.0, 3.0, 2.0], "b-1": [4.0, 8.0], "b-2": [9.0, 9.0]}
    rows = [
        response(item, sample, True, 0, eas_own=score)
        for item, own in scores.items()
        for sample, score in enumerate(own)
    ]
    # An item with one score says nothing of the spread.
    rows.append(response("b-3", 0, True, 0, eas_own=100.0))
    settings = SETTINGS | {"sets": {"b": ["b"]}, "answers": ["own", "none"]}
    result = SPREAD.check(SPREAD.frame(list(compute_spreads(items, RESPONSES.frame(rows), settings))))
    own = result.row(0, named=True)
    assert (own["n_items"], own["n_scores"]) == (3, 7)
    # Squares within: 2, 8, 0, of 4 scores more than items; means 2, 6, 9.
    assert own["within_sd"] == pytest.approx(np.sqrt(10 / 4))
    assert own["between_sd"] == pytest.approx(np.std([2, 6, 9], ddof=1))
    by_sample = [np.corrcoef(values, [0, 1, 2])[0, 1] for values in ([1, 4, 9], [3, 8, 9])]
    assert own["r_first"] == pytest.approx(by_sample[0])
    assert (own["r_lowest"], own["r_highest"]) == (pytest.approx(min(by_sample)), pytest.approx(max(by_sample)))
    assert own["r_mean"] == pytest.approx(np.corrcoef([2, 6, 9], [0, 1, 2])[0, 1])
    none = result.row(1, named=True)
    assert (none["n_items"], none["within_sd"], none["r_first"]) == (0, None, None)


def asked_file(path: Path, benchmark: str, bounds: list[list[float] | None]) -> str:
    rows = []
    for number, values in enumerate(bounds):
        row = dict.fromkeys(FORCED_ANSWERS.schema) | {"model": "m", "benchmark": benchmark, "answer": "own"}
        row |= {"item_id": f"{benchmark}-{number}", "sample": 0}
        if values is not None:
            masses = [value / 10 for value in values]
            row |= {"positions": list(range(1, len(values) + 1)), "bounds": values, "missing_masses": masses}
            row |= {"entropies": [2 * value for value in values], "eas": 1.0, "mean_eas": 1.0, "eas_bound": 1.0}
        rows.append(row)
    FORCED_ANSWERS.write(FORCED_ANSWERS.frame(rows), path, {"model": "m", "benchmark": benchmark})
    return str(path)


def test_truncation_is_over_all_positions_of_all_responses(tmp_path: Path) -> None:
    values = np.linspace(0, 0.5, 40, dtype=np.float32)
    first = asked_file(tmp_path / "b.parquet", "b", [values[:5].tolist(), None, values[5:30].tolist()])
    second = asked_file(tmp_path / "c.parquet", "c", [values[30:].tolist()])
    write_truncation([first, second], {"b": ["b"], "c": ["c"]}, str(tmp_path / "out.parquet"))
    result = TRUNCATION.read(tmp_path / "out.parquet")
    every = result.filter(benchmark=ALL_BENCHMARKS)
    assert set(every["n_positions"]) == {40}
    assert set(result.filter(benchmark="b")["n_responses"]) == {2}
    expected = [values.mean(), *np.quantile(values, [0.9, 0.95, 0.99])]
    assert every["statistic"].to_list() == ["mean", "q90", "q95", "q99"]
    assert every["bound_bits"].to_list() == pytest.approx(expected, rel=1e-5)
    assert every["entropy"].to_list() == pytest.approx([2 * one for one in expected], rel=1e-5)
    # 10 % of the positions keep less mass than the 90th percentile says.
    masses = 1 - values / 10
    assert every["top_20_mass"].to_list() == pytest.approx(
        [masses.mean(), *np.quantile(masses, [0.1, 0.05, 0.01])], rel=1e-6
    )


def test_ends_of_the_ranges_are_medium() -> None:
    items = pl.DataFrame({"answer_entropy": [0.0, 0.49, 0.5, 1.5, 1.51]})
    ranges = {name: items.filter(inside)["answer_entropy"].to_list() for name, (_, inside) in RANGES.items()}
    assert ranges == {"low": [0, 0.49], "medium": [0.5, 1.5], "high": [1.51]}
