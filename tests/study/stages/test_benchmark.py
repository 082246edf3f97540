"""Stage `benchmarks`: rows of any source become items; what is left out is counted."""

import logging
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from item_files import item_settings, write_rows
from production import log_file

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.study.items.item_conversion import draw_items, read_items
from entropy_sentinel.study.stages.benchmark_stage import write_benchmark

ROWS = [
    {"q": "What is 1 + 1?", "a": "work\n#### 2", "image": None},
    {"q": "What is shown?", "a": "#### 5", "image": "picture.png"},
    {"q": "", "a": "#### 5", "image": ""},
    {"q": "What is 2 + 2?", "a": "no mark", "image": []},
    {"q": "What is 1 + 1?", "a": "#### 2", "image": []},
    {"q": " What {is} 3 + 3? ", "a": "not\n#### 5 but\n#### 6 ", "image": ""},
]


def settings(**changes: Any) -> dict[str, Any]:
    return item_settings(reference_after="####", only_if_empty=["image"]) | changes


def run(folder: Path, rows: list[dict[str, Any]], **changes: Any) -> pl.DataFrame:
    """The items that the stage makes of rows, in `sums.parquet`."""
    path, output = log_file(folder / "rows.jsonl", rows), folder / "sums.parquet"
    write_benchmark(settings(path=str(path), **changes), str(output))
    return BENCHMARKS.check(BENCHMARKS.read(output))


def test_items_keep_their_row_number_and_leavings_are_counted() -> None:
    items, left_out = read_items(ROWS, settings(), "rows.jsonl")
    assert [(item["item_id"], item["question"], item["reference"]) for item in items] == [
        ("sums-00000", "What is 1 + 1?", "2"),
        ("sums-00003", "What is 2 + 2?", None),
        ("sums-00004", "What is 1 + 1?", "2"),
        ("sums-00005", "What {is} 3 + 3?", "6"),
    ]
    assert left_out == {"a picture is needed": [1], "no question": [2]}


