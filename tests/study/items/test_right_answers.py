"""Kinds of questions, and several right answers with their names and counts."""

import logging
from copy import deepcopy
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from production import log_file
from studies import PAPER

from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.core.section_base import merge_sections
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.study.config.config_loading import load_config
from entropy_sentinel.study.config.generation_requests import benchmark_settings
from entropy_sentinel.study.items.row_fields import read_answers, read_counts
from entropy_sentinel.study.jobs.file_content import prefer_recorded_settings
from entropy_sentinel.study.stages.benchmark_stage import write_benchmark

RUN = {"run": {"models": ["qwen3-4b"], "benchmarks": ["mine", "gsm8k"], "groups": [], "sizes": [{"size": 1}]}}
OWN = {"path": "rows.jsonl", "question": ["{q}"]}
NEW = {"group": ["{kind}"], "answers": "right", "counts": "seen"}
ROWS: list[dict[str, Any]] = [
    {"q": "A noble gas?", "kind": "gases", "right": ["Helium", ["Neon", "Ne"]], "seen": [3, 1.5]},
    {"q": "A colour?", "kind": " ", "right": [["red", " red ", "crimson"]], "seen": None},
    {"q": "What?", "kind": None, "right": None, "seen": []},
]


def settings(path: Path, **changes: Any) -> dict[str, Any]:
    """Settings as the config makes them of an own benchmark of the file `path`, which is written if it is not there."""
    if not path.exists():
        log_file(path, ROWS)
    own = {**RUN, "benchmarks": {"mine": {**OWN, "path": str(path), **changes}}}
    return dict(benchmark_settings(load_config(merge_sections(deepcopy(PAPER), own), "mine.yaml", own), "mine"))


def made(tmp_path: Path, **changes: Any) -> pl.DataFrame:
    output = tmp_path / "study" / "benchmarks" / "mine.parquet"
    write_benchmark(settings(tmp_path / "rows.jsonl", **changes), str(output))
    return BENCHMARKS.check(BENCHMARKS.read(output))


