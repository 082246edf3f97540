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
from collections.abc import Mapping
from typing import NamedTuple

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
    ends = dict(pairs)
    if not (_INTEGER.fullmatch(ends["L"]) and _INTEGER.fullmatch(ends["U"])):
        return Stated(None, None, "no_integers")
    lower, upper = int(ends["L"]), int(ends["U"])
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


# A member of an object or array: its value's text, empty for objects and arrays; in an object, after its key's text.
_Member = tuple[str, str]
_SPACE = r"[ \t\n\r]*"
_STRING = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
_KEY = re.compile(rf"{_SPACE}({_STRING}){_SPACE}:{_SPACE}")
_NO_KEY = re.compile(f"({_SPACE})")
_PLAIN = re.compile(rf"{_STRING}|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null")
_NEXT = re.compile(rf"{_SPACE}([,}}\]])")
_EMPTY = re.compile(rf"\{{{_SPACE}\}}|\[{_SPACE}\]")


def _last_object(text: str) -> list[_Member] | None:
    """The members of the last JSON object of a text that is inside no other one; None without any.

    Objects and arrays are read from the last to the first, so that those within one are known by then: a text of n
    characters takes n steps, whatever is nested in it and not closed.
    """
    ends: dict[int, int] = {}
    for start in reversed([bracket.start() for bracket in re.finditer(r"[{\[]", text)]):
        if read := _read(text, start, ends):
            ends[start] = read[0]
    last, place = None, text.find("{")
    while place >= 0:
        last = place if place in ends else last
        place = text.find("{", ends.get(place, place + 1))
    read = None if last is None else _read(text, last, ends)
    return None if read is None else [(json.loads(key), value) for key, value in read[1]]


def _read(text: str, start: int, ends: Mapping[int, int]) -> tuple[int, list[_Member]] | None:
    """The end of the object or array that begins at `start`, and its members; None where none is there.

    `ends` has the ends of all that begin later.
    """
    if empty := _EMPTY.match(text, start):
        return empty.end(), []
    before, close = (_KEY, "}") if text[start] == "{" else (_NO_KEY, "]")
    members, place = list[_Member](), start + 1
    while key := before.match(text, place):
        plain = _PLAIN.match(text, key.end())
        end = plain.end() if plain else ends.get(key.end())
        after = None if end is None else _NEXT.match(text, end)
        if after is None:
            return None
        members.append((key[1], plain[0] if plain else ""))
        place = after.end()
        if after[1] != ",":
            return (place, members) if after[1] == close else None
    return None
