"""Recognise files and responses that were read before: a log that was copied or has grown, or two exports of one day.

A file is identified by the SHA-256 of its unpacked content, and a response by its model, id, sample, time and features.
If a prompt is sent again, the response has another time and id. Without a time, a date in the file's name takes its
place, because daily files may use their ids again. A response without an id in the log is identified by its place in
the file (`logs.response_keys`). Different files share places, such as the first line, so these responses count as
read before only if all responses of the file were read before. Otherwise those that equal a response of another file
in all but the place are counted and reported, because exports may overlap, but two requests may get the same answer.

A repeated response has the same time, so a file is compared only with files whose times are within HORIZON of its own,
and its responses without a time with those of other files. The memory of a nightly run then does not grow with the log.
A file without any time is compared with all files.

A response is represented by a 64-bit hash: the sum of the bytes of its text, each multiplied by a factor for its place,
then mixed (splitmix64: Steele, Lea and Flood 2014). Because states keep hashes, they must not depend on the machine or
the version. Among a hundred million responses, the probability that any two share a hash is 0.0003.
"""

import gzip
import hashlib
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import polars as pl

from entropy_sentinel.core.external_files import Stream, open_stream
from entropy_sentinel.features.feature_hashes import mix_bits, round_to_bits
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.logs.response_keys import DATE_IN_NAME
from entropy_sentinel.logs.response_selection import PLACE, coalesce_columns, find_columns
from entropy_sentinel.logs.timestamps import parse_times
from entropy_sentinel.monitor.reading.problem_codes import ProblemKind
from entropy_sentinel.monitor.reading.problem_collection import Problems

_BLOCK = 1 << 20
# How far apart the times of two files may be that are compared. Repeats need no more than the difference of two time
# zones; with more, the monitor also notices when an id is used again for another response.
HORIZON = timedelta(days=30)
# Largest number of hashes in memory (16 bytes a response) before those of files that are far away are dropped.
_MOST_HASHES = 20_000_000
# Columns of a frame: the hash of the response, the hash of only its id, and whether the id is its place in the file. A
# response whose id is its place has, instead of the hash of the id, that of the response without the place.
RESPONSE_HASH, ID_HASH, ID_IS_POSITION = "response_number", "id_number", "id_is_place"
HASH_COLUMNS = {RESPONSE_HASH: pl.UInt64, ID_HASH: pl.UInt64, ID_IS_POSITION: pl.Boolean}


@dataclass(frozen=True)
class ContentDigest:
    """SHA-256 and size of a file's unpacked content, and the SHA-256 of its first bytes, for several lengths."""

    key: str
    n_bytes: int
    beginnings: tuple[str, ...]


def digest_content(path: str, sizes: Iterable[int] = ()) -> ContentDigest:
    """The content of a file; `sizes` are the lengths of beginnings to hash, if the file is at least that long.

    The content of an incomplete or damaged packed file is the part that can be unpacked.
    """
    with open_stream(path) as stream:
        return _digest_stream(stream, sorted({size for size in sizes if size}))


def _digest_stream(stream: Stream, sizes: list[int]) -> ContentDigest:
    """The digest of a stream, and of its beginnings of `sizes` bytes, ascending; reached sizes are removed."""
    digest, n_bytes, beginnings = hashlib.sha256(), 0, []
    while True:
        try:
            block = stream.read1(min(_BLOCK, sizes[0] - n_bytes) if sizes else _BLOCK)
        except (gzip.BadGzipFile, EOFError, zlib.error):
            break  # the rest cannot be unpacked
        if not block:
            break
        digest.update(block)
        n_bytes += len(block)
        if sizes and n_bytes == sizes[0]:
            beginnings.append(digest.hexdigest())
            sizes.pop(0)
    return ContentDigest(digest.hexdigest(), n_bytes, tuple(beginnings))


