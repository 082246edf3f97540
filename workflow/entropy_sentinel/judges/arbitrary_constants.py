"""Whether two formulas may differ only in the letters of arbitrary constants, as `2x + c` and `2x + k`."""

import re
from itertools import permutations
from typing import Any

import sympy

_CONSTANT = re.compile(r"[CcKk](?:_\{?\d+\}?)?")
# With more letters there are too many ways to rename them.
_MAX_CONSTANTS = 3


def may_differ_in_constants(reference: Any, answer: Any) -> bool:
    """Whether formulas that are not equal may be if arbitrary constants in them have other letters.

    A letter that only one of the formulas has may be such a constant, and so may those called C or K.
    """
    if not isinstance(reference, sympy.Expr) or not isinstance(answer, sympy.Expr):
        return False
    expected, actual = _list_constants(reference, answer), _list_constants(answer, reference)
    if not expected or len(expected) != len(actual) or len(expected) > _MAX_CONSTANTS:
        return False
    if reference.is_Symbol or answer.is_Symbol:  # a letter alone
        are_constants = all(_CONSTANT.fullmatch(symbol.name) for symbol in expected + actual)
        return reference.is_Symbol and answer.is_Symbol and are_constants
    # The same formula with other letters.
    for order in permutations(actual):
        renamed = reference.subs(dict(zip(expected, order, strict=True)), simultaneous=True)
        if tuple(expected) != order and _is_constant(renamed - answer, must_be=0):
            return True
    # A letter that both formulas have is only an arbitrary constant if it is called C.
    if len(expected) == 1 and (expected != actual or expected[0].name in ("C", "c")):
        return _same_family(reference, expected[0], answer, actual[0])
    return False


def _list_constants(formula: sympy.Expr, counterpart: sympy.Expr) -> list[sympy.Symbol]:
    """The letters of a formula that may be arbitrary constants, by name."""
    may_be = [s for s in formula.free_symbols if s not in counterpart.free_symbols or _CONSTANT.fullmatch(s.name)]
    return sorted(may_be, key=lambda symbol: symbol.name)


def _same_family(
    reference: sympy.Expr, constant: sympy.Symbol, answer: sympy.Expr, answer_constant: sympy.Symbol
) -> bool:
    """Whether two formulas, each linear in its constant, have the same values over all values of the constant.

    A constant that both formulas call C must be added, because C may also be a quantity of the question.
    """
    slope, answer_slope = sympy.diff(reference, constant), sympy.diff(answer, answer_constant)
    if slope.has(constant) or answer_slope.has(answer_constant) or 0 in (slope, answer_slope):
        return False  # not linear
    rest, answer_rest = reference.subs(constant, 0), answer.subs(answer_constant, 0)
    if not (rest.free_symbols or slope.free_symbols):
        return False  # nothing but the constant: it would equal any other number
    if constant == answer_constant and (slope.free_symbols or answer_slope.free_symbols):
        return False  # multiplied rather than added
    return _is_constant(answer_slope / slope) and _is_constant((rest - answer_rest) / slope)


# Values of letters at which formulas are compared, one set of them for each comparison.
_POINTS = ((0.37, 1.41, 0.83, 2.03, 0.59), (1.13, 0.47, 1.79, 0.29, 2.21), (0.71, 2.57, 0.31, 1.67, 0.97))
_CLOSE = 1e-9


def _is_constant(formula: sympy.Expr, must_be: float | None = None) -> bool:
    """Whether a formula has one value, `must_be` if not null, at some points: enough to leave a verdict open."""
    symbols = sorted(formula.free_symbols, key=lambda symbol: symbol.name)
    values = [] if must_be is None else [complex(must_be)]
    for point in _POINTS:
        # A sixth letter has the value of the first one plus 1, and so on.
        numbers = {symbol: point[i % len(point)] + i // len(point) for i, symbol in enumerate(symbols)}
        try:
            values.append(complex(formula.evalf(15, subs=numbers)))
        except (TypeError, ValueError):  # a function that has no number there
            return False
    return all(abs(value - values[0]) <= _CLOSE * max(1.0, abs(values[0])) for value in values)
