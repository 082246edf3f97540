"""What rows say of a slice stands in the catalogue, and what adds up is made of each response as it says."""

import polars as pl
from production import fitted, traffic

import entropy_sentinel as es
from entropy_sentinel.monitor.monitor_result import name_slice
from entropy_sentinel.monitor.slice_columns import CATALOGUE, STATISTICS
from entropy_sentinel.monitor.summing.slice_sums import compute_statistics


def test_the_catalogue_has_every_column_and_no_other() -> None:
    features = traffic(300)
    labels = features.head(20).select("item_id", label=pl.lit(True), weight=pl.lit(15.0))
    options = {"by": ["route"], "window": "day", "reference": "2026-11-02", "min_responses": 5}
    result = es.monitor(fitted("atc-se_sum"), features, labels=labels, **options)
    assert set(result.recent.columns) == {"route", *CATALOGUE}
    assert set(result.slices.columns) | set(result.windows.columns) < {"route", *CATALOGUE}
    # The numbers stand in its order; the rank and what it is of come last.
    assert result.recent.columns[1:] == list(CATALOGUE)


def test_statistics_of_each_response() -> None:
    """The second is not estimated, and so not among those of which some are cut off; the third does not say."""
    why = pl.Series("excluded", [None, "of model 'x'", None, None], dtype=pl.String)
    frame = pl.DataFrame({"cut_off": [True, True, None, False]}).with_columns(
        why,
        overridden=pl.Series([False, False, True, False]),
        same_model=pl.Series([False, False, False, True]),
        sample=pl.Series([0, 1, 0, 0]),
        stable_classes=pl.Series(["2.0", "2.0", "1", None]),
    )
    made = dict(zip(STATISTICS, compute_statistics(frame), strict=True))
    assert made["n_responses"].tolist() == [1, 1, 1, 1]
    assert made["n_estimated"].tolist() == [1, 0, 1, 1]
    assert made["n_same_model"].tolist() == [0, 0, 0, 1]
    assert made["cut_off_share"].tolist() == [1, 0, 0, 0]
    # The first response speaks for its question, and the last is of one of which nothing is known.
    assert made["n_questions"].tolist() == [1, 0, 1, 0]
    assert made["ambiguous_share"].tolist() == [1, 0, 0, 0]


def test_a_missing_value_and_a_dash_have_different_names() -> None:
    assert name_slice(["shop", None, "-"]) == 'shop, -, "-"'
