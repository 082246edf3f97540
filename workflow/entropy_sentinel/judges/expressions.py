"""Formulas, read and compared by math-verify. The only module that imports it.

Units, lists and signs of comparison are taken off before: math-verify would drop what it does not know.
"""

import logging
import re
from functools import lru_cache
from typing import Any

from latex2sympy2_extended.math_normalization import NormalizationConfig
from math_verify import LatexExtractionConfig, parse, verify
from math_verify.errors import TimeoutException as TimeoutException
from math_verify.utils import timeout as timeout
from sympy import Float, simplify, sqf_part, together

from entropy_sentinel.judges.numbers import Number, plain_number

# math-verify logs every expression that it cannot read; the verdict's reason says so already. It also warns that it
# has no time limit of its own: the judge sets one around the whole comparison.
logging.getLogger("math_verify").setLevel(logging.CRITICAL)
logging.getLogger("latex2sympy2_extended").setLevel(logging.CRITICAL)

# Its way with units deletes any `m`, `s`, `c` at the end.
_READING = LatexExtractionConfig(
    normalization_config=NormalizationConfig(
        basic_latex=True, units=False, malformed_operators=True, nits=False, boxed="last", equations=False
    )
)
# What it would skip in silence: words, and relations that it does not know.
_UNREADABLE = re.compile(
    r"\\text\{(?!\s*(?:[A-Za-z]|lcm|gcd|det|tr|rank|arg|sgn|max|min|Re|Im|cis|adj|proj|arc[a-z]+|sec|csc|cot)\s*\})|"
    r"\\(?:equiv|pmod|bmod|mid|nmid|forall|exists|ldots|mho|iff|implies|Rightarrow)(?![A-Za-z])|\?|\d\s*'|\d\s+\d|\d\s*:\s*\d"
)
_DEGREES = re.compile(r"(\d+(?:\.\d+)?)\s*\^\s*\{?\s*\\circ\s*\}?")
OF_ANGLES = re.compile(r"\\(?:sin|cos|tan|cot|sec|csc)(?![A-Za-z])")
_LONGEST = 2000


class UnreadableError(Exception):
    """A formula that math-verify cannot read as a whole."""


@lru_cache(maxsize=2048)
def read(text: str) -> Any:
    """The SymPy object of a cleaned formula. Raises UnreadableError."""
    if len(text) > _LONGEST or _UNREADABLE.search(text):
        raise UnreadableError
    if OF_ANGLES.search(text):
        text = _DEGREES.sub(r"(\\frac{\1 \\pi}{180})", text)
    found = parse(
        f"\\boxed{{{text}}}", [_READING], fallback_mode="no_fallback", parsing_timeout=None, raise_on_error=True
    )
    if not found:
        raise UnreadableError
    return found[0]


def number(expression: Any) -> Number | None:
    """The value of a real constant; None for a variable, a relation, a set."""
    if not getattr(expression, "is_number", False) or expression.is_real is False:
        return None
    value = expression.evalf(15)
    if not getattr(value, "is_Float", False) and not getattr(value, "is_Integer", False):
        return None
    return Number(float(value), exact=not expression.atoms(Float))


def constant(text: str) -> Number | None:
    """The real number that cleaned `text` writes, in digits or as a formula; None if it is anything else."""
    try:
        return plain_number(text) or number(read(text.strip()))
    except UnreadableError:
        return None


def same_equation(reference: tuple[Any, Any], answer: tuple[Any, Any]) -> bool:
    """Whether two equations, as pairs of sides, are the same up to a factor: `y = 2x + 1` and `2x - y + 1 = 0`."""
    one, other = (together(left - right) for left, right in (reference, answer))
    if one == 0 or other == 0 or one.free_symbols != other.free_symbols:
        return False
    if all(expression.is_polynomial() for expression in (one, other)):
        one, other = sqf_part(one), sqf_part(other)  # `(x - 1)^2 = 0` is `x = 1`
    return bool(simplify(one / other).is_number)


def equal(reference: Any, answer: Any) -> bool:
    """Whether two SymPy objects are the same, by algebra."""
    return bool(verify(reference, answer, allow_set_relation_comp=True, timeout_seconds=None, raise_on_error=True))
