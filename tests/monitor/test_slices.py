"""Rows of slices and windows, against the same worked out from all responses at once."""

from datetime import timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from production import BEGIN, change_metadata, fitted, traffic, written
from scipy.stats import false_discovery_control as fdr

import entropy_sentinel as es
from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.monitor.alert_codes import Flag
from entropy_sentinel.monitor.estimating.change_test import compute_p_value
from entropy_sentinel.monitor.showing.monitor_terminal import collect_reasons
from entropy_sentinel.monitor.summing.slice_sums import list_pairs

NUMBERS = ("estimated_accuracy", "lower", "upper", "expected_errors", "expected_errors_lower", "expected_errors_upper")
NUMBERS += ("change", "change_p", "change_q", "cut_off_share", "estimate_worth")


@pytest.fixture(scope="module")
def estimator() -> FittedEstimator:
    return fitted()


@pytest.fixture(scope="module")
def features() -> pl.DataFrame:
    """Traffic of four days; 30 responses without features, users that are null."""
    whole = traffic(1500)
    number = pl.int_range(pl.len())
    without = number % 50 == 7
    return whole.with_columns(
        reason=pl.when(without).then(pl.lit("empty response")),
        user=pl.when(number % 40 != 3).then("user"),
        **{name: pl.when(~without).then(name) for name in FEATURES},
    )


def agree(one: pl.DataFrame, other: pl.DataFrame, keys: list[str]) -> None:
    one, other = one.sort(keys), other.sort(keys)
    assert one.drop(NUMBERS).equals(other.drop(NUMBERS))
    assert_frame_equal(one.select(NUMBERS), other.select(NUMBERS), rel_tol=1e-12, abs_tol=1e-12)


def test_estimates_are_those_of_the_estimator(estimator, features) -> None:
    result = es.monitor(estimator, features, by=["route", "user"]).slices
    assert result["user"].null_count() == 3
    assert es.estimate(estimator, features, by=["route", "user"]).equals(result)
    for row in result.iter_rows(named=True):
        whole = features.filter(pl.col("route").eq_missing(row["route"]), pl.col("user").eq_missing(row["user"]))
        usable = whole.filter(pl.col("reason").is_null())
        assert (row["n_estimated"], row["n_excluded"]) == (len(usable), len(whole) - len(usable))
        assert row["estimated_accuracy"] == pytest.approx(estimator.estimator.accuracy(usable), abs=1e-12)


def test_all_responses_are_one_slice_where_none_is_requested(estimator, features) -> None:
    result = es.monitor(estimator, features).slices
    usable = features.filter(pl.col("reason").is_null())
    assert result.select("slice", "n_responses", "n_estimated", "n_excluded").rows() == [("all", 1500, 1470, 30)]
    assert result["estimated_accuracy"][0] == pytest.approx(estimator.estimator.accuracy(usable), abs=1e-12)
    assert result["cut_off_share"][0] == pytest.approx(usable["cut_off"].mean())


def test_how_the_logs_are_split_over_files_makes_no_difference(estimator, features, tmp_path: Path) -> None:
    options = {"by": ["route"], "window": "day", "reference": "2026-11-02..2026-11-03"}
    whole = es.monitor(estimator, features, **options)
    part = np.random.default_rng(0).integers(0, 5, len(features))
    paths = [written(features.filter(part == number), tmp_path / f"{number}.parquet") for number in (3, 0, 4, 1, 2)]
    split = es.monitor(estimator, paths, **options)
    agree(split.slices, whole.slices, ["route"])
    agree(split.windows, whole.windows, ["route", "window"])


def test_windows_add_up_to_the_slices_and_nothing_is_lost(estimator, features) -> None:
    odd = features.with_columns(time=pl.when(pl.int_range(pl.len()) % 100 != 0).then("time"))
    result = es.monitor(estimator, odd, by=["route"], window="hour")
    added = result.windows.group_by("route").agg(pl.col("n_responses", "n_estimated", "n_excluded").sum())
    counts = ["route", "n_responses", "n_estimated", "n_excluded"]
    assert added.sort("route").equals(result.slices.select(counts).sort("route"))
    assert result.windows.filter(pl.col("window").is_null())["n_responses"].sum() == 15
    assert result.problems.counts == {"time-missing": 15}
    hours = result.windows["window"].drop_nulls().unique().sort()
    assert (hours[0], hours[-1], len(hours)) == (BEGIN, BEGIN + timedelta(hours=95), 96)


