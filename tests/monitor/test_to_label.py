"""The file to label is never emptied: labels stay, on whose response they were, or nothing is written."""

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from entropy_sentinel.api.label_reading import read_labels
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.monitor.labelling.label_sheet import read_label_sheet, write_label_sheet

SAMPLE = pl.DataFrame(
    {
        "route": ["=a", "=a", "b"],
        "item_id": ["=1+1", "007", "x"],
        "weight": [2.0, 2.0, 4.0],
        "question": ["How many?", "=cmd", None],
        "label": pl.Series([None, None, None], dtype=pl.Boolean),
    }
)


def rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    with path.open(newline="", encoding="utf-8-sig") as lines:
        return list(csv.DictReader(lines))


def fill(path: Path, labels: list[Any], **further: list[Any]) -> None:
    """As a person does it: write into the column `label`, and columns of one's own."""
    filled = [row | {"label": label} for row, label in zip(rows(path), labels, strict=True)]
    for name, values in further.items():
        filled = [row | {name: value} for row, value in zip(filled, values, strict=True)]
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in filled))
        return
    with path.open("w", newline="", encoding="utf-8-sig") as out:
        writer = csv.DictWriter(out, list(filled[0]))
        writer.writeheader()
        writer.writerows(filled)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_labels_stay_with_their_responses(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"to_label{suffix}"
    assert write_label_sheet(SAMPLE, path) == 0
    fill(path, ["true", "false", ""] if suffix == ".csv" else [True, False, None], notes=["sure", "", ""])
    # Another order, other weights: the log has grown.
    grown = SAMPLE.reverse().with_columns(weight=pl.col("weight") * 2)
    assert write_label_sheet(grown, path) == 2
    result = {row["item_id"].lstrip("'"): row for row in rows(path)}
    written = [result[name]["label"] for name in ("=1+1", "007", "x")]
    assert written == (["true", "false", ""] if suffix == ".csv" else [True, False, None])
    assert result["=1+1"]["notes"] == "sure"
    assert [float(result[name]["weight"]) for name in ("=1+1", "007", "x")] == [4, 4, 8]
    labels = read_labels([path])
    assert labels.sort("item_id").select("item_id", "label").rows() == [("007", False), ("=1+1", True), ("x", None)]
    # And once more, without a change.
    before = path.read_bytes()
    assert write_label_sheet(grown, path) == 2
    assert path.read_bytes() == before


def test_labels_are_kept_as_they_were_written(tmp_path: Path) -> None:
    """Whatever they mean: `yes` is for who reads labels to understand."""
    path = tmp_path / "to_label.csv"
    write_label_sheet(SAMPLE, path)
    fill(path, ["yes", "1", "n/a"])
    assert write_label_sheet(SAMPLE, path) == 3
    assert [row["label"] for row in rows(path)] == ["yes", "1", "n/a"]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_file_that_a_spreadsheet_has_saved(separator: str, tmp_path: Path) -> None:
    path = tmp_path / "to_label.csv"
    lines = [["route", "item_id", "weight", "question", "label"], ["'=a", "'=1+1", "2,0", "How many?", "true"]]
    path.write_text("\ufeff" + "\r\n".join(separator.join(line) for line in lines) + "\r\n")
    assert write_label_sheet(SAMPLE, path) == 1
    assert [row["label"] for row in rows(path)] == ["true", "", ""]


def test_a_label_of_another_response_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "to_label.csv"
    write_label_sheet(SAMPLE, path)
    fill(path, ["true", "", "false"])
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"to_label.csv: 1 of its 2 .* \(first: x\).*name another file"):
        write_label_sheet(SAMPLE.head(2), path)
    # Two responses have the id now: nobody knows whose label it is.
    twice = pl.concat([SAMPLE, SAMPLE.tail(1)])
    with pytest.raises(InputError, match=r"to_label.csv: 1 of its 2 .* \(first: x\)"):
        write_label_sheet(twice, path)
    assert path.read_bytes() == before
    # Two labels of one response.
    path.write_text("item_id,label\nx,true\nx,false\n")
    with pytest.raises(InputError, match=r"1 of its 2 .* \(first: x\)"):
        write_label_sheet(SAMPLE, path)


@pytest.mark.parametrize(
    ("suffix", "content"),
    [(".csv", text) for text in ("day,sales\n1,2\n", "\x00\x01\xff", "item_id\nx\n", "no comma")]
    + [(".jsonl", text) for text in ("[1]\n", "{\n", '{"item_id": "x"}\n')],
)
def test_another_file_is_not_replaced(suffix: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / f"sales{suffix}"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError, match=rf"sales{suffix}: exists.*name another file"):
        write_label_sheet(SAMPLE, path)
    assert path.read_bytes() == content.encode("latin-1")


def test_a_file_without_labels_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "to_label.csv"
    for sample in (SAMPLE, SAMPLE.head(1)):
        assert write_label_sheet(sample, path) == 0
    assert len(rows(path)) == 1
    path.write_text("")
    assert write_label_sheet(SAMPLE, path) == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"item_id": 5}', "row 2: 'item_id' must be a text as in the rows above, got 5"),
        (
            '{"item_id": "b", "weight": {"a": 1}}',
            "row 2: 'weight' must be a text, a number, .* got {'a': 1}",
        ),
        ('{"item_id": "b", "weight": 1%s}' % ("0" * 400), "row 2: 'weight' must be .*, got 1000"),
        ('{"item_id": "b", "question": "\\ud83d"}', r"row 2: 'question' must be .*, got '.ud83d'"),
        ("[" * 100_000, "cannot be read: line 2: must be a JSON object"),
        ("[1]", "cannot be read: line 2: must be a JSON object"),
    ],
    ids=["types", "object", "large number", "half a character", "nested", "list"],
)
def test_a_value_that_no_table_holds_is_refused_with_its_row_and_field(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "to_judge.jsonl"
    path.write_text('{"item_id": "a", "weight": 1.5, "question": "q"}\n' + line + "\n")
    with pytest.raises(InputError, match=f"^{path}: {message}"):
        read_label_sheet(path)