@dataclass(frozen=True)
class TimeSpan:
    """The times of a file's responses: the first and the last, null without any, and whether some have no time."""

    first: datetime | None = None
    last: datetime | None = None
    has_untimed: bool = False

    @classmethod
    def from_times(cls, times: pl.Series) -> "TimeSpan":
        """The span of times, (n,), of which some may be null."""
        first, last = times.min(), times.max()
        if not isinstance(first, datetime) or not isinstance(last, datetime):
            first = last = None
        return cls(first, last, has_untimed=times.null_count() > 0)

    def merge(self, span: "TimeSpan") -> "TimeSpan":
        """The span of both."""
        has_untimed = self.has_untimed or span.has_untimed
        if self.first is None or self.last is None:
            return TimeSpan(span.first, span.last, has_untimed)
        if span.first is None or span.last is None:
            return TimeSpan(self.first, self.last, has_untimed)
        return TimeSpan(min(self.first, span.first), max(self.last, span.last), has_untimed)

    def is_near(self, span: "TimeSpan") -> bool:
        """Whether a response may be in both files, or an id in both within HORIZON."""
        if self.has_untimed and span.has_untimed:
            return True
        if self.first is None or self.last is None or span.first is None or span.last is None:
            # A file without any time may have been read without times.
            return self.has_untimed or span.has_untimed
        return self.first - HORIZON <= span.last and span.first - HORIZON <= self.last


class HashSet:
    """A set of 64-bit numbers, kept in sorted arrays, each more than twice as long as the next."""

    def __init__(self, parts: Sequence[np.ndarray] = ()) -> None:
        """Start with these numbers."""
        self._runs: list[np.ndarray] = []
        for part in parts:
            self.add(part)

    def add(self, hashes: np.ndarray) -> None:
        """Add numbers, (n,)."""
        new = np.sort(hashes)
        while self._runs and len(self._runs[-1]) <= 2 * len(new):
            new = np.sort(np.concatenate([self._runs.pop(), new]))
        self._runs.append(new)

    def has(self, hashes: np.ndarray) -> np.ndarray:
        """Whether each number is in the set, (n,)."""
        is_present = np.zeros(len(hashes), dtype=bool)
        for run in self._runs:
            if len(run):
                place = np.minimum(np.searchsorted(run, hashes), len(run) - 1)
                is_present |= run[place] == hashes
        return is_present


class RepeatFinder:
    """Compares the responses of one file with all other files, and counts the responses in common."""

    def __init__(self, load_near: Callable[[TimeSpan], tuple[HashSet, HashSet]], replaced: HashSet) -> None:
        """Compare a file.

        `load_near` returns the hashes of responses, and those of ids, of the other files near a span of time.
        `replaced` are the hashes of responses of files that this file replaces, which do not count as other files.
        """
        self._load_near, self._replaced = load_near, replaced
        # The responses of the file, those in another file, and those of the latter whose id is their place.
        self._n, self._n_repeated, self._n_repeated_positions = 0, 0, 0
        # Responses whose id another file uses for a different response.
        self.n_shared_ids = 0
        self._n_equal = 0

    def select_new(self, batch: pl.DataFrame, time: str) -> pl.DataFrame:
        """The responses that are in no other file or identified by place, with the columns HASH_COLUMNS."""
        hashed = batch.with_columns(**hash_responses(batch, time))
        has_times = find_columns(batch, time)
        span = (
            TimeSpan.from_times(parse_times(coalesce_columns(batch, [time])))
            if has_times
            else TimeSpan(has_untimed=True)
        )
        return hashed.filter(~self.find_repeats(hashed, span) | pl.col(ID_IS_POSITION))

    def find_repeats(self, hashed: pl.DataFrame, span: TimeSpan) -> pl.Series:
        """Whether each response (with the columns HASH_COLUMNS) is in another file, (n,), and count these."""
        response, is_position = hashed[RESPONSE_HASH].to_numpy(), hashed[ID_IS_POSITION].to_numpy()
        responses, ids = self._load_near(span)
        is_replaced = self._replaced.has(response)
        is_repeat = responses.has(response) & ~is_replaced
        self._n += len(hashed)
        self._n_repeated += int(is_repeat.sum())
        self._n_repeated_positions += int((is_repeat & is_position).sum())
        has_shared_id = ids.has(hashed[ID_HASH].to_numpy()) & ~is_replaced
        self.n_shared_ids += int((has_shared_id & ~is_repeat & ~is_position).sum())
        self._n_equal += int((has_shared_id & is_position).sum())
        return pl.Series(is_repeat)

    @property
    def all_repeated(self) -> bool:
        """Whether all responses of the file are also in other files."""
        return self._n == self._n_repeated > 0

    @property
    def any_repeated(self) -> bool:
        """Whether any response of the file is, or seems to be, in another file."""
        return self._n_repeated > 0

    @property
    def n_repeated(self) -> int:
        """The number of responses that are also in another file.

        Those whose id is their place in the file count only if all responses are in other files.
        """
        return self._n_repeated if self.all_repeated else self._n_repeated - self._n_repeated_positions

    @property
    def n_equal(self) -> int:
        """The number of responses without an id that equal one of another file, and count nevertheless."""
        return 0 if self.all_repeated else self._n_equal

    def add_problems(self, problems: Problems, path: str) -> None:
        """Report the responses in common of the file at `path`."""
        if self.n_repeated:
            problems.add(ProblemKind.IN_ANOTHER_FILE, [path], count=self.n_repeated)
        if self.n_shared_ids:
            problems.add(ProblemKind.SHARED_ID, [path], count=self.n_shared_ids)
        if self.n_equal:
            problems.add(ProblemKind.EQUAL_RESPONSE, [path], count=self.n_equal)


