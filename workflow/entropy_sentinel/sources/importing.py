"""Traces and labels made elsewhere: files that are checked, completed and taken over as this pipeline's own.

Columns that a contract does not know are left out. What cannot be used is an InputError with file, row and step (from
0) and column; nothing is repaired by a guess. Rows of items that the study leaves out, by its limit or because the row
lacks a question, are set aside and counted.
"""

import logging
import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from entropy_sentinel.frames.contract import Column, Contract, Dtype, read_provenance
from entropy_sentinel.frames.errors import ContractError, InputError
from entropy_sentinel.frames.generation import GENERATIONS, OTHER_STOPS, REFUSED, UNUSABLE, top_k_of
from entropy_sentinel.frames.label import LABELS
from entropy_sentinel.sources.steps import ImpossibleStep, impossible_step, of_one_width

log = logging.getLogger(__name__)

KEY = ["item_id", "sample"]


def import_generations(items: pl.DataFrame, settings: Mapping[str, Any], output: str) -> None:
    """Take over the traces in the file `settings["source"]` on `items` (contract BENCHMARKS), in benchmark order.

    `settings` is `config.study.generation_settings` of a model with a source. Items without a response and rows of
    items that are not among `items` are counted in the log and in the provenance. Raises InputError for what cannot
    be used.
    """
    source = settings["source"]
    if source.endswith(".parquet"):
        frame = complete_generations(read_columns(source, GENERATIONS, _REQUIRED))
        numbered = "sample" in pl.read_parquet_schema(source)
    else:
        frame, numbered = _from_log(source), False
    _refuse_rows(frame, source, _checks(settings["samples"], numbered))
    _refuse_steps(frame, source)
    frame, unused = _of_items(frame, items["item_id"], source)
    missing = items.join(frame, on="item_id", how="anti").height
    if missing:
        log.warning("%s: has no response to %d of %d items", source, missing, len(items))
    frame = items.select("item_id").join(frame.sort(KEY), on="item_id", how="inner", maintain_order="left_right")
    facts = source_provenance(source, settings) | {
        "top_k_returned": top_k_of(frame.schema),
        "missing_items": missing,
        "unused_rows": unused,
    }
    GENERATIONS.write(frame.select(GENERATIONS.schema.names()), output, facts)


def _from_log(source: str) -> pl.DataFrame:
    """The responses of a log, in the columns of GENERATIONS; InputError for the first that cannot be used."""
    from entropy_sentinel.sources.logs.reading import Logs
    from entropy_sentinel.sources.logs.settings import ReadOptions
    from entropy_sentinel.sources.logs.traces import combined

    frames = list(Logs([source], ReadOptions(strict=True)))
    if not frames:
        raise InputError(f"{source}: has no response")
    frame = combined(frames)
    refused = pl.col("finish_reason").str.starts_with(REFUSED)
    _refuse_rows(frame, source, {"text": (pl.col(UNUSABLE).is_not_null() & ~refused, "must have log-probabilities")})
    return frame.select(GENERATIONS.schema.names())


def import_labels(responses: pl.DataFrame, source: str) -> tuple[pl.DataFrame, int]:
    """The labels in the file `source` of `responses` (item_id, sample): a frame of contract LABELS.

    A response that the file does not label gets null, with the reason. Also the number of rows of items without a
    response, which are set aside. Raises InputError for what cannot be used.
    """
    found = read_columns(source, LABELS, {"item_id": False, "label": True})
    answered = pl.col("item_id").is_in(responses["item_id"].implode())
    known = pl.struct(KEY).is_in(responses.select(pl.struct(KEY)).to_series().implode())
    if "sample" in pl.read_parquet_schema(source):
        _refuse_rows(found, source, {"sample": (answered & ~known, "must be that of a response of the model")})
    _refuse_rows(found, source, {"item_id": (answered & ~known, "must be there as often as it was answered at most")})
    found, unused = _of_items(found, responses["item_id"], source)
    frame = responses.select(KEY).join(_with_missing(found, LABELS), on=KEY, how="left", maintain_order="left")
    labelled = frame.select(KEY).join(found, on=KEY, how="semi").height
    if labelled < len(frame):
        log.warning("%s: has no label for %d of %d responses", source, len(frame) - labelled, len(frame))
    reason = pl.when(pl.col("label").is_null()).then(pl.col("reason").fill_null("no label in the file"))
    return frame.with_columns(reason=reason).select(LABELS.schema.names()), unused


