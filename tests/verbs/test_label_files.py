"""Labels as people and their programs write them: read, or refused with the file, the row and the value."""

from pathlib import Path

import polars as pl
import pytest

import entropy_sentinel as es
from entropy_sentinel.frames.errors import InputError

TRUE, FALSE = ("true", "TRUE", "True", "yes", "Yes", "1", " 1 ", "1.0"), ("false", "FALSE", "no", "NO", "0", "0.0")


@pytest.mark.parametrize(("separator", "comma"), [(",", "."), (";", ","), (";", "."), ("\t", ".")])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_tables_of_spreadsheets(tmp_path: Path, separator: str, comma: str, ends: str) -> None:
    rows = [["item_id", "weight", "response", "label"]]
    rows += [
        [f"00{place}", f"2{comma}5", '"a, b; ""c""\n d"', one] for place, one in enumerate([*TRUE, *FALSE, "", "  "])
    ]
    text = ends.join(separator.join(row) for row in rows) + ends
    (tmp_path / "labels.csv").write_bytes(("\ufeff" + text).encode())
    result = es.read_labels(tmp_path / "labels.csv")
    assert result["label"].to_list() == [True] * len(TRUE) + [False] * len(FALSE) + [None, None]
    assert result["item_id"].to_list()[:2] == ["000", "001"]
    assert result["weight"].unique().to_list() == [2.5]


def test_lines_and_parquet(tmp_path: Path) -> None:
    lines = ['{"item_id": 7, "label": 1}', '{"item_id": "8", "label": "no", "text": "a\u2028b"}', '{"item_id": "9"}']
    (tmp_path / "a.jsonl").write_text("\n\n".join(lines))
    assert es.read_labels(tmp_path / "a.jsonl").rows() == [("7", True), ("8", False), ("9", None)]
    for values in ([1, 0, None], [1.0, 0.0, float("nan")], ["yes", "no", None], [True, False, None]):
        pl.DataFrame({"item_id": ["7", "8", "9"], "label": values}, strict=False).write_parquet(tmp_path / "a.parquet")
        assert es.read_labels(tmp_path / "a.parquet").rows() == [("7", True), ("8", False), ("9", None)]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "item_id,label\nx,1\ny,2\n", "row 2: 'label' .*'2'"),
        ("a.csv", "item_id,label,weight\nx,1,2\ny,0,many\n", "row 2: 'weight' .*'many'"),
        ("a.csv", "item_id,label,weight\nx,1,inf\n", "row 1: 'weight' .*'inf'"),
        ("a.csv", "item_id,label,sample\nx,1,0.5\n", "row 1: 'sample' .*'0.5'"),
        ("a.csv", "item_id,label\nx,1\ny,0,2,5\n", "row 2: .*2 fields.*4"),
        ("a.csv", "id,label\nx,1\n", "column 'item_id' .*: id, label"),
        ("a.csv", "", "column 'item_id' "),
        ("a.csv", 'item_id,label\nx,"1\n', "must be a Parquet, CSV"),
        ("a.jsonl", '{"item_id": "x", "label": [true]}\n', "row 1: 'label' "),
        ("a.jsonl", '{"item_id": "x", "label": true}\n{broken\n', "line 2: "),
        ("a.jsonl", "[1]\n", r"line 1: .*'\[1\]'"),
        ("a.parquet", "no parquet", "must be a Parquet, CSV"),
    ],
)
def test_an_invalid_label_is_refused_with_its_row(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=f"^{tmp_path / name}: {message}"):
        es.read_labels(tmp_path / name)


def test_files_with_weights_and_files_with_unlabelled_rows_are_combined(tmp_path: Path) -> None:
    texts = ("item_id,weight,label\n007,2.5,TRUE\n008,4,\n", "item_id,label\n010,\n")
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.csv").write_text(text)
    result = es.read_labels([tmp_path / "0.csv", tmp_path / "1.csv"])
    assert result["item_id"].to_list() == ["007", "008", "010"]
    assert result.select("label", "weight").rows() == [(True, 2.5), (None, 4), (None, None)]
