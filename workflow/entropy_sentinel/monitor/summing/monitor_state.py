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
from entropy_sentinel.monitor.summing.file_sums import FileRecord, format_span, parse_file_record
from entropy_sentinel.monitor.summing.slice_sums import KeyedSums
from entropy_sentinel.monitor.summing.state_file import PROGRESS, StateFile, Writer, open_state_file
from entropy_sentinel.monitor.summing.state_form import (
    check_clusters,
    check_exclusions,
    check_hashes,
    check_responses,
    check_state,
    check_sums,
    list_widths,
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

    def __init__(self, file: StateFile, identity: dict[str, Any], n_values: int | None = None) -> None:
        """Read or start a state file; raise ProvenanceError if it has another estimator or way of reading."""
        self._file, self._identity, self._n_values = file, identity, n_values
        self._by: list[str] = identity["reading"]["by"]
        # The lengths of the lists in the frames of sums, which all frames share.
        self._widths: tuple[int, ...] | None = None
        about = file.read_file_rows()
        if _STATE in about:
            with self._guard_form(_STATE):
                check_state(about[_STATE])
            _check_identity(file.path, about.pop(_STATE), identity)
        else:
            file.put_row(_STATE, identity)
        self.files: dict[str, FileRecord] = {}
        for key, content in about.items():
            with self._guard_form(key):
                self.files[key] = parse_file_record(key, content)
        # The columns of this run by which labels were drawn, to keep for each response.
        self.strata: list[str] = []
        self.hash_index = HashIndex(self.files, self.read_hashes, self.read_span)

    @classmethod
    @contextmanager
    def open(cls, path: Path | None, identity: dict[str, Any], n_values: int | None = None) -> Iterator["State"]:
        """Open or create a state file for this process only; without a path, the state is temporary.

        `identity` has the name of the `estimator`, the `checksum` of its file, and the options `reading`; `n_values` is
        the number of values that the estimator computes for a response. Raises ConfigError for a file that is not a
        state.
        """
        with open_state_file(path) as file:
            yield cls(file, identity, n_values)

    @property
    def reported_alerts(self) -> Any:
        """The alerts that earlier runs reported; `alert_history` checks their form."""
        return self._file.reported_alerts()

    def make_damage_error(self, why: str) -> DamagedFileError:
        """The error about content that is not as it was written, and what to do."""
        return self._file.make_damage_error(why)

    @property
    def progress(self) -> Any:
        """What earlier runs recorded about the newest responses, null for the first run."""
        return self._file.read_record(PROGRESS)

    def find_unchanged(self, path: str) -> FileRecord | None:
        """The known file at a path, unopened; null if size or time changed or a statistic is unknown."""
        key = self._file.find_key(path)
        return None if self.list_missing(key) else self.find_holder(key)

    def find_holder(self, key: str) -> FileRecord | None:
        """The file with this key, or a file that replaced it, or null."""
        if key in self.files:
            return self.files[key]
        return next((about for about in self.files.values() if key in about.replaces), None)

    def list_missing(self, key: str) -> list[str]:
        """What is unknown of the file with this key, such as statistics."""
        if key not in self.files:
            return []
        about = self.files[key]
        return about.missing_records + ([", ".join(self.strata)] if self.strata and about.strata != self.strata else [])

    def remember(self, path: str, file_stat: list[int], key: str) -> None:
        """Record the key, size and time (`file_stat`) of the file at a path."""
        self._file.remember(path, file_stat, key)

    def find_beginnings(self, content: ContentDigest) -> list[str]:
        """The keys of the earlier files whose whole content is at the beginning of this content."""
        keys: set[str] = set()
        for key in content.beginnings:
            if key in self.files and key != content.key:
                keys |= {key, *self.files[key].replaces}
        return sorted(keys)

    @contextmanager
    def writing(self, about: FileRecord) -> Iterator["Writer"]:
        """Yield a writer for a file's frames; the file counts once the block has ended."""
        with self._file.transaction():
            yield (writer := Writer(self._file, about.key))
            about.checksums = writer.checksums
            for key in about.replaces:
                self._file.delete(key)
            self._file.put_row(about.key, about.to_row())
        self.files[about.key] = about
        for key in about.replaces:
            self.files.pop(key, None)
        self.hash_index.add_file(about.key)

    def take_over(self, path: Path) -> list[FileRecord]:
        """Add the files of another state with the same estimator and reading; return the files that count.

        A file is skipped if all its responses are in other files; single responses cannot be subtracted from sums.
        """
        with State.open(path, self._identity, self._n_values) as part:
            for record in part.files.values():
                self._take_over(record, part)
            # Of each file its own record here, or that of a file that has its responses.
            holders = [self.find_holder(key) for key in part.files]
        return [record for record in holders if record is not None]

    def _take_over(self, about: FileRecord, part: "State") -> None:
        """Add a file of another state unless this state already has its responses."""
        # The other state recorded what this one lacks of the same file.
        if self.list_missing(about.key) and not about.missing_records:
            self.forget(about.key)
        hashes, repeat_finder = part.read_hashes(about.key), self.make_finder(about)
        repeat_finder.find_repeats(hashes, part.read_span(about.key))
        if self.find_holder(about.key) or repeat_finder.all_repeated:
            return
        if repeat_finder.any_repeated:
            about.replaces = sorted({*about.replaces, *self.hash_index.find_contained_files(hashes)})
        about.of_part = True
        readers = {RESPONSES: part.responses, CLUSTERS: part.clusters, EXCLUSIONS: part.exclusions}
        sums = part.sums(about.key)
        frames_by_part = {name: read(about.key) for name, read in readers.items()}
        # Statistics of extensions that are not installed here are not copied.
        about.statistics = {name: version for name, version in about.statistics.items() if name in STATISTICS}
        with self.writing(about) as writer:
            for partial in sums:
                writer.add_frame(SUMS, partial.to_frame())
            writer.add_frame(HASHES, hashes)
            for name, frames in frames_by_part.items():
                for frame in frames:
                    writer.add_frame(name, frame)

    def make_finder(self, about: FileRecord) -> RepeatFinder:
        """A finder that compares a file with all files except those that it replaces."""
        return self.hash_index.make_finder(about.replaces)

    def sums(self, key: str) -> Iterator[KeyedSums]:
        """The sums of a file, in parts of bounded size."""
        # A sum that is 0 in states that lack it is neither unknown nor recorded there.
        known_statistics = STATISTICS.keys() & self.files[key].statistics.keys() - set(
            self.files[key].unknown_statistics
        )
        for frame in self._frames(key, SUMS):
            with self._guard_form(key):
                sums = check_sums(frame, self._by, known_statistics, self._n_values)
                self._widths = self._widths or list_widths(sums)
                if self._widths != list_widths(sums):
                    raise ValueError("its sums have lists of another length than those of the other files")
            yield KeyedSums.from_frame(sums, known_statistics)

    def responses(self, key: str) -> Iterator[pl.DataFrame]:
        """The estimated responses of a file, in frames.

        They have RESPONSE, `by.COLUMN`, `grain` (the smallest window), CLUSTER, and P(correct) as `p`.
        """
        return self._check_frames(key, RESPONSES, check_responses)

    def clusters(self, key: str) -> Iterator[pl.DataFrame]:
        """The sums of the clusters of a file (`cluster_sums`)."""
        return self._check_frames(key, CLUSTERS, check_clusters)

    def all_clusters(self) -> Iterator[pl.DataFrame]:
        """Yield the sums of the clusters of all files."""
        for key in self.files:
            yield from self.clusters(key)

    def exclusions(self, key: str) -> Iterator[pl.DataFrame]:
        """The exclusions of a file, with the slice columns and the columns `exclusions.SCHEMA`."""
        return self._check_frames(key, EXCLUSIONS, check_exclusions)

    def all_exclusions(self) -> list[pl.DataFrame]:
        """The exclusions of all files."""
        return [frame for key in self.files for frame in self.exclusions(key)]

    def all_sums(self) -> Iterator[KeyedSums]:
        """Yield the sums of all files."""
        for key in self.files:
            yield from self.sums(key)

    def all_responses(self) -> Iterator[pl.DataFrame]:
        """Yield the estimated responses of all files."""
        for key in self.files:
            yield from self.responses(key)

    def read_hashes(self, key: str) -> pl.DataFrame:
        """The columns `deduplication.HASH_COLUMNS` of a file's responses."""
        return pl.concat([pl.DataFrame(schema=HASH_COLUMNS), *self._check_frames(key, HASHES, check_hashes)])

    def read_span(self, key: str) -> TimeSpan:
        """The times of a file's responses, as starts of the smallest windows."""
        about = self.files[key]
        if about.span is None:  # written by an earlier version
            grains = [part.keys["grain"] for part in self.sums(key)]
            about.span = format_span(TimeSpan.from_times(pl.concat(grains) if grains else pl.Series(dtype=DTYPE)))
        return about.times

    def forget(self, key: str) -> None:
        """Remove a file, so that it is read again."""
        self.drop(key)
        self.hash_index.forget()

    def drop(self, key: str) -> None:
        """Remove a file; its responses remain in `hash_index`."""
        self.files.pop(key, None)
        self._file.delete(key)

    def _frames(self, key: str, part: str) -> Iterator[pl.DataFrame]:
        """The frames of a part of a file."""
        return self._file.frames(key, part, self.files[key].checksums.get(part))

    def _check_frames(
        self, key: str, part: str, check: Callable[[pl.DataFrame, list[str]], pl.DataFrame]
    ) -> Iterator[pl.DataFrame]:
        """Yield the frames of a part of a file as `check` returns them; raises DamagedFileError if it refuses one."""
        for frame in self._frames(key, part):
            with self._guard_form(key):
                content = check(frame, self._by)
            yield content

    @contextmanager
    def _guard_form(self, key: str) -> Iterator[None]:
        """Turn the errors of `state_form` into an error about this state, which says what to do."""
        try:
            yield
        except ValueError as error:
            raise self.make_damage_error(f"{key[:12] or 'its own row'}: {error}") from None


def _check_identity(path: Path | None, recorded: dict[str, Any], current: dict[str, Any]) -> None:
    """Raise ProvenanceError if a state has another estimator or way of reading than this run."""
    remedy = f"name another file, or delete {path} and give all the logs again"
    if recorded["checksum"] != current["checksum"]:
        before = f"of another estimator, '{recorded['estimator']}' with checksum {recorded['checksum'][:12]}"
        run = f"this estimator has {current['checksum'][:12]}"
        if not recorded["checksum"]:
            before = "without an estimator"
        if not current["checksum"]:
            run = "this run has no estimator"
        raise ProvenanceError(f"{path}: contains results {before}; {run}. The results cannot be added: {remedy}")
    for name, value in current["reading"].items():
        before = recorded["reading"].get(name)
        if before != value:
            raise ProvenanceError(
                f"{path}: was made with {name} = {before}, but this run has {value}. The results cannot be "
                f"added: {remedy}"
            )
