"""Stage `beliefs`: a model's probability of each integer, for every question.

There are three methods, if their data exist: `whole` integers from the pass of the family `integers`; `first_token`, as
in the paper, from the same pass or from the texts of the likely tokens in traces; and the `sampled` integers, each with
the probability of its response.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.schemas.generation_schema import scan_traces
from papers.intervals.interval_frames import BELIEFS, INTEGER_ANSWERS
from papers.intervals.signal_families.integers.integers_frames import INTEGERS

_INTEGER = re.compile(r"\s*(-?(?:0|[1-9][0-9]*))\s*")
_ITEM = ("benchmark", "item_id")
Rows = Iterator[dict[str, Any]]


def write_beliefs(
    integers: Sequence[str],
    generations: Sequence[str],
    passes: Sequence[str],
    models: Mapping[str, str],
    farthest: int | None,
    output: str,
) -> None:
    """Write a file BELIEFS: each variant's probabilities of integers, for variants that have any.

    A variant is a model of the config; several ask the same weights in different ways. `models` are the names that are
    shown, by variant. `integers`, `generations` and `passes` are files INTEGER_ANSWERS, GENERATIONS and INTEGERS.
    Integers farther from 0 than `farthest` count as missing: they cannot be powers of ten.
    """
    rows: list[dict[str, Any]] = []
    for path in passes:
        rows += convert_pass(INTEGERS.read(path))
    for path in integers:
        rows += convert_samples(INTEGER_ANSWERS.read(path))
    if not passes:  # then the likely tokens in traces give the method `first_token`
        for path in generations:
            rows += convert_first_steps(_read_first_steps(path))
    plausible_rows = [_drop_far_integers(row, farthest) | {"model": models[row["model"]]} for row in rows]
    BELIEFS.write(BELIEFS.frame(plausible_rows), output, {"models": dict(models)})


def _drop_far_integers(row: dict[str, Any], farthest: int | None) -> dict[str, Any]:
    """A row of BELIEFS without integers farther from 0 than `farthest`, whose probability is added to `missing`."""
    values, probabilities = [], []
    for value, p in zip(row["values"], row["probabilities"], strict=True):
        if farthest is None or abs(value) <= farthest:
            values.append(value)
            probabilities.append(p)
    return row | {"values": values, "probabilities": probabilities, "missing": _compute_missing(probabilities)}


def convert_pass(replies: pl.DataFrame) -> Rows:
    """Yield rows of BELIEFS from a frame INTEGERS, in which only first responses have distributions."""
    for row in replies.drop_nulls("values").iter_rows(named=True):
        yield _make_row(row, "whole", row["values"], row["logprobs"])
        yield _make_row(row, "first_token", row["first_values"], row["first_logprobs"])


def convert_samples(answers: pl.DataFrame) -> Rows:
    """Yield rows of BELIEFS from a frame INTEGER_ANSWERS: an integer has the probability of its likeliest text."""
    readable_answers = answers.drop_nulls(["value", "probability"])
    likeliest_texts = readable_answers.group_by("model", *_ITEM, "value", maintain_order=True).agg(
        pl.col("probability").max()
    )
    for _, item_answers in likeliest_texts.group_by("model", *_ITEM, maintain_order=True):
        row = item_answers.row(0, named=True)
        yield _make_row(row, "sampled", item_answers["value"].to_list(), item_answers["probability"].log().to_list())


def convert_first_steps(first_steps: pl.DataFrame) -> Rows:
    """Yield rows of BELIEFS from items' first steps: `tokens`, the texts of the likely tokens, and their `logprobs`."""
    for row in first_steps.iter_rows(named=True):
        values, logprobs = [], []
        for token, logprob in zip(row["tokens"], row["logprobs"], strict=True):
            if match := _INTEGER.fullmatch(token):
                values.append(int(match[1]))
                logprobs.append(logprob)
        yield _make_row(row, "first_token", values, logprobs)


def _read_first_steps(path: str) -> pl.DataFrame:
    """The likely tokens of the first step of each item's first response: model, benchmark, item_id, tokens, logprobs.

    Only of responses whose file has the texts of the likely tokens.
    """
    lazy = scan_traces(path).filter(pl.col("sample") == 0, pl.col("top_tokens").list.len() > 0)
    tokens = pl.col("top_tokens").list.first().arr.to_list()
    logprobs = pl.col("top_logprobs").list.first().arr.to_list()
    return lazy.select("model", *_ITEM, tokens=tokens, logprobs=logprobs).collect()


def _make_row(
    identity: Mapping[str, Any], basis: str, values: Sequence[int], logprobs: Sequence[float]
) -> dict[str, Any]:
    """A row of BELIEFS with the summed probabilities of equal values, such as `3` and ` 3`.

    `identity` has model, benchmark and item_id, `basis` is the source of the probabilities, a key of BASES.
    """
    distinct, inverse = np.unique(np.asarray(values, dtype=np.int64), return_inverse=True)
    probabilities = np.bincount(inverse, np.exp(logprobs), len(distinct))
    return {
        **{name: identity[name] for name in ("model", *_ITEM)},
        "basis": basis,
        "values": distinct.tolist(),
        "probabilities": probabilities.tolist(),
        "missing": _compute_missing(probabilities.tolist()),
    }


def _compute_missing(probabilities: Sequence[float]) -> float:
    """The probability of all other outputs: 1 minus the sum, clipped at 0 because rounding may make it negative."""
    return max(0.0, 1.0 - sum(probabilities))
