"""A benchmark and what a model has answered to it, as files, for families of signals that compare answers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.generation_schema import GENERATIONS, TOP_K

_RARE = -30.0


class Said(NamedTuple):
    """One response: the texts of its tokens, those after the answer with it, and their log-probabilities."""

    item: str
    tokens: Sequence[str]
    logprobs: Sequence[float]
    text: str | None = None
    finish_reason: str = "stop"
    without: tuple[str, ...] = ()


def write_answered(
    folder: Path, questions: Mapping[str, str], message: Sequence[Said], answers: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """The files `benchmark` and `generations`; `answers` are the right ones of an item, where it has any."""
    items = {
        "item_id": list(questions),
        "question": list(questions.values()),
        "reference": [None] * len(questions),
        "duplicate_of": list(questions),
        "answers": [(answers or {}).get(item) for item in questions],
    }
    files = {name: str(folder / f"{name}.parquet") for name in ("benchmark", "generations")}
    BENCHMARKS.write(BENCHMARKS.frame(items), files["benchmark"], {})
    seen: dict[str, int] = {}
    rows: dict[str, list[Any]] = {name: [] for name in GENERATIONS.schema}
    for one in message:
        number = seen[one.item] = seen.get(one.item, -1) + 1
        text = "".join(one.tokens) if one.text is None else one.text
        row = {
            **{"item_id": one.item, "sample": number, "seed": number, "run": 0, "prompt_hash": "0" * 16},
            **{"prompt_tokens": 1, "n_tokens": len(one.tokens), "finish_reason": one.finish_reason, "text": text},
            **{"trace_start": 0, "tokens": list(one.tokens), "token_ids": None, "token_logprobs": list(one.logprobs)},
            **{"top_logprobs": [_step(logprob) for logprob in one.logprobs], "top_token_ids": None},
            "displaced_steps": 0,
        } | dict.fromkeys(one.without)
        for name, column in rows.items():
            column.append(row.get(name))
    GENERATIONS.write(GENERATIONS.frame(rows), files["generations"], {"model": "m", "benchmark": "b"})
    return files


def _step(logprob: float) -> list[float]:
    """The most likely tokens of a step: the sampled one, and others that are all but impossible."""
    return [max(logprob, _RARE), *[_RARE] * (TOP_K - 1)]
