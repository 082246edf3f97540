"""Read any table of responses: JSON Lines and CSV by row, Parquet of plain numbers by column.

`token_logprobs` is a list of numbers per response. `top_logprobs` is a list with an entry per token: a list of numbers,
a list of {logprob: number}, or a mapping of tokens to numbers. Other known columns are an id, `text`, `finish_reason`,
`model`, `sample`, `tokens`, `token_ids`, `prompt_tokens`, `seed` and `trace_start`. All other columns with one value
per response may define slices.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import polars as pl

from entropy_sentinel.core.secrets import is_secret_name
from entropy_sentinel.logs.conversation import CONVERSATION, MESSAGES, REQUESTS
from entropy_sentinel.logs.envelopes import IDS
from entropy_sentinel.logs.missing_logprobs import describe_unused_field
from entropy_sentinel.logs.parsed_response import (
    MAX_VALUES,
    NO_ALTERNATIVES,
    NO_LOGPROBS,
    STOP_REASONS,
    Reply,
    Trace,
    build_trace,
    explain_unusable,
    find_id,
    parse_finish_reason,
    replace_surrogates,
)
from entropy_sentinel.logs.reader_base import (
    QUESTION,
    QUESTION_COLUMNS,
    REQUEST,
    REQUEST_FIELDS,
    Reader,
    collect_columns,
    is_private,
)
from entropy_sentinel.logs.reference_answer import REFERENCE, REFERENCE_FIELDS
from entropy_sentinel.logs.step_forms import read_first
from entropy_sentinel.logs.step_reading import read_entries
from entropy_sentinel.logs.trace_frames import REPLY_ID, ROW_DTYPES, ResponseBatch
from entropy_sentinel.schemas.arrow_lists import flatten_lists

TEXT_COLUMNS = ("text", "response", "completion", "output", "answer")
FIXED_COLUMNS = (
    *TEXT_COLUMNS,
    "finish_reason",
    "model",
    "sample",
    "tokens",
    "token_ids",
    "prompt_tokens",
    "seed",
    "trace_start",
)
TRACE_COLUMNS = ("token_logprobs", "top_logprobs")
# Columns that a file of labels has, which also has an id and texts.
LABEL_FILE_COLUMNS = {"label", "weight"}
Table = TypeVar("Table", pl.DataFrame, pl.LazyFrame)


class TableReader(Reader):
    """Reads one response per record."""

    def replies(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """Yield the response of the row."""
        sampled, top = record["token_logprobs"], record["top_logprobs"]
        tokens = record.get("tokens") or ()
        text = read_first(record, TEXT_COLUMNS)
        text = replace_surrogates(text if text is not None else "".join(tokens))
        logprobs = None
        if sampled is not None:
            steps = [()] * len(sampled) if top is None else top
            logprobs = build_trace(sampled, list(map(read_entries, steps)))
        yield Reply(
            item_id=find_id(record, IDS),
            model=record.get("model"),
            text=text,
            finish_reason=parse_finish_reason(record.get("finish_reason")),
            trace=logprobs,
            tokens=tokens,
            token_ids=record.get("token_ids"),
            sample=record.get("sample"),
            prompt_tokens=record.get("prompt_tokens") or 0,
            seed=-1 if record.get("seed") is None else record["seed"],
            trace_start=record.get("trace_start") or 0,
            unusable=explain_unusable(logprobs, text, ()),
            columns=self.columns(
                record, collect_columns(record, leave_out=(*list_fixed_columns(record), *TRACE_COLUMNS))
            ),
        )


class TextTableReader(TableReader):
    """Reads one response without log-probabilities per record."""

    def replies(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """Yield the response of the row; without a finish reason, it counts as complete."""
        complete = {"finish_reason": "stop"} if record.get("finish_reason") is None else {}
        yield from super().replies({**dict.fromkeys(TRACE_COLUMNS), **record, **complete})


def is_table_of_texts(record: Mapping[str, Any]) -> bool:
    """Whether a record has an id, the text of a response, and no sign of log-probabilities."""
    has_text = isinstance(read_first(record, TEXT_COLUMNS), str) and find_id(record, IDS) is not None
    return has_text and has_columns_of_texts(record) and describe_unused_field(record) is None


def has_columns_of_texts(names: Iterable[str]) -> bool:
    """Whether a table has an id and texts and no log-probabilities, and is not a file of labels."""
    names = set(names)
    return (
        bool(names & set(IDS) and names & set(TEXT_COLUMNS))
        and not names & set(TRACE_COLUMNS)
        and not names >= LABEL_FILE_COLUMNS
    )


def list_fixed_columns(names: Iterable[str]) -> tuple[str, ...]:
    """The names of the columns with a fixed meaning; of several ids, only the first is included."""
    names = set(names)
    return (*FIXED_COLUMNS, *[name for name in IDS if name in names][:1])


def unnest_metadata(table: Table) -> Table:
    """A table with the fields of `metadata` as columns, such as `metadata.route`."""
    schema = table.collect_schema()
    return table.unnest("metadata", separator=".") if isinstance(schema.get("metadata"), pl.Struct) else table


def is_flat(schema: Mapping[str, Any], columns: Sequence[str] = (), trace_after: str | None = None) -> bool:
    """Whether the columns of traces are lists of numbers, and no option requires reading row by row."""
    if trace_after is not None or any(_may_be_nested(name, schema) for name in columns):
        return False
    sampled, top = schema.get("token_logprobs"), schema.get("top_logprobs")
    return (
        isinstance(sampled, pl.List)
        and sampled.inner.is_numeric()
        and isinstance(top, pl.List)
        and isinstance(top.inner, pl.List | pl.Array)
        and top.inner.inner.is_numeric()
    )


# Columns of a table that may have these values inside.
_NESTED_SOURCES = {
    QUESTION: QUESTION_COLUMNS,
    CONVERSATION: {*MESSAGES, *REQUESTS},
    REFERENCE: {*REFERENCE_FIELDS, *(f"metadata.{name}" for name in REFERENCE_FIELDS), *REQUESTS},
}


def _may_be_nested(name: str, schema: Mapping[str, Any]) -> bool:
    """Whether the requested value may be inside a column with another name."""
    sources = _NESTED_SOURCES.get(name, set())
    return name not in schema and (name.split(".")[0] in schema or bool(sources & set(schema)))


def find_bad_rows(batch: pl.DataFrame) -> Iterator[tuple[int, str]]:
    """Yield the position (from 0) of each unusable row, and the reason."""
    steps, alternatives = pl.col("token_logprobs").list.len(), pl.col("top_logprobs").list.len()
    nulls = pl.lit(False)
    if flatten_lists(batch["token_logprobs"]).null_count():
        nulls = pl.col("token_logprobs").list.eval(pl.element().is_null()).list.any()
    uneven = pl.format(
        "'token_logprobs' and 'top_logprobs' must have equal lengths, have {} and {} steps", steps, alternatives
    )
    problem = (
        pl.when(nulls).then(pl.lit("'token_logprobs' must not contain null")).when(steps != alternatives).then(uneven)
    )
    for name in MAX_VALUES:
        if name in batch.columns:
            whole = f"'{name}' must be a whole number from 0 to {MAX_VALUES[name]:,}, got {{}}"
            words = pl.format(whole, pl.col(name).cast(pl.String))
            problem = problem.when(_parse_whole(name).is_null() & pl.col(name).is_not_null()).then(words)
    problems = batch.select(problem).to_series()
    for row in problems.is_not_null().arg_true():
        yield row, problems[row]


def parse_batch(batch: pl.DataFrame, wanted: Sequence[str] | None, extra_columns: Sequence[str] = ()) -> ResponseBatch:
    """The responses of valid rows. Null among alternatives is probability 0; in arrays of one width, it is padding."""
    if batch["token_logprobs"].null_count():  # alternatives without a token
        batch = batch.with_columns(pl.when(pl.col("token_logprobs").is_not_null()).then("top_logprobs"))
    sampled = batch["token_logprobs"].explode(empty_as_null=False, keep_nulls=False)
    top = batch["top_logprobs"].explode(empty_as_null=False, keep_nulls=False)
    padded = isinstance(top.dtype, pl.Array)
    top = (top.arr.to_list() if padded else top).cast(pl.List(pl.Float32))
    if top.explode(empty_as_null=False, keep_nulls=False).null_count():
        top = top.list.drop_nulls() if padded else top.list.eval(pl.element().fill_null(-math.inf))
    # A row without alternatives has an empty step for each token.
    lengths = batch["token_logprobs"].list.len().fill_null(0).to_numpy().astype(np.int64)
    has_alternatives = np.repeat(batch["top_logprobs"].is_not_null().to_numpy(), lengths)
    counts = np.zeros(len(has_alternatives), dtype=np.int64)
    counts[has_alternatives] = top.list.len().fill_null(0).to_numpy()
    trace = Trace(
        sampled.cast(pl.Float32).to_numpy(), counts, top.explode(empty_as_null=False, keep_nulls=False).to_numpy()
    )
    return ResponseBatch(
        batch.select(*_build_row_columns(batch.schema), *_select_slices(batch.schema, wanted, extra_columns)),
        lengths=lengths,
        trace=trace,
        k=np.full(len(batch), -1),
        displaces=np.zeros(len(batch), dtype=bool),
    )


def _build_row_columns(schema: pl.Schema) -> list[pl.Expr]:
    """The columns of `ROW_DTYPES` from the table; missing columns get the values that mean unknown."""

    def read_column(*names: str, otherwise: Any = None) -> pl.Expr:
        """The first value in these columns that is not null, or else `otherwise`."""
        columns = [pl.col(name) for name in names if name in schema]
        return pl.coalesce(*columns, pl.lit(otherwise)) if columns else pl.lit(otherwise)

    finish = read_column("finish_reason").cast(pl.String)
    text = read_column(*TEXT_COLUMNS, otherwise="").cast(pl.String)
    steps, entries = pl.col("token_logprobs").list.len(), pl.col("top_logprobs").list.len()
    tokens = read_column("tokens") if schema.get("tokens") == pl.List(pl.String) else pl.lit(None, pl.List(pl.String))
    columns = {
        "item_id": pl.coalesce(*map(_format_id, (name for name in IDS if name in schema)), pl.lit(None, pl.String)),
        REPLY_ID: pl.lit(None),
        "model": read_column("model"),
        "sample": read_column("sample"),
        "text": text,
        "finish_reason": pl.when(finish.str.strip_chars().str.len_chars().fill_null(0) == 0)
        .then(pl.lit("unknown"))
        .when(finish.str.strip_chars().str.to_lowercase().is_in(sorted(STOP_REASONS)))
        .then(pl.lit("stop"))
        .otherwise(finish),
        "prompt_tokens": read_column("prompt_tokens", otherwise=0),
        "seed": read_column("seed", otherwise=-1),
        "tokens": pl.when((steps > 0) & (tokens.list.len() == steps)).then(tokens),
        "token_ids": read_column("token_ids"),
        "trace_start": read_column("trace_start", otherwise=0),
        "unusable": pl.when(steps.is_null() | ((steps == 0) & (text != "")))
        .then(pl.lit(NO_LOGPROBS))
        .when((steps > 0) & entries.is_null())
        .then(pl.lit(NO_ALTERNATIVES)),
    }
    return [value.cast(ROW_DTYPES[name], strict=False).alias(name) for name, value in columns.items()]


def _format_id(name: str) -> pl.Expr:
    """A column of ids as text; null for a missing id, which some logs write as an empty text."""
    text = pl.col(name).cast(pl.String)
    return pl.when(text.str.strip_chars() != "").then(text)


def _encode_request(schema: Mapping[str, Any]) -> pl.Expr:
    """A text for the request of each row, equal for equal requests; null without one."""
    columns = [name for name in REQUEST_FIELDS if isinstance(schema.get(name), pl.String | pl.List)]
    if not columns:
        return pl.lit(None, pl.String)
    has_request = pl.any_horizontal(pl.col(columns).is_not_null())
    return pl.when(has_request).then(pl.struct(columns).struct.json_encode())


def _parse_whole(name: str) -> pl.Expr:
    """A column of integers; null for a value that is outside its range or not an integer."""
    number = pl.col(name).cast(pl.Int64, strict=False)
    is_whole = number == pl.col(name).cast(pl.Float64, strict=False)
    least = -1 if name == "seed" else 0  # an unknown seed is -1
    return pl.when(number.is_between(least, MAX_VALUES[name]) & is_whole).then(number)


def _select_slices(schema: pl.Schema, wanted: Sequence[str] | None, extra_columns: Sequence[str]) -> list[pl.Expr]:
    """The columns that could define slices, or the `wanted` ones, each as `column.NAME`.

    `wanted` already contains `extra_columns`. Without it, only REQUEST of these is added, because it is made from other
    columns.
    """
    if wanted is not None:
        values = {name: pl.col(name) if name in schema else pl.lit(None) for name in wanted}
        if REQUEST in wanted:
            values[REQUEST] = _encode_request(schema)
        return [value.alias(f"column.{name}") for name, value in values.items()]
    parts = {*list_fixed_columns(schema), *TRACE_COLUMNS}
    slices = []
    for name, dtype in schema.items():
        has_one_value = not dtype.is_nested() and dtype != pl.Binary
        is_secret = dtype == pl.String and is_secret_name(name)
        if has_one_value and name not in parts and not is_secret and not is_private(name):
            slices.append(pl.col(name).alias(f"column.{name}"))
    if REQUEST in extra_columns:
        slices.append(_encode_request(schema).alias(f"column.{REQUEST}"))
    return slices
