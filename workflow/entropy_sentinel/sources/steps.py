"""Steps of a trace that no model can have taken."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from entropy_sentinel.features.compute import ROUNDING, ZERO_PROBABILITY
from entropy_sentinel.frames.generation import TOP_K

# Traces are looked at by this many responses at a time: as arrays they take several times their memory.
RESPONSES_AT_A_TIME = 1000


class ImpossibleStep(NamedTuple):
    """Row and step, both from 0, and which column must be what there."""

    row: int
    step: int
    column: str
    must: str
    was: Any


def of_one_width(top: pl.Series) -> pl.Series | ImpossibleStep:
    """The lists `top`, one per response and in it one per step, as arrays of one width: as most steps have entries.

    The first step that has another number of entries, where there is one. Any width will do: it is the k of the traces.
    """
    steps = top.explode(empty_as_null=False, keep_nulls=False)
    lengths = steps.arr.to_list().list.len() if isinstance(steps.dtype, pl.Array) else steps.list.len()
    counts = lengths.drop_nulls().value_counts(sort=True, name="n").filter(pl.col(top.name) > 0)
    width = counts.row(0)[0] if len(counts) else TOP_K
    wrong = (lengths != width).arg_true()
    if not len(wrong):
        return top.cast(pl.List(pl.Array(pl.Float32, width)))
    ends = top.list.len().fill_null(0).to_numpy().cumsum()
    row = int(np.searchsorted(ends, wrong[0], side="right"))
    step = wrong[0] - (int(ends[row - 1]) if row else 0)
    must = f"must have as many entries as most other steps, {width}, has {lengths[wrong[0]]}"
    return ImpossibleStep(row, step, top.name, must, steps[wrong[0]].to_list())


def impossible_step(traces: pl.DataFrame) -> ImpossibleStep | None:
    """The first impossible step of `traces`, which has the columns token_logprobs and top_logprobs of GENERATIONS.

    A NaN is none: there an engine has failed, and the features are null with that reason.
    """
    for number, part in enumerate(traces.iter_slices(RESPONSES_AT_A_TIME)):
        ends = part["token_logprobs"].list.len().to_numpy().cumsum()
        top = part["top_logprobs"].explode(empty_as_null=False, keep_nulls=False)
        sampled = part["token_logprobs"].explode(empty_as_null=False, keep_nulls=False)
        for column, must, wrong in _checks(top, sampled.to_numpy()):
            if wrong.any():
                at = int(wrong.argmax())
                row = int(np.searchsorted(ends, at, side="right"))
                start = int(ends[row - 1]) if row else 0
                was = {"token_logprobs": sampled[at], "top_logprobs": None if top[at] is None else top[at].to_list()}
                return ImpossibleStep(number * RESPONSES_AT_A_TIME + row, at - start, column, must, was[column])
    return None


def _checks(top: pl.Series, sampled: np.ndarray) -> Iterator[tuple[str, str, np.ndarray]]:
    """Column, what it must be, and at which steps it is not: of `top` (n_steps, k) and `sampled` (n_steps,), nats."""
    nulls = top.arr.eval(pl.element().is_null(), as_list=True).list.any().fill_null(True).to_numpy()
    values = top.to_numpy()
    rising = (values[:, 1:] > values[:, :-1]).any(axis=1)
    largest = f"must have the {values.shape[1]} largest log-probabilities of every step, largest first and none null"
    yield "top_logprobs", largest, nulls | rising
    yield "top_logprobs", "must have a token of probability above 0", values[:, 0] <= ZERO_PROBABILITY
    with np.errstate(over="ignore"):  # of raw logits
        total = np.exp(values).sum(axis=1)
    yield "top_logprobs", "must be logarithms of probabilities that add up to 1 at most", total > 1 + ROUNDING
    above = sampled > values[:, 0] + ROUNDING
    yield "token_logprobs", "must be at most the largest of the step's top_logprobs", above
