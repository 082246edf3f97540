"""Files of the stages before this analysis, of made-up models: items, classes of answers, and estimators."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.signal_schema import signal_contract
from entropy_sentinel.signal_families.signal_registry import FAMILIES
from entropy_sentinel.study.semantic_clustering.backend_settings import GroupingSettings

EXACT: GroupingSettings = {
    "backend": "exact",
    "threshold": 0.8,
    "model": None,
    "path": None,
    "revision": None,
    "revisions": "",
    "batch_size": 1,
}
Answers = list[list[str]]


def write_items(path: Path, benchmark: str, items: list[tuple[str, Answers | None, list[float] | None]]) -> str:
    """A file of items: question, answers with their names, counts."""
    rows = [
        dict.fromkeys(BENCHMARKS.schema)
        | {"item_id": f"{benchmark}-{place:05}", "duplicate_of": f"{benchmark}-{place:05}"}
        | {"question": question, "answers": answers, "counts": counts}
        for place, (question, answers, counts) in enumerate(items)
    ]
    BENCHMARKS.write(BENCHMARKS.frame(rows), path, {"benchmark": benchmark})
    return str(path)


def write_family(path: Path, family: str, model: str, benchmark: str, rows: list[dict[str, Any]]) -> str:
    """A file of signals; a row has place (of the item), sample, and what the family's file has."""
    whose = {"model": model, "benchmark": benchmark}
    frame = pl.DataFrame(
        [whose | {"item_id": f"{benchmark}-{row.pop('place'):05}"} | row for row in map(dict, rows)],
        infer_schema_length=None,
    )
    contract = signal_contract(FAMILIES[family])
    lacking = [
        pl.lit(None, pl.Float64).alias(signal.name)
        for signal in FAMILIES[family].signals
        if signal.name not in frame.columns
    ]
    known = {name: dtype for name, dtype in contract.schema.items() if name in frame.columns}
    contract.write(frame.cast(known).with_columns(lacking), path, whose | {"family": family})
    return str(path)


def semantics(places: list[list[tuple[str, int, float]]]) -> list[dict[str, Any]]:
    """Rows of `semantics`: of each item its samples as (answer, class, probability of the response)."""
    rows = []
    for place, samples in enumerate(places):
        total = sum(one for _, _, one in samples)
        mass = {number: sum(p for _, n, p in samples if n == number) / total for _, number, _ in samples}
        entropy = -sum(share * np.log(share) for share in mass.values())
        rows += [
            {
                **{"place": place, "sample": sample, "semantic_entropy": entropy, "answer_classes": len(mass)},
                **{"answer": text, "answer_class": number, "probability": p, "class_probability": mass[number]},
                "semantics_reason": None,
            }
            for sample, (text, number, p) in enumerate(samples)
        ]
    return rows


def of_item(family: str, signal: str, values: list[float | None], n_samples: int, reason: str) -> list[dict[str, Any]]:
    """Rows of a family whose signal is of the item: the same for all its samples."""
    return [
        {"place": place, "sample": sample, signal: value, f"{signal}_reason": None if value is not None else reason}
        for place, value in enumerate(values)
        for sample in range(n_samples)
    ]