# Columns that a file of traces must have.
_REQUIRED = dict.fromkeys(("item_id", "text", "finish_reason", "token_logprobs", "top_logprobs"), False)


def read_columns(source: str, contract: Contract, required: Mapping[str, bool]) -> pl.DataFrame:
    """The contract's columns of a Parquet file, in its dtypes, `sample` counted per item where there is none.

    `required` says of each column that must be there whether it may be null.
    """
    try:
        raw = pl.read_parquet(source)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{source}: must be a Parquet file: {error}") from None
    if absent := [name for name in required if name not in raw.columns]:
        raise InputError(f"{source}: column '{absent[0]}' is missing; columns there: {', '.join(raw.columns)}")
    if not len(raw):
        raise InputError(f"{source}: has no row")
    known = [column for column in contract.columns if column.name in raw.columns]
    frame = pl.DataFrame([_column(raw[column.name], column, source) for column in known])
    nulls = {
        column.name: (pl.col(column.name).is_null(), "must not be null")
        for column in known
        if not required.get(column.name, column.nullable)
    }
    _refuse_rows(frame, source, nulls)
    if "sample" not in frame.columns:
        frame = frame.with_columns(sample=pl.int_range(pl.len(), dtype=pl.UInt16).over("item_id"))
    twice = pl.struct(KEY).is_first_distinct().not_()
    _refuse_rows(frame, source, {"item_id": (twice, "must be there once per sample")})
    return frame


def complete_generations(frame: pl.DataFrame) -> pl.DataFrame:
    """Fill in the columns of contract GENERATIONS that a file of traces lacks.

    Seed -1, prompt hash "" and 0 prompt tokens say that they are not known.
    """
    known = {
        "seed": -1,
        "run": 0,
        "prompt_hash": "",
        "prompt_tokens": 0,
        "n_tokens": pl.col("token_logprobs").list.len(),
        "trace_start": 0,
        "displaced_steps": 0,
    }
    return _with_missing(frame, GENERATIONS, known)


