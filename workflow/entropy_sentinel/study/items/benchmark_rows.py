"""Read the rows of a benchmark from a data set on the hub or a local file. Only this module imports datasets."""

import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.external_files import open_stream
from entropy_sentinel.study.items.benchmark_settings import FORMATS

# Much longer than any real row; reading a line takes several times its size in memory.
LONGEST_LINE = 64 << 20


def find_suffix(path: str) -> str | None:
    """The suffix in FORMATS of a local file's name; None if it has no such suffix."""
    return next((suffix for suffix in Path(path).suffixes if suffix in FORMATS), None)


def read_local_rows(path: str, max_rows: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows of a local file: JSON Lines, CSV (with all values as text), either also as `.gz`, or Parquet.

    At most `max_rows` rows of a table are read; JSON Lines are read one by one, on demand. Raises InputError, with file
    and line, for a line that is not a JSON object, and for a file of another kind.
    """
    kind = find_suffix(path)
    if kind == ".jsonl":
        yield from _read_json_lines(path)
        return
    try:
        if kind == ".csv":
            table = pl.read_csv(path, infer_schema=False, n_rows=max_rows)
        elif kind == ".parquet":
            table = pl.read_parquet(path, n_rows=max_rows)
        else:
            raise InputError(f"{path}: must be one of {', '.join(FORMATS)} (or .gz of it); convert it to one of these")
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{path}: cannot be read as {kind}: {error}") from None
    yield from table.iter_rows(named=True)


def _read_json_lines(path: str) -> Iterator[dict[str, Any]]:
    for number, line in read_text_lines(path):
        if line.strip():
            yield _parse_json_object(line, f"{path}: line {number} must be a JSON object")


def read_text_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a text file or its .gz, decoded one by one so that an error names its line.

    Raises InputError with the number of a line that is too long for memory or not UTF-8, and for an unreadable file.
    """
    number = 0
    try:
        with open_stream(path) as file:
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                yield number, _decode_line(line, f"{path}: line {number}")
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read after line {number}: {error}") from None


def _decode_line(line: bytes, where: str) -> str:
    if len(line) > LONGEST_LINE:
        raise InputError(f"{where} has more than {LONGEST_LINE >> 20} MiB; break it into several lines")
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{where} must be UTF-8: {error}; convert the file") from None


def _parse_json_object(line: str, requirement: str) -> dict[str, Any]:
    """The object in a line; errors begin with `requirement`, such as `FILE: line 3 must be a JSON object`."""
    try:
        row = json.loads(line)
    # ValueError: broken JSON, or a number of 5,000 digits. RecursionError: nested too deep.
    except (ValueError, RecursionError) as error:
        raise InputError(f"{requirement}: {error}") from None
    if not isinstance(row, dict):
        raise InputError(f"{requirement}, got {type(row).__name__}")
    return row


def read_folder_rows(folder: str, configs: Iterable[str], split: str, dataset: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a data set's configurations in sequence; `folder` has the files of one commit.

    The data set is loaded from the folder, not by its id, because when offline `datasets` silently uses whichever
    commit was cached last. Pictures are not decoded: {"bytes": ..., "path": ...}. Raises InputError for an unknown
    configuration or split.
    """
    import datasets  # heavy, and not needed for local files

    for name in list(configs) or (None,):  # None: the data set's default configuration
        try:
            rows = datasets.load_dataset(folder, name, split=split)
        except (ValueError, OSError, datasets.exceptions.DatasetsError) as error:
            place = f"configuration {name or 'default'}, split {split}"
            raise InputError(f"dataset {dataset}: {place} cannot be loaded: {error}") from None
        for table in rows.with_format("arrow").iter(batch_size=1000):
            yield from table.to_pylist()
