"""`--same-model`: responses of a model under a new name are estimated, and every output says what that rests on."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from production import BEGIN, DAY, change_metadata, fitted, saved, traffic, written

import entropy_sentinel as es
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.logs.model_names import SameModels
from entropy_sentinel.monitor.alert_codes import Flag
from entropy_sentinel.monitor.estimating.same_model import SameModelComparison
from entropy_sentinel.monitor.monitor_options import MonitorOptions
from entropy_sentinel.monitor.monitor_result import Monitored
from entropy_sentinel.monitor.reading.feature_stream import read_all_responses
from entropy_sentinel.monitor.showing.monitor_page import render_page

ATC = "atc-se_sum"
OPTIONS: dict[str, Any] = {"by": ["route"], "window": "day", "alert_on": ["unwatched"], "same_model": ["m=m-*"]}


@pytest.fixture(scope="module")
def estimator() -> FittedEstimator:
    return fitted(ATC)


def renamed(features: pl.DataFrame, days: float = 2, name: str = "m-03") -> pl.DataFrame:
    later = pl.col("time") >= BEGIN + days * DAY
    return features.with_columns(model=pl.when(later).then(pl.lit(name)).otherwise("model"))


def row(result: Monitored, frame: pl.DataFrame, route: str = "shop") -> dict[str, Any]:
    return frame.filter(pl.col("route") == route).row(0, named=True)


@pytest.mark.parametrize(
    ("pairs", "name", "expected"),
    [
        (["m=m-03"], "m-03", "m"),
        (["m=m-03"], "m-04", None),
        (["m=m-*"], "m-04", "m"),
        (["m=*"], "m", None),
        (["m=*"], "b", None),  # it has an estimator of its own
        (["m=openrouter/m-03"], "hosted_vllm/m-03", "m"),
        (["m=m-03", "m=m-04"], "m-04", "m"),
        (["m=m-[0]?"], "m-03", None),
        (["m=m-[0]?"], "m-[0]?", "m"),
        ([], "m-03", None),
    ],
)
def test_names(pairs: list[str], name: str, expected: str | None) -> None:
    assert SameModels.from_pairs(pairs, ["b", "m"] if pairs == ["m=*"] else []).find_old_name(name) == expected


def test_estimates_are_the_same_and_intervals_wider(estimator: FittedEstimator) -> None:
    plain = es.monitor(estimator, traffic(), **OPTIONS)
    result = es.monitor(estimator, renamed(traffic()), **OPTIONS)
    assert result.alerts == []
    assert not result.problems.counts
    before, after = row(plain, plain.slices), row(result, result.slices)
    n_new = renamed(traffic()).filter(pl.col("model") == "m-03", pl.col("route") == "shop").height
    assert (after["estimated_accuracy"], after["n_same_model"]) == (before["estimated_accuracy"], n_new)
    half = {name: side["upper"] - side["estimated_accuracy"] for name, side in (("before", before), ("after", after))}
    if before["upper"] < 1 and after["upper"] < 1:
        assert half["after"] == pytest.approx(math.sqrt(2) * half["before"])
    assert (before["basis"], after["basis"]) == ("predictive", "assumed")
    assert (before["conformal_lower"] is None, after["conformal_lower"]) == (before["conformal_lower"] is None, None)
    assert after["estimate_worth"] == pytest.approx(before["estimate_worth"] / 2)
    assert Flag.SAME_MODEL in after["flag_codes"]
    # A day without the new name keeps its interval.
    first = result.windows.filter(pl.col("window") == BEGIN)
    assert first.equals(plain.windows.filter(pl.col("window") == BEGIN))
    assert "m-03 (300 responses) counts as m (same_model)" in render_page(result)


def test_the_first_days_are_compared_with_those_before(estimator: FittedEstimator) -> None:
    """The same responses under another name do not differ; those with three times the entropies do."""
    features = renamed(traffic())
    entropies = [name for name in ("max", "se_sum") if name in features.columns]
    other = features.with_columns(
        pl.when(pl.col("model") == "m-03").then(pl.col(name) * 3).otherwise(name).alias(name) for name in entropies
    )
    for given, differs in ((features, False), (other, True)):
        result = es.monitor(estimator, given, **OPTIONS)
        (about,) = result.provenance["same_models"]
        assert (about["distance"] > about["by_chance"]) == differs
        assert ("differ (distance" in SameModelComparison.from_dict(about).describe()) == differs
        assert about["since"] == "2026-11-04T00:00:00+00:00"
        assert (about["n_first"], about["n_before"]) == (300, 300)
    # By hand: the largest difference of the shares at the edges of the bins, weighted by the new responses of a slice.
    edges = np.array(estimator.metadata.support.edges)
    distance = np.zeros(len(edges))
    for _, part in other.group_by("route"):
        new, old = (part.filter(pl.col("model") == name)["max"].to_numpy() for name in ("m-03", "m"))
        distance += len(new) / 300 * np.array([(new < edge).mean() - (old < edge).mean() for edge in edges])
    assert about["distance"] == pytest.approx(np.abs(distance).max())


def test_files_that_were_read_without_it_are_read_again(tmp_path: Path) -> None:
    path, features = saved(tmp_path, ATC), renamed(traffic())
    files = [written(features.filter(pl.col("model") == name), tmp_path / f"{name}.parquet") for name in ("m", "m-03")]
    options = {**OPTIONS, "state": tmp_path / "state", "same_model": []}
    assert [alert["subject"] for alert in es.monitor(path, files, **options).alerts] == ["m-03"]
    result = es.monitor(path, files, **{**options, "same_model": ["m=m-03"]})
    assert result.provenance["files"]["read_now"] == 1
    assert result.slices["n_estimated"].sum() == 600
    # The file is not given again: the result says that it counts as before.
    assert es.monitor(path, files[:1], **options).problems.notes == {"other-same-model": 1}
    assert es.monitor(path, files, **options).slices["n_estimated"].sum() == 300


def test_several_estimators_and_what_is_refused(estimator: FittedEstimator) -> None:
    other = change_metadata(fitted("group-accuracy"), model="m-b")
    features = pl.concat([renamed(traffic(300)), traffic(300, 1).with_columns(model=pl.lit("m-b"))])
    result = es.monitor([estimator, other], features, **OPTIONS)
    assert result.alerts == []
    assert dict(result.slices.group_by("model").agg(pl.col("n_estimated").sum()).iter_rows()) == {"m": 300, "m-b": 300}
    assert [about["names"] for about in result.provenance["same_models"]] == [{"m-03": 150}]
    for estimators in (estimator, [estimator, other]):
        with pytest.raises(ConfigError, match="same_model: must be OLD=NEW, where OLD .*x=m-03"):
            es.monitor(estimators, features, by=["route"], same_model=["x=m-03"])
    # A verdict of the validation covers no model under another name.
    read = read_all_responses(estimator, [renamed(traffic())], MonitorOptions.from_values({"same_model": ["m=m-03"]}))
    assert dict(read.override_counts) == {"of model 'm-03'": 300}
    only = es.estimate(estimator, renamed(traffic()), by=["route"], same_model={"m": "m-03"})
    assert only["n_estimated"].sum() == 600
