"""What passes said of the examples' responses, and the numbers that the documentation tells of them, by other code."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

EXAMPLES = Path(__file__).parents[2] / "examples"
REAL = EXAMPLES / "real"
FERMI = EXAMPLES / "fermi"
LEVELS = (0.9, 0.95, 0.99, 0.998)


@pytest.mark.parametrize(
    ("benchmark", "auroc"),
    [("svamp", 0.75), ("gsm8k", 0.69), ("theoremqa", 0.80), ("math", 0.71), ("olympiadbench", 0.28)],
)
def test_the_entropy_area_tells_what_is_right_as_the_page_says(benchmark: str, auroc: float) -> None:
    """The table of docs/entropy-area.md, from labels and passes."""
    labels = pl.read_parquet(REAL / f"labels/qwen2.5-coder-0.5b/{benchmark}.parquet")
    asked = pl.read_parquet(REAL / f"passes/qwen2.5-coder-0.5b/forced_answer/{benchmark}.parquet")
    both = labels.join(asked, on=["item_id", "sample"]).drop_nulls(["label", "eas"])
    assert roc_auc_score(both["label"], -both["eas"]) == pytest.approx(auroc, abs=0.005)


def test_no_machine_is_named() -> None:
    files = [*REAL.glob("passes/*/*/*.parquet"), *FERMI.glob("passes/*/*/*.parquet")]
    assert len(files) == 9
    for path in files:
        about = json.loads(pl.read_parquet_metadata(path)["entropy_sentinel"])
        assert about["pass"]["asked_with"]["weights"] == about["weights"] == "weights/Qwen2.5-Coder-0.5B-Instruct"
        assert not any(text.startswith("/") for text in json.dumps(about).split('"'))


def beliefs(half: str) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """Of each question the integers up to 100 and their probabilities, and the right one, shape (200,)."""
    rows = [json.loads(line) for line in (FERMI / f"benchmarks/{half}.jsonl").read_text().splitlines()]
    asked = pl.read_parquet(FERMI / f"passes/qwen2.5-coder-0.5b-integer/integers/{half}.parquet").drop_nulls("values")
    found, true = [], []
    for item, values, logprobs in asked.select("item_id", "values", "logprobs").iter_rows():
        near = np.abs(values) <= 100
        found.append((np.array(values)[near], np.exp(logprobs)[near]))
        true.append(rows[int(item.rpartition("-")[2])]["answer"])
    return found, np.array(true)


def mean_score(found: list[tuple[np.ndarray, np.ndarray]], true: np.ndarray, level: float, t: float) -> float:
    """Mean Winkler score of the hulls of the smallest sets that hold more than the level, at a temperature."""
    scores = []
    for (values, p), y in zip(found, true, strict=True):
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
