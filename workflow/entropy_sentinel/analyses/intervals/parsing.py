"""What interval, or which integer, a response states: strict, for what is guessed here would be scored as stated.

An interval is what the **last JSON object** of a whole response says. An object begins at a brace from which JSON can
be read (RFC 8259, so no NaN, no 1,000, no 03, no comments) and that is inside no object before it; other braces are
prose. What stands around objects, fences among it, does not matter. The object has the keys L and U, each once, and no
other; both are integers as JSON writes them (3 and -3, not 3.0, 1e3, "3" or true), of at most 18 digits; and L is at
most U. Nothing else counts: no earlier object, no number in the text.

An integer alone is a response that is nothing but such an integer, space around it aside.

A response that was refused or cut off says nothing, even where an object stands in it: it has not come to its last.
"""

import json
import re
from typing import Any, NamedTuple

from entropy_sentinel.frames.generation import REFUSED

# JSON's integers. What has more digits fits no column, and is no power of ten that was meant.
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")


class Stated(NamedTuple):
    """The ends of an interval, powers of ten; or null, and a reason of the catalogue's REASONS."""

    lower: int | None
    upper: int | None
    reason: str | None


class Integer(NamedTuple):
    """A power of ten; or null, and the reason."""

    value: int | None
    reason: str | None


def stated_interval(text: str, finish_reason: str, farthest: int | None = None) -> Stated:
    """The interval that a response states; with `farthest` none of whose ends is farther from 0."""
    if reason := _not_whole(finish_reason):
        return Stated(None, None, reason)
    pairs = _last_object(text)
    if pairs is None:
        return Stated(None, None, "no_json")
    if sorted(key for key, _ in pairs) != ["L", "U"]:
        return Stated(None, None, "keys")
    found = dict(pairs)
    lower, upper = found["L"], found["U"]
    # A switch is an int for Python.
    if type(lower) is not int or type(upper) is not int:
        return Stated(None, None, "no_integers")
    if lower > upper:
        return Stated(None, None, "reversed")
    if farthest is not None and max(-lower, upper) > farthest:
        return Stated(None, None, "too_far")
    return Stated(lower, upper, None)


def integer_alone(text: str, finish_reason: str, farthest: int | None = None) -> Integer:
    """The integer that a response is; with `farthest` one that is no farther from 0."""
    if reason := _not_whole(finish_reason):
        return Integer(None, reason)
    found = _INTEGER.fullmatch(text.strip())
    if not found:
        return Integer(None, "no_integer")
    value = int(found[0])
    return Integer(None, "too_far") if farthest is not None and abs(value) > farthest else Integer(value, None)


def _not_whole(finish_reason: str) -> str | None:
    if finish_reason.startswith(REFUSED):
        return "refused"
    return None if finish_reason == "stop" else "cut_off"


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of an object, those that are there twice too."""


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _integer(digits: str) -> int | None:
    return int(digits) if _INTEGER.fullmatch(digits) else None


_DECODER = json.JSONDecoder(object_pairs_hook=_Pairs, parse_int=_integer, parse_constant=_no_constant)


def _last_object(text: str) -> _Pairs | None:
    """The last JSON object of a text that is inside no other one; None without any."""
    found, place = None, text.find("{")
    while place >= 0:
        try:
            found, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            end = place + 1
        place = text.find("{", end)
    return found
