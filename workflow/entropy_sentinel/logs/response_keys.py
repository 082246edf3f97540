"""Complete the key of a response: its benchmark, its id, and its number among the responses with that id.

Logs often have a reply twice: clients and proxies log it both, exports overlap, a file was copied. A response with an
earlier one's ids, text and log-probabilities is that response, and is left out:

| the log has | responses are the same if they have the same |
|---|---|
| the id that the server gave to the reply | model, both ids, number, text, log-probabilities |
| only an id of the item or the request, which another batch may use again | the same, and the same time |
| such an id, and no time | the same, and the same date in the file's name |
| no id | never, because two requests may get the same answer; they are counted in `equal` |
"""

import re
from collections import Counter
from hashlib import blake2b
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.logs.log_summary import WholeFileError
from entropy_sentinel.logs.response_selection import find_columns, frame_name
from entropy_sentinel.logs.timestamps import parse_times
from entropy_sentinel.logs.trace_frames import REPLY_ID
from entropy_sentinel.schemas.response_schema import RESPONSE

# A frame's name for the log's own benchmark.
_BENCHMARK = frame_name("benchmark")
_MAX_SAMPLES = 2**16
# The model of a response if its log names none.
UNKNOWN_MODEL = "(not named)"
# Columns that `_encode_contents` covers, or that tell where a response stands.
_CONTENT_COLUMNS = {"text", "place_in_log"}
# Names of columns with the time of a response: the usual two, and others.
TIME_ALIASES = (
    *("created", "created_at", "createdAt", "ts", "date", "datetime", "started_at", "start_time"),
    "request_time",
)
TIMES = ("time", "timestamp", *TIME_ALIASES)
# A date in the name of a file; also for Polars.
DATE_IN_NAME = r"(?:^|[^0-9])((?:19|20)[0-9]{2}-?[01][0-9]-?[0-3][0-9])(?:[^0-9]|$)"
# Model, benchmark and id.
Key = tuple[str, str, str]


def make_numbered_id(file: str, place: int) -> str:
    """The id of a response without one, from its file and its position."""
    return f"{file}-{place:05d}"


class KeyCompleter:
    """Assigns ids and sample numbers while logs are read, and leaves out responses that were logged twice.

    The id of a response without one is the file's name and the response's position, `NAME-00012`. If an id repeats for
    the same model and benchmark with another answer, the response is another sample: the item was asked again.

    `repeats` counts the ids that occurred before, `twice` the responses that were left out, and `equal` the responses
    without an id that equal an earlier one in every column: two requests may get the same answer, so they count.
    """

    def __init__(self) -> None:
        """Start without responses."""
        self.repeats, self.twice, self.equal = 0, 0, 0
        self._seen: set[bytes] = set()
        self._n_responses = Counter[str]()
        # The sample numbers in use, as bits, by model, benchmark and id.
        self._used_numbers: dict[Key, int] = {}

    def complete(self, frame: pl.DataFrame, file: str, model: str) -> pl.DataFrame:
        """Fill in `item_id`, `sample`, `model` and `benchmark` from the log, or else from the file's name.

        Call it last, when nothing else can fail, because it uses up numbers and counts repeated ids in `repeats`.
        Responses that were logged twice are missing in the result.
        """
        frame = frame.filter(self._mark_new(frame, file)).drop(REPLY_ID)
        log_benchmark = pl.col(_BENCHMARK).cast(pl.String) if _BENCHMARK in frame.columns else pl.lit(None)
        keyed = frame.with_columns(
            model=pl.col("model").fill_null(model), benchmark=pl.coalesce(log_benchmark, pl.lit(file))
        )
        ids = []
        samples = []
        for place, (*group, item_id, sample) in enumerate(keyed.select(RESPONSE).iter_rows(), self._n_responses[file]):
            ids.append(make_numbered_id(file, place) if item_id is None else item_id)
            samples.append(self._assign_number((*group, ids[-1]), sample))
        self._n_responses[file] += len(ids)
        return keyed.with_columns(
            item_id=pl.Series(ids, dtype=pl.String), sample=pl.Series(samples, dtype=pl.UInt16)
        ).drop(_BENCHMARK, strict=False)

    def _mark_new(self, frame: pl.DataFrame, file: str) -> pl.Series:
        """Whether each response was not read before, (n,), and count those that were."""
        contents = _encode_contents(frame)
        has_ids = frame["item_id"].is_not_null().to_list()
        # Without an id, all columns are compared, except the place in the log.
        columns = [name for name in frame.columns if name not in _CONTENT_COLUMNS and not frame[name].dtype.is_nested()]
        rows = iter([()] * len(frame)) if all(has_ids) else frame.select(columns).iter_rows()
        keys = frame.select("model", "item_id", "sample", _derive_origin(frame, file)).iter_rows()
        new = []
        for content, has_id, key, row in zip(contents, has_ids, keys, rows, strict=True):
            digest = blake2b(repr(key if has_id else row).encode("utf-8", "replace") + content, digest_size=12).digest()
            is_repeated = digest in self._seen
            self._seen.add(digest)
            self.twice += is_repeated and has_id
            self.equal += is_repeated and not has_id
            new.append(not (is_repeated and has_id))
        return pl.Series(new, dtype=pl.Boolean)

    def _assign_number(self, key: Key, number: int | None) -> int:
        """The number of a sample with this key: the requested one if it is free, else the lowest free number."""
        used = self._used_numbers.get(key, 0)  # a bit for each number
        if number is None or used >> number & 1:
            self.repeats += bool(used)
            # The lowest bit that is not set.
            number = (~used & (used + 1)).bit_length() - 1
        if number >= _MAX_SAMPLES:
            raise WholeFileError(f"the id '{key[-1]}' occurs more than {_MAX_SAMPLES:,} times, so it is not an id")
        self._used_numbers[key] = used | 1 << number
        return number


def _derive_origin(frame: pl.DataFrame, file: str) -> pl.Series:
    """What tells apart responses whose other ids may repeat, (n,): the reply's id, or its time, or a date."""
    columns = [frame[column] for name in TIMES for column in find_columns(frame, name)]
    times = [_format_times(column) for column in columns if not column.dtype.is_nested() and column.dtype != pl.Binary]
    date = re.search(DATE_IN_NAME, file)
    origin = pl.coalesce(frame[REPLY_ID], *times, pl.lit(date[1].replace("-", "") if date else None))
    return pl.select(origin.alias("origin")).to_series()


def _format_times(column: pl.Series) -> pl.Series:
    """Times as text, in one form for one moment; what is no time stays as it is."""
    return pl.select(pl.coalesce(parse_times(column).to_physical().cast(pl.String), column.cast(pl.String))).to_series()


def _encode_contents(frame: pl.DataFrame) -> list[bytes]:
    """The text and the log-probabilities of the sampled tokens of each response, (n,)."""
    lengths = frame["token_logprobs"].list.len().fill_null(0).to_numpy()
    flat = frame["token_logprobs"].explode(empty_as_null=False, keep_nulls=False).to_numpy()
    ends = lengths.cumsum().tolist()
    values = np.ascontiguousarray(flat, dtype=np.float32)
    texts: list[Any] = frame["text"].to_list()
    return [
        values[end - n : end].tobytes() + (text or "").encode("utf-8", "replace")
        for n, end, text in zip(lengths.tolist(), ends, texts, strict=True)
    ]
