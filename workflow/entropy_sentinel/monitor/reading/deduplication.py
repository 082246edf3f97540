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

from entropy_sentinel.core.external_files import Stream, opened
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
_MOST_HELD = 20_000_000
# Columns of a frame: the hash of the response, the hash of only its id, and whether the id is its place in the file. A
# response whose id is its place has, instead of the hash of the id, that of the response without the place.
RESPONSE, ID, PLACED = "response_number", "id_number", "id_is_place"
NUMBERS = {RESPONSE: pl.UInt64, ID: pl.UInt64, PLACED: pl.Boolean}


@dataclass(frozen=True)
class Content:
    """SHA-256 and size of a file's unpacked content, and the SHA-256 of its first bytes, for several lengths."""

    key: str
    n_bytes: int
    beginnings: tuple[str, ...]


def content(path: str, sizes: Iterable[int] = ()) -> Content:
    """The content of a file; `sizes` are the lengths of beginnings to hash, if the file is at least that long.

    The content of an incomplete or damaged packed file is the part that can be unpacked.
    """
    with opened(path) as stream:
        return _digests(stream, sorted({size for size in sizes if size}))


def _digests(stream: Stream, sizes: list[int]) -> Content:
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
    return Content(digest.hexdigest(), n_bytes, tuple(beginnings))


@dataclass(frozen=True)
class Span:
    """The times of a file's responses: the first and the last, null without any, and whether some have no time."""

    first: datetime | None = None
    last: datetime | None = None
    untimed: bool = False

    @classmethod
    def of(cls, times: pl.Series) -> "Span":
        """The span of times, (n,), of which some may be null."""
        first, last = times.min(), times.max()
        if not isinstance(first, datetime) or not isinstance(last, datetime):
            first = last = None
        return cls(first, last, untimed=times.null_count() > 0)

    def with_(self, other: "Span") -> "Span":
        """The span of both."""
        untimed = self.untimed or other.untimed
        if self.first is None or self.last is None:
            return Span(other.first, other.last, untimed)
        if other.first is None or other.last is None:
            return Span(self.first, self.last, untimed)
        return Span(min(self.first, other.first), max(self.last, other.last), untimed)

    def near(self, other: "Span") -> bool:
        """Whether a response may be in both files, or an id in both within HORIZON."""
        if self.untimed and other.untimed:
            return True
        if self.first is None or self.last is None or other.first is None or other.last is None:
            # A file without any time may have been read without times.
            return self.untimed or other.untimed
        return self.first - HORIZON <= other.last and other.first - HORIZON <= self.last


class NumberSet:
    """A set of 64-bit numbers, kept in sorted arrays, each more than twice as long as the next."""

    def __init__(self, parts: Sequence[np.ndarray] = ()) -> None:
        """Start with these numbers."""
        self._runs: list[np.ndarray] = []
        for part in parts:
            self.add(part)

    def add(self, numbers: np.ndarray) -> None:
        """Add numbers, (n,)."""
        new = np.sort(numbers)
        while self._runs and len(self._runs[-1]) <= 2 * len(new):
            new = np.sort(np.concatenate([self._runs.pop(), new]))
        self._runs.append(new)

    def has(self, numbers: np.ndarray) -> np.ndarray:
        """Whether each number is in the set, (n,)."""
        seen = np.zeros(len(numbers), dtype=bool)
        for run in self._runs:
            if len(run):
                place = np.minimum(np.searchsorted(run, numbers), len(run) - 1)
                seen |= run[place] == numbers
        return seen


