"""Import traces, labels and passes from other tools: check their files and complete their columns.

An unusable value raises InputError with file, row, step (from 0) and column. Rows for items that the study does not
use, because of its limit or because the benchmark's row has no question, are skipped and counted.
"""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
from polars.datatypes import DataTypeClass

from entropy_sentinel.core.errors import ContractError, InputError
from entropy_sentinel.features.token_lists import ROUNDING
from entropy_sentinel.logs.label_table import read_label_file
from entropy_sentinel.schemas.contract import Contract, Dtype, read_provenance
from entropy_sentinel.schemas.generation_schema import (
    GENERATIONS,
    NO_LOGPROBS,
    OTHER_STOPS,
    UNUSABLE,
    WAS_REFUSED,
    top_k_of,
)
from entropy_sentinel.schemas.label_schema import LABELS
from entropy_sentinel.schemas.response_schema import RESPONSE, SAMPLE
from entropy_sentinel.schemas.signal_schema import EnginePass
from entropy_sentinel.study.items.benchmark_settings import SourceSettings
from entropy_sentinel.study.items.table_import import (
    add_missing_columns,
    convert_columns,
    find_impossible_step,
    has_null,
    has_unknown_sample,
    make_row_error,
    read_columns,
    refuse_rows,
    select_items,
)

log = logging.getLogger(__name__)

# Columns that a file without log-probabilities must have, the further ones of a file of traces, and all of the latter.
# False: none may be null.
_REQUIRED_WITHOUT_LOGPROBS = dict.fromkeys(("item_id", "text", "finish_reason"), False)
_STEPS = ("token_logprobs", "top_logprobs")
_REQUIRED = _REQUIRED_WITHOUT_LOGPROBS | dict.fromkeys(_STEPS, False)
# Columns of imported labels; ids such as 007 must stay text.
_LABEL_COLUMNS = {"item_id": pl.String, "sample": pl.Int64, "reason": pl.String}
# Settings that the provenance records.
_CONFIG_KEYS = ("version", "model", "benchmark", "engine", "source", "samples")
# Provenance of the job that wrote a file, which says nothing of the rows that are imported from it.
_JOB_KEYS = ("stage", "identity", "reuse_key")
# Finish reasons, in lower case, that are refused unless they are exactly `stop` or `length`: none, and words for these
# two. Only the exact word shows whether a response was truncated.
_INEXACT_REASONS = ("", "stop", "length", *(word.lower() for word in OTHER_STOPS))
# The smallest and largest value of each unit, for entropies and areas, log-probabilities, and probabilities.
_LIMITS = {"bits": (0.0, float("inf")), "nats": (float("-inf"), 0.0), "1": (0.0, 1.0)}


def import_generations(items: pl.DataFrame, settings: SourceSettings, output: str) -> None:
    """Import the traces in the file `settings["source"]` for `items` (contract BENCHMARKS), in benchmark order.

    The log and the provenance count the items without a response, and the rows for other items. Raises InputError for
    an unusable value.
    """
    source = settings["source"]
    facts = build_provenance(source, settings)
    has_no_logprobs = facts["logprobs_mode"] == NO_LOGPROBS
    if source.endswith(".parquet"):
        required_columns = _REQUIRED_WITHOUT_LOGPROBS if has_no_logprobs else _REQUIRED
        frame = complete_generations(read_columns(source, GENERATIONS, required_columns))
        has_sample_column = "sample" in pl.read_parquet_schema(source)
    else:
        frame = _read_log(source, has_no_logprobs, items)
        has_sample_column = False  # the order of a log's responses numbers the samples of an item
    refuse_rows(frame, source, _build_checks(settings["samples"], has_sample_column))
    if has_no_logprobs:
        must = f"must be null, because models.{settings['model']}.source_logprobs_mode is {NO_LOGPROBS}"
        for name in _STEPS:
            refuse_rows(frame, source, {name: (pl.col(name).is_not_null(), must)})
    elif wrong := find_impossible_step(frame):
        raise make_row_error(source, f"{wrong.row}, step {wrong.step}", wrong.column, wrong.must, wrong.was)
    frame, n_unused = select_items(frame, items["item_id"], source)
    n_missing = items.join(frame, on="item_id", how="anti").height
    if n_missing:
        log.warning("%s: has no response to %d of %d items", source, n_missing, len(items))
    frame = items.select("item_id").join(frame.sort(SAMPLE), on="item_id", how="inner", maintain_order="left_right")
    facts |= {
        "top_k_returned": 0 if has_no_logprobs else top_k_of(frame.schema),
        "missing_items": n_missing,
        "unused_rows": n_unused,
    }
    GENERATIONS.write(frame.select(GENERATIONS.schema.names()), output, facts)


