"""The machinery of the contracts: columns with dtype and unit, checked whenever a file is written or read."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.frames.errors import ContractError
from entropy_sentinel.frames.files import whole_file

PROVENANCE_KEY = "entropy_sentinel"


@dataclass(frozen=True)
class Column:
    """One column of a stage's Parquet file."""

    name: str
    dtype: pl.DataType | type[pl.DataType]
    meaning: str
    unit: str = ""
    nullable: bool = False


@dataclass(frozen=True)
class Contract:
    """The columns of one stage's Parquet file, in order, and the columns that identify a row."""

    stage: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    @cached_property
    def schema(self) -> pl.Schema:
        """Column names and dtypes, in the order of the file."""
        return pl.Schema({column.name: column.dtype for column in self.columns})

    def frame(self, rows: Any) -> pl.DataFrame:
        """Build a frame of this contract from a dict of columns or a list of rows."""
        return pl.DataFrame(rows, schema=self.schema, orient="row" if isinstance(rows, list) else None)

    def check(self, frame: pl.DataFrame, where: str = "") -> pl.DataFrame:
        """Return `frame` unchanged if it keeps the contract.

        Raises ContractError naming the stage, the column and what was found.
        """
        prefix = f"{where or self.stage}: "
        self._check_schema(frame.schema, prefix)
        for column in self.columns:
            if not column.nullable and (nulls := frame[column.name].null_count()):
                row = frame[column.name].is_null().arg_true()[0]
                raise ContractError(
                    f"{prefix}column '{column.name}' must not be null; {nulls} rows are (first: row {row})"
                )
        if frame.select(self.key).is_duplicated().any():
            twice = frame.filter(frame.select(self.key).is_duplicated()).select(self.key).row(0, named=True)
            raise ContractError(f"{prefix}rows must be unique by {', '.join(self.key)}; twice there: {twice}")
        return frame

    def write(self, frame: pl.DataFrame, path: str | Path, provenance: Mapping[str, Any]) -> None:
        """Check `frame` and write it to `path` in one step: a reader sees the whole file or none.

        `provenance` (JSON-serialisable) goes into the file's own metadata. The bytes depend on the content
        alone, so a stage that computes the same again leaves the same checksum.
        """
        self.check(frame, str(path))
        metadata = {PROVENANCE_KEY: json.dumps({"stage": self.stage, **provenance}, sort_keys=True)}
        with whole_file(path) as partial:
            frame.write_parquet(partial, compression="zstd", metadata=metadata)

    def read(self, path: str | Path, columns: list[str] | None = None) -> pl.DataFrame:
        """Read a file of this stage, all columns or some; ContractError if its columns are others."""
        return self.scan(path).select(columns or list(self.schema)).collect()

    def scan(self, path: str | Path) -> pl.LazyFrame:
        """Open a file of this stage lazily; ContractError if its columns are others."""
        lazy = pl.scan_parquet(path)
        self._check_schema(lazy.collect_schema(), f"{path}: ")
        return lazy

    def _check_schema(self, found: pl.Schema, prefix: str) -> None:
        if missing := [name for name in self.schema if name not in found]:
            raise ContractError(f"{prefix}column '{missing[0]}' is missing; columns there: {', '.join(found)}")
        if extra := [name for name in found if name not in self.schema]:
            raise ContractError(f"{prefix}column '{extra[0]}' is not in the contract of stage '{self.stage}'")
        for name, dtype in self.schema.items():
            if found[name] != dtype:
                raise ContractError(f"{prefix}column '{name}' must be {dtype}, was {found[name]}")


def read_provenance(path: str | Path) -> dict[str, Any]:
    """The provenance that `Contract.write` stored in a Parquet file's metadata."""
    metadata = pl.read_parquet_metadata(path)
    if PROVENANCE_KEY not in metadata:
        raise ContractError(f"{path}: holds no provenance of this pipeline; was it written by something else?")
    return json.loads(metadata[PROVENANCE_KEY])
