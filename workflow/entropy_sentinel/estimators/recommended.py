"""Family `recommended`: the method that a labelled set itself says is best, by leaving out one domain at a time.

Every candidate is fitted on all labelled domains but one and estimates that one. The consensus is taken unless another
candidate's mean error over the domains is smaller by more than the standard error of the difference: a choice among
few domains is noisy, and the consensus has been no worse in the end. No row outside the training rows is seen.

Candidates and rule rest on two tiny models over ten domains and on simulated worlds (`make bench-methods`): plainly
taking the least error, weighting candidates by their errors or choosing among more of them did no better than .01. Nor
does this choice do better than plain consensus, there (.0493 and .0210 against .0486 and .0190) or on three large
models (.164 against .165): what it brings is a reason for the method that is taken.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.estimators.catalogue import CANDIDATES
from entropy_sentinel.estimators.estimator import Estimator, Unfitted
from entropy_sentinel.estimators.training import TrainingRows

# With fewer labelled domains a candidate would be judged after training on one, or on none.
FEWEST_DOMAINS = 3
FIRST = CANDIDATES[0]


@dataclass(frozen=True)
class Recommended(Estimator):
    """The method taken, and why: the error of each candidate where it was judged.

    Where the method gives no P(correct), as a threshold does, `ranker` does.
    """

    method: Estimator
    ranker: Estimator
    why: dict[str, Any]

    def values(self, features: pl.DataFrame) -> np.ndarray:
        return self.method.values(features)

    def accuracies_of(self, means: np.ndarray) -> np.ndarray:
        return self.method.accuracies_of(means)

    def p_correct(self, features: pl.DataFrame) -> np.ndarray | None:
        p = self.method.p_correct(features)
        return self.ranker.p_correct(features) if p is None else p

    @property
    def chosen(self) -> dict[str, Any]:
        """`method`, `domains` (labelled ones), `reason`, and `leave_one_out_aee` by candidate where there is one."""
        return {"method": self.method.name, **self.why}


SAVED = (Recommended,)


def fit(name: str, rows: TrainingRows) -> Recommended:
    """Choose among `CANDIDATES` on these rows, and fit the chosen one on all of them."""
    rows.require_rows()
    n_domains = len(np.unique(rows.domains))
    if n_domains < FEWEST_DOMAINS:
        reason = f"leave-one-domain-out needs {FEWEST_DOMAINS} labelled domains, there are {n_domains}"
        return _recommended(name, rows, FIRST, {"domains": n_domains, "reason": reason})
    errors = leave_one_out_errors(rows)
    method, reason = choose(errors)
    means = {candidate: round(float(found.mean()), 4) for candidate, found in errors.items()}
    return _recommended(name, rows, method, {"domains": n_domains, "reason": reason, "leave_one_out_aee": means})


def leave_one_out_errors(rows: TrainingRows) -> dict[str, np.ndarray]:
    """|estimated - true| of each labelled domain by candidate, (n_domains,), each fitted on the other domains.

    A candidate that cannot be fitted without some domain, or on all of them, is left out.
    """
    errors: dict[str, list[float]] = {candidate: [] for candidate in CANDIDATES}
    for domain in np.unique(rows.domains):
        left_out = rows.domains == domain
        others, features, true = rows.part(~left_out), rows.features.filter(left_out), rows.y[left_out].mean()
        for candidate in CANDIDATES:
            fitted = others.fit(candidate)
            if isinstance(fitted, Unfitted) or isinstance(rows.fit(candidate), Unfitted):
                errors[candidate].append(math.nan)
            else:
                errors[candidate].append(abs(fitted.accuracy(features) - true))
    return {candidate: np.array(found) for candidate, found in errors.items() if not np.isnan(found).any()}


def choose(errors: Mapping[str, np.ndarray]) -> tuple[str, str]:
    """The candidate to take and why, from errors by candidate, (n_domains,) each and at least 2.

    The candidate of least mean error among those that beat the consensus by more than one standard error of the mean
    paired difference (the one-standard-error rule: Breiman et al. 1984, section 3.4.3), or else the consensus.
    """
    gains = {candidate: errors[FIRST] - found for candidate, found in errors.items() if candidate != FIRST}
    clear = [one for one, gain in gains.items() if gain.mean() > gain.std(ddof=1) / math.sqrt(len(gain))]
    if not clear:
        return FIRST, f"no candidate beats {FIRST} by more than a standard error"
    best = min(clear, key=lambda candidate: errors[candidate].mean())
    return best, f"least leave-one-domain-out error, below that of {FIRST} by more than a standard error"


def _recommended(name: str, rows: TrainingRows, method: str, why: dict[str, Any]) -> Recommended:
    return Recommended(name, rows.require(method), rows.require(FIRST), why)