def _read_log(source: str, has_no_logprobs: bool, items: pl.DataFrame) -> pl.DataFrame:
    """The responses of a log in the columns of GENERATIONS; raises InputError for the first unusable response.

    If no id of the log is an item id, responses are matched with items by their questions. If
    `has_no_logprobs`, responses have no log-probabilities.
    """
    from entropy_sentinel.logs.log_options import ReadOptions
    from entropy_sentinel.logs.log_stream import Logs
    from entropy_sentinel.logs.reader_base import QUESTION
    from entropy_sentinel.logs.trace_frames import combine_frames

    frames = list(Logs([source], ReadOptions(strict=True, columns=(QUESTION,))))
    if not frames:
        raise InputError(f"{source}: no response")
    frame = combine_frames(frames)
    if QUESTION in frame.columns and frame.join(items, on="item_id", how="semi").is_empty():
        frame = _match_questions(frame, items)
    if has_no_logprobs:
        nulls = {name: pl.lit(None, GENERATIONS.schema[name]) for name in (*_STEPS, "tokens")}
        return frame.select(GENERATIONS.schema.names()).with_columns(**nulls)
    is_unusable = pl.col(UNUSABLE).is_not_null() & ~WAS_REFUSED
    refuse_rows(frame, source, {"text": (is_unusable, "must have log-probabilities")})
    return frame.select(GENERATIONS.schema.names())


