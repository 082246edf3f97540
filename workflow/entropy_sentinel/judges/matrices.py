"""Compare matrices that are not written as one: sums and products of them, identities, determinants."""

import re
from typing import Any

import sympy

from entropy_sentinel.judges import expressions
from entropy_sentinel.judges.answer_structure import Structure
from entropy_sentinel.judges.expressions import UnreadableError, parse_quantity
from entropy_sentinel.judges.judge_interface import Unclear

_BEGIN = "\\begin"
_DETERMINANT = re.compile(r"\\begin\{[vV]matrix\}")
# math-verify drops what it does not know: a transposed matrix would be the matrix.
_POWER = re.compile(r"\\end\{[A-Za-z]*matrix\}\s*[)\]]?\s*(?:\^|')")

# The identity and other matrices with a letter, vectors in unit vectors, and sums and products of matrices.
_MAY_BE_A_MATRIX = re.compile(
    r"\\begin|(?<![A-Za-z\\])[A-Z](?![a-z])|\\text\{\s*[A-Z1]\s*\}|(?<![A-Za-z\\])[ijk](?![A-Za-z])"
)


def has_matrix(text: str) -> bool:
    """Whether a formula has a matrix in the notation of one."""
    return _BEGIN in text


def same_matrices(
    reference: str, structure: Structure | None, answer: str, actual_structure: Structure | None
) -> bool | None:
    """Whether two formulas, at least one with a matrix, are equal; None to compare them cell by cell.

    `structure` has the parts of the reference, and `actual_structure` those of the answer; None for a formula without.
    Raises Unclear for what may be a matrix, such as `-I`.
    """
    both_have_parts = structure is not None and actual_structure is not None
    are_two_matrices = both_have_parts and has_matrix(reference) and has_matrix(answer)
    if any(map(_DETERMINANT.search, (reference, answer))) and not are_two_matrices:
        raise Unclear("a determinant, or a norm")
    if structure is not None and actual_structure is not None:
        are_matrices = structure.is_matrix and actual_structure.is_matrix
        return False if are_matrices and structure.notation != actual_structure.notation else None
    if has_matrix(reference) and has_matrix(answer):
        return _same_results(reference, answer)
    # The side without parts, and the structure of the other one.
    formula, counterpart = (reference, actual_structure) if structure is None else (answer, structure)
    if counterpart is not None and parse_quantity(formula, letters=True) is not None:
        return False
    if counterpart is None or counterpart.is_matrix:
        may_be_matrix = _MAY_BE_A_MATRIX.search(formula) is not None
    else:
        may_be_matrix = _compute_matrix(formula) is not None
    if may_be_matrix:
        raise Unclear("a matrix, and a formula that may be one")
    return None


def _same_results(reference: str, answer: str) -> bool:
    """Whether two sums or products of matrices have the same result."""
    expected, actual = _compute_matrix(reference), _compute_matrix(answer)
    if expected is None or actual is None:
        raise Unclear("matrices of this kind cannot be compared")
    same = expected.shape == actual.shape and bool(sympy.simplify(expected - actual).is_zero_matrix)
    if not same and expected.free_symbols and actual.free_symbols:
        raise Unclear("one line or plane can be written with several vectors")
    return same


def _compute_matrix(text: str) -> Any:
    """The matrix that a sum or product of matrices is; None if it cannot be computed."""
    if _POWER.search(text):
        return None
    try:
        result = expressions.parse_formula(text)
    except UnreadableError:
        return None
    result = result.doit() if hasattr(result, "doit") else result
    return result if isinstance(result, sympy.MatrixBase) else None
