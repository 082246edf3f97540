"""Complete the key of a response: its benchmark, its id, and its number among the responses with that id."""

from collections import Counter

import polars as pl

from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.sources.logs.selection import own_name
from entropy_sentinel.sources.logs.summary import WholeFileError

# A frame's name for the log's own benchmark.
_BENCHMARK = own_name("benchmark")
_MOST = 2**16
# The model of a response if its log names none.
UNNAMED = "(not named)"
# Model, benchmark and id.
Key = tuple[str, str, str]


class Numbers:
    """Assigns ids and sample numbers while logs are read; `repeats` counts the ids that occurred before.

    The id of a response without one is the file's name and the response's position, `NAME-00012`. If an id repeats for
    the same model and benchmark, the response is another sample: the item was asked again, or the reply logged twice.
    """

    def __init__(self) -> None:
        """Start without responses."""
        self.repeats = 0
        self._places = Counter[str]()
        # The sample numbers in use, as bits, by model, benchmark and id.
        self._taken: dict[Key, int] = {}

    def complete(self, frame: pl.DataFrame, file: str, model: str) -> pl.DataFrame:
        """Fill in `item_id`, `sample`, `model` and `benchmark` from the log, or else from the file's name.

        Call it last, when nothing else can fail, because it uses up numbers and counts repeated ids in `repeats`.
        """
        own = pl.col(_BENCHMARK).cast(pl.String) if _BENCHMARK in frame.columns else pl.lit(None)
        named = frame.with_columns(model=pl.col("model").fill_null(model), benchmark=pl.coalesce(own, pl.lit(file)))
        ids, samples = [], []
        for place, (*group, item_id, sample) in enumerate(named.select(RESPONSE).iter_rows(), self._places[file]):
            ids.append(f"{file}-{place:05d}" if item_id is None else item_id)
            samples.append(self._number((*group, ids[-1]), sample))
        self._places[file] += len(ids)
        return named.with_columns(
            item_id=pl.Series(ids, dtype=pl.String), sample=pl.Series(samples, dtype=pl.UInt16)
        ).drop(_BENCHMARK, strict=False)

    def _number(self, key: Key, number: int | None) -> int:
        """Return the requested number if it is free, else the lowest free number."""
        taken = self._taken.get(key, 0)
        if number is None or taken >> number & 1:
            self.repeats += bool(taken)
            number = (~taken & (taken + 1)).bit_length() - 1
        if number >= _MOST:
            raise WholeFileError(f"the id '{key[-1]}' occurs more than {_MOST:,} times, so it is not an id")
        self._taken[key] = taken | 1 << number
        return number
