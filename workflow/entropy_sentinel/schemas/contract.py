"""Contracts of Parquet files: columns with dtype and unit, checked whenever a file is written or read."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.core.errors import ContractError, DamagedFileError, IncompleteFileError
from entropy_sentinel.core.whole_files import whole_file

PROVENANCE_KEY = "entropy_sentinel"

Dtype = pl.DataType | type[pl.DataType]


@dataclass(frozen=True)
class Column:
    """One column of a stage's Parquet file."""

    name: str
    dtype: Dtype
    meaning: str
    unit: str = ""
    nullable: bool = False
    # Older files without the column are valid; it is null in them.
    added: bool = False
    # Whether its arrays may be wider or narrower than in `dtype`; the file's provenance has the width.
    free_width: bool = False

    def accepts(self, dtype: pl.DataType) -> bool:
        """Whether a column of this dtype follows the contract."""
        if self.free_width:
            return _ignore_width(dtype) == _ignore_width(self.dtype)
        return dtype == self.dtype


def _ignore_width(dtype: Dtype) -> Dtype:
    """A dtype with arrays of width 1, so that dtypes compare equal whatever their widths."""
    arrays = dtype.inner if isinstance(dtype, pl.List) else None
    return pl.List(pl.Array(arrays.inner, 1)) if isinstance(arrays, pl.Array) else dtype


@dataclass(frozen=True)
class Contract:
    """The columns of one stage's Parquet file, in order, and the columns that identify a row.

    If it is `open`, further columns may follow: those of a log, which define slices.
    """

    stage: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    open: bool = False

    @cached_property
    def schema(self) -> pl.Schema:
        """Column names and dtypes, in the file's order."""
        return pl.Schema({column.name: column.dtype for column in self.columns})

    def frame(self, rows: Any) -> pl.DataFrame:
        """Build a frame of this contract from a dict of columns, or from a list of rows, dicts or tuples.

        In a dict of columns, those that are `added` may be missing; a row that is a dict may lack any, which is null.
        """
        if isinstance(rows, Mapping):
            rows = {column.name: None for column in self.columns if column.added} | dict(rows)
        return pl.DataFrame(rows, schema=self.schema, orient="row" if isinstance(rows, list) else None)

    def check(self, frame: pl.DataFrame, where: str = "") -> pl.DataFrame:
        """`frame` unchanged if it follows the contract.

        Raises ContractError with `where`, such as the file's path, or the stage, and with the column and the value.
        """
        prefix = f"{where or self.stage}: "
        self._check_schema(frame.schema, prefix)
        for column in self.columns:
            if not column.nullable and (nulls := frame[column.name].null_count()):
                row = frame[column.name].is_null().arg_true()[0]
                raise ContractError(
                    f"{prefix}column '{column.name}' must not be null; null rows: {nulls} (first: row {row})"
                )
        self._check_key(frame, prefix)
        return frame

    def write(self, frame: pl.DataFrame, path: str | Path, provenance: Mapping[str, Any]) -> None:
        """Check `frame` and write it to `path` in one step: a reader sees the whole file or none.

        `provenance` (JSON-serialisable) goes into the file's own metadata. The bytes depend only on the content, so a
        stage that recomputes the same content writes the same checksum. This also holds after a column was added,
        because added columns that are entirely null are omitted; they may also be missing.
        """
        added = [column for column in self.columns if column.added]
        absent = [column for column in added if column.name not in frame.columns]
        frame = frame.with_columns(pl.lit(None, column.dtype).alias(column.name) for column in absent)
        self.check(frame, str(path))
        for column in added:
            if frame[column.name].null_count() == len(frame):
                frame = frame.drop(column.name)
        metadata = {PROVENANCE_KEY: json.dumps({**provenance, "stage": self.stage}, sort_keys=True)}
        with whole_file(path) as partial:
            frame.write_parquet(partial, compression="zstd", metadata=metadata)

    def read(self, path: str | Path, columns: list[str] | None = None) -> pl.DataFrame:
        """Read all rows of a file of this stage, all columns or some; raises DamagedFileError and ContractError."""
        lazy = self.scan(path)
        schema = lazy.collect_schema()
        for name in columns or ():
            if name not in schema:
                raise ContractError(
                    f"{path}: files of stage '{self.stage}' have no column '{name}'; columns: {', '.join(schema)}"
                )
        with check_readable(path, self.stage):
            frame = lazy.select(columns or list(self.schema)).collect()
        if set(self.key) <= set(frame.columns):
            self._check_key(frame, f"{path}: ")
        return frame

    def scan(self, path: str | Path) -> pl.LazyFrame:
        """Open a file of this stage lazily; raise DamagedFileError, and ContractError for a file of another stage.

        Damage further inside the file shows when its rows are read: read them `with check_readable(path)`.
        """
        with check_readable(path, self.stage):
            lazy = pl.scan_parquet(path, glob=False)
            schema = lazy.collect_schema()
            stage = _parse_provenance(path).get("stage", self.stage)
        if stage != self.stage:
            raise ContractError(f"{path}: must be a file of stage '{self.stage}', is from stage '{stage}'")
        absent = [column for column in self.columns if column.added and column.name not in schema]
        lazy = lazy.with_columns(pl.lit(None, column.dtype).alias(column.name) for column in absent)
        self._check_schema(lazy.collect_schema(), f"{path}: ")
        return lazy

    def _check_key(self, frame: pl.DataFrame, prefix: str) -> None:
        """Raise ContractError, beginning with `prefix`, if two rows have the same key."""
        repeated = frame.select(self.key).is_duplicated()
        if repeated.any():
            twice = frame.filter(repeated).select(self.key).row(0, named=True)
            raise ContractError(f"{prefix}rows must be unique by {', '.join(self.key)}; twice: {twice}")

    def _check_schema(self, schema: pl.Schema, prefix: str) -> None:
        """Raise ContractError, beginning with `prefix`, for a missing or further column, or another dtype."""
        for name in self.schema:
            if name not in schema:
                raise ContractError(f"{prefix}column '{name}' is missing; columns: {', '.join(schema)}")
        for name in schema:
            if name not in self.schema and not self.open:
                raise ContractError(f"{prefix}column '{name}' is not in the contract of stage '{self.stage}'")
        for column in self.columns:
            if not column.accepts(schema[column.name]):
                raise ContractError(f"{prefix}column '{column.name}' must be {column.dtype}, got {schema[column.name]}")


