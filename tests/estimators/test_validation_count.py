"""How often labels were validated: other labels or another estimator count, repetitions and other domains do not."""

from typing import Any

import pytest

from entropy_sentinel.estimators.validation_count import count_validations


def about(*domains: tuple[str, int, float | None, float], model: str = "m", **further: Any) -> dict[str, Any]:
    names = ("domain", "n", "estimated", "true")
    return {
        "model": model,
        "validation": {"domains": [dict(zip(names, row, strict=True)) for row in domains]},
    } | further


FIRST = (("algebra", 30, 0.5, 0.55), ("geometry", 30, 0.4, 0.3))


@pytest.mark.parametrize(
    ("new", "previous", "expected"),
    [
        (about(*FIRST), None, 1),
        (about(*FIRST), about(*FIRST), 1),
        (about(*FIRST), about(*FIRST, n_validations=4), 4),
        (about(*FIRST, ("logic", 30, 0.6, 0.6)), about(*FIRST), 2),
        (about(("algebra", 40, 0.5, 0.5)), about(*FIRST, n_validations=2), 3),
        (about(("algebra", 30, 0.45, 0.55), FIRST[1]), about(*FIRST), 2),
        (about(("chemistry", 30, 0.5, 0.5)), about(*FIRST, n_validations=2), 1),
        (about(*FIRST, model="other"), about(*FIRST, n_validations=2), 1),
        (about(*FIRST), {"model": "m", "validation": None}, 1),
    ],
    ids=["first", "again", "third again", "a domain more", "labels more", "other estimator", "new", "model", "none"],
)
def test_count(new: dict[str, Any], previous: dict[str, Any] | None, expected: int) -> None:
    assert count_validations(new, previous) == expected
