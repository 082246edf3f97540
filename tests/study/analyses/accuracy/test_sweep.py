"""AEE and rho of every estimator, worked out by hand."""

from pathlib import Path

import polars as pl
import pytest
from frames import estimate_rows

from entropy_sentinel.core.errors import ContractError
from entropy_sentinel.schemas.estimate_schema import ESTIMATES
from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_frames import SWEEP
from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_measures import compute_sweep, write_sweep

ROWS = [
    ("a", "training", 0.9, 0.8),
    ("b", "held_out", 0.5, 0.2),
    ("c", "held_out", 0.4, 0.6),
    ("d", "held_out", None, None),
    ("e", "held_out", 0.7, None),
]


def test_sweep_by_hand() -> None:
    held_out, everything = SWEEP.check(compute_sweep(estimate_rows("m", "a", ROWS))).rows(named=True)
    assert (held_out["model"], held_out["group"], held_out["scope"]) == ("m", "a", "held_out")
    assert held_out["aee"] == pytest.approx((0.3 + 0.2) / 2)
    assert held_out["rho"] == pytest.approx(-1)
    assert everything["aee"] == pytest.approx((0.1 + 0.3 + 0.2) / 3)
    assert everything["rho"] == pytest.approx(0.5)  # ranks 3 2 1 against 3 1 2: 1 - 6 * 2 / (3 * 8)
    assert (held_out["n_domains"], everything["n_domains"], held_out["k"]) == (2, 3, 1)


def test_labels_for_a_part_of_a_domain_are_compared_with_the_estimate_on_that_part() -> None:
    frame = estimate_rows("m", "a", [("b", "held_out", 0.5, 0.2)]).with_columns(estimated_on_labelled=pl.lit(0.3))
    assert compute_sweep(frame)["aee"].to_list() == pytest.approx([0.1, 0.1])


def test_a_study_without_labelled_unseen_domains_has_no_error_and_says_why() -> None:
    held_out, everything = compute_sweep(estimate_rows("m", "a", [ROWS[0], ROWS[4]])).rows(named=True)
    assert (held_out["aee"], held_out["n_domains"]) == (None, 0)
    assert held_out["reason"] == "no domain with labels and an estimate"
    assert everything["aee"] == pytest.approx(0.1)


def test_the_method_of_a_recommendation_and_the_reason_of_a_missing_fit_are_kept() -> None:
    taken, forest = '{"method": "atc-max", "domains": 3}', '{"max_depth": 3}'
    for chosen, method in ((taken, "atc-max"), (forest, None), (None, None)):
        frame = estimate_rows("m", "a", ROWS).with_columns(hyperparameters=pl.lit(chosen, pl.String))
        assert compute_sweep(frame)["method"].to_list() == [method] * 2
    frame = estimate_rows("m", "a", [("b", "held_out", None, None)]).with_columns(reason=pl.lit("all rows are correct"))
    assert compute_sweep(frame)["reason"].to_list() == ["all rows are correct"] * 2


def test_rows_say_themselves_whose_they_are(tmp_path: Path) -> None:
    """Files come in any order, and a file may hold several models and groups."""
    files = []
    for number, (model, group) in enumerate([("n", "b+c"), ("m", "a")]):
        files.append(str(tmp_path / f"{number}.parquet"))
        ESTIMATES.write(estimate_rows(model, group, ROWS), files[-1], {})
    write_sweep(files, ["m", "n"], ["a", "b+c"], str(tmp_path / "sweep.parquet"))
    result = SWEEP.read(tmp_path / "sweep.parquet")
    assert result.select("model", "group", "k").unique(maintain_order=True).rows() == [("n", "b+c", 2), ("m", "a", 1)]


def test_a_file_of_another_model_or_group_is_refused(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("first.parquet", "second.parquet")]
    for file in files:
        ESTIMATES.write(estimate_rows("m", "a", ROWS), file, {})
    output = str(tmp_path / "sweep.parquet")
    with pytest.raises(ContractError, match="first.parquet: its rows are of model 'm', group 'a', which is not"):
        write_sweep(files[:1], ["m"], ["b"], output)
    with pytest.raises(ContractError, match="second.parquet: its rows .* group 'a', and .*first"):
        write_sweep(files, ["m"], ["a", "b"], output)