class OtherFiles:
    """Compares the responses of one file with all other files, and counts the responses in common."""

    def __init__(self, near: Callable[[Span], tuple[NumberSet, NumberSet]], replaced: NumberSet) -> None:
        """`near` returns the hashes of responses and of ids of the files near a span.

        `replaced` are those of responses of files that this file replaces.
        """
        self._near, self._replaced = near, replaced
        self._n, self._n_same, self._n_same_place = 0, 0, 0
        # Responses whose id another file uses for a different response.
        self.n_other = 0
        self._n_equal = 0

    def new(self, batch: pl.DataFrame, time: str) -> pl.DataFrame:
        """The responses that are in no other file or identified by place, with the columns NUMBERS."""
        numbered = batch.with_columns(**numbers(batch, time))
        timed = find_columns(batch, time)
        span = Span.of(parse_times(coalesce_columns(batch, [time]))) if timed else Span(untimed=True)
        return numbered.filter(~self.count(numbered, span) | pl.col(PLACED))

    def count(self, numbered: pl.DataFrame, span: Span) -> pl.Series:
        """Whether each response (with the columns NUMBERS) is in another file, (n,), and count these."""
        response, placed = numbered[RESPONSE].to_numpy(), numbered[PLACED].to_numpy()
        responses, ids = self._near(span)
        again = self._replaced.has(response)
        same = responses.has(response) & ~again
        self._n += len(numbered)
        self._n_same += int(same.sum())
        self._n_same_place += int((same & placed).sum())
        shared = ids.has(numbered[ID].to_numpy()) & ~again
        self.n_other += int((shared & ~same & ~placed).sum())
        self._n_equal += int((shared & placed).sum())
        return pl.Series(same)

    @property
    def all_same(self) -> bool:
        """Whether all responses of the file are also in other files."""
        return self._n == self._n_same > 0

    @property
    def any_same(self) -> bool:
        """Whether any response of the file is, or seems to be, in another file."""
        return self._n_same > 0

    @property
    def n_same(self) -> int:
        """The number of responses that are also in another file; places count only if all responses are."""
        return self._n_same if self.all_same else self._n_same - self._n_same_place

    @property
    def n_equal(self) -> int:
        """The number of responses without an id that equal one of another file, and count nevertheless."""
        return 0 if self.all_same else self._n_equal

    def note(self, problems: Problems, path: str) -> None:
        """Report the responses in common of the file at `path`."""
        if self.n_same:
            problems.add(ProblemKind.IN_ANOTHER_FILE, [path], self.n_same)
        if self.n_other:
            problems.add(ProblemKind.SHARED_ID, [path], self.n_other)
        if self.n_equal:
            problems.add(ProblemKind.EQUAL_RESPONSE, [path], self.n_equal)


class SeenFiles:
    """Compares the files of one run with each other, without a state."""

    def __init__(self) -> None:
        """Start without files."""
        self._seen = NumberSet(), NumberSet()

    def others(self) -> OtherFiles:
        """The responses of the files so far, to compare a further file with them."""
        return OtherFiles(lambda span: self._seen, NumberSet())

    def add(self, numbered: pl.DataFrame) -> None:
        """Add the responses of a file, with the columns NUMBERS."""
        for numbers, column in zip(self._seen, (RESPONSE, ID), strict=True):
            numbers.add(numbered[column].to_numpy())


class Overlap:
    """Finds responses that several files contain, by their hashes; `numbers` returns the columns NUMBERS of a file.

    Only the hashes of files near those that are read are in memory.
    """

    def __init__(
        self, files: Collection[str], numbers: Callable[[str], pl.DataFrame], span: Callable[[str], Span]
    ) -> None:
        """`files` is a live collection of the keys of the files that count; `span` returns the times of a file."""
        self._files, self._numbers, self._span = files, numbers, span
        self.forget()

    def others(self, replaced: Iterable[str]) -> OtherFiles:
        """The responses of all files except those that a new one replaces."""
        old = [self._numbers(key)[RESPONSE].to_numpy() for key in replaced if key in self._files]
        return OtherFiles(self._near, NumberSet(old))

    def add_file(self, key: str) -> None:
        """Add the responses of a new file; it contains all responses of the files that it replaces."""
        self._load(key)

    def forget(self) -> None:
        """Discard the hashes, so that they are read again from the files that count."""
        self._loaded: dict[str, int] = {}
        self._seen = NumberSet(), NumberSet()

    def _near(self, span: Span) -> tuple[NumberSet, NumberSet]:
        """The hashes of the responses and of the ids of all files near a span."""
        near = [key for key in self._files if self._span(key).near(span)]
        if sum(self._loaded.values()) > _MOST_HELD and not set(self._loaded) <= set(near):
            self.forget()
        for key in near:
            if key not in self._loaded:
                self._load(key)
        return self._seen

    def _load(self, key: str) -> None:
        new = self._numbers(key)
        self._loaded[key] = len(new)
        responses, ids = self._seen
        responses.add(new[RESPONSE].to_numpy())
        ids.add(new[ID].to_numpy())

    def within(self, new: pl.DataFrame) -> Iterator[str]:
        """Yield the keys of files whose responses are all in `new`."""
        responses = NumberSet([new[RESPONSE].to_numpy()])
        for key in self._files:
            of_file = self._numbers(key)[RESPONSE].to_numpy()
            if len(of_file) and responses.has(of_file).all():
                yield key

    def n_twice(self) -> int:
        """How many responses count more than once because several parts contain them."""
        responses = pl.concat([self._numbers(key) for key in self._files]).filter(~pl.col(PLACED))[RESPONSE]
        return len(responses) - responses.n_unique()