@contextmanager
def check_readable(path: str | Path, stage: str = "") -> Iterator[None]:
    """Turn a failure to read the file `path` in this block into a DamagedFileError that says what to do.

    It is for files of the pipeline; for files of the user, use `check_user_file`.
    """
    try:
        yield
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        OSError,
        UnicodeError,
        json.JSONDecodeError,
    ) as error:
        expected = f"a whole Parquet file of stage {stage!r}" if stage else "a whole Parquet file"
        problem = f"{path}: must be {expected}, {_describe_damage(Path(path), error)}"
        raise DamagedFileError(problem, "delete it: it is rebuilt when needed") from None


@contextmanager
def check_user_file(path: str | Path) -> Iterator[None]:
    """Turn a failure to read the user's file `path` in this block into an IncompleteFileError.

    The file may also be from the pipeline, for example a copy outside any study.
    """
    try:
        with check_readable(path):
            yield
    except DamagedFileError as error:
        # That error advises to delete the file, so that it is rebuilt, which is wrong for a user's file.
        raise IncompleteFileError(f"{error.args[0]}: cannot be read; get a complete copy of it") from None


def _describe_damage(path: Path, error: BaseException) -> str:
    """What is wrong with a file whose reading failed with `error`, as a predicate: `is empty`."""
    if not path.exists():
        return "is not there"
    if not path.is_file():
        return "is a folder"
    if not path.stat().st_size:
        return "is empty"
    return f"is incomplete or damaged ({' '.join(str(error).split())[:200]})"


def read_provenance(path: str | Path) -> dict[str, Any]:
    """The provenance that `Contract.write` stored in a Parquet file's metadata.

    Raises DamagedFileError, and ContractError for a file without provenance.
    """
    with check_readable(path):
        provenance = _parse_provenance(path)
    if not provenance:
        raise ContractError(f"{path}: has no provenance of this pipeline; another program may have written it")
    return provenance


def read_owners(path: str | Path, name: str, stage: str = "") -> list[Any]:
    """The models to which a file belongs if `name` is "model", or its benchmarks, or the like; [] if it is unknown.

    They come from its provenance, or else the column `name`, or else, for "benchmark", its item ids.
    """
    with check_readable(path, stage):
        provenance, lazy = _parse_provenance(path), pl.scan_parquet(path, glob=False)
        columns = lazy.collect_schema()
        if name in provenance:
            return [provenance[name]]
        if name in columns:
            return lazy.select(pl.col(name).unique().sort()).collect().to_series().to_list()
        if name == "benchmark" and "item_id" in columns:
            benchmarks = pl.col("item_id").str.replace(r"-[0-9]+$", "").unique().sort()
            return lazy.select(benchmarks).collect().to_series().to_list()
    return []


def _parse_provenance(path: str | Path) -> dict[str, Any]:
    """The provenance in a Parquet file's metadata; {} without any."""
    provenance = json.loads(pl.read_parquet_metadata(path).get(PROVENANCE_KEY, "{}"))
    return provenance if isinstance(provenance, dict) else {}