def test_file_has_duplicates_and_provenance(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        frame = run(tmp_path, ROWS)
    assert frame["duplicate_of"].to_list() == ["sums-00000", "sums-00003", "sums-00000", "sums-00005"]
    provenance = read_provenance(tmp_path / "sums.parquet")
    assert provenance["left_out"] == {"a picture is needed": 1, "no question": 1}
    assert (provenance["without_reference"], provenance["duplicate_questions"]) == (1, 1)
    assert "1 rows left out: no question (rows from 0: 2)" in caplog.text
    assert "1 of 4 items have no reference" in caplog.text
    assert "kept 1 duplicate questions: sums-00004" in caplog.text


def test_a_benchmark_may_have_no_references(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """By its settings, or because none of its rows has the one that they ask for: that is worth a warning."""
    for reference in ([], ["{a}"]):
        frame = run(tmp_path, ROWS[2:4] * 2, reference=reference)
        assert frame.select("item_id", "reference").rows() == [("sums-00001", None), ("sums-00003", None)]
        assert read_provenance(tmp_path / "sums.parquet")["without_reference"] == 2
        assert ("no row has a reference; see benchmarks.sums.reference" in caplog.text) == bool(reference)


def test_a_benchmark_with_all_references_does_not_speak_of_them(tmp_path: Path) -> None:
    """Its file has the bytes that it always had: responses to it stay valid."""
    run(tmp_path, ROWS[:1])
    assert "without_reference" not in read_provenance(tmp_path / "sums.parquet")


def test_log_names_the_first_rows_of_many(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        run(tmp_path, [ROWS[2]] * 7 + [ROWS[0]])
    assert "7 rows left out: no question (rows from 0: 0, 1, 2, 3, 4, ...)" in caplog.text


# (row, format strings, what is filled in)
FILLED = [
    ({"context": "A train.", "q": "How fast?"}, ["{context}\n\n{q}", "{q}"], "A train.\n\nHow fast?"),
    ({"context": None, "q": "How far?"}, ["{context}\n\n{q}", "{q}"], "How far?"),
    ({"context": " \n", "q": "How far?"}, ["{context}\n\n{q}", "{q}"], "How far?"),
    ({"a": ["3", "4"]}, ["{a}"], "3, 4"),
    ({"a": ["3", None, "", " 4 "]}, ["{a}"], "3, 4"),
    ({"a": [], "b": ["first", "second"]}, ["{a}", "{b[0]}"], "first"),
    ({"a": None, "b": []}, ["{a[0]}", "{b[0]}"], None),
    ({"a": {"value": "gold", "aliases": ["Au", "AU"]}}, ["{a[value]}"], "gold"),
    ({"a": {"value": "gold", "aliases": ["Au", "AU"]}}, ["{a[aliases]}"], "Au, AU"),
    ({"a": 0, "unit": " "}, ["{a} {unit}", "{a}"], "0"),
    ({"a": False}, ["{a}"], "False"),
    ({"a": 5e-4}, ["{a}"], "0.0005"),
    ({"a": float("nan")}, ["{a}"], None),
    ({"a": "None"}, ["{a}"], "None"),
    ({"Correct Answer": " x\n"}, ["{Correct Answer}"], "x"),
    ({"a": "{b}"}, ["${a}$ {{c}}"], "${b}$ {c}"),
    ({"a": [{"b": [None, "x"]}]}, ["{a[0][b][1]}"], "x"),
    ({"a": ["3"], "b": "four"}, ["{a[1]}", "{b}"], "four"),
    ({"a": Decimal("2.50")}, ["{a}"], "2.50"),
    ({"0": "x"}, ["{0}"], "x"),
]


@pytest.mark.parametrize(("row", "templates", "expected"), FILLED)
def test_first_filled_format_is_taken(row: dict[str, Any], templates: list[str], expected: str | None) -> None:
    mapping = settings(question=["q"], reference=templates, reference_after=None, only_if_empty=[])
    items, left_out = read_items([row], mapping, "rows")
    assert [item["reference"] for item in items] == [expected]
    assert left_out == {}


NO_PICTURES = (None, "", [], " ", [None], {"bytes": None, "path": None}, [{"bytes": None}])
PICTURES = ("a.png", ["a.png"], {"bytes": b"x", "path": None}, [{"bytes": None, "path": "a.png"}])


@pytest.mark.parametrize(
    ("image", "asked"), [*((image, True) for image in NO_PICTURES), *((image, False) for image in PICTURES)]
)
def test_a_picture_or_none_in_any_spelling(image: Any, asked: bool) -> None:
    items, left_out = read_items([ROWS[0] | {"image": image}], settings(), "rows")
    assert (len(items), left_out) == ((1, {}) if asked else (0, {"a picture is needed": [0]}))


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz", "rows.csv", "rows.csv.gz", "rows.parquet"])
def test_local_formats_give_the_same_items(tmp_path: Path, name: str) -> None:
    rows = [{"q": f"What is {n} + 1?", "a": f"#### {n + 1}"} for n in range(5)]
    path = write_rows(tmp_path / name, rows)
    write_benchmark(settings(path=path, only_if_empty=[]), str(tmp_path / "out.parquet"))
    frame = BENCHMARKS.read(tmp_path / "out.parquet")
    assert frame["reference"].to_list() == ["1", "2", "3", "4", "5"]


def test_limit_is_nested_and_keeps_the_order() -> None:
    items = [{"item_id": f"a-{number:05d}"} for number in range(100)]
    few, more = draw_items(items, 10, 42), draw_items(items, 40, 42)
    assert len(few) == 10
    assert all(item in more for item in few)
    assert few == sorted(few, key=lambda item: item["item_id"])
    assert few != items[:10]
    assert draw_items(items, 10, 43) != few
    assert draw_items(items, 1000, 42) == items


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"q": "x", "a": ', "line 2 must be a JSON object"),
        ('["x"]', "line 2 must be a JSON object, got list"),
        ('{"question": "x"}', "row 1 has no column 'image'; columns: question"),
        (r'{"\ud800": "x"}', r"row 1 has no column 'image'; columns: \ud800"),
        (f'{{"q": {"9" * 5000}}}', "line 2 must be a JSON object: Exceeds the limit (4300 digits)"),
        (f'{{"q": {"[" * 100_000}', "line 2 must be a JSON object: maximum recursion depth exceeded"),
    ],
)
def test_bad_rows_name_file_row_and_field(tmp_path: Path, line: str, expected: str) -> None:
    with pytest.raises(InputError, match="rows.jsonl") as error:
        run(tmp_path, [ROWS[0], line])
    assert expected in str(error.value)
    assert not (tmp_path / "sums.parquet").exists()


def test_nothing_usable_and_unknown_format_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no row has a question .*'no question': 1"):
        run(tmp_path, ROWS[1:3])
    path = log_file(tmp_path / "rows.txt", ROWS)
    with pytest.raises(InputError, match="rows.txt: must be one of .jsonl, .csv, .parquet"):
        write_benchmark(settings(path=str(path)), str(tmp_path / "out.parquet"))
