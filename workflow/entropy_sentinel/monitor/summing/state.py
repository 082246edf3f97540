"""A folder with the sums of every file that has been read, so that a later run reads what is new alone.

    state.json                  whose sums these are: the estimator's checksum, and how responses were read
    files/KEY.json              a file that counts: what was seen in it, and the checksums of what follows
    sums/KEY.parquet            of one file: sums by slice and smallest window
    responses/KEY.parquet       of one file: each response's id and prediction, to which labels may come later
    numbers/KEY.parquet         of one file: a number for each response, by which it is known in another (`identity`)
    places.json                 where the files lay, their sizes and times: one that looks the same is not opened

KEY is the SHA-256 of the file's content, unpacked: a file that was moved, copied or packed is known again. A file that
begins with the whole content of one that was read before, as a log that has grown, is read whole and takes its place;
the key of what it replaced is remembered with it, for that content may lie about elsewhere. Responses that another
file has count once. `files/KEY.json` is written in one step and after everything else, so that a killed run leaves
nothing that counts; two runs at once wait for each other (`jobs.ownership`).
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.frames.errors import ProvenanceError
from entropy_sentinel.frames.files import whole_file
from entropy_sentinel.monitor.reading.content import Content
from entropy_sentinel.monitor.reading.identity import ID, NUMBERS, PLACED, RESPONSE, Others, Seen
from entropy_sentinel.monitor.settings import Reading
from entropy_sentinel.monitor.summing.stored import Writer, damaged, read_json, row_groups, write_json
from entropy_sentinel.monitor.summing.sums import Partial

VERSION = 2
_ABOUT, _PLACES, _FILES = "state.json", "places.json", "files"
_SUMS, _RESPONSES, _NUMBERS = "sums", "responses", "numbers"
_PARTS = (_SUMS, _RESPONSES, _NUMBERS)


@dataclass
class FileSums:
    """What is known of one file beside its sums.

    `replaces` are keys of what it begins with. `seen` are columns with a value, `problems` is `Problems.as_dict`,
    `rejected` counts responses by what they are of and the estimator is not, `taken` those taken all the same.
    `checksums` are those of its files, by folder.
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
    checksums: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Writers:
    """Of one file: where its sums, responses and numbers go."""

    sums: Writer
    responses: Writer
    numbers: Writer

    def discard(self) -> None:
        """Forget what was written."""
        for one in (self.sums, self.responses, self.numbers):
            one.discard()


