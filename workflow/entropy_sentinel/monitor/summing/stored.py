"""The files of a state: each with a checksum, so that one that was changed or is incomplete is named and never read."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from entropy_sentinel.frames.errors import DamagedFileError
from entropy_sentinel.frames.files import whole_file


class Writer:
    """A Parquet file to which frames are added; one without any holds no columns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: pq.ParquetWriter | None = None

    def write(self, frame: pl.DataFrame) -> None:
        """Add a frame as a row group."""
        if frame.is_empty():
            return
        table = frame.to_arrow()
        self._writer = self._writer or pq.ParquetWriter(self._path, table.schema, compression="zstd")
        self._writer.write_table(table.cast(self._writer.schema))

    def discard(self) -> None:
        """Forget what was written."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def close(self) -> str:
        """End the file; its SHA-256."""
        (self._writer or pq.ParquetWriter(self._path, pa.schema([]), compression="zstd")).close()
        return _sha256_of(self._path)


def row_groups(path: Path, checksum: str, folder: Path) -> Iterator[pl.DataFrame]:
    """The frames of a file; DamagedFileError where it has another SHA-256."""
    try:
        if _sha256_of(path) != checksum:
            raise damaged(folder, path, "another SHA-256 than it was written with")
        with pq.ParquetFile(path) as file:
            for number in range(file.num_row_groups):
                yield pl.DataFrame(file.read_row_group(number))
    except (pa.ArrowException, OSError) as error:
        raise damaged(folder, path, error) from None


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write an object with its checksum, in one step."""
    with whole_file(path) as partial:
        partial.write_text(json.dumps({"sha256": _digest(content), "content": content}, indent=1))


def read_json(path: Path, folder: Path) -> dict[str, Any]:
    """An object as it was written; DamagedFileError where it is not."""
    try:
        found = json.loads(path.read_text())
        content: dict[str, Any] = found["content"]
        if found["sha256"] != _digest(content):
            raise ValueError("another SHA-256 than it was written with")
        return content
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise damaged(folder, path, error) from None


def damaged(folder: Path, path: Path, error: Exception | str) -> DamagedFileError:
    """What to say of a file of the state in `folder`."""
    said = " ".join(str(error).split())[:200]
    return DamagedFileError(
        f"{path}: is damaged ({said}); delete the folder {folder} and give all the logs: it is made again from them"
    )


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
