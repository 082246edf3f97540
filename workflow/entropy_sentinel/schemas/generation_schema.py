"""Stage `generations`: responses and their log-probability traces, `generations/{model}/{benchmark}.parquet`."""

from pathlib import Path

import polars as pl

from entropy_sentinel.core.errors import ContractError
from entropy_sentinel.schemas.contract import Column, Contract, read_provenance
from entropy_sentinel.schemas.response_schema import ITEM_COLUMN, SAMPLE

# Raise it by hand when the stage would write other traces. It is among the tracked settings of every generate job, and
# replaces a hash of its code, because a refactoring must not cost GPU time.
GENERATION_VERSION = 1

# The number of most likely tokens per step whose log-probabilities are kept: the maximum of commercial APIs. Imported
# traces may have another number, given in their provenance (`top_k_returned`).
TOP_K = 20

# The `logprobs_mode` of a trace file without log-probabilities, whose `top_k_returned` is 0.
NO_LOGPROBS = "none"

# Facts of a trace file that must be equal in fitting and in applying an estimator.
LOGPROBS = ("logprobs_mode", "top_k_returned")

# A further column of traces from a log: why a response cannot have features; null if it can.
UNUSABLE = "unusable"

# Synonyms of `stop`. Any other finish reason means that the response is incomplete.
# A call of a tool ends an answer too: an agent's answers are not cut off.
OTHER_STOPS = (
    *("STOP", "COMPLETE", "end_turn", "eos", "eos_token", "stop_sequence"),
    *("tool_calls", "tool_call", "tool_use", "function_call"),
)
# The prefix of the finish reason if the engine refused the request, for example because the prompt is too long.
REFUSED = "refused: "

# Whether the engine refused the request.
WAS_REFUSED = pl.col("finish_reason").str.starts_with(REFUSED)
# Whether a response was truncated: it began and ended early, at the token limit or for a provider's other
# reason. Judges, counts and reports all use this definition.
CUT_OFF = (pl.col("finish_reason") != "stop") & ~WAS_REFUSED

GENERATIONS = Contract(
    stage="generations",
    key=SAMPLE,
    columns=(
        ITEM_COLUMN,
        Column("sample", pl.UInt16, "number of the response to this item, from 0"),
        Column("seed", pl.Int64, "seed of this request; -1 if imported traces have none"),
        Column("run", pl.UInt16, "run of the job that generated it: 0, or more after a killed job was resumed"),
        Column(
            "prompt_hash",
            pl.String,
            "first 16 hex digits of the SHA-256 of the rendered prompt's token ids; of the message if it was refused",
        ),
        Column("prompt_tokens", pl.UInt32, "length of the rendered prompt; 0 if it was refused", "tokens"),
        Column(
            "n_tokens",
            pl.UInt32,
            "length T of the response, including the end-of-turn token; without log-probabilities the "
            "server's count, or 0 if it gives none",
            "tokens",
        ),
        Column(
            "finish_reason",
            pl.String,
            "`stop`, `length` if the response was truncated at the token limit, or a provider's other reason "
            "for truncation, such as `content_filter`; `refused: ` and the reason if the engine refused the "
            "request",
        ),
        Column("text", pl.String, "the response"),
        Column("trace_start", pl.UInt32, "first token that the features use, if a file says so", "tokens"),
        Column(
            "tokens",
            pl.List(pl.String),
            "(T,) texts of the sampled tokens; null if unknown, as in files of earlier versions",
            nullable=True,
            added=True,
        ),
        Column("token_ids", pl.List(pl.UInt32), "(T,) sampled tokens; null if the server gives none", nullable=True),
        Column(
            "token_logprobs",
            pl.List(pl.Float32),
            "(T,) log-probability of the sampled token; null if the engine gives none",
            "nats",
            nullable=True,
        ),
        Column(
            "top_logprobs",
            pl.List(pl.Array(pl.Float32, TOP_K)),
            "(T, 20) log-probabilities of the most likely tokens, largest first, sampled or not; null if the "
            "engine gives none",
            "nats",
            nullable=True,
            free_width=True,
        ),
        Column(
            "top_token_ids",
            pl.List(pl.Array(pl.UInt32, TOP_K)),
            "(T, 20) the most likely tokens; null unless generation.keep_top_token_ids is set",
            nullable=True,
            free_width=True,
        ),
        Column(
            "top_tokens",
            pl.List(pl.Array(pl.String, TOP_K)),
            "(T, 20) texts of the most likely tokens; null unless generation.keep_top_tokens is set and the "
            "engine has them",
            nullable=True,
            added=True,
            free_width=True,
        ),
        Column(
            "displaced_steps",
            pl.UInt32,
            "steps at which a server may have replaced the 20th most likely token by the sampled one",
            "tokens",
        ),
    ),
)


def scan_traces(path: str | Path) -> pl.LazyFrame:
    """Open a file GENERATIONS lazily, with model and benchmark from its provenance as columns.

    Raises DamagedFileError, and ContractError for another file, or if its steps have another number of alternatives
    than its provenance states.
    """
    traces = GENERATIONS.scan(path)
    origin = read_provenance(path)
    width = top_k_of(traces.collect_schema())
    promised = origin.get("top_k_returned", TOP_K)
    if promised not in (width, 0):  # 0: the entries are null, because the mode is NO_LOGPROBS
        raise ContractError(f"{path}: a step must have top_k_returned = {promised} entries, has {width}")
    return traces.with_columns(model=pl.lit(origin["model"]), benchmark=pl.lit(origin["benchmark"]))


def top_k_of(schema: pl.Schema) -> int:
    """The number of most likely tokens per step in a frame GENERATIONS, whose `top_logprobs` are lists of arrays."""
    steps = schema["top_logprobs"]
    arrays = steps.inner if isinstance(steps, pl.List) else None
    assert isinstance(arrays, pl.Array), steps  # by the contract
    return arrays.shape[0]