def test_a_change_is_of_what_came_after_the_reference(estimator, features) -> None:
    # Responses of `shop` become less certain on the third day.
    third = BEGIN + timedelta(days=2)
    late = (pl.col("time") >= third) & (pl.col("route") == "shop")
    uncertain = pl.col("max", "mean", "se_sum", "nll_avg", "nll_max", "nll_sum")
    drifted = features.with_columns(pl.when(late).then(uncertain * 3).otherwise(uncertain))
    result = es.monitor(estimator, drifted, by=["route"], reference="2026-11-02..2026-11-03", alert_on=["drop"])
    wanted, p = {}, {}
    for route in ("shop", "school", "support"):
        rows = drifted.filter(pl.col("reason").is_null(), pl.col("route") == route)
        now, then = (rows.filter(pl.col("time") >= third), rows.filter(pl.col("time") < third))
        wanted[route] = estimator.estimator.accuracy(now) - estimator.estimator.accuracy(then)
        p[route] = compute_p_value(estimator.estimator.accuracies_of, side(estimator, now), side(estimator, then))
    rows = {row["route"]: row for row in result.slices.iter_rows(named=True)}
    assert {route: row["change"] for route, row in rows.items()} == pytest.approx(wanted, abs=1e-12)
    assert {route: row["change_p"] for route, row in rows.items()} == pytest.approx(p, rel=1e-6)
    assert [rows[route]["change_q"] for route in p] == pytest.approx(fdr(list(p.values())), rel=1e-6)
    assert rows["shop"]["change"] < -0.1
    assert [(alert["kind"], alert["slice"]) for alert in result.alerts] == [("drop", {"route": "shop"})]


def side(saved: FittedEstimator, rows: pl.DataFrame) -> tuple[int, np.ndarray, np.ndarray]:
    """A side of the test: n, sums, sums of products."""
    values = saved.estimator.values(rows)
    products = [(values[:, i] * values[:, j]).sum() for i, j in list_pairs(values.shape[1])]
    return len(rows), values.sum(axis=0), np.array(products)


def test_windows_in_the_reference_and_before_it_have_no_change(estimator, features) -> None:
    result = es.monitor(estimator, features, window="day", reference="2026-11-03").windows
    for name in ("change", "change_q"):
        assert result[name].is_null().to_list() == [True, True, False, False]


def test_a_reference_without_responses_is_an_error(estimator, features) -> None:
    # Responses of which none can be estimated are nothing to compare with.
    early = pl.col("time") < BEGIN + timedelta(days=1)
    none = features.with_columns(reason=pl.when(early).then(pl.lit("empty response")).otherwise("reason"))
    for logs, reference, message in (
        (features, "..2026-10-18", "up to 2026-10-18 .*from 2026-11-02 to 2026-11-05"),
        (none, "2026-11-02", "2026-11-02 .*no response with an estimate"),
    ):
        with pytest.raises(InputError, match=f"reference: {message}"):
            es.monitor(estimator, logs, window="day", reference=reference)
    open_end = es.monitor(estimator, features, reference="..2026-11-03")
    assert open_end.slices["change"].null_count() == 0
    assert open_end.provenance["reference"] == ["2026-11-02T00:00:00+00:00", "2026-11-04T00:00:00+00:00"]