class SeenFiles:
    """Compares the files of one run with each other, without a state."""

    def __init__(self) -> None:
        """Start without files."""
        self._seen = HashSet(), HashSet()

    def make_finder(self) -> RepeatFinder:
        """A finder that compares a further file with the files so far."""
        return RepeatFinder(lambda span: self._seen, HashSet())

    def add(self, hashed: pl.DataFrame) -> None:
        """Add the responses of a file, with the columns HASH_COLUMNS."""
        for hash_set, column in zip(self._seen, (RESPONSE_HASH, ID_HASH), strict=True):
            hash_set.add(hashed[column].to_numpy())


class HashIndex:
    """Finds responses that several files contain, by their hashes; `read_hashes` returns HASH_COLUMNS of a file.

    Only the hashes of files near those that are read are in memory.
    """

    def __init__(
        self, files: Collection[str], read_hashes: Callable[[str], pl.DataFrame], read_span: Callable[[str], TimeSpan]
    ) -> None:
        """`files` is a live collection of the keys of the files that count; `read_span` returns the times of a file."""
        self._files, self._read_hashes, self._read_span = files, read_hashes, read_span
        self.forget()

    def make_finder(self, replaced: Iterable[str]) -> RepeatFinder:
        """A finder that compares a new file with all files except those that it replaces, given by their keys."""
        replaced_hashes = [self._read_hashes(key)[RESPONSE_HASH].to_numpy() for key in replaced if key in self._files]
        return RepeatFinder(self._load_near, HashSet(replaced_hashes))

    def add_file(self, key: str) -> None:
        """Add the responses of a new file; it contains all responses of the files that it replaces."""
        self._load(key)

    def forget(self) -> None:
        """Discard the hashes, so that they are read again from the files that count."""
        self._loaded: dict[str, int] = {}
        self._seen = HashSet(), HashSet()

    def _load_near(self, span: TimeSpan) -> tuple[HashSet, HashSet]:
        """The hashes of the responses and of the ids of all files near a span."""
        near = [key for key in self._files if self._read_span(key).is_near(span)]
        if sum(self._loaded.values()) > _MOST_HASHES and not set(self._loaded) <= set(near):
            self.forget()
        for key in near:
            if key not in self._loaded:
                self._load(key)
        return self._seen

    def _load(self, key: str) -> None:
        """Take the hashes of a file into memory."""
        new = self._read_hashes(key)
        self._loaded[key] = len(new)
        responses, ids = self._seen
        responses.add(new[RESPONSE_HASH].to_numpy())
        ids.add(new[ID_HASH].to_numpy())

    def find_contained_files(self, new: pl.DataFrame) -> Iterator[str]:
        """Yield the keys of files whose responses are all in `new`."""
        responses = HashSet([new[RESPONSE_HASH].to_numpy()])
        for key in self._files:
            file_hashes = self._read_hashes(key)[RESPONSE_HASH].to_numpy()
            if len(file_hashes) and responses.has(file_hashes).all():
                yield key

    def count_repeats(self) -> int:
        """How many responses count more than once because several parts contain them."""
        responses = pl.concat([self._read_hashes(key) for key in self._files]).filter(~pl.col(ID_IS_POSITION))[
            RESPONSE_HASH
        ]
        return len(responses) - responses.n_unique()


