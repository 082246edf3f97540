"""The deterministic judge: math-verify on the final answer. The only module that imports math_verify."""

import importlib.metadata
import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

from math_verify import parse, verify
from math_verify.errors import TimeoutException

from entropy_sentinel.judges.answers import bare, elements, is_text, last_boxed, quantity, scientific, truth
from entropy_sentinel.judges.apart import Apart
from entropy_sentinel.judges.judge import Case, Verdict

# math-verify logs every expression that it cannot read; the verdict's reason says so already.
logging.getLogger("math_verify").setLevel(logging.CRITICAL)
logging.getLogger("latex2sympy2_extended").setLevel(logging.CRITICAL)

# math-verify compares numbers by six decimals. Below this size that is fewer than four digits, down to none: there
# numbers are compared by four significant digits instead.
_SMALL = 0.01
_SMALL_TOLERANCE = 1e-4


class _Unclear(Exception):
    """The judge cannot say; the message is the reason."""


class MathVerifyJudge:
    """Compares the last boxed expression, or else the last expression, with the reference, symbolically."""

    version = f"math-verify {importlib.metadata.version('math-verify')}"

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case, in order; null where there is no final answer or one side cannot be read."""
        return [self._verdict(case) for case in cases]

    def _verdict(self, case: Case) -> Verdict:
        boxed = last_boxed(case.response)
        try:
            if not case.response.strip():
                raise _Unclear("empty response")
            if boxed is None and case.truncated:
                raise _Unclear("cut off before a boxed answer")
            return _compare(case.reference.strip(), boxed, case.response)
        except _Unclear as unclear:
            return Verdict(None, answer=boxed, reason=str(unclear))
        except TimeoutException:
            return Verdict(None, answer=boxed, reason="comparison timed out")
        except Exception as error:  # math-verify wraps a whole computer algebra system: anything can come out
            return Verdict(None, answer=boxed, reason=f"comparison failed: {type(error).__name__}")


def make(settings: Mapping[str, Any]) -> Apart:
    """The judge, which has no settings."""
    return Apart(__name__, MathVerifyJudge.__name__)


def _compare(reference: str, boxed: str | None, response: str) -> Verdict:
    """By the kind of the reference: true or false, a number with a unit, words, a list, or an expression."""
    if (expected := truth(reference)) is not None:
        if (found := truth(boxed)) is None:
            raise _Unclear("answer is neither true nor false")
        return Verdict(found == expected, answer=boxed)
    number = quantity(reference)
    if number is None and is_text(reference):
        if boxed is None or bare(boxed) != bare(reference):
            raise _Unclear("reference is text, not an expression")
        return Verdict(True, answer=boxed)
    if (expected_list := elements(reference)) is not None:
        if boxed is None:
            raise _Unclear("no boxed list")
        found_list = boxed.strip("$[](){}\\ ").split(",")
        same = len(found_list) == len(expected_list) and all(map(_equal, expected_list, found_list))
        return Verdict(same, answer=boxed)
    answer = response if boxed is None else number and quantity(boxed) or boxed
    return Verdict(_equal(number or reference, answer, anywhere=boxed is None), answer=boxed)


def _equal(reference: str, answer: str, anywhere: bool = False) -> bool:
    """Whether two expressions are equal; the answer's may stand `anywhere` in a text, the last one counts."""
    expected = parse(_in_box(reference), raise_on_error=True)
    found = parse(scientific(answer) if anywhere else _in_box(answer), raise_on_error=True)
    if not expected:
        raise _Unclear("reference cannot be read")
    if not found:
        raise _Unclear("no final answer" if anywhere else "answer cannot be read")
    value, other = _number(expected[0]), _number(found[0])
    if value is not None and other is not None and abs(value) < _SMALL:
        return math.isclose(value, other, rel_tol=_SMALL_TOLERANCE)
    return verify(expected, found, raise_on_error=True)


def _number(expression: Any) -> float | None:
    """The value of a real number that SymPy can evaluate."""
    return float(expression) if getattr(expression, "is_number", False) and expression.is_real else None


def _in_box(expression: str) -> str:
    return f"\\boxed{{{scientific(expression)}}}"
