r"""A number with its unit: `50.7 \text{ atm}`, `\$18`, `3\sqrt{2} \text{ cm}`."""

import re
from dataclasses import dataclass
from functools import lru_cache

from entropy_sentinel.judges.expressions import OF_ANGLES, constant
from entropy_sentinel.judges.numbers import MIXED, NUMBER, Number, plain_number
from entropy_sentinel.judges.units import Unit, parse_unit

_MONEY = re.compile(rf"(?P<sign>[-+]?)\s*(?P<unit>\\\$|€|£)\s*(?P<number>{NUMBER})(?P<rest>.*)", re.DOTALL)
_WITH_UNIT = re.compile(
    rf"(?P<number>{MIXED}|{NUMBER}(?:\s*/\s*\d+)?)(?P<space>\s*)(?P<unit>(?:[^\d/]|/\s*(?=\D)).*)", re.DOTALL
)
_BASE = re.compile(r"(\d+)\s*_\s*\{?\s*(\d+)\s*\}?")
# Where the unit of a formula begins, `3\sqrt{2} \text{ cm}`.
_UNIT_START = re.compile(r"\\text\{|\^\s*\{?\s*\\circ|\\circ|\\%|%|\\mu(?![A-Za-z])|\\Omega|\\AA|€|\\\$")
# After the sign of money, the same in words.
_DOLLARS = re.compile(r"\s*(?:\\text\{\s*)?(?:dollars?|USD|euros?|EUR)(?:\s*\}|(?![A-Za-z]))")
# `5K`, `18M`: kelvins and molars, or thousands and millions.
SUFFIX = re.compile(r"[-+]?[\d.,]+[kKMBT]|[-+]?\s*(?:\\\$|€|£)\s*[\d.,]+\s*(?:\\text\{)?\s*[kKMBT]\s*\}?")


@dataclass(frozen=True)
class Quantity:
    """A number, with its unit if it names one."""

    number: Number
    unit: Unit | None = None


@lru_cache(maxsize=4096)
def quantity(text: str, letters: bool) -> Quantity | None:
    """The number of a cleaned text, with its unit; None if it is no such.

    `letters`: whether a letter after a number is a unit, `2 m`, or a variable.
    """
    if (number := plain_number(text)) is not None:
        return Quantity(number)
    if found := _MONEY.fullmatch(text):
        return _with_unit(
            plain_number(found["sign"] + found["number"]), found["unit"] + _DOLLARS.sub(" ", found["rest"])
        )
    if (found := _BASE.fullmatch(text)) and 2 <= int(found[2]) <= 36:
        return Quantity(Number(int(found[1]), True), Unit(text, powers=((f"base {int(found[2])}", 1),)))
    if (found := _WITH_UNIT.fullmatch(text)) and _is_unit(found["unit"], letters and bool(found["space"])):
        return _with_unit(plain_number(found["number"]), found["unit"])
    in_degrees = OF_ANGLES.search(text) and "\\circ" in text
    start = None if in_degrees else _UNIT_START.search(text)
    if start and start.start() and _is_unit(text[start.start() :], False):
        return _with_unit(constant(text[: start.start()]), text[start.start() :])
    return _with_unit(constant(text))


def _with_unit(number: Number | None, unit: str = "") -> Quantity | None:
    return None if number is None else Quantity(number, parse_unit(unit) if unit else None)


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
