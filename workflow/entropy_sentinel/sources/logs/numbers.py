"""Who a response is, where the log does not say it all: benchmark, id, number among those of the same id."""

from collections import Counter

import polars as pl

from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.sources.logs.summary import WholeFileError

_MOST = 2**16
# The model of a response whose log does not name it.
UNNAMED = "(not named)"
# Model, benchmark and id.
Key = tuple[str, str, str]


class Numbers:
    """Ids and samples of the responses of one reading.

    A response without an id gets its file's name and its place, `NAME-00012`. One whose id was there before, for the
    same model and benchmark, is one more sample of it: an item that was asked again, or a reply that was logged twice.
    """

    def __init__(self) -> None:
        """Begin a reading."""
        self._places, self._repeats = Counter[str](), 0
        # Of every model, benchmark and id the numbers that are taken, as bits.
        self._taken: dict[Key, int] = {}
        # What the last frame adds to these, until it is kept.
        self._new_places, self._new_repeats, self._new_taken = Counter[str](), 0, dict[Key, int]()

    def complete(self, frame: pl.DataFrame, file: str, model: str) -> pl.DataFrame:
        """Fill in `item_id`, `sample`, `model` and `benchmark`: the log's own, or else the file's name.

        The numbers count as taken once `keep` is called: until then the frame may turn out to be of no use.
        """
        self._new_places, self._new_repeats, self._new_taken = Counter(), 0, {}
        own = pl.col("column.benchmark").cast(pl.String) if "column.benchmark" in frame.columns else pl.lit(None)
        named = frame.with_columns(model=pl.col("model").fill_null(model), benchmark=pl.coalesce(own, pl.lit(file)))
        ids, samples, place = [], [], self._places[file]
        for *group, item_id, sample in named.select(RESPONSE).iter_rows():
            ids.append(f"{file}-{place:05d}" if item_id is None else item_id)
            place += 1
            samples.append(self._number((*group, ids[-1]), sample))
        self._new_places[file] = len(ids)
        return named.with_columns(
            item_id=pl.Series(ids, dtype=pl.String), sample=pl.Series(samples, dtype=pl.UInt16)
        ).drop("column.benchmark", strict=False)

    def keep(self) -> None:
        """The last frame is used: its numbers are taken."""
        self._places += self._new_places
        self._repeats += self._new_repeats
        self._taken |= self._new_taken

    def new_repeats(self) -> int:
        """How many ids were there before, since this was last asked."""
        repeats, self._repeats = self._repeats, 0
        return repeats

    def _number(self, key: Key, number: int | None) -> int:
        """The number that was asked for, or the lowest that is free."""
        taken = self._new_taken.get(key) or self._taken.get(key, 0)
        if number is None or taken >> number & 1:
            self._new_repeats += bool(taken)
            number = (~taken & (taken + 1)).bit_length() - 1
        if number >= _MOST:
            raise WholeFileError(f"the id '{key[-1]}' occurs more than {_MOST:,} times, so it is not an id")
        self._new_taken[key] = taken | 1 << number
        return number
