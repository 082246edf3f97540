"""Stage `labels`: a judge says of every response whether it is correct."""

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.frames.benchmark import BENCHMARKS
from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.frames.files import whole_file
from entropy_sentinel.frames.generation import GENERATIONS
from entropy_sentinel.frames.label import LABELS
from entropy_sentinel.judges.judge import Case, Judge, Verdict
from entropy_sentinel.judges.settings import KINDS
from entropy_sentinel.sources.made_elsewhere import import_labels


def write_labels(
    benchmark: str, generations: str, settings: Mapping[str, Any], output: str, source: str | None = None
) -> None:
    """Label the responses in the file `generations` by the judge of `config.study.judge_settings`.

    `source` is the file that holds the labels of a judge of kind `file`, which are checked and taken over, whether
    there is a reference or not. No other judge is asked where there is none: the label is null.
    """
    origin = read_provenance(generations)
    whose = {name: origin[name] for name in ("model", "benchmark") if name in origin}
    if settings["kind"] == "file":
        responses = GENERATIONS.read(generations, ["item_id", "sample"])
        frame, unused = import_labels(responses, source)
        LABELS.write(frame, output, {**settings, **whose, "source": source, "unused_rows": unused})
        return
    items = BENCHMARKS.read(benchmark)
    responses = GENERATIONS.read(generations, ["item_id", "sample", "text", "finish_reason"])
    referenced = responses.join(items.drop_nulls("reference"), on="item_id", how="semi")
    judge = None if referenced.is_empty() else make_judge(settings)
    frame, exchanges = label(items, responses, judge, whose)
    write_exchanges(exchanges, output)
    LABELS.write(frame, output, {**settings, **whose, "judge_version": judge and judge.version})


def write_exchanges(exchanges: list[dict[str, Any]], output: str) -> None:
    """Keep what was said to a judge and replied where no label could be read, a line each, beside its labels."""
    path = Path(output).with_suffix(".unreadable.jsonl")
    path.unlink(missing_ok=True)
    if exchanges:
        with whole_file(path) as partial:
            partial.write_text("".join(json.dumps(exchange) + "\n" for exchange in exchanges))


def make_judge(settings: Mapping[str, Any]) -> Judge:
    """The judge that the settings name; the config has checked that its kind is known."""
    return import_module(KINDS[settings["kind"]].MODULE).make(settings)


def label(
    items: pl.DataFrame, responses: pl.DataFrame, judge: Judge | None, whose: Mapping[str, str] | None = None
) -> tuple[pl.DataFrame, list[dict[str, Any]]]:
    """Verdicts on `responses` (item_id, sample, text, finish_reason) to `items`; a frame of contract LABELS.

    With it come the exchanges with the judge that gave no label, each with its item_id and sample. The judge is asked
    about responses to items with a reference. Without any, it may be None. `whose` is their model and benchmark.
    """
    joined = responses.join(items, on="item_id", how="left", maintain_order="left")
    asked = joined["reference"].is_not_null()
    cases = [
        Case(row["question"], row["text"], row["reference"], truncated=row["finish_reason"] != "stop", **(whose or {}))
        for row in joined.filter(asked).iter_rows(named=True)
    ]
    verdicts = [Verdict(None, reason="no reference")] * len(joined)
    for position, verdict in zip(asked.arg_true(), judge.judge(cases) if judge else [], strict=True):
        verdicts[position] = verdict
    frame = LABELS.frame(
        {
            "item_id": joined["item_id"],
            "sample": joined["sample"],
            "label": [verdict.label for verdict in verdicts],
            "reason": [verdict.reason for verdict in verdicts],
            "answer": [verdict.answer for verdict in verdicts],
        }
    )
    exchanges = [
        {"item_id": item_id, "sample": sample, "reason": verdict.reason, **verdict.exchange}
        for (item_id, sample), verdict in zip(joined.select("item_id", "sample").rows(), verdicts, strict=True)
        if verdict.exchange
    ]
    return frame, exchanges