class State:
    """The sums of an estimator, named by its file's SHA-256, and one way of reading."""

    def __init__(self, folder: Path, estimator: str, checksum: str, reading: Reading) -> None:
        """Open the folder, or begin one.

        ProvenanceError where it holds sums of something else, DamagedFileError where a file is not as it was written.
        """
        self.folder = folder
        self._reading, self._whose = reading, (estimator, checksum)
        self._about: dict[str, Any] = {
            "version": VERSION,
            "estimator": estimator,
            "checksum": checksum,
            "reading": reading.as_dict(),
        }
        self._open()
        found = (FileSums(**read_json(path, folder)) for path in sorted((folder / _FILES).glob("*.json")))
        self.files = {about.key: about for about in found}
        # A run that was killed here may have left what was replaced, and parts of a file that never counted.
        for replaced in {key for one in self.files.values() for key in one.replaces} & set(self.files):
            self.drop(replaced)
        for part in _PARTS:
            for path in (folder / part).glob("*.parquet"):
                if path.stem not in self.files:
                    path.unlink()
        self._places = read_json(folder / _PLACES, folder) if (folder / _PLACES).exists() else {}
        self._numbers: tuple[Seen, Seen] | None = None

    def _open(self) -> None:
        path = self.folder / _ABOUT
        if path.exists():
            self._check(path)
        elif any((self.folder / _FILES).glob("*")) or any((self.folder / _SUMS).glob("*")):
            raise damaged(self.folder, path, "it is not there")
        else:
            write_json(path, self._about)
        for part in (_FILES, *_PARTS):
            try:
                (self.folder / part).mkdir(exist_ok=True)
            except OSError as error:
                raise damaged(self.folder, self.folder / part, error) from None

    def _check(self, path: Path) -> None:
        remedy = f"name another folder, or delete {self.folder} and give all the logs again"
        if _is_first_version(path):
            raise ProvenanceError(f"{self.folder}: is of an earlier release; {remedy}")
        found = read_json(path, self.folder)
        if found["version"] != VERSION:
            raise ProvenanceError(f"{self.folder}: is of another release (version {found['version']}); {remedy}")
        if found["checksum"] != self._about["checksum"]:
            raise ProvenanceError(
                f"{self.folder}: holds what the estimator '{found['estimator']}' of checksum {found['checksum'][:12]} "
                f"found, and this one is {self._about['checksum'][:12]}: the two do not add up; {remedy}"
            )
        then_read = found["reading"]
        if "any_signal" in then_read:  # its name in states written before
            then_read["any_logprobs"] = then_read.pop("any_signal")
        for name, now in self._about["reading"].items():
            if (then := then_read.get(name)) != now:
                raise ProvenanceError(
                    f"{self.folder}: was made with {name} = {then!r}, and this run has {now!r}: the two do not add "
                    f"up; {remedy}"
                )

    def known(self, path: str) -> str | None:
        """The key of a file that was read, if its size and time are as they were: it is not opened."""
        place = self._places.get(str(Path(path).absolute()))
        return place[-1] if place and place[:-1] == on_disk(path) and self.holder(place[-1]) else None

    def holder(self, key: str) -> FileSums | None:
        """The file that has the content of this key: that of the key, or one that begins with it."""
        return self.files.get(key) or next((one for one in self.files.values() if key in one.replaces), None)

    def remember(self, path: str, look: list[int], key: str) -> None:
        """Note that the file, which looked so, holds what `key` names."""
        self._places[str(Path(path).absolute())] = [*look, key]
        write_json(self.folder / _PLACES, self._places)

    def begun_by(self, content: Content) -> list[str]:
        """The keys of all that was read before whose whole content this one begins with."""
        found = [key for key in content.beginnings if key in self.files and key != content.key]
        return sorted({*found, *(one for key in found for one in self.files[key].replaces)})

    def others(self, about: FileSums) -> Others:
        """The responses of all files but for what this one replaces."""
        if self._numbers is None:
            frames = [self.numbers(key) for key in self.files]
            responses, ids = ([one[name].to_numpy() for one in frames] for name in (RESPONSE, ID))
            self._numbers = Seen(responses), Seen(ids)
        replaced = [self.numbers(key)[RESPONSE].to_numpy() for key in about.replaces if key in self.files]
        return Others(*self._numbers, Seen(replaced))

    @contextmanager
    def writing(self, about: FileSums) -> Iterator[Writers]:
        """Writers of the parts of a file, which count when the block has ended."""
        first, second, third = (self.folder / part / f"{about.key}.parquet" for part in _PARTS)
        with whole_file(first) as sums, whole_file(second) as responses, whole_file(third) as numbers:
            writers = Writers(Writer(sums), Writer(responses), Writer(numbers))
            yield writers
            about.checksums = {
                _SUMS: writers.sums.close(),
                _RESPONSES: writers.responses.close(),
                _NUMBERS: writers.numbers.close(),
            }
        write_json(self.folder / _FILES / f"{about.key}.json", asdict(about))
        self.files[about.key] = about
        for replaced in about.replaces:
            self.drop(replaced)
        if self._numbers is not None:  # what was replaced is among what replaces it
            new = self.numbers(about.key)
            for seen, name in zip(self._numbers, (RESPONSE, ID), strict=True):
                seen.add(new[name].to_numpy())

    def take_over(self, folder: Path) -> list[FileSums]:
        """Add the files of another state of the same estimator and reading, as of a part of the logs; those added.

        A file all of whose responses are in another counts for nothing. Of sums, single responses cannot be taken off.
        """
        other, added = State(folder, *self._whose, self._reading), []
        for key, about in other.files.items():
            new, others = other.numbers(key), self.others(about)
            others.count(new)
            if self.holder(key) or others.all_same:
                continue
            if others.any_same:
                about.replaces = sorted({*about.replaces, *self._within(new)})
            with self.writing(about) as writers:
                for part in other.sums(key):
                    writers.sums.write(part.frame())
                for frame in other.responses(key):
                    writers.responses.write(frame)
                writers.numbers.write(new)
            added.append(about)
        return added

    def n_twice(self) -> int:
        """How many responses count more than once, as those of parts that were added up before they were seen here."""
        found = pl.concat([self.numbers(key) for key in self.files]).filter(~pl.col(PLACED))[RESPONSE]
        return len(found) - found.n_unique()

    def _within(self, new: pl.DataFrame) -> Iterator[str]:
        """The files all of whose responses are among these."""
        there = Seen([new[RESPONSE].to_numpy()])
        for key in self.files:
            mine = self.numbers(key)[RESPONSE].to_numpy()
            if len(mine) and there.has(mine).all():
                yield key

    def sums(self, key: str) -> Iterator[Partial]:
        """The sums of a file, in parts of bounded size."""
        if self.files[key].n_responses:
            for frame in self._frames(_SUMS, key):
                yield Partial.of(frame)

    def responses(self, key: str) -> Iterator[pl.DataFrame]:
        """The responses of a file that are estimated: KEY, `by.COLUMN`, `grain` and the prediction `p`."""
        yield from (frame for frame in self._frames(_RESPONSES, key) if frame.width)

    def numbers(self, key: str) -> pl.DataFrame:
        """The numbers of a file's responses, columns NUMBERS."""
        return pl.concat(
            [pl.DataFrame(schema=NUMBERS), *(frame for frame in self._frames(_NUMBERS, key) if frame.width)]
        )

    def _frames(self, part: str, key: str) -> Iterator[pl.DataFrame]:
        path = self.folder / part / f"{key}.parquet"
        return row_groups(path, self.files[key].checksums[part], self.folder)

    def drop(self, key: str) -> None:
        """Forget a file."""
        self.files.pop(key, None)
        (self.folder / _FILES / f"{key}.json").unlink(missing_ok=True)
        for part in _PARTS:
            (self.folder / part / f"{key}.parquet").unlink(missing_ok=True)


def _is_first_version(path: Path) -> bool:
    """Whether it is of a release whose files had no checksums."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("version") == 1


def is_state(path: str | Path) -> bool:
    """Whether this is the folder of a state."""
    return (Path(path) / _ABOUT).is_file()


def on_disk(path: str) -> list[int]:
    """What a look at a file tells: its size and the time of its last change."""
    found = Path(path).stat()
    return [found.st_size, found.st_mtime_ns]
