"""A tenth of the real references, rewritten and answered with those of other rows; `make bench-judge` takes all."""

import os

import pytest
from rewritings import QUESTION, boxed, number, references, rewritten, unboxed

from entropy_sentinel.judges.judge import Case
from entropy_sentinel.judges.math_verify import MathVerifyJudge

FOLDER = os.environ.get("ENTROPY_SENTINEL_ROWS")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FOLDER, reason="ENTROPY_SENTINEL_ROWS does not name a folder with real rows"),
]


@pytest.fixture(scope="module")
def rows() -> dict[str, list[str]]:
    return {benchmark: found[::10] for benchmark, found in references(FOLDER).items()}


def labels(cases: list[tuple[str, str]]) -> list[bool | None]:
    shown = [Case(QUESTION, response, reference, truncated=False) for response, reference in cases]
    return [verdict.label for verdict in MathVerifyJudge().judge(shown)]


@pytest.mark.parametrize(("write", "least"), [(lambda text, row: boxed(text), 0.97), (unboxed, 0.9)])
def test_rewritten_references_are_correct(rows: dict[str, list[str]], write, least: float) -> None:
    cases = [(write(text, row), one) for found in rows.values() for _, row, one, text in rewritten(found)]
    found = labels(cases)
    assert len(found) > 5000
    assert sum(label is True for label in found) >= least * len(found)


def test_numbers_of_other_rows_are_incorrect(rows: dict[str, list[str]]) -> None:
    numbers = [reference for found in rows.values() for reference in found if number(reference) is not None]
    pairs = [
        (boxed(other), reference)
        for reference, other in zip(numbers, numbers[7:] + numbers[:7], strict=True)
        if abs(number(reference) - number(other)) > abs(number(reference)) / 1000
    ]
    assert len(pairs) > 200
    assert labels(pairs) == [False] * len(pairs)
