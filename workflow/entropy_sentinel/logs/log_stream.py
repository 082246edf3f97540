"""Read logs as frames of bounded size, from files and standard input, in any format of the catalogue."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from entropy_sentinel.core.errors import IncompleteFileError, InputError
from entropy_sentinel.core.external_files import STANDARD_INPUT
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.features.zero_logprobs import ZeroLogprobsFilter
from entropy_sentinel.logs import table_format
from entropy_sentinel.logs.envelopes import PAIRS, Envelope
from entropy_sentinel.logs.format_registry import FORMATS, find_format, find_nearest_format
from entropy_sentinel.logs.in_memory_logs import MemoryRecords, wrap_memory_records
from entropy_sentinel.logs.json_values import END
from entropy_sentinel.logs.log_options import ReadOptions
from entropy_sentinel.logs.log_record import BadRecord, PlacedRecord
from entropy_sentinel.logs.log_summary import ANY_ERROR, LogSummary, WholeFileError, build_frames, describe_error
from entropy_sentinel.logs.missing_logprobs import describe_unused_field, search_logprobs
from entropy_sentinel.logs.model_names import strip_prefixes
from entropy_sentinel.logs.parsed_response import NO_LOGPROBS, NotAResponse, Reply, StreamPart, replace_surrogates
from entropy_sentinel.logs.reader_base import Reader
from entropy_sentinel.logs.record_decoding import read_records
from entropy_sentinel.logs.response_keys import TIMES, UNKNOWN_MODEL, KeyCompleter
from entropy_sentinel.logs.response_selection import PLACE, ResponseSelection, frame_name
from entropy_sentinel.logs.trace_frames import LABEL_DTYPES, ResponseBatch, build_batch, combine_frames, to_frame
from entropy_sentinel.schemas.arrow_lists import read_batches, read_traces
from entropy_sentinel.schemas.contract import PROVENANCE_KEY, check_user_file, read_provenance
from entropy_sentinel.schemas.generation_schema import GENERATIONS, LOGPROBS, UNUSABLE, top_k_of

# Limits of a frame, which is then about 10 MB for traces with 20 alternatives.
TOKENS_AT_A_TIME, RESPONSES_AT_A_TIME = 100_000, 1000
ASSUMED_MODE = "raw_logprobs"
PathOrRecords = TypeVar("PathOrRecords", str, str | MemoryRecords)
# The readers of a file with the name of a format, by the reader's class, and by the format if the class needs its form:
# formats of one class without a form share its state.
Readers = dict[tuple[Callable[..., Reader], str | None], tuple[str, Reader]]


class Logs:
    """The responses of files, as frames: GENERATIONS with `model`, `benchmark`, LOGPROBS, UNUSABLE and slice columns.

    A frame has as many entries per step as the largest k in the frame; `top_k_returned` is the k of each response.
    `summary` counts what was read so far.
    """

    def __init__(self, paths: Sequence[str | Path | MemoryRecords], options: ReadOptions) -> None:
        """Prepare to read `paths` in their order; `-` is standard input."""
        self._paths = sort_attempts([path if isinstance(path, MemoryRecords) else str(path) for path in paths])
        # Finished attempts: task, id and sample of evaluations.
        self._finished_attempts: set[tuple[str, str | None, int | None]] = set()
        self._options = options
        self.selection = ResponseSelection(options)
        self.summary = LogSummary(left_out=self.selection.left_out)
        # Replies in memory that gave no response, so that each can be answered; files have too many.
        self.unread: list[BadRecord] = []
        self._keeps_unread = any(isinstance(path, MemoryRecords) for path in paths)
        extra_columns = self.selection.list_columns(options.further)
        self._columns = (
            None if options.columns is None else self.selection.list_columns((*options.columns, *extra_columns))
        )
        self._extra_columns = extra_columns
        # Times tell apart responses with one id, so they are read even if no column is wanted.
        self._hidden_columns = () if self._columns is None else tuple(set(TIMES) - {*self._columns, *extra_columns})
        if self._columns is not None:
            self._columns += self._hidden_columns
        self._key_completer = KeyCompleter()
        self._zero_logprobs = ZeroLogprobsFilter()
        self._user_form: Envelope | None = None
        if options.reply is not None and options.format is not None:
            raise InputError(
                f"format: '{options.format}' has no effect with `reply`, whose format is recognised; leave one out"
            )
        if options.reply is not None:
            self._user_form = replace(
                PAIRS, reply=(options.reply,), request=() if options.request is None else (options.request,)
            )

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """Read everything. Raises InputError for a file that cannot be read and, if `strict`, for any bad record."""
        for path in self._paths:
            self.summary.files += 1
            self._zero_logprobs = ZeroLogprobsFilter()
            try:
                for frame in self._read_file(path):
                    # A frame without rows still tells the columns; one of which all rows are left out is skipped.
                    if len(chosen := self.selection.select(frame)) or not len(frame):
                        yield chosen
            except WholeFileError as error:
                raise InputError(f"{path}: {error}") from None

    def _read_file(self, path: str | MemoryRecords) -> Iterator[pl.DataFrame]:
        """Yield the frames of a file: traces of this package, a flat table, or records."""
        if isinstance(path, MemoryRecords) or Path(path).suffix != ".parquet":
            yield from self._read_records(path)
            return
        with check_user_file(path):
            flat = self._options.format in (None, "table") and self._is_flat(path)
            if PROVENANCE_KEY in pl.read_parquet_metadata(path):
                yield from self._read_pipeline_file(path)
            elif flat:
                yield from self._read_flat_table(path)
            else:
                yield from self._read_records(path)

    def _is_flat(self, path: str) -> bool:
        """Whether a Parquet file is a table of plain numbers, which is read by column."""
        schema = table_format.unnest_metadata(pl.scan_parquet(path, glob=False)).collect_schema()
        return table_format.is_flat(schema, (*(self._columns or ()), *self._extra_columns), self._options.trace_after)

    def _read_pipeline_file(self, path: str) -> Iterator[pl.DataFrame]:
        """Yield traces of this pipeline, whose file states its model and log-probabilities."""
        origin = read_provenance(path)
        logprobs = {name: pl.lit(origin.get(name)) for name in LOGPROBS}
        start = 0  # the batch's first row
        for batch in read_traces(path):
            frame = _truncate_steps(
                batch.with_columns(**logprobs, **self._build_place_column(path, start + np.arange(len(batch)))),
                self._options.top_k,
            )
            start += len(batch)
            self._count_frame(frame, f"{origin.get('logprobs_mode')}, as the file states")
            self.summary.formats["traces of this pipeline"] += len(frame)
            yield frame

    def _read_flat_table(self, path: str) -> Iterator[pl.DataFrame]:
        """Yield the frames of a Parquet table whose rows are responses; bad rows are counted."""
        start = 0
        for batch in map(table_format.unnest_metadata, read_batches(path)):
            problems = dict(table_format.find_bad_rows(batch))
            for row, problem in problems.items():
                self._record_bad(BadRecord(f"{path}: row {start + row}", problem))
            good = np.setdiff1d(np.arange(len(batch)), list(problems))
            if len(good) or not len(batch):
                yield from build_frames(
                    good,
                    partial(self._build_flat_frame, batch, path, start),
                    partial(self._record_bad_row, path, start),
                )
            start += len(batch)

    def _build_flat_frame(self, batch: pl.DataFrame, path: str, start: int, rows: np.ndarray) -> pl.DataFrame:
        """The given `rows` of a batch as a frame; the batch begins with row `start` of the file."""
        responses = table_format.parse_batch(
            batch if len(rows) == len(batch) else batch[rows], self._columns, self._extra_columns
        )
        responses = replace(responses, rows=responses.rows.with_columns(**self._build_place_column(path, start + rows)))
        frame = self._complete_frame(responses, _name_benchmark(path))
        self.summary.formats["table"] += len(frame)
        return frame

    def _record_bad_row(self, path: str, start: int, row: np.ndarray, error: BaseException) -> None:
        """Count the one `row` of a batch that begins with row `start` of the file as unusable."""
        self._record_bad(BadRecord(f"{path}: row {start + row[0]}", describe_error(error)))

    def _build_place_column(self, path: str, rows: np.ndarray) -> dict[str, pl.Expr]:
        """The column PLACE of `rows` of a file, if it is requested."""
        return {PLACE: pl.format("{}: row {}", pl.lit(path), pl.Series(rows))} if self._options.places else {}

    def _read_records(self, path: str | MemoryRecords) -> Iterator[pl.DataFrame]:
        """Yield frames of records; the format of each record is detected unless the user names one."""
        build = partial(self._build_reply_frame, _name_benchmark(path))
        waiting: list[Reply] = []
        n_tokens = 0
        ending = None
        try:
            for reply in self._iterate_replies(path):
                waiting.append(reply)
                n_tokens += 0 if reply.trace is None else len(reply.trace.sampled)
                if n_tokens >= TOKENS_AT_A_TIME or len(waiting) >= RESPONSES_AT_A_TIME:
                    yield from build_frames(waiting, build, self._record_bad_reply)
                    waiting = []
                    n_tokens = 0
        except IncompleteFileError as error:  # raised again after the readable records
            ending = error
        if waiting:
            yield from build_frames(waiting, build, self._record_bad_reply)
        if ending:
            raise ending

    def _build_reply_frame(self, file: str, replies: list[Reply]) -> pl.DataFrame:
        """Replies as a frame, and count them; `file` is their benchmark if they name none."""
        frame = self._complete_frame(
            build_batch(replies, self._options.trace_after, PLACE if self._options.places else None), file
        )
        for reply in replies:
            self.summary.formats[reply.format] += 1
            self.summary.facts.update(reply.facts)
        return frame

    def _record_bad_reply(self, replies: list[Reply], error: BaseException) -> None:
        """Count the only one of `replies` as unusable."""
        self._record_bad(BadRecord(replies[0].place, describe_error(error)))

    def _iterate_replies(self, path: str | MemoryRecords) -> Iterator[Reply]:
        """Yield the responses in a file, and count bad records."""
        readers = Readers()
        where = str(path)
        for record in read_records(path, self._options.max_record_mb):
            where = record.where
            if isinstance(record, BadRecord):
                self._record_bad(record)
                continue
            try:
                if record.content is END:
                    replies = self._end_streams(readers, where)
                else:
                    replies = self._parse_record(record, readers)
            except NotAResponse as reason:
                self.summary.ignored[replace_surrogates(str(reason))] += 1
                if not isinstance(reason, StreamPart):
                    self._keep_unread(BadRecord(where, replace_surrogates(str(reason))))
            except ANY_ERROR as error:
                self._record_bad(BadRecord(where, describe_error(error)))
            else:
                yield from replies
        for name, reader in readers.values():
            for finish in reader.rest():
                try:
                    reply = _complete_reply(finish(), name, where)
                except ANY_ERROR as error:
                    self._record_bad(BadRecord(where, f"at the end of the file: {describe_error(error)}"))
                else:
                    yield reply

    def _end_streams(self, readers: Readers, where: str) -> list[Reply]:
        """The responses of the streams that an event `[DONE]` at this place ends."""
        replies = []
        for name, reader in readers.values():
            for reply in reader.done():
                replies.append(_complete_reply(reply, name, where))
        return replies

    def _parse_record(self, record: PlacedRecord, readers: Readers) -> list[Reply]:
        """The responses of a record, by the reader of its format; replaced attempts are left out."""
        name = self._detect_format(record)
        format = FORMATS[name]
        form = self._user_form or format.form
        make = format.load()
        key = (make, None if form is None else name)
        if key not in readers:
            reader = make() if form is None else make(form)
            reader.wanted = self._columns
            reader.extra_columns = self._extra_columns
            reader.scorer = self._options.scorer
            reader.stated_format = self._options.format
            readers[key] = name, reader
        replies = []
        _, reader = readers[key]
        reader.place = record.where
        for reply in reader.replies(record.content):
            if not reply.place:  # else it is of earlier records, which were joined
                reply.record = record.content
            if not self._is_replaced(_complete_reply(reply, name, record.where)):
                replies.append(reply)
        return replies

    def _is_replaced(self, reply: Reply) -> bool:
        """Whether a newer log of the same task, which was read before, has a finished response to this sample.

        Counts the response if it is replaced, and keeps its sample if it is finished.
        """
        if reply.task is None:
            return False
        key = (reply.task, reply.item_id, reply.sample)
        is_replaced = key in self._finished_attempts
        self.summary.replaced += is_replaced
        if reply.trace is not None or reply.text:
            self._finished_attempts.add(key)
        return is_replaced

    def _detect_format(self, record: PlacedRecord) -> str:
        """The name of a record's format, which the user states or the record shows; raises InputError for no format."""
        if self._user_form is not None:
            return "openai-pairs"
        if self._options.format is not None:
            return self._options.format
        format = find_format(record.content)
        if format is None:
            raise InputError(_describe_unknown(record.content))
        return format.name

    def _record_bad(self, record: BadRecord) -> None:
        """Count an unusable record; raises InputError for it if the option `strict` is set."""
        record = BadRecord(record.where, replace_surrogates(record.problem))
        if self._options.strict:
            raise InputError(f"{record.where}: {record.problem}")
        self.summary.add_bad(record)
        self._keep_unread(record)

    def _keep_unread(self, record: BadRecord) -> None:
        """Keep the problem of a reply in memory, so that the caller can answer it."""
        if self._keeps_unread:
            self.unread.append(record)

    def _complete_frame(self, responses: ResponseBatch, file: str) -> pl.DataFrame:
        """Complete a batch to a frame of the log, and count it; if this fails, nothing is counted.

        `file` is the benchmark of responses that name none.
        """
        frame, counted = to_frame(responses, self._options.top_k)
        # Some formats also keep the log's own column, under the second name.
        frame = _rename_log_columns(frame).with_columns(
            strip_prefixes(pl.col("^(model|log_model)$").cast(pl.String)),
            run=pl.lit(0, pl.UInt16),
            prompt_hash=pl.lit(""),
            logprobs_mode=pl.lit(self._options.logprobs_mode or ASSUMED_MODE),
        )
        frame = self._zero_logprobs.exclude(frame)
        frame = self._key_completer.complete(frame, file, self._options.model or UNKNOWN_MODEL)
        frame = frame.drop(map(frame_name, self._hidden_columns), strict=False)
        base_columns = [*GENERATIONS.schema.names(), "model", "benchmark", *LOGPROBS, UNUSABLE]
        slices = [column for column in frame.columns if column not in base_columns]
        frame = frame.select(*base_columns, *slices)
        self.summary.unsorted_steps += counted.unsorted_steps
        self.summary.short_steps += counted.short_steps
        for name, n in counted.rounded.items():
            self.summary.facts[f"rounded to {name}"] += n
        self.summary.repeated_ids = self._key_completer.repeats
        self.summary.twice, self.summary.equal = self._key_completer.twice, self._key_completer.equal
        self.summary.columns |= dict.fromkeys(name for name in slices if name not in (PLACE, *LABEL_DTYPES))
        stated = f"{self._options.logprobs_mode}, as you stated"
        self._count_frame(frame, stated if self._options.logprobs_mode else f"{ASSUMED_MODE}, assumed")
        return frame

    def _count_frame(self, frame: pl.DataFrame, mode: str) -> None:
        """Add the numbers of a frame to the summary; `mode` is its kind of log-probabilities, and who states it."""
        summary = self.summary
        summary.responses += len(frame)
        summary.tokens += int(frame["n_tokens"].sum())
        summary.displaced_steps += int(frame["displaced_steps"].sum())
        summary.modes[mode] += len(frame)
        summary.models.update(dict(frame["model"].drop_nulls().value_counts().iter_rows()))
        summary.top_k.update(dict(frame["top_k_returned"].drop_nulls().value_counts().iter_rows()))
        if UNUSABLE in frame.columns:
            summary.unusable.update(dict(frame[UNUSABLE].drop_nulls().value_counts().iter_rows()))
        n_truncated = int((frame["finish_reason"] == "length").sum())
        if n_truncated:
            summary.facts["truncated"] += n_truncated


