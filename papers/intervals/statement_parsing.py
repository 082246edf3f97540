"""Stages `stated` and `integers`: read the interval, or the integer, that a response states.

The reading is strict: a guess here would be scored as if the model had stated it.

An interval is in the **last JSON object** of a complete response. An object begins at a brace from which JSON can be
read (RFC 8259, so no NaN, no 1,000, no 03, no comments), outside earlier objects; other braces are prose. Text around
objects, including fences, does not matter. The object has exactly the keys L and U, each once. Both are JSON integers
(3 and -3, not 3.0, 1e3, "3" or true) of at most 18 digits, and L is at most U. Nothing else counts: no earlier object,
no number in the text.

An integer is read only if the response consists of such an integer, with or without space around it.

A refused or truncated response states nothing, even if it contains an object: its last object may be missing.
"""

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import polars as pl

from entropy_sentinel.schemas.contract import Contract
from entropy_sentinel.schemas.generation_schema import REFUSED, scan_traces
from entropy_sentinel.schemas.response_schema import RESPONSE
from papers.intervals.interval_frames import INTEGER_ANSWERS, STATED_INTERVALS

# JSON's integers. A number with more digits does not fit a column, and is not meant as a power of ten.
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")


class StatedInterval(NamedTuple):
    """The limits of an interval, powers of ten; or null, and a reason from the catalogue's REASONS."""

    lower: int | None
    upper: int | None
    reason: str | None


class StatedInteger(NamedTuple):
    """A power of ten; or null, and a reason from the catalogue's REASONS."""

    value: int | None
    reason: str | None


def parse_interval(text: str, finish_reason: str, farthest: int | None = None) -> StatedInterval:
    """Read the interval that a response states; with `farthest`, neither end may be farther from 0.

    `finish_reason` is as in GENERATIONS: only a complete response states an interval.
    """
    if reason := _explain_incomplete(finish_reason):
        return StatedInterval(None, None, reason)
    pairs = _find_last_object(text)
    if pairs is None:
        return StatedInterval(None, None, "no_json")
    if sorted(key for key, _ in pairs) != ["L", "U"]:
        return StatedInterval(None, None, "keys")
    ends = dict(pairs)
    lower, upper = ends["L"], ends["U"]
    if type(lower) is not int or type(upper) is not int:  # `true` is a bool
        return StatedInterval(None, None, "no_integers")
    if lower > upper:
        return StatedInterval(None, None, "reversed")
    if farthest is not None and max(-lower, upper) > farthest:
        return StatedInterval(None, None, "too_far")
    return StatedInterval(lower, upper, None)


def parse_integer(text: str, finish_reason: str, farthest: int | None = None) -> StatedInteger:
    """Read a response that is only an integer; with `farthest`, it may not be farther from 0."""
    if reason := _explain_incomplete(finish_reason):
        return StatedInteger(None, reason)
    match = _INTEGER.fullmatch(text.strip())
    if not match:
        return StatedInteger(None, "no_integer")
    value = int(match[0])
    if farthest is not None and abs(value) > farthest:
        return StatedInteger(None, "too_far")
    return StatedInteger(value, None)


def _explain_incomplete(finish_reason: str) -> str | None:
    """The key of REASONS for a response that is refused or truncated; None for a complete one."""
    if finish_reason.startswith(REFUSED):
        return "refused"
    return None if finish_reason == "stop" else "cut_off"


def _reject_constant(name: str) -> None:
    """Refuse NaN and infinities, which Python's parser would accept."""
    raise ValueError(f"{name} is not JSON")


# An object is a list of its members; invalid integers are None.
_DECODER = json.JSONDecoder(
    object_pairs_hook=list,
    parse_int=lambda digits: int(digits) if _INTEGER.fullmatch(digits) else None,
    parse_float=lambda digits: None,
    parse_constant=_reject_constant,
)


def _find_last_object(text: str) -> list[tuple[str, Any]] | None:
    """The (key, value) pairs of the last JSON object in a text, of those that are not inside another; None without any.

    None also if objects are nested hundreds deep.
    """
    last = None
    start = text.find("{")
    while start >= 0:
        try:
            last, end = _DECODER.raw_decode(text, start)
        except RecursionError:
            return None
        except ValueError:  # a brace of prose
            end = start + 1
        start = text.find("{", end)
    return last


def write_stated(generations: Sequence[str], level: float, farthest: int | None, output: str) -> None:
    """Write a file STATED_INTERVALS: what a variant (model of the config) states at this level, on both benchmarks.

    `generations` are its files GENERATIONS; an interval with an end farther from 0 than `farthest` is not used.
    """
    _write_readings(generations, {"level": level}, partial(parse_interval, farthest=farthest), STATED_INTERVALS, output)


def write_integers(generations: Sequence[str], temperature: float, farthest: int | None, output: str) -> None:
    """Write a file INTEGER_ANSWERS: what a variant (model of the config) answers with at this temperature.

    `generations` are its files GENERATIONS; an integer farther from 0 than `farthest` is not used.
    """
    _write_readings(
        generations, {"temperature": temperature}, partial(parse_integer, farthest=farthest), INTEGER_ANSWERS, output
    )


def _write_readings(
    generations: Sequence[str],
    constants: dict[str, float],
    parse: Callable[[str, str], tuple[int | str | None, ...]],
    contract: Contract,
    output: str,
) -> None:
    """Write what `parse` reads in each response, with the probability of the response and the `constants`, by column.

    `parse` reads a text with its finish_reason; it returns the contract's columns lower, upper, value and reason, as
    far as it has them, in this order.
    """
    probability = pl.col("token_logprobs").cast(pl.List(pl.Float64)).list.sum().exp()
    columns = (*RESPONSE, "text", "finish_reason", probability.alias("probability"))
    frame = pl.concat([scan_traces(path).select(columns).collect() for path in generations])
    schema = {name: contract.schema[name] for name in ("lower", "upper", "value", "reason") if name in contract.schema}
    readings = [parse(*row) for row in frame.select("text", "finish_reason").iter_rows()]
    columns_read = pl.DataFrame(readings, schema, orient="row")
    constant_columns = [pl.lit(value).alias(name) for name, value in constants.items()]
    rows = frame.with_columns(*constant_columns, *columns_read)
    contract.write(rows.select(contract.schema.names()), output, constants)
