"""How often an estimator's labels were validated. The confidence of a verdict is that of a single look at the labels:
whoever adds labels until the verdict is `usable` reaches it more often (docs/verdicts.md).
"""

from entropy_sentinel.estimators.fit_metadata import FitMetadata


def count_validations(metadata: FitMetadata, previous: FitMetadata | None) -> int:
    """The number of validations of these labels so far, this one included.

    `previous` is the metadata of the estimator that this one replaces. Labels are the same if the model is the same and
    a domain has the same name. Repeating a validation without any change does not count; other labels or another
    estimator do.
    """
    if previous is None or previous.model != metadata.model:
        return 1
    new, old = _held_out(metadata), _held_out(previous)
    if new == old:
        return previous.n_validations
    return previous.n_validations + 1 if new.keys() & old.keys() else 1


def _held_out(metadata: FitMetadata) -> dict[str, tuple[int, float | None, float]]:
    """Number of labels, estimated and true accuracy of each domain of the validation."""
    domains = metadata.validation.domains if metadata.validation else ()
    return {domain.domain: (domain.n, domain.estimated, domain.true) for domain in domains}
