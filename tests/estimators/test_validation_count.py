"""How often labels were validated: other labels or another estimator count, repetitions and other domains do not."""

import pytest

from entropy_sentinel.estimators.fit_metadata import FitMetadata, LogprobsKind, count_validations
from entropy_sentinel.estimators.validation_record import Domain, Validation


def metadata(*domains: tuple[str, int, float | None, float], model: str = "m", n_validations: int = 1) -> FitMetadata:
    validation = Validation("log-3d", len(domains), tuple(Domain(*domain) for domain in domains)) if domains else None
    return FitMetadata(
        name="log-3d", logprobs=LogprobsKind(), model=model, validation=validation, n_validations=n_validations
    )


FIRST = (("algebra", 30, 0.5, 0.55), ("geometry", 30, 0.4, 0.3))


@pytest.mark.parametrize(
    ("new", "previous", "expected"),
    [
        (metadata(*FIRST), None, 1),
        (metadata(*FIRST), metadata(*FIRST), 1),
        (metadata(*FIRST), metadata(*FIRST, n_validations=4), 4),
        (metadata(*FIRST, ("logic", 30, 0.6, 0.6)), metadata(*FIRST), 2),
        (metadata(("algebra", 40, 0.5, 0.5)), metadata(*FIRST, n_validations=2), 3),
        (metadata(("algebra", 30, 0.45, 0.55), FIRST[1]), metadata(*FIRST), 2),
        (metadata(("chemistry", 30, 0.5, 0.5)), metadata(*FIRST, n_validations=2), 1),
        (metadata(*FIRST, model="other"), metadata(*FIRST, n_validations=2), 1),
        (metadata(*FIRST), metadata(), 1),
    ],
    ids=["first", "again", "third again", "a domain more", "labels more", "other estimator", "new", "model", "none"],
)
def test_count(new: FitMetadata, previous: FitMetadata | None, expected: int) -> None:
    assert count_validations(new, previous) == expected
