r"""Whether two answers are the same: numbers with units, lists and intervals, formulas."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from entropy_sentinel.judges import expressions
from entropy_sentinel.judges.expressions import UnreadableError
from entropy_sentinel.judges.notation import clean, key
from entropy_sentinel.judges.numbers import NUMBER, Number, close, plain_number
from entropy_sentinel.judges.structure import Structure, at_top_level, split
from entropy_sentinel.judges.units import Unit, parse_unit, scales

Tolerance = Mapping[str, Any] | None

# What is called something: `x =`, `f(x) =`, `\text{Area} =`, `\angle A B C =`, `x \in`.
_NAMED = re.compile(
    r"(?P<name>(?=[A-Za-z\\])(?:\\text\{[^{}]*\}|(?!\\approx|\\in(?![A-Za-z]))\\[A-Za-z]++|[A-Za-z0-9_{}'(), ])++)"
    r"(?P<sign>=|:|\\approx|\\in(?![A-Za-z]))\s*(?P<rest>[^=].*)"
)
_ELEMENT_OF = re.compile(r"^[A-Za-z]\s*\\in(?![A-Za-z])\s*")
_INEQUALITY = re.compile(r"\\[lg]eq(?![A-Za-z])|\\neq(?![A-Za-z])|[<>]|\\[lg]t(?![A-Za-z])")
_MONEY = re.compile(rf"(?P<sign>[-+]?)\s*(?P<unit>\\\$|€|£)\s*(?P<number>{NUMBER})(?P<rest>.*)")
_WITH_UNIT = re.compile(rf"(?P<number>{NUMBER})(?P<space>\s*)(?P<unit>\D.*)", re.DOTALL)
_BASE = re.compile(r"(\d+)\s*_\s*\{?\s*(\d+)\s*\}?")
# Where the unit of a formula begins, `3\sqrt{2} \text{ cm}`.
_UNIT_START = re.compile(r"\\text\{|\^\s*\{?\s*\\circ|\\circ|\\%|%|\\mu(?![A-Za-z])|\\Omega|\\AA|€|\\\$")


class Unclear(Exception):
    """The judge cannot say; the message is the reason."""


@dataclass(frozen=True)
class Quantity:
    """A number, with its unit if it names one."""

    number: Number
    unit: Unit | None = None


def same_as_reference(reference: str, answer: str, tolerance: Tolerance) -> bool:
    """Whether `answer` is the `reference`, both as they were written. Raises Unclear where that cannot be said."""
    expected, found = clean(reference), clean(answer)
    if not expected:
        raise Unclear("reference cannot be read")
    if not found:
        raise Unclear("answer cannot be read")
    return _Comparison(tolerance, units_in_letters=not reference.lstrip().startswith(("$", "\\("))).same(
        expected, found, _json_list(reference)
    )


def reference_quantity(reference: str) -> Quantity | None:
    """The number of a reference, with its unit; None if it is no such."""
    letters = not reference.lstrip().startswith(("$", "\\("))
    return quantity(_without_name(clean(reference))[1], letters)


def _json_list(reference: str) -> Structure | None:
    """`[0, 5]` as a list in order; `$[0, 5]$` is an interval."""
    try:
        found = json.loads(reference)
    except (json.JSONDecodeError, RecursionError):
        return None
    return Structure("list", tuple(str(part) for part in found)) if isinstance(found, list) else None


@dataclass(frozen=True)
class _Comparison:
    """Compares cleaned texts. `units_in_letters`: whether `2 m` in the reference is two metres and no product."""

    tolerance: Tolerance
    units_in_letters: bool

    def same(self, reference: str, answer: str, listed: Structure | None = None) -> bool:
        if key(reference) == key(answer):
            return True
        reference = _ELEMENT_OF.sub("", reference)
        structure = listed or split(reference)
        interval = structure is not None and ("(" in structure.held or "[" in structure.held or structure.held == "cup")
        if _INEQUALITY.search(reference) or (interval and _INEQUALITY.search(answer)):
            return self._same_formula(reference, answer)
        if _INEQUALITY.search(answer):
            return False  # it says in which range the answer lies
        name, expected = (None, reference) if structure and len(structure.parts) > 1 else _without_name(reference)
        if name is None and structure is None and "=" in reference:
            return self._same_formula(reference, answer)
        if name is not None:
            structure = split(expected)
        found = [
            rest
            for part in at_top_level(answer, re.compile(r"\\approx(?![A-Za-z])"))
            for label, rest in [_without_name(part, keep_lists=True)]
            if not (name and label and key(name) != key(label) and "\\text" not in name + label)
        ]
        return any(self._same_value(expected, structure, rest) for rest in found)

    def _same_value(self, reference: str, structure: Structure | None, answer: str) -> bool:
        """Names are off; the same structure or else the same number or formula."""
        if key(reference) == key(answer):
            return True
        other = split(answer)
        if structure is not None:
            return self._same_structure(reference, structure, answer, other)
        if other is not None and other.held in ("", r"\{\}") and quantity(answer, True) is None:
            return bool(other.parts) and all(self.same(reference, part) for part in other.parts)
        if other is not None and len(other.parts) > 1:
            return False
        return self._same_single(reference, answer)

    def _same_structure(self, reference: str, structure: Structure, answer: str, other: Structure | None) -> bool:
        if other is None and len(structure.parts) == 1 and structure.held in (r"\{\}", "list"):
            return self.same(structure.parts[0], answer)
        if other is None:
            if structure.held in ("cup", "()", "[]", "(]", "[)") and "\\" in answer:
                return self._same_formula(reference, answer)
            return False
        if other.held not in _ALSO.get(structure.held, ()) and other.held != structure.held:
            return self._same_brackets_aside(structure, other)
        return self._same_parts(structure, other)

    def _same_brackets_aside(self, structure: Structure, other: Structure) -> bool:
        """Brackets matter for two ends, an interval; a longer list may be written in any."""
        if len(structure.parts) <= 2 or {structure.held, other.held} & {"cup"} or "x" in structure.held + other.held:
            return False
        return self._same_parts(structure, other)

    def _same_parts(self, structure: Structure, other: Structure) -> bool:
        if len(structure.parts) != len(other.parts):
            return False
        if structure.ordered:
            return all(self.same(part, found) for part, found in zip(structure.parts, other.parts, strict=True))
        return self._same_in_any_order(structure.parts, other.parts)

    def _same_in_any_order(self, reference: Sequence[str], answer: Sequence[str]) -> bool:
        left = list(answer)
        for part in reference:
            position = next((i for i, found in enumerate(left) if self.same(part, found)), None)
            if position is None:
                return False
            del left[position]
        return True

    def _same_single(self, reference: str, answer: str) -> bool:
        expected = quantity(reference, self.units_in_letters)
        if expected is None:
            return self._same_formula(reference, answer)
        found = quantity(answer, True)
        if found is None:
            return self._same_formula(reference, answer)
        factors = scales(expected.unit, found.unit)
        if factors is None:
            raise Unclear("units cannot be compared")
        # The tolerance is for the number as it stands: 1 is no answer to 54.7 degrees, though nearly so in radians.
        named = expected.unit is not None and found.unit is not None
        return any(
            close(expected.number, found.number, factor, self.tolerance if named or factor == 1 else None)
            for factor in factors
        )

    def _same_formula(self, reference: str, answer: str) -> bool:
        try:
            expected = expressions.read(reference)
        except UnreadableError:
            raise Unclear("reference cannot be read") from None
        try:
            found = expressions.read(_without_words(answer))
        except UnreadableError:
            raise Unclear("answer cannot be read") from None
        return expressions.equal(expected, found)


# Ways to write a structure that say the same as another: a list without brackets as a set, a point as a vector.
_ALSO = {
    "": (r"\{\}", "()"),
    r"\{\}": ("", "()"),
    "list": ("[]", "()", "", r"\{\}", "vector", r"\langle\rangle"),
    "()": ("", "vector", r"\langle\rangle"),
    "vector": ("()", "", r"\langle\rangle", "[]"),
    r"\langle\rangle": ("()", "vector", ""),
}


def _without_name(text: str, keep_lists: bool = False) -> tuple[str | None, str]:
    """`x = 5` as `x` and `5`; `3 + 4 = 7` as nothing and `7`; a list of such as it is."""
    if keep_lists and (structure := split(text)) is not None and structure.held == "":
        return None, text
    name = None
    if found := _NAMED.fullmatch(text):
        name, text = found["name"].strip(), found["rest"].strip()
    elif not keep_lists:
        return None, text
    return name, at_top_level(text, re.compile("="))[-1] if "=" in text else text


def _without_words(text: str) -> str:
    r"""A formula without the words after it: `2n \text{ ways}`."""
    return re.sub(r"(?<=\S)\s*\\text\{[^{}]*\}$", "", text)


@lru_cache(maxsize=4096)
def quantity(text: str, letters: bool) -> Quantity | None:
    """The number of a cleaned text, with its unit; None if it is no such.

    `letters`: whether a letter after a number is a unit, `2 m`, or a variable.
    """
    if (number := plain_number(text)) is not None:
        return Quantity(number)
    if found := _MONEY.fullmatch(text):
        number = plain_number(found["sign"] + found["number"])
        rest = found["rest"] if _is_factor(found["rest"]) else ""
        return number and Quantity(number, parse_unit(found["unit"] + rest))
    if found := _BASE.fullmatch(text):
        return Quantity(Number(int(found[1]), True), Unit(text, powers=((f"base {int(found[2])}", 1),)))
    if (found := _WITH_UNIT.fullmatch(text)) and _is_unit(found["unit"], letters and bool(found["space"])):
        number = plain_number(found["number"])
        return number and Quantity(number, parse_unit(found["unit"]))
    if (start := _UNIT_START.search(text)) and start.start() and _is_unit(text[start.start() :], False):
        number = _constant(text[: start.start()])
        return number and Quantity(number, parse_unit(text[start.start() :]))
    number = _constant(text)
    return number and Quantity(number)


def _is_factor(rest: str) -> bool:
    """Whether what follows an amount of money multiplies it: `$3 million`."""
    unit = parse_unit(rest.strip())
    return unit is not None and unit.is_number


def _is_unit(text: str, letters: bool) -> bool:
    """Whether what follows a number is a unit: a known one, or words; a letter alone only where letters may be."""
    text = re.sub(r"\s*;\s*(\}?)$", r"\1", text)
    if re.search(r"\d", re.sub(r"\^\s*\{?\s*[-+]?\d+\s*\}?", "", text)) or re.search(r"[=,;]|\b(?:and|or)\b", text):
        return False
    if _UNIT_START.match(text):
        return True
    unit = parse_unit(text)
    if unit is not None and unit.powers is not None:
        return letters or bool(re.match(r"[A-Za-z]{2}", text) and not re.search(r"\\", text))
    return bool(re.match(r"[A-Za-z]{3,}", text)) and not re.search(r"[\\^+*=]|(?<!\w)-|-(?!\w)", text)


def _constant(text: str) -> Number | None:
    try:
        return expressions.number(expressions.read(text.strip()))
    except UnreadableError:
        return None
