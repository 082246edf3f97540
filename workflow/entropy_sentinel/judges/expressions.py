"""Formulas, read and compared by math-verify. The only module that imports it.

Units, lists and signs of comparison are taken off before: math-verify would drop what it does not know.
"""

import logging
import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

from latex2sympy2_extended.math_normalization import NormalizationConfig
from math_verify import LatexExtractionConfig, parse, verify
from math_verify.errors import TimeoutException as TimeoutException
from math_verify.utils import timeout as timeout
from sympy import Float, I

from entropy_sentinel.judges.notation import has_words
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
    r"\\(?:equiv|pmod|bmod|mid|nmid|forall|exists|ldots|mho|iff|implies|Rightarrow)(?![A-Za-z])|\?|\d\s*'|\d\s+\d|\d\s*:\s*\d|\d\s*_"
)
_DEGREES = re.compile(r"(\d+(?:\.\d+)?)\s*\^\s*\{?\s*\\circ\s*\}?")
OF_ANGLES = re.compile(r"\\(?:sin|cos|tan|cot|sec|csc)(?![A-Za-z])")

# Larger rational numbers, `10^{10^{10}}`, are not computed.
_COMPUTED = 1e100


class UnreadableError(Exception):
    """A formula that math-verify cannot read as a whole."""


@lru_cache(maxsize=2048)
def read(text: str) -> Any:
    """The SymPy object of a cleaned formula. Raises UnreadableError."""
    if _UNREADABLE.search(text) or has_words(text):
        raise UnreadableError
    if OF_ANGLES.search(text):
        text = _DEGREES.sub(r"(\\frac{\1 \\pi}{180})", text)
    found = parse(
        f"\\boxed{{{text}}}", [_READING], fallback_mode="no_fallback", parsing_timeout=None, raise_on_error=True
    )
    if not found:
        raise UnreadableError
    symbols: set[Any] = getattr(found[0], "free_symbols", set())
    return found[0].subs(dict.fromkeys(symbols, I)) if [symbol.name for symbol in symbols] == ["i"] else found[0]


def number(expression: Any) -> Number | None:
    """The value of a real constant; None for a variable, a relation, a set."""
    if not getattr(expression, "is_number", False) or expression.is_real is False:
        return None
    value, exact = expression.evalf(15), not expression.atoms(Float)
    if not getattr(value, "is_Float", False) and not getattr(value, "is_Integer", False):
        return None
    if exact and expression.is_rational and abs(value) < _COMPUTED:
        whole = expression.doit()
        return Number(Fraction(int(whole.p), int(whole.q)), exact) if whole.is_Rational else Number(float(value), exact)
    return Number(float(value), exact)


def constant(text: str) -> Number | None:
    """The real number that cleaned `text` writes, in digits or as a formula; None if it is anything else."""
    try:
        return plain_number(text) or number(read(text.strip()))
    except UnreadableError:
        return None


def equal(reference: Any, answer: Any) -> bool:
    """Whether two SymPy objects are the same, by algebra."""
    return bool(verify(reference, answer, allow_set_relation_comp=True, timeout_seconds=None, raise_on_error=True))
