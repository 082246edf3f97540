"""Compare equations and inequalities, so that a wrong one is told from a right one.

A judge that recognises only right ones has no wrong ones among its labels, and their accuracy is 1.
"""

from typing import Any

import sympy

# Decimals may be rounded: coefficients this close, relative to the larger one, may be the same.
_ROUNDING = 0.01

_INEQUALITIES = sympy.StrictLessThan | sympy.StrictGreaterThan | sympy.LessThan | sympy.GreaterThan


def to_polynomial(relation: Any) -> sympy.Poly | None:
    """The square-free polynomial over the rationals whose zeros solve an equation; None if it has none.

    Its denominators are multiplied out. An equation between numbers, or with other functions, is none.
    """
    if not isinstance(relation, sympy.Equality):
        return None
    difference = sympy.nsimplify(relation.lhs - relation.rhs, rational=True)
    symbols = sorted(difference.free_symbols, key=lambda symbol: symbol.name)
    numerator, _ = sympy.together(difference).as_numer_denom()
    if not symbols or not numerator.is_polynomial(*symbols):
        return None
    try:
        square_free = sympy.Poly(numerator, *symbols, domain="QQ").sqf_part().monic()
    except sympy.PolynomialError:  # coefficients such as the square root of 2
        return None
    return None if square_free.total_degree() < 1 else square_free


def same_solutions(reference: Any, answer: Any) -> bool | None:
    """Whether two equations have the same complex solutions; None if that cannot be decided.

    It is decided for polynomial equations in the same variables, by their square-free parts. Decimals that differ
    by rounding are not decided.
    """
    expected, actual = to_polynomial(reference), to_polynomial(answer)
    if expected is None or actual is None or expected.gens != actual.gens:
        return None
    if expected == actual:
        return True
    rounded = bool((reference.lhs - reference.rhs - answer.lhs + answer.rhs).atoms(sympy.Float))
    return None if rounded and _has_close_coefficients(expected, actual) else False


def _has_close_coefficients(expected: sympy.Poly, actual: sympy.Poly) -> bool:
    """Whether two polynomials have the same terms, with coefficients that differ at most by rounding."""
    left, right = expected.as_dict(), actual.as_dict()
    if left.keys() != right.keys():
        return False
    for power, coefficient in left.items():
        if abs(coefficient - right[power]) > _ROUNDING * max(abs(coefficient), abs(right[power])):
            return False
    return True


def find_solutions(relation: Any) -> Any:
    """What inequalities allow, in a form that can be compared: None if there is none.

    In one variable it is the set of real numbers; in several, the set of polynomials that must be positive, or at
    least 0, each up to a positive factor.
    """
    if isinstance(relation, sympy.Interval | sympy.Union):
        return relation
    if not isinstance(relation, sympy.And | sympy.Or | _INEQUALITIES):
        return None
    if len(relation.free_symbols) == 1:
        try:
            return relation.as_set()
        except NotImplementedError:
            return None
    parts = relation.args if isinstance(relation, sympy.And) else [relation]
    positive = [_find_positive(part) for part in parts]
    return None if None in positive else frozenset(positive)


def _find_positive(relation: Any) -> tuple[Any, bool] | None:
    """The polynomial that an inequality makes positive, and whether it may be 0."""
    if not isinstance(relation, _INEQUALITIES):
        return None
    difference = sympy.expand(sympy.nsimplify(relation.gts - relation.lts, rational=True))
    symbols = sorted(difference.free_symbols, key=lambda symbol: symbol.name)
    if not symbols or not difference.is_polynomial(*symbols):
        return None
    leading = sympy.Poly(difference, *symbols).LC()
    may_be_zero = isinstance(relation, sympy.LessThan | sympy.GreaterThan)
    return (sympy.expand(difference / abs(leading)), may_be_zero) if leading.is_number else None