def read_replies(replies: Any) -> pl.DataFrame:
    """The responses in replies in memory as one frame; raises InputError for files and unreadable replies."""
    memory_records = wrap_memory_records(replies)
    if memory_records is None:
        raise InputError("features: must be traces or replies; for files use es.read_features(paths)")
    return read_strictly(memory_records, "features: the replies contain no response")


def read_strictly(source: str | MemoryRecords, empty: str) -> pl.DataFrame:
    """A log's responses as one frame; raises InputError for a bad record, or with the text `empty` if none."""
    frames = list(Logs([source], ReadOptions(strict=True)))
    if not frames:
        raise InputError(empty)
    return combine_frames(frames)


# The beginning of a log's name by inspect_ai: the time of its start.
_START_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d")


def sort_attempts(paths: Sequence[PathOrRecords]) -> list[PathOrRecords]:
    """The paths, with the logs of inspect_ai sorted among their own places, the newest first.

    A retried evaluation has a log for each attempt, and samples of the newest one count.
    """
    places = []
    for place, path in enumerate(paths):
        if isinstance(path, str) and _START_TIME.match(Path(path).name):
            places.append(place)
    newest = sorted((paths[place] for place in places), key=lambda path: Path(str(path)).name, reverse=True)
    result = list(paths)
    for place, path in zip(places, newest, strict=True):
        result[place] = path
    return result


