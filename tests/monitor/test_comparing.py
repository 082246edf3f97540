"""The differences of two models by slice, against the estimates of each."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from calling import run
from production import change_metadata, fitted, traffic, written

import entropy_sentinel as es
from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.statistics.monitoring.accuracy_differences import half_widths_paired
from entropy_sentinel.statistics.slice_intervals import Residuals


def estimator(model: str, name: str = "atc-se_sum") -> FittedEstimator:
    return change_metadata(fitted(name), model=model)


def both(n: int = 600) -> pl.DataFrame:
    return pl.concat([traffic(n, seed).with_columns(model=pl.lit(model)) for seed, model in enumerate("ab")])


def test_differences_are_those_of_the_estimates_with_the_paired_interval() -> None:
    first, second, features = estimator("a"), estimator("b", "atc-mtp"), both()
    result = es.compare(first, second, features, by=["route"], level=0.8)
    assert (result.by, result.models) == (("route",), ("a", "b"))
    assert result.rows["difference"].abs().is_sorted(descending=True)
    sides = []
    for domains in (first.validation.domains, second.validation.domains):
        numbers = zip(*[(domain.estimated, domain.true, domain.n) for domain in domains], strict=True)
        sides.append(Residuals(*numbers, 4))
    for row in result.rows.iter_rows(named=True):
        here = features.filter(pl.col("route") == row["route"])
        parts = [here.filter(pl.col("model") == model) for model in "ab"]
        estimates = [made.estimator.accuracy(part) for made, part in zip((first, second), parts, strict=True)]
        assert (row["n_first"], row["n_second"]) == tuple(map(len, parts))
        assert row["difference"] == pytest.approx(estimates[1] - estimates[0])
        variance = 0.0
        for estimate, part in zip(estimates, parts, strict=True):
            share = (estimate * len(part) + 2) / (len(part) + 4)
            variance += share * (1 - share) / len(part)
        [half] = half_widths_paired(*sides, [variance], 0.8)
        ends = np.clip([row["difference"] - half, row["difference"] + half], -1, 1)
        assert (row["lower"], row["upper"]) == pytest.approx(tuple(ends))
        assert row["basis"] == "paired"
    assert result.notes[0].startswith("paired: on 4 domains that are labelled for both models")


def test_without_common_domains_errors_count_as_independent() -> None:
    first, second = estimator("a"), estimator("b")
    domains = [replace(domain, domain=f"{domain.domain} of others") for domain in second.validation.domains]
    second = change_metadata(second, validation=replace(second.validation, domains=tuple(domains)))
    result = es.compare(first, second, both())
    assert repr(result).startswith("accuracy of b minus that of a: 1 slice\n")
    assert "<table>" in result._repr_html_()
    [row] = result.rows.iter_rows(named=True)
    alone = es.monitor([first, second], both()).slices
    halves = [max(est - low, up - est) for est, low, up in alone.select("estimated_accuracy", "lower", "upper").rows()]
    assert row["upper"] - row["difference"] == pytest.approx(np.hypot(*halves))
    assert row["basis"] == "independent"
    assert "Label answers of both models to the same questions" in result.notes[0]


def test_slices_of_one_model_are_counted() -> None:
    features = both().filter((pl.col("model") == "a") | (pl.col("route") != "shop"))
    result = es.compare(estimator("a"), estimator("b"), features, by=["route"])
    assert sorted(result.rows["route"]) == ["school", "support"]
    assert result.notes[-1] == "1 slice with responses of only one model left out"


def test_what_is_refused() -> None:
    with pytest.raises(ConfigError, match="must be of another model than the other estimators"):
        es.compare(estimator("a"), estimator("a"), both())
    with pytest.raises(ConfigError, match="by: must not have 'model'"):
        es.compare(estimator("a"), estimator("b"), both(), by=["model"])
    with pytest.raises(InputError, match="no slice has responses of both models, 'a' and 'b'"):
        es.compare(estimator("a"), estimator("b"), both().filter(pl.col("model") == "a"))


def test_the_command_prints_which_model_is_better(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    log, target = written(both(), tmp_path / "log.parquet"), tmp_path / "rows.csv"
    paths = [tmp_path / f"{model}.estimator" for model in "ab"]
    for model, path in zip("ab", paths, strict=True):
        es.save(estimator(model), path)
    status, shown, errors = run(capsys, "compare", *paths, log, "--by", "route", "--output", target)
    assert (status, errors) == (0, "")
    assert ("more accurate" in shown, "cannot be told" in shown) == (True, True)
    assert pl.read_csv(target).height == 3