def _match_questions(frame: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """Replace a log's ids with those of the items with the same question, null without one.

    If several items have the same question, the first id of the log gets the first of them, and so on. If no question
    matches, the log's ids stay, so that the error about them names them.
    """
    key = {"question": pl.col("question").str.strip_chars(), "repeat": pl.col("item_id").rank("dense").over("question")}
    study_ids = items.select("question", "item_id").with_columns(**key).rename({"item_id": "study_id"})
    matched = frame.with_columns(**key).join(
        study_ids, on=list(key), how="left", maintain_order="left", nulls_equal=False
    )
    return frame if matched["study_id"].is_null().all() else matched.with_columns(item_id="study_id")


def complete_generations(frame: pl.DataFrame) -> pl.DataFrame:
    """Fill in the columns of contract GENERATIONS that a file of traces lacks.

    Seed -1, prompt hash "", 0 prompt tokens, and 0 tokens of a response without log-probabilities mean "unknown".
    """
    defaults = {
        "seed": -1,
        "run": 0,
        "prompt_hash": "",
        "prompt_tokens": 0,
        "n_tokens": pl.col("token_logprobs").list.len() if "token_logprobs" in frame.columns else 0,
        "trace_start": 0,
        "displaced_steps": 0,
    }
    return add_missing_columns(frame, GENERATIONS, defaults)


def build_provenance(source: str, settings: SourceSettings) -> dict[str, Any]:
    """The provenance of imported traces: what the file states, the study's settings, and the file's own model.

    `sampling` is "unknown" unless the file states it. Raises InputError if neither the file nor the settings state the
    kind of log-probabilities.
    """
    try:
        file_provenance = read_provenance(source)
    except ContractError:
        file_provenance = {}
    mode = file_provenance.get("logprobs_mode") or settings["logprobs_mode"]
    if mode == NO_LOGPROBS and settings["logprobs_mode"] != NO_LOGPROBS:
        # The config must state this, because planning needs to know it before any job runs.
        raise InputError(
            f"{source}: has no log-probabilities; set models.{settings['model']}.source_logprobs_mode: none"
        )
    if mode is None:
        raise InputError(
            f"{source}: does not state whether its log-probabilities are from before temperature; if they "
            f"are, set models.{settings['model']}.source_logprobs_mode: raw_logprobs"
        )
    inherited = dict(file_provenance)
    for key in _JOB_KEYS:
        inherited.pop(key, None)
    from_config = {key: value for key, value in settings.items() if key in _CONFIG_KEYS}
    return {
        "sampling": "unknown",
        **inherited,
        **from_config,
        "logprobs_mode": mode,
        "source_content": settings.get("content"),
        "source_engine": file_provenance.get("engine"),
        "source_model": file_provenance.get("model"),
    }


def _build_checks(samples: int, has_sample_column: bool) -> dict[str, tuple[pl.Expr, str]]:
    """For each column of traces an expression that is true for unusable rows, and the rule that they break.

    Without a column `sample`, too many responses to an item are reported by the item, since the file has no number.
    """
    steps = pl.col("token_logprobs").list.len()
    reason = pl.col("finish_reason")
    too_many = f"must be below generation.samples, {samples}"
    if not has_sample_column:
        too_many = f"must occur once per sample; there are {samples} (generation.samples)"
    is_inexact = reason.str.strip_chars().str.to_lowercase().is_in(_INEXACT_REASONS) & ~reason.is_in(["stop", "length"])
    checks = {
        "finish_reason": (is_inexact, "must be 'stop', 'length' or the reason for truncation"),
        "token_logprobs": (has_null("token_logprobs"), "must not contain null"),
    }
    for name in ("top_logprobs", "token_ids", "top_token_ids", "top_tokens"):
        checks[name] = (pl.col(name).list.len() != steps, "must have as many steps as token_logprobs")
    checks["n_tokens"] = (pl.col("n_tokens") != steps, "must be the number of steps in token_logprobs")
    after_the_end = pl.col("trace_start") > steps
    checks["trace_start"] = (after_the_end, "must be at most the number of steps in token_logprobs")
    checks["sample" if has_sample_column else "item_id"] = (pl.col("sample") >= samples, too_many)
    return checks


def import_labels(responses: pl.DataFrame, source: str) -> tuple[pl.DataFrame, dict[str, int]]:
    """The labels of `responses` (item_id, sample) from a Parquet, CSV or JSON Lines file, and two counts.

    The labels are a frame of contract LABELS. If the file has no label for a response, the label is null and a reason
    is given; `missing_rows` counts these responses. Rows for items without a response are skipped, and counted in
    `unused_rows`. Raises InputError for an unusable value.
    """
    nullable_by_column = {"item_id": False, "label": True}
    if source.endswith(".parquet"):
        labels = read_columns(source, LABELS, nullable_by_column)
        has_sample_column = "sample" in pl.read_parquet_schema(source)
    else:
        table = read_label_file(Path(source), _LABEL_COLUMNS)
        labels = convert_columns(table, source, LABELS, nullable_by_column)
        has_sample_column = "sample" in table.columns
    is_unknown = has_unknown_sample(responses)
    if has_sample_column:
        refuse_rows(labels, source, {"sample": (is_unknown, "must belong to a response of the model")})
    # Without the column, rows are numbered by their order, so too many rows are reported by the item.
    refuse_rows(labels, source, {"item_id": (is_unknown, "must not occur more often than it has responses")})
    labels, n_unused = select_items(labels, responses["item_id"], source)
    frame = responses.select(SAMPLE).join(
        add_missing_columns(labels, LABELS), on=SAMPLE, how="left", maintain_order="left"
    )
    n_missing = frame.select(SAMPLE).join(labels, on=SAMPLE, how="anti").height
    if n_missing:
        log.warning("%s: has no row for %d of %d responses", source, n_missing, len(frame))
    reason = pl.when(pl.col("label").is_null()).then(pl.col("reason").fill_null("no label in the file"))
    counts = {"missing_rows": n_missing, "unused_rows": n_unused}
    return frame.with_columns(reason=reason).select(LABELS.schema.names()), counts


def import_pass(responses: pl.DataFrame, source: str, requery: EnginePass) -> tuple[pl.DataFrame, int]:
    """The rows of a pass (a model's second run, over its responses) from a file, and the number of skipped rows.

    `responses` has the columns RESPONSE, `requery` declares the pass. The rows are a frame of its contract, in the
    order of the responses; a response may have no row. Rows for items without a response are skipped. Raises InputError
    for an unusable value.
    """
    contract = requery.contract
    nullable_by_column = {}
    for column in contract.columns:
        # The model and the benchmark come from the study; a file of an earlier version lacks columns `added` since.
        is_set_by_study = column.name in RESPONSE and column.name not in SAMPLE
        if not column.added and not is_set_by_study:
            nullable_by_column[column.name] = column.nullable
    table = read_columns(source, contract, nullable_by_column)
    refuse_rows(table, source, {"sample": (has_unknown_sample(responses), "must belong to a response of the model")})
    refuse_rows(table, source, dict(_check_numbers(contract)))
    for column in contract.columns:
        if isinstance(column.dtype, pl.List):
            refuse_rows(table, source, {column.name: (has_null(column.name), "must not contain null")})
    refuse_rows(table, source, dict(_check_lengths(requery)))
    table, n_unused = select_items(table, responses["item_id"], source)
    rows = add_missing_columns(table, contract).drop("model", "benchmark")
    frame = responses.join(rows, on=SAMPLE, how="inner", maintain_order="left_right")
    return frame.select(contract.schema.names()), n_unused


def _check_numbers(contract: Contract) -> Iterator[tuple[str, tuple[pl.Expr, str]]]:
    """Yield each column of numbers with an expression that is true for impossible values, and the rule they break."""
    for column in contract.columns:
        if column.unit in _LIMITS and _has_floats(column.dtype):
            low, high = _LIMITS[column.unit]
            wrong = _is_outside(pl.col(column.name), column.dtype, low - ROUNDING, high + ROUNDING)
            yield column.name, (wrong, f"must be finite and from {low:g} to {high:g} ({column.unit})")


def _has_floats(dtype: Dtype | DataTypeClass) -> bool:
    return _has_floats(dtype.inner) if isinstance(dtype, pl.List) else dtype.is_float()


def _is_outside(values: pl.Expr, dtype: Dtype | DataTypeClass, low: float, high: float) -> pl.Expr:
    """Whether a row has a number that is not finite or is outside the limits, also in nested lists."""
    if isinstance(dtype, pl.List):
        return values.list.eval(_is_outside(pl.element(), dtype.inner, low, high)).list.any()
    return ~(values.is_finite() & values.is_between(low, high))


def _check_lengths(requery: EnginePass) -> Iterator[tuple[str, tuple[pl.Expr, str]]]:
    """Yield the pass's columns whose lists must be as long as another's, with an expression and the rule, as above."""
    for first, *names in requery.alike:
        for name in names:
            differs = pl.col(first).list.len().ne_missing(pl.col(name).list.len())
            yield name, (differs, f"must have an entry for each of {first}")
