"""What labels have cost, per model and benchmark: a ledger and two files of labels, added up by hand."""

from pathlib import Path

import polars as pl
import pytest

from entropy_sentinel.judges.judge_base import make_account
from entropy_sentinel.llm_client.spending.ledger import Ledger, Terms
from entropy_sentinel.schemas.label_schema import LABELS
from entropy_sentinel.study.stages.cost_stage import write_costs


def labels(path: Path, model: str, verdicts: list[bool | None]) -> str:
    rows = [
        {"item_id": f"b-{row:05d}", "sample": 0, "label": label, "reason": None, "answer": None}
        for row, label in enumerate(verdicts)
    ]
    LABELS.write(LABELS.frame(rows), path, {"model": model, "benchmark": "b"})
    return str(path)


def test_costs_are_those_of_all_calls_for_a_domain_whatever_the_judge_was_asked(tmp_path: Path) -> None:
    """Of model one: two calls of 100 in and 10 out under one prompt and one under another, and one cut off."""
    book = Ledger(tmp_path / "l.sqlite", Terms(1.0, 10.0))
    first, second = (make_account({"prompt": text}, "one", "b") for text in ("first", "second"))
    for name in (first, first, second):
        book.settle(book.reserve(name, 5000, 1000), 100, 10)
    book.reserve(second, 5000, 1000)
    book.count_cached(second, 2)
    files = [labels(tmp_path / "1.parquet", "one", [True, None, False]), labels(tmp_path / "2.parquet", "two", [True])]
    output = tmp_path / "judge" / "costs.csv"
    write_costs(files, str(tmp_path / "l.sqlite"), str(output))
    # 0.0002 a call, and at most 0.015 for the one that was cut off.
    usd = pytest.approx(3 * 0.0002), pytest.approx(0.015)
    table = pl.read_csv(output)
    assert table.columns == [
        *("model", "benchmark", "responses", "unlabelled", "calls", "unanswered_calls", "cached_calls"),
        *("prompt_tokens", "completion_tokens", "usd", "unanswered_usd"),
    ]
    assert table.rows() == [
        ("one", "b", 3, 1, 3, 1, 2, 300, 30, *usd),
        ("two", "b", 1, 0, 0, 0, 0, 0, 0, 0.0, 0.0),
        ("total", "", 4, 1, 3, 1, 2, 300, 30, *usd),
    ]
