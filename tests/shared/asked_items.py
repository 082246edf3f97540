"""Items with several responses each, as files, for passes by an engine that needs no model (fake_engine.py)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fake_engine import prompt_hash

from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.generation_schema import GENERATIONS

MODEL = "tiny"


def write_items(folder: Path, responses: Mapping[str, Sequence[str]], **columns: list[Any]) -> tuple[str, str]:
    """The files of items and of traces: `responses` by question; a token is a character, and 0 ends a response.

    A question is its own prompt. `columns` are those of traces that differ.
    """
    benchmark, generations = str(folder / "items.parquet"), str(folder / "traces.parquet")
    ids = [f"a-{number:03d}" for number in range(len(responses))]
    items = {"item_id": ids, "question": list(responses), "reference": [None] * len(ids), "duplicate_of": ids}
    BENCHMARKS.write(BENCHMARKS.frame(items), benchmark, {})
    given = [
        (item, sample, question, text)
        for item, (question, texts) in zip(ids, responses.items(), strict=True)
        for sample, text in enumerate(texts)
    ]
    write_traces(generations, given, **columns)
    return benchmark, generations


def write_traces(path: str, given: Sequence[tuple[str, int, str, str]], **columns: list[Any]) -> None:
    """A file of traces: `given` has item, sample, prompt and text of each response; `columns` are those that differ."""
    tokens = [[*map(ord, text), 0] for *_, text in given]
    n = len(given)
    rows = {
        "item_id": [item for item, *_ in given],
        "sample": [sample for _, sample, *_ in given],
        "seed": [0] * n,
        "run": [0] * n,
        "prompt_hash": [prompt_hash([*map(ord, prompt)]) for _, _, prompt, _ in given],
        "prompt_tokens": [len(prompt) for _, _, prompt, _ in given],
        "n_tokens": [len(token) for token in tokens],
        "finish_reason": ["stop"] * n,
        "text": [text for *_, text in given],
        "trace_start": [0] * n,
        "tokens": [None] * n,
        "token_ids": tokens,
        "token_logprobs": [[-0.1] * len(token) for token in tokens],
        "top_logprobs": [[[-0.1] * 20] * len(token) for token in tokens],
        "top_token_ids": [None] * n,
        "displaced_steps": [0] * n,
    }
    GENERATIONS.write(GENERATIONS.frame(rows | columns), path, {"model": MODEL, "benchmark": "a"})


def pass_settings(family: str, section: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """The settings of a pass over such items."""
    asked_with = {"engine": "vllm", "local": True, "model": MODEL, "engine_args": {}, "sampling": {"max_tokens": 3}}
    message = {"messages": [{"role": "user", "content": "{question}"}]}
    return {
        "family": family,
        "version": 1,
        "asked_with": {**asked_with, **message, **changes},
        "settings": dict(section),
    }
