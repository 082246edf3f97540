"""A state: the sums of every file that was read, so that a later run reads only new files.

The frames of a file have five parts: SUMS by slice and smallest window; CLUSTERS, the sums of clusters within these
(`cluster_sums`); RESPONSES, with ids and predictions to match with later labels; HASHES to recognise the responses in
other files (`deduplication`); and EXCLUSIONS, the counts of responses without an estimate (`exclusions`). Files of
earlier versions lack CLUSTERS and EXCLUSIONS. A row with an empty key describes the state: the estimator's checksum,
and how responses were read. `state_file` has the tables.

The key of a file is the SHA-256 of its unpacked content, so a file that was moved, copied or packed is recognised. If
a file begins with the whole content of an earlier file, such as a log that has grown, it is read from the start and
replaces the earlier file. The replaced key is kept, because other files may have the same content. Responses in several
files count once. A file is added in one transaction, so a killed run leaves nothing behind. The row of a file lists its
statistics with their versions (`monitor.slice_columns`). If a statistic is unknown, the file is read again if it is
given; otherwise its other sums count.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.core.errors import DamagedFileError, ProvenanceError
from entropy_sentinel.monitor.reading.deduplication import (
    HASH_COLUMNS,
    ContentDigest,
    HashIndex,
    RepeatFinder,
    TimeSpan,
)
from entropy_sentinel.monitor.reading.time_zones import DTYPE
from entropy_sentinel.monitor.slice_columns import STATISTICS
from entropy_sentinel.monitor.summing.file_sums import FileSums, file_sums_of, span_as_list
from entropy_sentinel.monitor.summing.slice_sums import Partial
from entropy_sentinel.monitor.summing.state_file import PROGRESS, StateFile, Writer, opened
from entropy_sentinel.monitor.summing.state_form import (
    check_state,
    checked_clusters,
    checked_exclusions,
    checked_hashes,
    checked_responses,
    checked_sums,
    widths,
)

SUMS, RESPONSES, HASHES = "sums", "responses", "numbers"
CLUSTERS, EXCLUSIONS = "clusters", "exclusions"
# The key of the row about the state itself.
_STATE = ""


class State:
    """The sums for one estimator and one way of reading; the state is locked while it is open.

    `files` are the files that count, by their keys. Raises DamagedFileError if the state file was damaged or edited,
    and EntropySentinelError if it cannot be read or written.
    """

    def __init__(self, file: StateFile, whose: dict[str, Any], n_values: int | None = None) -> None:
        """Read or start a state file; raise ProvenanceError if it has another estimator or way of reading."""
        self._file, self._whose, self._n_values = file, whose, n_values
        self._by: list[str] = whose["reading"]["by"]
        # The lengths of the lists in the frames of sums, which all frames share.
        self._widths: tuple[int, ...] | None = None
        about = file.about()
        if _STATE in about:
            with self._checking(_STATE):
                check_state(about[_STATE])
            _check_same(file.path, about.pop(_STATE), whose)
        else:
            file.put(_STATE, whose)
        self.files: dict[str, FileSums] = {}
        for key, content in about.items():
            with self._checking(key):
                self.files[key] = file_sums_of(key, content)
        # The columns of this run by which labels were drawn, to keep for each response.
        self.strata: list[str] = []
        self.overlap = HashIndex(self.files, self.numbers, self.span)

    @classmethod
    @contextmanager
    def opened(cls, path: Path | None, whose: dict[str, Any], n_values: int | None = None) -> Iterator["State"]:
        """Open or create a state file for this process only; without a path, the state is temporary.

        `whose` has the name of the `estimator`, the `checksum` of its file, and the options `reading`; `n_values` is
        the number of values that the estimator computes for a response. Raises ConfigError for a file that is not a
        state.
        """
        with opened(path) as file:
            yield cls(file, whose, n_values)

    @property
    def reported_alerts(self) -> Any:
        """The alerts that earlier runs reported; `alert_history` checks their form."""
        return self._file.reported_alerts()

    def damaged(self, why: str) -> DamagedFileError:
        """The error about content that is not as it was written, and what to do."""
        return self._file.damaged(why)

    @property
    def progress(self) -> Any:
        """What earlier runs recorded about the newest responses, null for the first run."""
        return self._file.record(PROGRESS)

    def known(self, path: str) -> FileSums | None:
        """The known file at a path, unopened; null if size or time changed or a statistic is unknown."""
        key = self._file.place(path)
        return None if self.lacking(key) else self.holder(key)

    def holder(self, key: str) -> FileSums | None:
        """The file with this key, or a file that replaced it, or null."""
        if key in self.files:
            return self.files[key]
        return next((about for about in self.files.values() if key in about.replaces), None)

    def lacking(self, key: str) -> list[str]:
        """What is unknown of the file with this key, such as statistics."""
        if key not in self.files:
            return []
        about = self.files[key]
        return about.unrecorded + ([", ".join(self.strata)] if self.strata and about.strata != self.strata else [])

    def remember(self, path: str, look: list[int], key: str) -> None:
        """Record the key, size and time (`look`) of the file at a path."""
        self._file.remember(path, look, key)

    def begun_by(self, content: ContentDigest) -> list[str]:
        """The keys of the earlier files whose whole content is at the beginning of this content."""
        keys: set[str] = set()
        for key in content.beginnings:
            if key in self.files and key != content.key:
                keys |= {key, *self.files[key].replaces}
        return sorted(keys)

    @contextmanager
    def writing(self, about: FileSums) -> Iterator["Writer"]:
        """Yield a writer for a file's frames; the file counts once the block has ended."""
        with self._file.transaction():
            yield (writer := Writer(self._file, about.key))
            about.checksums = writer.checksums
            for key in about.replaces:
                self._file.delete(key)
            self._file.put(about.key, about.as_row())
        self.files[about.key] = about
        for key in about.replaces:
            self.files.pop(key, None)
        self.overlap.add_file(about.key)

    def take_over(self, path: Path) -> list[FileSums]:
        """Add the files of another state with the same estimator and reading; return the files that count.

        A file is skipped if all its responses are in other files; single responses cannot be subtracted from sums.
        """
        with State.opened(path, self._whose, self._n_values) as part:
            for about in part.files.values():
                self._take_over(about, part)
            holders = [self.holder(key) for key in part.files]
        return [about for about in holders if about is not None]

    def _take_over(self, about: FileSums, part: "State") -> None:
        """Add a file of another state unless this state already has its responses."""
        if self.lacking(about.key) and not about.unrecorded:
            self.forget(about.key)
        new, others = part.numbers(about.key), self.others(about)
        others.find_repeats(new, part.span(about.key))
        if self.holder(about.key) or others.all_repeated:
            return
        if others.any_repeated:
            about.replaces = sorted({*about.replaces, *self.overlap.find_contained_files(new)})
        about.of_part = True
        readers = {RESPONSES: part.responses, CLUSTERS: part.clusters, EXCLUSIONS: part.exclusions}
        sums, further = part.sums(about.key), {name: read(about.key) for name, read in readers.items()}
        about.statistics = {name: version for name, version in about.statistics.items() if name in STATISTICS}
        with self.writing(about) as writer:
            for partial in sums:
                writer.add_frame(SUMS, partial.frame())
            writer.add_frame(HASHES, new)
            for name, frames in further.items():
                for frame in frames:
                    writer.add_frame(name, frame)

    def others(self, about: FileSums) -> RepeatFinder:
        """The responses of all files except the files that this file replaces."""
        return self.overlap.make_finder(about.replaces)

    def sums(self, key: str) -> Iterator[Partial]:
        """The sums of a file, in parts of bounded size."""
        # A sum that is 0 in states that lack it is neither unknown nor recorded there.
        known = STATISTICS.keys() & self.files[key].statistics.keys() - set(self.files[key].unknown)
        for frame in self._frames(key, SUMS):
            with self._checking(key):
                sums = checked_sums(frame, self._by, known, self._n_values)
                self._widths = self._widths or widths(sums)
                if self._widths != widths(sums):
                    raise ValueError("its sums have lists of another length than those of the other files")
            yield Partial.of(sums, known)

    def responses(self, key: str) -> Iterator[pl.DataFrame]:
        """The estimated responses of a file: RESPONSE, `by.COLUMN`, `grain`, CLUSTER, the prediction `p`."""
        return self._checked_frames(key, RESPONSES, checked_responses)

    def clusters(self, key: str) -> Iterator[pl.DataFrame]:
        """The sums of the clusters of a file (`cluster_sums`)."""
        return self._checked_frames(key, CLUSTERS, checked_clusters)

    def all_clusters(self) -> Iterator[pl.DataFrame]:
        """Yield the sums of the clusters of all files."""
        for key in self.files:
            yield from self.clusters(key)

    def exclusions(self, key: str) -> Iterator[pl.DataFrame]:
        """The exclusions of a file, with the slice columns and the columns `exclusions.SCHEMA`."""
        return self._checked_frames(key, EXCLUSIONS, checked_exclusions)

    def all_exclusions(self) -> list[pl.DataFrame]:
        """The exclusions of all files."""
        return [frame for key in self.files for frame in self.exclusions(key)]

    def all_sums(self) -> Iterator[Partial]:
        """Yield the sums of all files."""
        for key in self.files:
            yield from self.sums(key)

    def all_responses(self) -> Iterator[pl.DataFrame]:
        """Yield the estimated responses of all files."""
        for key in self.files:
            yield from self.responses(key)

    def numbers(self, key: str) -> pl.DataFrame:
        """The columns `deduplication.HASH_COLUMNS` of a file's responses."""
        return pl.concat([pl.DataFrame(schema=HASH_COLUMNS), *self._checked_frames(key, HASHES, checked_hashes)])

    def span(self, key: str) -> TimeSpan:
        """The times of a file's responses, as starts of the smallest windows."""
        about = self.files[key]
        if about.span is None:  # written by an earlier version
            grains = [part.keys["grain"] for part in self.sums(key)]
            about.span = span_as_list(TimeSpan.from_times(pl.concat(grains) if grains else pl.Series(dtype=DTYPE)))
        return about.times

    def forget(self, key: str) -> None:
        """Remove a file, so that it is read again."""
        self.drop(key)
        self.overlap.forget()

    def drop(self, key: str) -> None:
        """Remove a file; its responses remain in `overlap`."""
        self.files.pop(key, None)
        self._file.delete(key)

    def _frames(self, key: str, part: str) -> Iterator[pl.DataFrame]:
        """The frames of a part of a file."""
        return self._file.frames(key, part, self.files[key].checksums.get(part))

    def _checked_frames(
        self, key: str, part: str, checked: Callable[[pl.DataFrame, list[str]], pl.DataFrame]
    ) -> Iterator[pl.DataFrame]:
        for frame in self._frames(key, part):
            with self._checking(key):
                content = checked(frame, self._by)
            yield content

    @contextmanager
    def _checking(self, key: str) -> Iterator[None]:
        """Turn the errors of `state_form` into an error about this state, which says what to do."""
        try:
            yield
        except ValueError as error:
            raise self.damaged(f"{key[:12] or 'its own row'}: {error}") from None


def _check_same(path: Path | None, then: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise ProvenanceError if a state has another estimator or way of reading than this run."""
    remedy = f"name another file, or delete {path} and give all the logs again"
    if then["checksum"] != now["checksum"]:
        before = f"of another estimator, '{then['estimator']}' with checksum {then['checksum'][:12]}"
        run = f"this estimator has {now['checksum'][:12]}"
        if not then["checksum"]:
            before = "without an estimator"
        if not now["checksum"]:
            run = "this run has no estimator"
        raise ProvenanceError(f"{path}: contains results {before}; {run}. The results cannot be added: {remedy}")
    for name, value in now["reading"].items():
        before = then["reading"].get(name)
        if before != value:
            raise ProvenanceError(
                f"{path}: was made with {name} = {before}, but this run has {value}. The results cannot be "
                f"added: {remedy}"
            )
