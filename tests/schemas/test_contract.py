"""Contracts of Parquet files: what may be written and read, and what the refusal says."""

import re
from pathlib import Path

import polars as pl
import pytest

from entropy_sentinel.core.errors import ContractError, DamagedFileError
from entropy_sentinel.schemas.contract import Column, Contract, check_readable, read_owners, read_provenance
from entropy_sentinel.schemas.label_schema import LABELS

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
        (LABELS.frame(ROWS).drop("answer"), "column 'answer' is missing; columns: item_id"),
        (LABELS.frame(ROWS).with_columns(cost=1), "column 'cost' is not in the contract of stage 'labels'"),
        (LABELS.frame(ROWS).with_columns(pl.col("sample").cast(pl.Int64)), "column 'sample' must be UInt16, got Int64"),
        (
            LABELS.frame(ROWS | {"item_id": ["a-00000", None]}),
            "column 'item_id' must not be null; null rows: 1 (first: row 1)",
        ),
        (
            LABELS.frame(ROWS | {"item_id": ["a-00000"] * 2}),
            "unique by item_id, sample; twice: {'item_id': 'a-00000'",
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
    with pytest.raises(ContractError, match="no provenance"):
        read_provenance(tmp_path / "x.parquet")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def damage_first_page(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(len(whole) // 3) + whole[4 + len(whole) // 3 :])


DAMAGES = {
    "cut": (cut, r"is incomplete or damaged \(.*PAR1.*\)"),
    "page": (damage_first_page, r"is incomplete or damaged \(.*\)"),
    "garbage": (lambda path: path.write_bytes(b"garbage" * 100), r"is incomplete or damaged \(.*\)"),
    "empty": (lambda path: path.write_bytes(b""), "is empty"),
    "absent": (Path.unlink, "is not there"),
    "folder": (lambda path: (path.unlink(), path.mkdir()), "is a folder"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_named_with_what_to_do(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "labels [1].parquet"  # no pattern, either
    LABELS.write(LABELS.frame(ROWS), path, {})
    assert len(LABELS.read(path)) == 2
    do, what = DAMAGES[damage]
    do(path)
    must = f"{re.escape(str(path))}: must be a whole Parquet file{{}}, {what}; delete it: it is rebuilt when needed"
    with pytest.raises(DamagedFileError, match="^" + must.format(" of stage 'labels'") + "$"):
        LABELS.read(path)
    if damage != "page":  # this reads the end of the file alone
        with pytest.raises(DamagedFileError, match="^" + must.format("") + "$"):
            read_provenance(path)


def test_lazily_read_rows_are_checked_when_collected(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    LABELS.write(LABELS.frame(ROWS), path, {})
    damage_first_page(path)
    lazy = LABELS.scan(path)
    with (
        pytest.raises(DamagedFileError, match=r"x.parquet: must be .* of stage 'labels'"),
        check_readable(path, "labels"),
    ):
        lazy.collect()


def test_a_file_of_another_stage_with_the_same_columns_is_refused(tmp_path: Path) -> None:
    other = Contract("verdicts", LABELS.key, LABELS.columns)
    other.write(other.frame(ROWS), tmp_path / "x.parquet", {"stage": "what it was made from"})
    assert read_provenance(tmp_path / "x.parquet")["stage"] == "verdicts"
    with pytest.raises(ContractError, match="x.parquet: .*'labels', .*'verdicts'"):
        LABELS.read(tmp_path / "x.parquet")


def test_the_owner_of_a_file_comes_from_provenance_rows_or_item_ids(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    other = Contract("verdicts", LABELS.key, (*LABELS.columns, Column("group", pl.String, "training group")))
    frame = LABELS.frame(ROWS | {"item_id": ["gsm8k-00000", "two-digit-7-12345"]})
    other.write(frame.with_columns(group=pl.Series(["b", "a+b"])), path, {"model": "tiny-1m"})
    assert read_owners(path, "model") == ["tiny-1m"]
    assert read_owners(path, "group") == ["a+b", "b"]
    assert read_owners(path, "benchmark") == ["gsm8k", "two-digit-7"]
    assert read_owners(path, "judge") == []


def test_contracts_allow_arrays_of_any_width_and_log_columns(tmp_path: Path) -> None:
    def of(width: int, dtype: type[pl.DataType] = pl.Float32) -> pl.DataFrame:
        return pl.DataFrame({"x": ["a"], "p": pl.Series([[[0.0] * width]], dtype=pl.List(pl.Array(dtype, width)))})

    columns = (Column("x", pl.String, ""), Column("p", pl.List(pl.Array(pl.Float32, 20)), "", free_width=True))
    free = Contract("free", ("x",), columns)
    free.write(of(5), tmp_path / "a.parquet", {})
    assert free.read(tmp_path / "a.parquet").equals(of(5))
    with pytest.raises(ContractError, match="column 'p' must be List"):
        free.check(of(5, pl.Float64))
    with pytest.raises(ContractError, match="column 'p' must be List"):
        free.check(pl.DataFrame({"x": ["a"], "p": [[0.0]]}))
    with pytest.raises(ContractError, match="column 'route' is not in the contract"):
        free.check(of(5).with_columns(route=1))
    wider = Contract("wide", ("x",), columns, open=True)
    wider.write(of(20).with_columns(route=1), tmp_path / "b.parquet", {})
    assert wider.read(tmp_path / "b.parquet").columns == ["x", "p"]
    assert wider.scan(tmp_path / "b.parquet").collect().columns == ["x", "p", "route"]


def test_an_added_column_without_a_value_changes_no_byte(tmp_path: Path) -> None:
    later = Contract(
        LABELS.stage, LABELS.key, (*LABELS.columns, Column("note", pl.String, "", nullable=True, added=True))
    )
    LABELS.write(LABELS.frame(ROWS), tmp_path / "before.parquet", {})
    later.write(later.frame(ROWS), tmp_path / "after.parquet", {})
    assert (tmp_path / "before.parquet").read_bytes() == (tmp_path / "after.parquet").read_bytes()
    assert later.read(tmp_path / "before.parquet")["note"].to_list() == [None, None]