def hash_responses(batch: pl.DataFrame, time: str) -> dict[str, pl.Series]:
    """The columns HASH_COLUMNS of responses; `batch` has their key, features, and optionally a time."""
    # An id that is a place in the file is BENCHMARK-NUMBER, with five digits or more.
    has_benchmark_id = pl.col("item_id").str.starts_with(pl.format("{}-", "benchmark"))
    is_position = batch.select(
        (has_benchmark_id & pl.col("item_id").str.contains(r"-\d{5,}$")).fill_null(False)
    ).to_series()
    position = pl.col("item_id").str.extract(r"(\d+)$")
    identity = pl.when(is_position).then(position).otherwise("item_id")
    key_parts = pl.col("model", "sample").cast(pl.String).fill_null("")
    texts = batch.select(pl.concat_str(key_parts, identity.fill_null(""), separator="\0")).to_series()
    ids = responses = _hash_strings(texts)
    # Without the place: model, time and features only.
    equals = _hash_strings(batch.select(pl.col("model").fill_null("")).to_series())
    for bits in _encode_features(batch, time):
        responses, equals = mix_bits(responses ^ bits), mix_bits(equals ^ bits)
    ids = np.where(is_position.to_numpy(), equals, ids)
    return {RESPONSE_HASH: pl.Series(responses), ID_HASH: pl.Series(ids), ID_IS_POSITION: is_position}


def _encode_features(batch: pl.DataFrame, time: str) -> Iterator[np.ndarray]:
    """Yield the time (column `time`, or the date of the file) and each feature of the responses as bits, (n,) each."""
    dates = _find_file_dates(batch)
    if find_columns(batch, time):
        microseconds = parse_times(coalesce_columns(batch, [time])).to_physical()
        yield pl.select(pl.coalesce(microseconds, dates, -1)).to_series().to_numpy().view(np.uint64)
    elif dates.null_count() < len(dates):
        yield dates.fill_null(-1).to_numpy().view(np.uint64)
    for name in FEATURES:
        yield round_to_bits(batch[name])


def _find_file_dates(batch: pl.DataFrame) -> pl.Series:
    """The date in the name of each response's file as a number, (n,), or null."""
    if PLACE not in batch.columns:
        return pl.Series([None] * len(batch), dtype=pl.Int64)
    # A place is such as `logs/2026-11-01.jsonl: line 7`.
    name = pl.col(PLACE).str.extract(r"([^/\\]*)$").str.extract(r"^(.*?): (?:line|row|entry) ")
    date = name.str.extract(DATE_IN_NAME).str.replace_all("-", "")
    return batch.select(date.cast(pl.Int64, strict=False)).to_series()


def hash_ids(batch: pl.DataFrame, time: str) -> pl.Series:
    """A hash of the model, id, sample and time of each response, (n,), whether or not it has features."""
    parts = pl.col("model", "item_id", "sample").cast(pl.String).fill_null("")
    hashes = _hash_strings(batch.select(pl.concat_str(parts, separator="\0")).to_series())
    if find_columns(batch, time):
        microseconds = parse_times(coalesce_columns(batch, [time])).to_physical().fill_null(-1).to_numpy()
        hashes = mix_bits(hashes ^ microseconds.view(np.uint64))
    return pl.Series(hashes)


def _hash_strings(texts: pl.Series) -> np.ndarray:
    """A hash of each text, (n,)."""
    lengths = texts.str.len_bytes().to_numpy().astype(np.int64)
    content = np.frombuffer("".join(texts.to_list()).encode(), dtype=np.uint8).astype(np.uint64)
    ends = lengths.cumsum()
    places = np.arange(len(content)) - np.repeat(ends - lengths, lengths)
    factors = mix_bits(np.arange(lengths.max(initial=0) + 1, dtype=np.uint64))
    sums = np.zeros(len(content) + 1, dtype=np.uint64)
    np.cumsum((content + np.uint64(1)) * factors[places], out=sums[1:])
    return mix_bits(sums[ends] - sums[ends - lengths] + lengths.astype(np.uint64))
