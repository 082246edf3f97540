"""What the page on intervals tells of the passes of papers/intervals/example, by other code."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

FERMI = Path(__file__).parents[1] / "example"
LEVELS = (0.9, 0.95, 0.99, 0.998)


def beliefs(half: str) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """Of each question the integers up to 100 and their probabilities, and the right one, shape (200,)."""
    rows = [json.loads(line) for line in (FERMI / f"benchmarks/{half}.jsonl").read_text().splitlines()]
    asked = pl.read_parquet(FERMI / f"passes/qwen2.5-coder-0.5b-integer/integers/{half}.parquet").drop_nulls("values")
    result, true = [], []
    for item, values, logprobs in asked.select("item_id", "values", "logprobs").iter_rows():
        near = np.abs(values) <= 100
        result.append((np.array(values)[near], np.exp(logprobs)[near]))
        true.append(rows[int(item.rpartition("-")[2])]["answer"])
    return result, np.array(true)


def mean_score(result: list[tuple[np.ndarray, np.ndarray]], true: np.ndarray, level: float, t: float) -> float:
    """Mean Winkler score of the hulls of the smallest sets that hold more than the level, at a temperature."""
    scores = []
    for (values, p), y in zip(result, true, strict=True):
        scaled = p ** (1 / t) / (p ** (1 / t)).sum()
        order = np.lexsort((values, -scaled))
        n = np.searchsorted(scaled[order].cumsum(), level, side="right") + 1
        lower, upper = values[order][:n].min(), values[order][:n].max()
        scores.append(upper - lower + 2 / (1 - level) * max(lower - y, y - upper, 0))
    return float(np.mean(scores))


def test_intervals_by_log_probabilities_score_what_the_page_says() -> None:
    """The last column of the table of docs/intervals.md; the temperature is chosen on the other half."""
    known, new = beliefs("fermi-train"), beliefs("fermi-test")
    assert (len(known[0]), len(new[0])) == (200, 200)
    candidates = np.geomspace(0.2, 10, 41)
    best = min(candidates, key=lambda t: np.mean([mean_score(*known, level, t) for level in LEVELS]))
    assert [round(mean_score(*new, level, best)) for level in LEVELS] == [82, 126, 487, 2291]
    assert np.mean([1 - p.sum() for _, p in new[0]]) == pytest.approx(0.45, abs=0.005)


def test_no_machine_is_named_in_the_passes() -> None:
    files = list(FERMI.glob("passes/*/*/*.parquet"))
    assert len(files) == 2
    for path in files:
        about = json.loads(pl.read_parquet_metadata(path)["entropy_sentinel"])
        assert about["pass"]["asked_with"]["weights"] == about["weights"] == "weights/Qwen2.5-Coder-0.5B-Instruct"
        assert not any(text.startswith("/") for text in json.dumps(about).split('"'))