def test_items_have_their_kind_and_their_answers(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        items = made(tmp_path, **NEW)
    assert items["group"].to_list() == ["gases", None, None]
    assert items["answers"].to_list() == [[["Helium"], ["Neon", "Ne"]], [["red", "crimson"]], None]
    assert items["counts"].to_list() == [[3, 1.5], None, None]
    assert items["reference"].null_count() == 3
    assert "2 of 3 items have right answers, 1 of these without counts" in caplog.text


def test_a_file_of_a_benchmark_without_them_is_as_it_was_before_they_were_there(tmp_path: Path) -> None:
    """Its bytes are those of a file of an older version, so that nothing that was made from one is made again."""
    items, output = made(tmp_path), tmp_path / "study" / "benchmarks" / "mine.parquet"
    before = ["item_id", "question", "reference", "duplicate_of"]
    assert list(pl.read_parquet_schema(output)) == before
    assert items.columns == [*before, "group", "answers", "counts"]
    old = settings(tmp_path / "rows.jsonl")
    assert not set(old) & {*NEW, "only_if_counted"}
    # A kind that is asked for now gives other items, and one that no row has the same.
    assert prefer_recorded_settings(old | {"group": ["{kind}"]}, [repr(old)], str(output)) != old
    assert prefer_recorded_settings(old | {"counts": "seen", "answers": "seen"}, [repr(old)], str(output)) != old
    log_file(tmp_path / "rows.jsonl", [{"q": row["q"], "kind": ""} for row in ROWS])
    assert prefer_recorded_settings(old | {"group": ["{kind}"]}, [repr(old)], str(output)) == old


def test_rows_with_an_answer_that_nobody_has_counted_are_dropped_if_requested(tmp_path: Path) -> None:
    zero = {"q": "A metal?", "kind": "metals", "right": ["iron", "tin"], "seen": [7, 0]}
    log_file(tmp_path / "rows.jsonl", [zero, *ROWS])
    told = r"rows.jsonl: row 0: counts \(seen\) must be above 0, got 0 for 'tin'"
    with pytest.raises(ConfigError, match=told):  # one of the first rows, which are read when the study is planned
        made(tmp_path, **NEW)
    items = made(tmp_path, **NEW, only_if_counted=True)
    assert items["item_id"].to_list() == ["mine-00001"]
    left_out = read_provenance(tmp_path / "study" / "benchmarks" / "mine.parquet")["left_out"]
    assert left_out == {"an answer without a count": 3}


@pytest.mark.parametrize(
    ("columns", "row", "answers"),
    [
        ("a", {"a": "Paris"}, [["Paris"]]),
        ("a", {"a": 7}, [["7"]]),
        ("a", {"a": ["Paris", 7]}, [["Paris"], ["7"]]),
        ("a", {"a": '["Paris", ["Rome", "Roma"]]'}, [["Paris"], ["Rome", "Roma"]]),
        ("a", {"a": ['["Rome", "Roma"]']}, [["Rome", "Roma"]]),
        ("a[names]", {"a": {"names": ["Rome", "Oslo"]}}, [["Rome"], ["Oslo"]]),
        (["a[names]"], {"a": {"names": ["Rome", "Roma"]}}, [["Rome", "Roma"]]),
        (["a", "b", "c"], {"a": "Rome", "b": None, "c": ["Oslo", "Christiania"]}, [["Rome"], ["Oslo", "Christiania"]]),
        # One answer, however it is written; a name of two answers joins neither.
        ("a", {"a": ["Paris", "paris", "Rome", "PARIS!"]}, [["Paris", "paris", "PARIS!"], ["Rome"]]),
        ("a", {"a": [["Roma"], ["Rome", "the roma"]]}, [["Roma", "Rome", "the roma"]]),
        ("a", {"a": [["Georgia", "GA"], ["Gabon", "GA"]]}, [["Georgia", "GA"], ["Gabon", "GA"]]),
        ("a", {"a": [5, -5, "5."]}, [["5", "5."], ["-5"]]),
        ("a", {"a": []}, None),
        ("a", {"a": " "}, None),
        (["a"], {"a": None}, None),
    ],
)
def test_answers_in_all_forms(columns: str | list[str], row: dict[str, Any], answers: Any) -> None:
    assert read_answers(columns, row, "rows: row 3") == answers


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('["Paris"', r"rows: row 3: answers \(a\) .*JSON list"),
        (["Paris", ""], r"rows: row 3: answers \(a\): answer 2 "),
        (["Paris", []], r"answer 2 must be .* \[\]"),
        ([["Paris", None]], "answer 1 must be a text or a list"),
        ([["Paris", ["Rome"]]], "answer 1 .*got list"),
        ([{"name": "Paris"}], "answer 1 .*got dict"),
    ],
)
def test_invalid_answers_are_refused(value: Any, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        read_answers("a", {"a": value}, "rows: row 3")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([1, 2, 3], r"rows: row 3: counts \(c\) .*2 answers, got 3"),
        ([1, -2], r"rows: row 3: counts \(c\) must be numbers above 0, got -2 for 'Rome'"),
        ([True, 2], "got true for 'Paris'"),
        (["1", 2], "got '1' for 'Paris'"),
        ([1, None], "got null for 'Rome'"),
        ([float("nan"), 2], "got NaN for 'Paris'"),
    ],
)
def test_invalid_counts_are_refused(value: Any, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        read_counts("c", [["Paris"], ["Rome"]], {"c": value}, "rows: row 3", zero=True)


def test_counts_in_all_forms() -> None:
    for value in ([3, 0.0], "[3, 0]"):
        assert read_counts("c", [["Paris"], ["Rome"]], {"c": value}, "rows", zero=True) == [3.0, 0.0]
    assert read_counts("c", [["Paris"]], {"c": 3}, "rows", zero=False) == [3.0]
    assert read_counts("c", None, {"c": None}, "rows", zero=False) is None
    with pytest.raises(InputError, match="must be one for each of the 0 answers, got 1"):
        read_counts("c", None, {"c": [3]}, "rows", zero=False)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"counts": "seen"}, "benchmarks.mine: 'counts' needs 'answers'"),
        ({"answers": "right", "only_if_counted": True}, "benchmarks.mine: 'only_if_counted' needs 'counts'"),
        ({"answers": "{right}"}, "benchmarks.mine.answers"),
        ({"group": ["no column"]}, "benchmarks.mine.group: 'no column' must name columns"),
        ({"group": ["{sort}"]}, "row 0 has no column 'sort'"),
        ({"answers": ["right", "more"]}, "row 0 has no column 'more'"),
        ({"answers": "right", "counts": "often"}, "row 0 has no column 'often'"),
    ],
)
def test_settings_that_cannot_be_are_refused(tmp_path: Path, changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        settings(tmp_path / "rows.jsonl", **changes)