def numbers(batch: pl.DataFrame, time: str) -> dict[str, pl.Series]:
    """The columns NUMBERS of responses; `batch` has their key, features, and optionally a time."""
    named = pl.col("item_id").str.starts_with(pl.format("{}-", "benchmark"))
    placed = batch.select((named & pl.col("item_id").str.contains(r"-\d{5,}$")).fill_null(False)).to_series()
    last = pl.col("item_id").str.extract(r"(\d+)$")
    identity = pl.when(placed).then(last).otherwise("item_id")
    named_parts = pl.col("model", "sample").cast(pl.String).fill_null("")
    texts = batch.select(pl.concat_str(named_parts, identity.fill_null(""), separator="\0")).to_series()
    ids = responses = _of_texts(texts)
    equals = _of_texts(batch.select(pl.col("model").fill_null("")).to_series())
    for bits in _bits(batch, time):
        responses, equals = mix_bits(responses ^ bits), mix_bits(equals ^ bits)
    ids = np.where(placed.to_numpy(), equals, ids)
    return {RESPONSE: pl.Series(responses), ID: pl.Series(ids), PLACED: placed}


def _bits(batch: pl.DataFrame, time: str) -> Iterator[np.ndarray]:
    """Yield the time and the features of each response as bits, (n,) each."""
    dates = _dates_of_files(batch)
    if find_columns(batch, time):
        microseconds = parse_times(coalesce_columns(batch, [time])).to_physical()
        yield pl.select(pl.coalesce(microseconds, dates, -1)).to_series().to_numpy().view(np.uint64)
    elif dates.null_count() < len(dates):
        yield dates.fill_null(-1).to_numpy().view(np.uint64)
    for name in FEATURES:
        yield round_to_bits(batch[name])


def _dates_of_files(batch: pl.DataFrame) -> pl.Series:
    """The date in the name of each response's file as a number, (n,), or null."""
    if PLACE not in batch.columns:
        return pl.Series([None] * len(batch), dtype=pl.Int64)
    name = pl.col(PLACE).str.extract(r"([^/\\]*)$").str.extract(r"^(.*?): (?:line|row|entry) ")
    date = name.str.extract(DATE_IN_NAME).str.replace_all("-", "")
    return batch.select(date.cast(pl.Int64, strict=False)).to_series()


def hash_ids(batch: pl.DataFrame, time: str) -> pl.Series:
    """A hash of the model, id, sample and time of each response, (n,), whether or not it has features."""
    parts = pl.col("model", "item_id", "sample").cast(pl.String).fill_null("")
    hashes = _of_texts(batch.select(pl.concat_str(parts, separator="\0")).to_series())
    if find_columns(batch, time):
        microseconds = parse_times(coalesce_columns(batch, [time])).to_physical().fill_null(-1).to_numpy()
        hashes = mix_bits(hashes ^ microseconds.view(np.uint64))
    return pl.Series(hashes)


def _of_texts(texts: pl.Series) -> np.ndarray:
    """A hash of each text, (n,)."""
    lengths = texts.str.len_bytes().to_numpy().astype(np.int64)
    content = np.frombuffer("".join(texts.to_list()).encode(), dtype=np.uint8).astype(np.uint64)
    ends = lengths.cumsum()
    places = np.arange(len(content)) - np.repeat(ends - lengths, lengths)
    factors = mix_bits(np.arange(lengths.max(initial=0) + 1, dtype=np.uint64))
    sums = np.zeros(len(content) + 1, dtype=np.uint64)
    np.cumsum((content + np.uint64(1)) * factors[places], out=sums[1:])
    return mix_bits(sums[ends] - sums[ends - lengths] + lengths.astype(np.uint64))
