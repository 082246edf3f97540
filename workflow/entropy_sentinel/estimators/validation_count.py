"""How often an estimator's labels were validated. The confidence of a verdict is that of a single look at the labels:
whoever adds labels until the verdict is `usable` reaches it more often (docs/verdicts.md).
"""

from collections.abc import Mapping
from typing import Any

# In the file of an estimator; 1 where it is missing.
N_VALIDATIONS = "n_validations"


def count_validations(about: Mapping[str, Any], previous: Mapping[str, Any] | None) -> int:
    """Return the number of validations of these labels so far, this one included.

    `about` and `previous` are what the files of this estimator and of the one that it replaces record. Labels are the
    same if the model is the same and a domain has the same name. Repeating a validation without any change does not
    count; other labels or another estimator do.
    """
    if previous is None or previous.get("model") != about.get("model"):
        return 1
    new, old = _held_out(about), _held_out(previous)
    before = int(previous.get(N_VALIDATIONS) or 1)
    if new == old:
        return before
    return before + 1 if new.keys() & old.keys() else 1


def _held_out(about: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Return number of labels, estimated and true accuracy of each domain of the validation."""
    domains = (about.get("validation") or {}).get("domains", ())
    return {domain["domain"]: (domain["n"], domain["estimated"], domain["true"]) for domain in domains}
