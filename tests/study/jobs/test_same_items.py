"""Rows that changed and give the same items; tests/workflow/test_replaced_inputs.py runs it."""

from pathlib import Path
from typing import Any

import pytest
from item_files import item_settings
from production import log_file

from entropy_sentinel.study.jobs import file_content as same_items
from entropy_sentinel.study.jobs.file_content import can_reproduce_items, prefer_recorded_settings
from entropy_sentinel.study.stages.benchmark_stage import write_benchmark

ROWS = [{"q": f"{n} + 1?", "a": str(n + 1)} for n in range(5)]


def settings(path: Path, **changes: Any) -> dict[str, Any]:
    return item_settings(path=str(path), **changes)


@pytest.mark.parametrize(
    ("rows", "changes", "same"),
    [
        ([{**row, "more": 1} for row in ROWS], {"content": "new"}, True),
        ([{"Q": row["q"], "a": row["a"]} for row in ROWS], {"question": ["{Q}"]}, True),
        (ROWS, {"limit": 5}, True),
        (ROWS, {"limit": 4}, False),
        (ROWS, {"version": 2}, False),
        (ROWS[:-1], {"content": "new"}, False),
        ([ROWS[1], ROWS[0], *ROWS[2:]], {"content": "new"}, False),
        ([{**ROWS[0], "a": "2"}, *ROWS[1:]], {"content": "new"}, False),
        ([{"a": "1"}], {"content": "new"}, False),
    ],
)
def test_recorded_settings_are_kept_if_they_give_the_same_items(
    tmp_path: Path, rows: list[dict[str, Any]], changes: dict[str, Any], same: bool
) -> None:
    path, output = tmp_path / "rows.jsonl", str(tmp_path / "study" / "benchmarks" / "sums.parquet")
    log_file(path, ROWS)
    before, now = settings(path), settings(path, **changes)
    write_benchmark(before, output)
    log_file(path, rows)
    assert prefer_recorded_settings(now, [repr(before)], output) == (before if same else now)


def test_settings_are_unchanged_without_record_items_or_readable_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, output = tmp_path / "rows.jsonl", str(tmp_path / "study" / "benchmarks" / "sums.parquet")
    log_file(path, ROWS)
    before, now = settings(path), settings(path, content="new")
    assert prefer_recorded_settings(now, [repr(before)], output) == now
    write_benchmark(before, output)
    assert prefer_recorded_settings(now, [repr(before)], output) == before
    assert prefer_recorded_settings(now, None, output) == now
    # Of items without a record: made from another column, and not from a local file.
    assert [can_reproduce_items(now, output), can_reproduce_items(now | {"question": ["{a}"]}, output)] == [True, False]
    assert can_reproduce_items(now | {"path": None}, output) is None
    hub = settings(path) | {"path": None, "dataset": "me/mine"}
    assert prefer_recorded_settings(hub | {"split": "train"}, [repr(hub)], output)["split"] == "train"
    monkeypatch.setattr(same_items, "LARGEST_BYTES", 10)
    assert prefer_recorded_settings(now, [repr(before)], output) == now