def test_few_responses_are_flagged_and_not_tested(estimator, features) -> None:
    few = features.filter((pl.col("route") != "support") | (pl.col("time") < BEGIN + timedelta(days=2, hours=6)))
    result = es.monitor(estimator, few, by=["route"], reference="2026-11-02..2026-11-03", min_responses=60)
    row = result.slices.row(by_predicate=pl.col("route") == "support", named=True)
    assert row["change"] is not None
    assert (row["change_p"], row["change_q"]) == (None, None)
    tiny = es.monitor(estimator, few.head(40), by=["route"]).slices
    assert [(Flag.FEW_RESPONSES in codes) for codes in tiny["flag_codes"]] == [n < 30 for n in tiny["n_estimated"]]
    assert "3 responses with an estimate, fewer than 30" in es.monitor(estimator, few.head(3)).slices["reasons"][0]


def test_intervals_are_those_of_the_validation_card(estimator, features) -> None:
    result = es.monitor(estimator, features, by=["route"], level=0.8).slices
    validation = estimator.validation
    same = validation.residuals.intervals(result["estimated_accuracy"], result["n_estimated"], 0.8)
    assert result["lower"].to_list() == same.lower.tolist()
    assert result["upper"].to_list() == same.upper.tolist()
    assert result["basis"].to_list() == [same.basis] * 3 == ["predictive"] * 3
    beside = validation.residuals.conformal_intervals(result["estimated_accuracy"], result["n_estimated"], 0.8)
    assert result["conformal_lower"].to_list() == beside.lower.tolist()
    assert result["conformal_upper"].to_list() == beside.upper.tolist()
    higher = es.monitor(estimator, features, level=0.95).slices  # 4 domains: conformal up to 0.8
    assert higher.select("conformal_lower", "conformal_upper", "basis").row(0) == (None, None, "predictive")


def test_the_rank_is_by_expected_errors(estimator, features) -> None:
    result = es.monitor(estimator, features, by=["route"]).slices
    errors = (result["n_estimated"] * (1 - result["estimated_accuracy"])).to_list()
    assert result["expected_errors"].to_list() == pytest.approx(errors)
    assert errors == sorted(errors, reverse=True)
    assert result["rank"].to_list() == [1, 2, 3]
    fewest = (result["n_estimated"] * (1 - result["upper"])).to_list()
    assert result["expected_errors_lower"].to_list() == pytest.approx(fewest)


def test_slices_without_an_estimate_are_there(estimator, features) -> None:
    school = pl.col("route") == "school"
    none = features.with_columns(reason=pl.when(school).then(pl.lit("empty response")).otherwise("reason"))
    row = es.monitor(estimator, none, by=["route"]).slices.row(by_predicate=school, named=True)
    assert (row["n_estimated"], row["n_excluded"]) == (0, row["n_responses"])
    null = ("estimated_accuracy", "lower", "upper", "cut_off_share", "expected_errors", "rank")
    assert [row[name] for name in null] == [None] * 6
    assert row["flag_codes"][:2] == [Flag.FEW_RESPONSES, Flag.EXCLUDED]


def test_the_smallest_slices_are_pooled(estimator, features) -> None:
    many = features.with_columns(route=pl.when(pl.int_range(pl.len()) < 900).then("route").otherwise("item_id"))
    result = es.monitor(estimator, many, by=["route"], max_slices=2)
    assert set(result.slices["route"]) == {"shop", "school", "(others)"}
    others = result.slices.row(by_predicate=pl.col("route") == "(others)", named=True)
    rest = many.filter(~pl.col("route").is_in(["shop", "school"]), pl.col("reason").is_null())
    assert others["n_estimated"] == len(rest)
    assert others["estimated_accuracy"] == pytest.approx(estimator.estimator.accuracy(rest), abs=1e-12)
    assert "contains 601 smaller slices" in others["reasons"]
    assert result.provenance["pooled_slices"] == 601
    assert result.slices["n_responses"].sum() == 1500


def test_a_column_of_a_name_that_the_table_has(estimator, features) -> None:
    result = es.monitor(estimator, features.rename({"route": "level"}), by=["level"]).slices
    assert set(result["slice_level"]) == {"shop", "school", "support"}
    assert result["level"].to_list() == [0.9] * 3


def test_numbers_and_texts_of_two_files_are_one_slice(estimator, features, tmp_path: Path) -> None:
    numbers = [features.head(50).with_columns(route=pl.lit(7)), features[50:100].with_columns(route=pl.lit("7"))]
    paths = [written(frame, tmp_path / f"{place}.parquet") for place, frame in enumerate(numbers)]
    assert es.monitor(estimator, paths, by=["route"]).slices.select("route", "n_responses").rows() == [("7", 100)]


