"""The deterministic judge: math-verify on the final answer. The only module that imports math_verify."""

import importlib.metadata
import logging
import re
from collections.abc import Sequence

from math_verify import parse, verify
from math_verify.errors import TimeoutException

from entropy_sentinel.contracts.labels import Case, Verdict

# math-verify logs every expression that it cannot read; the verdict's reason says so already.
logging.getLogger("math_verify").setLevel(logging.CRITICAL)
logging.getLogger("latex2sympy2_extended").setLevel(logging.CRITICAL)


_NUMBER_AND_UNIT = re.compile(r"(?P<number>[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?)\s+(?P<unit>[^\d\s=<>+-].*)")


class MathVerifyJudge:
    """Compares the last boxed expression, or else the last expression, with the reference, symbolically."""

    version = f"math-verify {importlib.metadata.version('math-verify')}"

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case, in order; null where there is no final answer or one side cannot be read."""
        return [self._verdict(case) for case in cases]

    def _verdict(self, case: Case) -> Verdict:
        if not case.response.strip():
            return Verdict(None, reason="empty response")
        boxed = last_boxed(case.response)
        if boxed is None and case.truncated:
            return Verdict(None, reason="cut off before a boxed answer")
        try:
            answer = parse(case.response if boxed is None else _in_box(boxed), raise_on_error=True)
            reference = parse(_in_box(case.reference), raise_on_error=True)
            if not reference:
                return Verdict(None, reason="reference cannot be read")
            if not answer:
                found = boxed is not None
                return Verdict(None, answer=boxed, reason="answer cannot be read" if found else "no final answer")
            equal = verify(reference, answer, raise_on_error=True)
            if not equal and (number := number_before_unit(case.reference)):
                equal = verify(parse(number), answer, raise_on_error=True)
            return Verdict(equal, answer=str(answer[-1]))
        except TimeoutException:
            return Verdict(None, answer=boxed, reason="comparison timed out")
        except Exception as error:  # math-verify wraps a whole computer algebra system: anything can come out
            return Verdict(None, answer=boxed, reason=f"comparison failed: {type(error).__name__}")


def last_boxed(text: str) -> str | None:
    r"""What stands inside the last `\boxed{...}` of `text`, braces balanced; None if there is none or it never ends."""
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    depth, begin = 0, start + len("\\boxed{") - 1
    for position in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return text[begin + 1 : position].strip()
    return None


def number_before_unit(reference: str) -> str | None:
    """The number of a reference such as `0.286 nm`, which math-verify reads as a product; None if it is no such.

    A unit with a power of ten in it, `1.9 $10^{-47}$ kg`, changes the number: that is none either.
    """
    found = _NUMBER_AND_UNIT.fullmatch(reference.strip())
    return found["number"] if found and "10^" not in found["unit"] else None


def _in_box(expression: str) -> str:
    return f"\\boxed{{{expression}}}"