def _with_missing(frame: pl.DataFrame, contract: Contract, values: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """`frame` with all columns of the contract; those that it lacks from `values`, or null."""
    new = {name: (values or {}).get(name) for name in contract.schema if name not in frame.columns}
    filled = {
        name: (value if isinstance(value, pl.Expr) else pl.lit(value)).cast(contract.schema[name])
        for name, value in new.items()
    }
    return frame.with_columns(**filled)


def _column(found: pl.Series, column: Column, source: str) -> pl.Series:
    """A column in the contract's dtype; traces with the width that they have."""
    inner = found.dtype.inner if isinstance(found.dtype, pl.List) else None
    if column.name == "top_logprobs" and isinstance(inner, pl.List | pl.Array) and inner.inner.is_numeric():
        made = of_one_width(found)
        if isinstance(made, ImpossibleStep):
            raise _unusable(source, f"{made.row}, step {made.step}", made.column, made.must, made.was)
        return made
    return _cast(found, column.dtype, source)


def source_provenance(source: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What the file says about its origin; else nobody knows how its tokens were drawn.

    Raises InputError where neither says of which kind the log-probabilities are.
    """
    try:
        own = read_provenance(source)
    except ContractError:
        own = {}
    mode = own.get("logprobs_mode") or settings["logprobs_mode"]
    if mode is None:
        raise InputError(
            f"{source}: does not say whether its log-probabilities are those before temperature; if they are, set "
            f"models.{settings['model']}.source_logprobs_mode: raw_logprobs"
        )
    from_config = {key: settings[key] for key in ("version", "model", "benchmark", "engine", "source", "samples")}
    return {
        "sampling": "unknown",
        **{key: value for key, value in own.items() if key != "stage"},
        **from_config,
        "logprobs_mode": mode,
        "source_content": settings.get("content"),
        "source_engine": own.get("engine"),
        "source_model": own.get("model"),
    }


# Other words for `stop` and `length`, in any case, and no word: a response that was cut off must be known by its word.
_OTHER_WORDS = ("", "stop", "length", *(word.lower() for word in OTHER_STOPS))


def _checks(samples: int, numbered: bool) -> dict[str, tuple[pl.Expr, str]]:
    """Per column: which rows of a file of traces cannot be used, and what they must be."""
    steps, reason = pl.col("token_logprobs").list.len(), pl.col("finish_reason")
    too_many = f"must be below generation.samples, {samples}"
    if not numbered:
        too_many = f"must be there once per sample, of which there is {samples} (generation.samples)"
    return {
        "finish_reason": (
            reason.str.strip_chars().str.to_lowercase().is_in(_OTHER_WORDS) & ~reason.is_in(["stop", "length"]),
            "must be 'stop', 'length' or the reason why the response is not whole",
        ),
        "token_logprobs": (_has_null("token_logprobs"), "must not hold null"),
        **{
            name: (pl.col(name).list.len() != steps, "must have as many steps as token_logprobs")
            for name in ("top_logprobs", "token_ids", "top_token_ids")
        },
        "n_tokens": (pl.col("n_tokens") != steps, "must be the number of steps in token_logprobs"),
        "trace_start": (pl.col("trace_start") > steps, "must be at most the number of steps in token_logprobs"),
        "sample" if numbered else "item_id": (pl.col("sample") >= samples, too_many),
    }


def _has_null(column: str) -> pl.Expr:
    return pl.col(column).list.eval(pl.element().is_null()).list.any()


def _refuse_rows(frame: pl.DataFrame, source: str, checks: Mapping[str, tuple[pl.Expr, str]]) -> None:
    """Raise InputError for the first row that a check finds."""
    for column, (wrong, must) in checks.items():
        rows = frame.select(wrong.fill_null(False)).to_series().arg_true()
        if len(rows):
            raise _unusable(source, rows[0], column, must, frame[column][rows[0]])


def _refuse_steps(frame: pl.DataFrame, source: str) -> None:
    """Raise InputError for the first step that no model can have taken."""
    if found := impossible_step(frame):
        raise _unusable(source, f"{found.row}, step {found.step}", found.column, found.must, found.was)


def _of_items(frame: pl.DataFrame, known: pl.Series, source: str) -> tuple[pl.DataFrame, int]:
    """The rows of `frame` on the item ids `known`, and how many others are set aside.

    Raises InputError for the first id that no row of the benchmark can have, and where no row is left.
    """
    benchmark = known[0].rpartition("-")[0]
    possible = pl.col("item_id").str.contains(rf"^{re.escape(benchmark)}-[0-9]{{5,}}$")
    _refuse_rows(frame, source, {"item_id": (~possible, f"must be an item of the benchmark, {benchmark}-NNNNN")})
    used = frame.filter(pl.col("item_id").is_in(known.implode()))
    unused = len(frame) - len(used)
    if used.is_empty():
        raise InputError(
            f"{source}: none of its {unused} rows is on an item that the study uses, such as {known[0]}; the number in "
            "an id must be that of the item's row in the benchmark's source, from 0"
        )
    if unused:
        log.info("%s: %d of %d rows are on items that the study does not use, set aside", source, unused, len(frame))
    return used, unused


def _cast(column: pl.Series, dtype: Dtype, source: str) -> pl.Series:
    """The column in the contract's dtype; InputError for the first row that has no such value."""
    if dtype == pl.Boolean and column.dtype not in (pl.Boolean, pl.Null):
        raise InputError(f"{source}: column '{column.name}' must be Boolean, was {column.dtype}")
    try:
        return _whole_numbers(column, dtype)
    except pl.exceptions.PolarsError:
        row = next(row for row in range(len(column)) if not _fits(column[row : row + 1], dtype))
        raise _unusable(source, row, column.name, f"must be {dtype}", column[row]) from None


def _whole_numbers(column: pl.Series, dtype: Dtype) -> pl.Series:
    """The column in another dtype; PolarsError where it has no such value. Half a sample is no sample."""
    cast = column.cast(dtype)
    if dtype.is_integer() and column.dtype.is_float() and not cast.cast(column.dtype).equals(column):
        raise pl.exceptions.InvalidOperationError("not a whole number")
    return cast


def _fits(value: pl.Series, dtype: Dtype) -> bool:
    try:
        _whole_numbers(value, dtype)
    except pl.exceptions.PolarsError:
        return False
    return True


def _unusable(source: str, row: int | str, column: str, must: str, was: Any) -> InputError:
    was = was.to_list() if isinstance(was, pl.Series) else was
    return InputError(f"{source}: row {row}: '{column}' {must}; was {str(was)[:200]}")
