"""A folder with the sums of every file that has been read, so that a later run reads what is new alone.

    state.json                whose sums these are: the estimator's checksum, and how responses were read
    sums/KEY.parquet          of one file: sums by slice and smallest window, and in its metadata what was seen
    responses/KEY.parquet     of one file: each response's id and prediction, to which labels may come later
    places.json               where the files lay, their sizes and times: one that looks the same is not opened

KEY is the SHA-256 of the file's content, unpacked: a file that was moved, copied or packed is known again. A file that
begins with the whole content of one that was read before, as a log that has grown, is read whole and takes its place.
A file's sums are written in one step and after everything else, so that a killed run leaves nothing that counts; two
runs at once wait for each other (`jobs.ownership`). Deleting a file of `sums/` makes a file forgotten.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from entropy_sentinel.frames.errors import DamagedFileError, ProvenanceError
from entropy_sentinel.frames.files import whole_file
from entropy_sentinel.monitor.content import Content
from entropy_sentinel.monitor.settings import Reading
from entropy_sentinel.monitor.sums import Partial

VERSION = 1
_ABOUT, _PLACES, _SUMS, _RESPONSES = "state.json", "places.json", "sums", "responses"
_METADATA = b"entropy_sentinel_monitor"


@dataclass
class FileSums:
    """What is known of one file beside its sums.

    `replaces` are keys of what it begins with. `seen` are columns with a value, `problems` is `Problems.as_dict`,
    `rejected` counts responses by what they are of and the estimator is not, `taken` those taken all the same.
    """

    path: str
    key: str
    n_bytes: int
    replaces: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    problems: dict[str, Any] = field(default_factory=dict)
    rejected: dict[str, int] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)
    n_responses: int = 0


class State:
    """The sums of an estimator, named by its file's SHA-256, and one way of reading."""

    def __init__(self, folder: Path, estimator: str, checksum: str, reading: Reading) -> None:
        """Open the folder, or begin one; ProvenanceError where it holds sums of something else."""
        self.folder = folder
        self._reading, self._whose = reading, (estimator, checksum)
        self._about: dict[str, Any] = {
            "version": VERSION,
            "estimator": estimator,
            "checksum": checksum,
            "reading": reading.as_dict(),
        }
        if (folder / _ABOUT).exists():
            self._check(_read_json(folder / _ABOUT))
        else:
            with whole_file(folder / _ABOUT) as partial:
                partial.write_text(json.dumps(self._about, indent=1))
        for part in (_SUMS, _RESPONSES):
            (folder / part).mkdir(exist_ok=True)
        self.files = {path.stem: _read_about(path) for path in sorted((folder / _SUMS).glob("*.parquet"))}
        # A run that was killed here may have left what was replaced.
        for replaced in {key for one in self.files.values() for key in one.replaces} & set(self.files):
            self.drop(replaced)
        self._places = _read_json(folder / _PLACES) if (folder / _PLACES).exists() else {}

    def _check(self, found: dict[str, Any]) -> None:
        remedy = f"name another folder, or delete {self.folder} and give all the logs again"
        if found.get("version") != VERSION:
            raise ProvenanceError(f"{self.folder}: is of another release (version {found.get('version')}); {remedy}")
        if found["checksum"] != self._about["checksum"]:
            raise ProvenanceError(
                f"{self.folder}: holds what the estimator '{found['estimator']}' of checksum {found['checksum'][:12]} "
                f"found, and this one is {self._about['checksum'][:12]}: the two do not add up; {remedy}"
            )
        for name, now in self._about["reading"].items():
            if (then := found["reading"].get(name)) != now:
                raise ProvenanceError(
                    f"{self.folder}: was made with {name} = {then!r}, and this run has {now!r}: the two do not add "
                    f"up; {remedy}"
                )

    def known(self, path: str) -> str | None:
        """The key of a file that was read, if its size and time are as they were: it is not opened."""
        place = self._places.get(str(Path(path).absolute()))
        return place[-1] if place and place[:-1] == on_disk(path) and place[-1] in self.files else None

    def remember(self, path: str, look: list[int], key: str) -> None:
        """Note that the file, which looked so, holds what `key` names."""
        self._places[str(Path(path).absolute())] = [*look, key]
        with whole_file(self.folder / _PLACES) as partial:
            partial.write_text(json.dumps(self._places, indent=1))

    def begun_by(self, content: Content) -> list[str]:
        """The keys of the files read before whose whole content this one begins with."""
        return [key for key in content.beginnings if key in self.files and key != content.key]

    @contextmanager
    def writing(self, about: FileSums) -> Iterator[tuple["Writer", "Writer"]]:
        """Writers of the sums and of the responses of a file, which count when the block has ended."""
        sums_path, responses_path = (self.folder / part / f"{about.key}.parquet" for part in (_SUMS, _RESPONSES))
        with whole_file(sums_path) as first, whole_file(responses_path) as second:
            sums, responses = Writer(first), Writer(second)
            yield sums, responses
            responses.close()
            sums.close({_METADATA: json.dumps(asdict(about))})
        self.files[about.key] = about
        for replaced in about.replaces:
            self.drop(replaced)

    def take_over(self, folder: Path) -> list[FileSums]:
        """Add the files of another state of the same estimator and reading, as of a part of the logs; those added."""
        other, added = State(folder, *self._whose, self._reading), []
        for key, about in other.files.items():
            if key not in self.files:
                with self.writing(about) as (sums, responses):
                    for part in other.sums(key):
                        sums.write(part.frame())
                    for frame in other.responses(key):
                        responses.write(frame)
                added.append(about)
        return added

    def sums(self, key: str) -> Iterator[Partial]:
        """The sums of a file, in parts of bounded size."""
        if self.files[key].n_responses:
            for frame in _row_groups(self.folder / _SUMS / f"{key}.parquet"):
                yield Partial.of(frame)

    def responses(self, key: str) -> Iterator[pl.DataFrame]:
        """The responses of a file that are estimated: KEY, `by.COLUMN`, `grain` and the prediction `p`."""
        path = self.folder / _RESPONSES / f"{key}.parquet"
        yield from (frame for frame in _row_groups(path) if frame.width)

    def drop(self, key: str) -> None:
        """Forget a file."""
        self.files.pop(key, None)
        for part in (_SUMS, _RESPONSES):
            (self.folder / part / f"{key}.parquet").unlink(missing_ok=True)


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

    def close(self, metadata: dict[bytes, str] | None = None) -> None:
        """End the file, with what is to be said of it."""
        writer = self._writer or pq.ParquetWriter(self._path, pa.schema([]), compression="zstd")
        writer.add_key_value_metadata(metadata or {})
        writer.close()


def is_state(path: str | Path) -> bool:
    """Whether this is the folder of a state."""
    return (Path(path) / _ABOUT).is_file()


def on_disk(path: str) -> list[int]:
    """What a look at a file tells: its size and the time of its last change."""
    found = Path(path).stat()
    return [found.st_size, found.st_mtime_ns]


def _row_groups(path: Path) -> Iterator[pl.DataFrame]:
    try:
        with pq.ParquetFile(path) as file:
            for number in range(file.num_row_groups):
                yield pl.from_arrow(file.read_row_group(number))
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from None


def _read_about(path: Path) -> FileSums:
    try:
        return FileSums(**json.loads(pq.read_metadata(path).metadata[_METADATA]))
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> DamagedFileError:
    said = " ".join(str(error).split())[:200]
    return DamagedFileError(f"{path}: is damaged ({said}); delete it, and give the log that it is of again")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from None
