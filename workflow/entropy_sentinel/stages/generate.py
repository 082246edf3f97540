"""Stage `generations`: every item of a benchmark is answered by a model, and the trace of each answer is kept."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import polars as pl

from entropy_sentinel.adapters.vllm_engine import Response, VllmEngine
from entropy_sentinel.contracts.benchmarks import BENCHMARKS
from entropy_sentinel.contracts.generations import GENERATIONS, TOP_K
from entropy_sentinel.contracts.prompts import PROMPTS


class Engine(Protocol):
    """What answers: `provenance` says what it is, `chat` answers user messages in order."""

    provenance: dict[str, Any]

    def chat(self, messages: Sequence[str], seeds: Sequence[int]) -> list[Response]: ...


def write_generations(benchmark: str, settings: Mapping[str, Any], threads: int, output: str) -> None:
    """Answer the items of the file `benchmark` and write the traces to `output`.

    `settings` is `contracts.study.generation_settings`; the engine gets `threads` CPU cores.
    """
    items = BENCHMARKS.read(benchmark)
    engine = VllmEngine(settings, threads)
    frame = generate(items, settings, engine)
    GENERATIONS.write(frame, output, provenance(settings, engine, frame))


def generate(items: pl.DataFrame, settings: Mapping[str, Any], engine: Engine) -> pl.DataFrame:
    """Answer `items` (contract BENCHMARKS), `samples` times each; a frame of contract GENERATIONS."""
    keys = [(row["item_id"], sample) for row in items.iter_rows(named=True) for sample in range(settings["samples"])]
    questions = dict(items.select("item_id", "question").iter_rows())
    prompt = PROMPTS[settings["prompt"]]
    seeds = [request_seed(settings["seed"], settings["model"], item_id, sample) for item_id, sample in keys]
    responses = engine.chat([prompt.render(questions[item_id]) for item_id, _ in keys], seeds)
    return to_frame(keys, seeds, responses)


def request_seed(seed: int, model: str, item_id: str, sample: int) -> int:
    """The seed of one request, a hash in 0 .. 2^63 - 1.

    With the study's seed itself every item would draw the same random stream, and a second sample would repeat the
    first.
    """
    identity = json.dumps([seed, model, item_id, sample]).encode()
    return int.from_bytes(hashlib.sha256(identity).digest()[:8]) >> 1


def to_frame(keys: Sequence[tuple[str, int]], seeds: Sequence[int], responses: Sequence[Response]) -> pl.DataFrame:
    """Responses as a frame of contract GENERATIONS, without a Python object per token."""
    lengths = [len(response.token_ids) for response in responses]
    columns = {
        "item_id": [item_id for item_id, _ in keys],
        "sample": [sample for _, sample in keys],
        "seed": list(seeds),
        "prompt_hash": [response.prompt_hash for response in responses],
        "prompt_tokens": [response.prompt_tokens for response in responses],
        "n_tokens": lengths,
        "finish_reason": [response.finish_reason for response in responses],
        "text": [response.text for response in responses],
        "token_ids": _lists([response.token_ids for response in responses], pl.UInt32),
        "token_logprobs": _lists([response.token_logprobs for response in responses], pl.Float32),
        "top_logprobs": _lists([response.top_logprobs for response in responses], pl.Array(pl.Float32, TOP_K)),
    }
    return GENERATIONS.frame(columns)


def _lists(arrays: Sequence[np.ndarray], dtype: pl.DataType | type[pl.DataType]) -> pl.Series:
    """One list per array; an array of no rows becomes an empty list, not null."""
    flat = pl.DataFrame(
        {
            "row": np.repeat(np.arange(len(arrays)), [len(array) for array in arrays]),
            "value": pl.Series(np.concatenate(arrays), dtype=dtype),
        }
    )
    lists = flat.group_by("row", maintain_order=True).agg("value")
    rows = pl.DataFrame({"row": np.arange(len(arrays))}).join(lists, on="row", how="left", maintain_order="left")
    return rows["value"].fill_null(pl.Series([[]], dtype=pl.List(dtype)).first())


def provenance(settings: Mapping[str, Any], engine: Engine, frame: pl.DataFrame) -> dict[str, Any]:
    """What a trace file says about its origin."""
    prompts = hashlib.sha256("".join(frame["prompt_hash"]).encode()).hexdigest()[:16]
    return {**settings, **engine.provenance, "top_k_returned": TOP_K, "prompts_hash": prompts}
