"""Read replies in memory for an estimator, inside a request: whatever a reply is, it gets a row, and nothing raises."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

import polars as pl

from entropy_sentinel.api.feature_frames import FeatureFrames
from entropy_sentinel.api.input_checks import check_features
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.features.exclusion_reasons import UNREADABLE, ExclusionCode
from entropy_sentinel.features.feature_computation import compute_usable_features
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.logs.chat_completion import read_completion
from entropy_sentinel.logs.in_memory_logs import MEMORY_NAME, MemoryRecords, describe_place
from entropy_sentinel.logs.log_options import ReadOptions
from entropy_sentinel.logs.log_stream import ASSUMED_MODE
from entropy_sentinel.logs.log_summary import ANY_ERROR, describe_error
from entropy_sentinel.logs.response_keys import UNKNOWN_MODEL
from entropy_sentinel.logs.response_selection import PLACE
from entropy_sentinel.monitor.monitor_options import Slicing
from entropy_sentinel.monitor.reading.exclusions import CODE
from entropy_sentinel.monitor.reading.feature_stream import (
    SLICE_PREFIX,
    EstimatorInputs,
    ReadingResult,
    SourceReader,
    resolve_same_models,
)
from entropy_sentinel.monitor.reading.problem_collection import Problems, TrainingDataFilter
from entropy_sentinel.schemas.response_schema import RESPONSE_COLUMNS

# The column with the place of a reply in the list, from 0.
_ENTRY = "entry"
_FIRST, _NO_TEXT = pl.Series([0], dtype=pl.UInt16), pl.Series([None], dtype=pl.String)


def read_replies(saved: FittedEstimator, replies: Sequence[Any], options: Slicing) -> ReadingResult:
    """Rows like those of `read_all_responses` for replies, in their order.

    A reply that cannot be read has a row with its id and the reason in `excluded`, and no features. Chunks of a stream
    are one response.
    """
    try:
        return _read_directly(saved, replies, options) or _read_batch(saved, replies, options)
    except ANY_ERROR as error:
        if len(replies) == 1:
            rows = _unread_rows(replies, {0: describe_error(error)})
            return ReadingResult(_add_slice_columns(rows.drop(_ENTRY), options), Problems(), {})
    # One reply made all fail, so each is read by itself.
    parts = [read_replies(saved, [reply], options) for reply in replies]
    override_counts: dict[str, int] = {}
    for part in parts:
        for kind, count in part.override_counts.items():
            override_counts[kind] = override_counts.get(kind, 0) + count
    return ReadingResult(pl.concat([part.rows for part in parts], how="diagonal_relaxed"), Problems(), override_counts)


def _read_directly(saved: FittedEstimator, replies: Sequence[Any], options: Slicing) -> ReadingResult | None:
    """The row of a single usual reply, in a few milliseconds; null for everything else.

    The values are those of `_read_batch`, from the same formulas; `Logs` and the frames of a batch are left out.
    """
    if len(replies) != 1 or saved.signals or options.by or (reply := read_completion(replies[0])) is None:
        return None
    features = compute_usable_features(reply.sampled, reply.top, reply.finish_reason)
    if features is None or not all(map(_is_finite, features.row(0)[: len(FEATURES)])):
        return None
    identity = {
        "model": reply.model or saved.metadata.model or UNKNOWN_MODEL,
        "benchmark": MEMORY_NAME,
        "item_id": reply.item_id,
        "logprobs_mode": ASSUMED_MODE,
        "top_k_returned": reply.top.shape[1],
    }
    columns = {name: pl.Series(name, [value]) for name, value in identity.items()} | {"sample": _FIRST}
    data_filter = TrainingDataFilter(saved.metadata, options, Problems())
    excluded = {"excluded": _NO_TEXT, CODE: _NO_TEXT}
    if not data_filter.accepts(identity):
        excluded = data_filter.classify(pl.DataFrame(columns | {"reason": _NO_TEXT})).to_dict()
    return ReadingResult(pl.DataFrame(columns | features.to_dict() | excluded), Problems(), data_filter.override_counts)


def _is_finite(value: float | None) -> bool:
    return value is not None and isfinite(value)


def _read_batch(saved: FittedEstimator, replies: Sequence[Any], options: Slicing) -> ReadingResult:
    """The features of replies in their order; a reply that cannot be read has a row with the reason."""
    read_options = ReadOptions(columns=options.columns, further=saved.signals, places=True)
    reading = FeatureFrames([MemoryRecords(replies)], read_options, signals=saved.signals)
    frames = list(reading)
    entries = {describe_place(number): number for number in range(len(replies))}
    unread = {entries[record.where]: record.problem for record in reading.logs.unread}
    if not frames and not unread and replies:
        unread[0] = "the chunks of a stream without an end"
    reader = SourceReader(options, Problems(), saved.signals, resolve_same_models(saved.metadata, options.same_model))
    inputs, rows = EstimatorInputs(saved.metadata, options, Problems()), [_unread_rows(replies, unread)]
    for frame in frames:
        places = frame[PLACE].replace_strict(entries, return_dtype=pl.Int64)
        for batch in reader.read_frames(check_features(frame, signals=saved.signals)):
            if (part := inputs.prepare(batch)) is not None:
                rows.append(part.with_columns(places.alias(_ENTRY)))
    in_order = pl.concat(rows, how="diagonal_relaxed").sort(_ENTRY, maintain_order=True).drop(_ENTRY)
    return ReadingResult(_add_slice_columns(in_order, options), Problems(), inputs.data_filter.override_counts)


def _add_slice_columns(rows: pl.DataFrame, options: Slicing) -> pl.DataFrame:
    """The rows with the columns of slices, null where none could be read."""
    keys = [f"{SLICE_PREFIX}{name}" for name in options.by]
    return rows.with_columns(pl.lit(None, pl.String).alias(key) for key in keys if key not in rows.columns)


def _unread_rows(replies: Sequence[Any], problems: dict[int, str]) -> pl.DataFrame:
    """A row for each entry without a response, with the columns RESPONSE, `excluded`, CODE and `entry`."""
    rows = []
    for number, problem in problems.items():
        model, item_id = (_read_text(replies[number], name) for name in ("model", "id"))
        rows.append((model, MEMORY_NAME, item_id, 0, f"{UNREADABLE}{problem}", ExclusionCode.UNREADABLE.value, number))
    schema = {column.name: column.dtype for column in RESPONSE_COLUMNS}
    return pl.DataFrame(rows, schema=schema | {"excluded": pl.String, CODE: pl.String, _ENTRY: pl.Int64}, orient="row")


def _read_text(reply: Any, name: str) -> str | None:
    """A text of a reply that cannot be read, or null."""
    try:
        value = reply.get(name) if isinstance(reply, dict) else getattr(reply, name, None)
    except Exception:  # of the object's own code
        return None
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None