def test_another_model_in_one_slice_leaves_the_other_slices_their_intervals(features) -> None:
    caution = "only 1 of 400 training rows are incorrect"
    estimator = change_metadata(fitted("group-accuracy", domains=4), caution=caution, support=None)
    own = es.monitor(estimator, features, by=["route"]).slices.sort("route")
    mixed = features.with_columns(model=pl.when(pl.col("route") == "shop").then(pl.lit("other")).otherwise("model"))
    rows = es.monitor(estimator, mixed, by=["route"], any_model=True).slices.sort("route")
    assert dict(rows.select("route", "basis").rows()) == {
        **dict.fromkeys(own["route"], "predictive"),
        "shop": "prior",
    }
    kept = pl.col("route") != "shop"
    ends = ("lower", "upper", "conformal_lower", "estimate_worth", "flag_codes")
    assert rows.filter(kept).select(ends).equals(own.filter(kept).select(ends))
    assert rows.filter(~kept)["n_overridden"].to_list() == own.filter(~kept)["n_estimated"].to_list()
    for slice_, codes in rows.select("route", "flag_codes").iter_rows():
        verdict = Flag.OVERRIDDEN if slice_ == "shop" else Flag.TOO_FEW_DOMAINS
        assert codes[-3:] == [Flag.TRAINING_ACCURACY, verdict, Flag.SUPPORT_UNKNOWN]


def test_the_validation_of_another_model_is_not_shown_as_if_it_held(features) -> None:
    estimator = fitted("group-accuracy")
    other = es.monitor(estimator, features.with_columns(model=pl.lit("other")), by=["route"], any_model=True)
    (reason,) = other.provenance["general_flags"].values()
    assert "model 'm', " in reason
    assert "of model 'other'" in reason
    # As of an estimator without any validation.
    bare = change_metadata(fitted("group-accuracy"), validation=None)
    same = es.monitor(bare, features, by=["route"])
    assert same.provenance["general_flag_codes"] == [Flag.NO_VALIDATION]
    assert set(same.slices["basis"]) == {"prior"}
    assert other.slices.select("lower", "upper", "basis").equals(same.slices.select("lower", "upper", "basis"))


def test_each_flagged_slice_has_its_reason(features) -> None:
    cut = features.with_columns(cut_off=pl.col("route") != "shop")
    result = es.monitor(fitted("group-accuracy"), cut, by=["route"], alert_on=["truncated"])
    names, _, reason = collect_reasons(result)["truncated"].partition(": ")
    assert (set(names.split(", ")), reason) == ({"school", "support"}, "100% of the responses were truncated")
    alerts = {(alert["kind"], alert["slice"]["route"], alert["message"]) for alert in result.alerts}
    assert alerts == {("truncated", "school", reason), ("truncated", "support", reason)}


def test_slices_outside_the_support_are_flagged(features) -> None:
    strange = features.with_columns(max=pl.when(pl.col("route") == "school").then(pl.col("max") * 20).otherwise("max"))
    result = es.monitor(fitted("group-accuracy"), strange, by=["route"], alert_on=["support"])
    outside = {row["route"]: Flag.OUTSIDE_SUPPORT in row["flag_codes"] for row in result.slices.iter_rows(named=True)}
    assert outside == {"shop": False, "school": True, "support": False}
    assert [(alert["kind"], alert["slice"]) for alert in result.alerts] == [("support", {"route": "school"})]


def test_invalid_options_of_the_monitor_are_refused(estimator, features) -> None:
    with pytest.raises(InputError, match="column 'when'"):
        es.monitor(estimator, features, window="day", time="when")
    with pytest.raises(ConfigError, match="by: each column once"):
        es.monitor(estimator, features, by=["route", "route"])
    with pytest.raises(ConfigError, match="state: needs an estimator from a file"):
        es.monitor(estimator, features, state="there")
