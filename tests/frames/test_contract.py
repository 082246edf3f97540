"""Contracts of Parquet files: what may be written and read, and what the refusal says."""

from pathlib import Path

import polars as pl
import pytest

from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.frames.errors import ContractError
from entropy_sentinel.frames.label import LABELS

ROWS = {
    "item_id": ["a-00000", "a-00001"],
    "sample": [0, 0],
    "label": [True, None],
    "reason": [None, "no final answer"],
    "answer": ["4", None],
}


def test_round_trip_with_provenance_and_same_bytes(tmp_path: Path) -> None:
    frame = LABELS.frame(ROWS)
    LABELS.write(frame, tmp_path / "one.parquet", {"judge": "math-verify", "seed": 42})
    LABELS.write(frame, tmp_path / "two.parquet", {"seed": 42, "judge": "math-verify"})
    assert LABELS.read(tmp_path / "one.parquet").equals(frame)
    assert read_provenance(tmp_path / "one.parquet") == {"stage": "labels", "judge": "math-verify", "seed": 42}
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.parquet", "two.parquet"]


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (LABELS.frame(ROWS).drop("answer"), "column 'answer' is missing; columns there: item_id"),
        (LABELS.frame(ROWS).with_columns(cost=1), "column 'cost' is not in the contract of stage 'labels'"),
        (LABELS.frame(ROWS).with_columns(pl.col("sample").cast(pl.Int64)), "column 'sample' must be UInt16, was Int64"),
        (
            LABELS.frame(ROWS | {"item_id": ["a-00000", None]}),
            "column 'item_id' must not be null; 1 rows are (first: row 1)",
        ),
        (
            LABELS.frame(ROWS | {"item_id": ["a-00000"] * 2}),
            "unique by item_id, sample; twice there: {'item_id': 'a-00000'",
        ),
    ],
)
def test_refusals_name_the_column(tmp_path: Path, frame: pl.DataFrame, expected: str) -> None:
    with pytest.raises(ContractError) as error:
        LABELS.write(frame, tmp_path / "labels.parquet", {})
    assert expected in str(error.value)
    assert "labels.parquet" in str(error.value)
    assert not list(tmp_path.iterdir())


def test_reading_another_stages_file_is_refused(tmp_path: Path) -> None:
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(ContractError, match="column 'item_id' is missing"):
        LABELS.read(tmp_path / "x.parquet")
    with pytest.raises(ContractError, match="holds no provenance"):
        read_provenance(tmp_path / "x.parquet")
