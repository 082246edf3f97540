"""The log of a deployed model as the files that a study reads: questions, traces and labels by domain."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.generation import UNUSABLE
from entropy_sentinel.sources.logs.reader import QUESTION
from entropy_sentinel.starting.rows import Rows, free_name, name_of
from entropy_sentinel.verbs.labels import read_labels
from entropy_sentinel.verbs.reading import read_logs

_TRACE = ("item_id", "text", "finish_reason", "tokens", "token_logprobs", "top_logprobs")


def split_log(
    log: Sequence[str], by: str, labels: Sequence[str], folder: Path, base: Mapping[str, Any]
) -> tuple[str, dict[str, Rows], set[str]]:
    """Write a log's responses by the values of the column `by`, the domains, to a new `folder`.

    `benchmarks/{domain}.jsonl` has the questions, `traces/{domain}.parquet` the responses,
    `labels/{model}/{domain}.parquet` the labels. Returns the model's name, the rows by domain, and the domains with a
    label. What cannot be used is left out; names that config.yaml, `base`, has are numbered. Raises InputError for a
    log without the column or without questions, and for one of several models.
    """
    frame = read_logs(log, columns=[QUESTION, by])
    shown = ", ".join(log)
    if by not in frame.columns or not frame[by].count():
        raise InputError(f"{shown}: has no column '{by}' to tell domains apart; name another with --by")
    models = frame["model"].drop_nulls().unique().sort().to_list()
    if len(models) != 1:
        raise InputError(f"{shown}: must be of one model, is of {len(models)} ({', '.join(models)})")
    usable = frame.filter(pl.col(UNUSABLE).is_null() & pl.col(by).is_not_null() & pl.col(QUESTION).is_not_null())
    if usable.is_empty():
        raise InputError(f"{shown}: no response has log-probabilities, a value of '{by}' and its question")
    known = read_labels(labels).select("item_id", "label").unique("item_id", keep="last", maintain_order=True)
    model = free_name(name_of(models[0]), base["models"])
    named, labelled = dict[str, Rows](), set[str]()
    for (value,), part in usable.group_by(by, maintain_order=True):
        name = free_name(name_of(str(value)), [*base["benchmarks"], *named])
        part = part.join(known, on="item_id", how="left", maintain_order="left")
        named[name] = _write(part, name, model, folder)
        labelled |= {name} if part["label"].count() else set()
    return model, named, labelled


def _write(part: pl.DataFrame, name: str, model: str, folder: Path) -> Rows:
    """The three files of one domain; its items are numbered as the stage `benchmarks` does."""
    rows = folder / "benchmarks" / f"{name}.jsonl"
    traces, labels = folder / "traces" / f"{name}.parquet", folder / "labels" / model / f"{name}.parquet"
    for path in (rows, traces, labels):
        path.parent.mkdir(parents=True, exist_ok=True)
    asked = part.select(QUESTION, log_id="item_id").iter_rows(named=True)
    rows.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in asked), encoding="utf-8")
    items = part.with_columns(item_id=pl.format("{}-{}", pl.lit(name), pl.int_range(pl.len()).cast(str).str.zfill(5)))
    items.select(_TRACE).write_parquet(traces)
    items.select("item_id", "label").write_parquet(labels)
    return Rows(str(rows), len(part), QUESTION, None, False, None, None)
