"""Quantiles of numbers of the log, such as latencies, beside the accuracy of slices."""

from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from calling import run
from production import line, log_file, saved, traffic

import entropy_sentinel as es
from entropy_sentinel.core.errors import InputError, ProvenanceError
from entropy_sentinel.monitor.monitor_result import make_table
from entropy_sentinel.monitor.showing.result_files import format_metrics

LATENCY, COST = "metadata.latency_ms", "metadata.cost"


@pytest.fixture(scope="module")
def estimator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("estimator"), "atc-se_sum")


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    rows = traffic(900)
    rng = np.random.default_rng(3)
    return rows.with_columns(pl.Series(LATENCY, rng.lognormal(6, 0.8, 900)), pl.Series(COST, rng.random(900)))


def test_quantiles_of_slices_and_windows(estimator: Path, rows: pl.DataFrame) -> None:
    result = es.monitor(estimator, rows, by=["route"], window="day", number=[LATENCY, COST])
    for row in result.slices.iter_rows(named=True):
        here = rows.filter(pl.col("route") == row["route"])
        for name, percent in product((LATENCY, COST), (50, 95)):
            exact = np.quantile(here[name].to_numpy(), percent / 100, method="inverted_cdf")
            assert row[f"{name}_p{percent}"] == pytest.approx(exact, rel=0.0251)
    assert {f"{LATENCY}_p50", f"{LATENCY}_p95"} <= set(result.windows.columns)
    head, _ = make_table(result, result.slices, 5)
    assert [name for name in head if "latency" in name] == ["latency_ms p50", "latency_ms p95"]
    assert f'entropy_sentinel_number{{monitor="m atc-se_sum",number="{LATENCY}",quantile="0.95",route="shop"}}' in (
        format_metrics(result)
    )


def test_parts_add_up(estimator: Path, rows: pl.DataFrame, tmp_path: Path) -> None:
    records = [line(number, metadata={"latency_ms": 10 * number}) for number in range(40)]
    whole = es.monitor(estimator, log_file(tmp_path / "w.jsonl", records), by=["route"], number=[LATENCY])
    state = tmp_path / "state"
    for name, part in (("a", records[:25]), ("b", records[25:])):
        path = log_file(tmp_path / f"{name}.jsonl", part)
        parts = es.monitor(estimator, path, by=["route"], number=[LATENCY], state=state)
    names = ["route", f"{LATENCY}_p50", f"{LATENCY}_p95"]
    assert parts.slices.select(names).sort("route").equals(whole.slices.select(names).sort("route"))
    # A state without numbers cannot have them later.
    with pytest.raises(ProvenanceError, match="number"):
        es.monitor(estimator, log_file(tmp_path / "c.jsonl", records[:3]), by=["route"], number=["x"], state=state)


def test_a_state_of_a_monitor_without_numbers_stays_usable(estimator: Path, tmp_path: Path) -> None:
    path, state = log_file(tmp_path / "a.jsonl", [line(number) for number in range(9)]), tmp_path / "state"
    es.monitor(estimator, path, by=["route"], state=state)
    assert es.monitor(estimator, path, by=["route"], state=state).provenance["files"]["known"] == 1


def test_texts_are_no_numbers_and_unknown_columns_are_refused(estimator: Path, tmp_path: Path, capsys) -> None:
    records = [line(number, metadata={"latency_ms": "fast" if number % 2 else "20"}) for number in range(20)]
    path = log_file(tmp_path / "a.jsonl", records)
    result = es.monitor(estimator, path, number=[LATENCY])
    assert result.slices[f"{LATENCY}_p50"].to_list() == [pytest.approx(20, rel=0.025)]
    with pytest.raises(InputError, match="did you mean metadata.latency_ms"):
        es.monitor(estimator, path, number=["metadata.latency"])
    status, out, _ = run(capsys, "monitor", estimator, path, "--number", LATENCY)
    assert status == 5
    assert "p95" in out
