"""Stages `stated` and `integers`: what the responses of one variant say, as numbers."""

from collections.abc import Callable, Sequence
from functools import partial

import polars as pl

from entropy_sentinel.analyses.intervals.frames import INTEGER_ANSWERS, STATED
from entropy_sentinel.analyses.intervals.parsing import integer_alone, stated_interval
from entropy_sentinel.frames.contract import Contract
from entropy_sentinel.frames.generation import scan_traces
from entropy_sentinel.frames.response import RESPONSE


def write_stated(generations: Sequence[str], level: float, farthest: int | None, output: str) -> None:
    """Write the intervals that a variant states at this level, of its traces on both benchmarks."""
    _write(generations, {"level": level}, partial(stated_interval, farthest=farthest), STATED, output)


def write_integers(generations: Sequence[str], temperature: float, farthest: int | None, output: str) -> None:
    """Write the integers that a variant answers with at this temperature."""
    _write(
        generations, {"temperature": temperature}, partial(integer_alone, farthest=farthest), INTEGER_ANSWERS, output
    )


def _write(
    generations: Sequence[str],
    about: dict[str, float],
    read: Callable[[str, str], tuple[int | str | None, ...]],
    contract: Contract,
    output: str,
) -> None:
    probability = pl.col("token_logprobs").cast(pl.List(pl.Float64)).list.sum().exp()
    columns = (*RESPONSE, "text", "finish_reason", probability.alias("probability"))
    frame = pl.concat([scan_traces(path).select(columns).collect() for path in generations])
    parsed = [name for name in contract.schema if name in ("lower", "upper", "value", "reason")]
    schema = {name: contract.schema[name] for name in parsed}
    found = [read(*row) for row in frame.select("text", "finish_reason").iter_rows()]
    rows = frame.with_columns(
        *(pl.lit(value).alias(name) for name, value in about.items()), *pl.DataFrame(found, schema, orient="row")
    )
    contract.write(rows.select(contract.schema.names()), output, about)
