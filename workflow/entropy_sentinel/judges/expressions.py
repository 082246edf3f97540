r"""Read and compare formulas and quantities with math-verify. No other module imports it.

Units, lists and comparison signs are removed from a formula first, because math-verify drops what it does not know. A
quantity is a number with its unit: `50.7 \text{ atm}`, `\$18`, `3\sqrt{2} \text{ cm}`.
"""

import logging
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from latex2sympy2_extended.math_normalization import NormalizationConfig
from math_verify import LatexExtractionConfig, parse, verify
from math_verify.errors import TimeoutException as TimeoutException
from math_verify.utils import timeout as timeout
from sympy import Float, I

from entropy_sentinel.judges.designations import is_uncalculated
from entropy_sentinel.judges.notation import MIXED_NUMBER, NUMBER, Number, has_words, parse_number
from entropy_sentinel.judges.units import Unit, parse_unit

# math-verify logs every expression that it cannot read, but the verdict's reason already states that. It also warns
# that it has no time limit: the judge sets one for the whole comparison.
logging.getLogger("math_verify").setLevel(logging.CRITICAL)
logging.getLogger("latex2sympy2_extended").setLevel(logging.CRITICAL)

# Its handling of units deletes any `m`, `s`, `c` at the end.
_READING = LatexExtractionConfig(
    normalization_config=NormalizationConfig(
        basic_latex=True, units=False, malformed_operators=True, nits=False, boxed="last", equations=False
    )
)
# What it would skip silently: words and unknown relations.
_UNREADABLE = re.compile(
    r"\\text\{(?!\s*(?:[A-Za-z]|lcm|gcd|det|tr|rank|arg|sgn|max|min|Re|Im|cis|adj|proj|arc[a-z]+|sec|csc|cot)\s*\})|"
    r"\\(?:equiv|pmod|bmod|mid|nmid|forall|exists|ldots|mho|iff|implies|Rightarrow)(?![A-Za-z])|\?|\d\s*'|\d\s+\d|\d\s*:\s*\d|\d\s*_"
)
_DEGREES = re.compile(r"(\d+(?:\.\d+)?)\s*\^\s*\{?\s*\\circ\s*\}?")
TRIGONOMETRIC = re.compile(r"\\(?:sin|cos|tan|cot|sec|csc)(?![A-Za-z])")

# Larger rational numbers, `10^{10^{10}}`, are not computed.
_LARGEST_RATIONAL = 1e100


class UnreadableError(Exception):
    """math-verify cannot read the whole formula."""


@lru_cache(maxsize=2048)
def parse_formula(text: str) -> Any:
    """The SymPy object of a cleaned formula. Raises UnreadableError."""
    if _UNREADABLE.search(text) or has_words(text) or is_uncalculated(text):
        raise UnreadableError
    if TRIGONOMETRIC.search(text):
        text = _DEGREES.sub(r"(\\frac{\1 \\pi}{180})", text)
    parsed = parse(
        f"\\boxed{{{text}}}", [_READING], fallback_mode="no_fallback", parsing_timeout=None, raise_on_error=True
    )
    if not parsed:
        raise UnreadableError
    formula = parsed[0]
    symbols: set[Any] = getattr(formula, "free_symbols", set())
    if [symbol.name for symbol in symbols] == ["i"]:  # as the only letter it is the imaginary unit
        return formula.subs(dict.fromkeys(symbols, I))
    return formula


def to_number(expression: Any) -> Number | None:
    """The value of a real constant; None for a variable, a relation or a set."""
    if not getattr(expression, "is_number", False) or expression.is_real is False:
        return None
    value = expression.evalf(15)
    exact = not expression.atoms(Float)
    if not getattr(value, "is_Float", False) and not getattr(value, "is_Integer", False):
        return None
    if exact and expression.is_rational and abs(value) < _LARGEST_RATIONAL:
        rational = expression.doit()
        if rational.is_Rational:
            return Number(Fraction(int(rational.p), int(rational.q)), exact)
    return Number(float(value), exact)