def _describe_unknown(record: Mapping[str, Any]) -> str:
    """The message about a record of no known format: what is nearest, and what to do."""
    if {"doc_id", "resps"} <= set(record):
        labels = format_option("labels")
        return f"is a sample of lm-evaluation-harness, which has labels but no log-probabilities; give it as {labels}"
    near = ""  # a clause about the nearest format
    if (closest := find_nearest_format(record)) is not None:
        format, lacking = closest
        near = f"; nearest is '{format.name}', but there is no {' or '.join(lacking)}"
    if (field := describe_unused_field(record)) is not None:
        near += f"; {field}"
    return (
        f"has no known format{near}; fields: {', '.join(record)[:200] or 'none'}. If a column has the server's reply, "
        f"name it with {format_option('reply')}; or write a table with `token_logprobs` and `top_logprobs`: see the "
        "page Formats of logs"
    )


def _truncate_steps(frame: pl.DataFrame, top_k: int | None) -> pl.DataFrame:
    """Cut the steps of this pipeline's traces, whose entries are sorted, to `top_k` entries."""
    width = top_k_of(frame.schema)
    if top_k is None or top_k == width:
        return frame
    if top_k > width:
        raise InputError(f"top_k: must be at most {width}, the alternatives per token in the traces; got {top_k}")
    return frame.with_columns(
        top_logprobs=pl.col("top_logprobs").list.eval(pl.element().arr.slice(0, top_k, as_array=True)),
        **{name: pl.lit(None, frame.schema[name]) for name in ("top_token_ids", "top_tokens")},
        top_k_returned=pl.lit(top_k, pl.Int64),
    )


def _rename_log_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """Give the log's columns their names; a name that the frame already uses gets the prefix `log_`."""
    names = {}
    for name in frame.columns:
        if name.startswith("column."):
            names[name] = frame_name(name.removeprefix("column."))
    return frame.rename(names)


def _complete_reply(reply: Reply, format: str, place: str) -> Reply:
    """A response with its format and place; raises InputError if a frame cannot hold it."""
    reply.format = format
    reply.place = reply.place or place
    if reply.unusable == NO_LOGPROBS and reply.record is not None:
        search_logprobs(reply, reply.record)
    reply.record = None
    return reply.check()


def _name_benchmark(path: str | MemoryRecords) -> str:
    """The default benchmark of a file's responses: the file's name without its suffixes."""
    return "log" if path == STANDARD_INPUT else Path(path).name.split(".")[0] or "log"