def parse_constant(text: str) -> Number | None:
    """The real number in cleaned `text`, in digits or as a formula; None for anything else."""
    try:
        return parse_number(text) or to_number(parse_formula(text.strip()))
    except UnreadableError:
        return None


def are_equal(reference: Any, answer: Any) -> bool:
    """Whether two SymPy objects are algebraically equal."""
    return bool(verify(reference, answer, allow_set_relation_comp=True, timeout_seconds=None, raise_on_error=True))


_MONEY = re.compile(rf"(?P<sign>[-+]?)\s*(?P<unit>\\\$|€|£)\s*(?P<number>{NUMBER})(?P<rest>.*)", re.DOTALL)
_WITH_UNIT = re.compile(
    rf"(?P<number>{MIXED_NUMBER}|{NUMBER}(?:\s*/\s*\d+)?)(?P<space>\s*)(?P<unit>(?:[^\d/]|/\s*(?=\D)).*)", re.DOTALL
)
# Start of a formula's unit, `3\sqrt{2} \text{ cm}`.
_UNIT_START = re.compile(r"\\text\{|\^\s*\{?\s*\\circ|\\circ|\\%|%|\\mu(?![A-Za-z])|\\Omega|\\AA|€|\\\$")
# The currency in words after its sign.
_DOLLARS = re.compile(r"\s*(?:\\text\{\s*)?(?:dollars?|USD|euros?|EUR)(?:\s*\}|(?![A-Za-z]))")
# `5K`, `18M`: kelvins and molars, or thousands and millions.
SUFFIX = re.compile(r"[-+]?[\d.,]+[kKMBT]|[-+]?\s*(?:\\\$|€|£)\s*[\d.,]+\s*(?:\\text\{)?\s*[kKMBT]\s*\}?")


@dataclass(frozen=True)
class Quantity:
    """A number, and its unit if it has one."""

    number: Number
    unit: Unit | None = None


@lru_cache(maxsize=4096)
def parse_quantity(text: str, letters: bool) -> Quantity | None:
    """The number in a cleaned text with its unit; None if the text is anything else.

    `letters`: whether a letter after a number is a unit (`2 m`) rather than a variable.
    """
    if (number := parse_number(text)) is not None:
        return Quantity(number)
    if match := _MONEY.fullmatch(text):
        return _make_quantity(
            parse_number(match["sign"] + match["number"]), match["unit"] + _DOLLARS.sub(" ", match["rest"])
        )
    if (match := _WITH_UNIT.fullmatch(text)) and _is_unit(match["unit"], letters and bool(match["space"])):
        return _make_quantity(parse_number(match["number"]), match["unit"])
    in_degrees = TRIGONOMETRIC.search(text) and "\\circ" in text
    start = None if in_degrees else _UNIT_START.search(text)
    if start and start.start() and _is_unit(text[start.start() :], letters=False):
        return _make_quantity(parse_constant(text[: start.start()]), text[start.start() :])
    return _make_quantity(parse_constant(text))


def _make_quantity(number: Number | None, unit: str = "") -> Quantity | None:
    """A number with the text of its unit as a quantity; None without a number."""
    if number is None:
        return None
    return Quantity(number, parse_unit(unit) if unit else None)


def _is_unit(text: str, letters: bool) -> bool:
    """Whether text after a number is a unit: a known one or words; a single letter only with `letters`."""
    text = re.sub(r"\s*;\s*(\}?)$", r"\1", text)
    if re.search(r"\d", re.sub(r"\^\s*\{?\s*[-+]?\d+\s*\}?", "", text)) or re.search(r"[=,;]|\b(?:and|or)\b", text):
        return False
    if _UNIT_START.match(text):
        return True
    unit = parse_unit(text)
    if unit is not None and unit.powers is not None:  # a known unit
        has_two_letters = re.match(r"[A-Za-z]{2}", text) is not None and "\\" not in text
        return letters or has_two_letters
    return bool(re.match(r"[A-Za-z]{3,}", text)) and not re.search(r"[\\^+*=]|(?<!\w)-|-(?!\w)", text)
