"""Family `recommended`: the consensus, or the method that six labelled domains or more say is better.

Every candidate is fitted on all labelled domains but one and estimates that one. The consensus is taken unless another
candidate's mean error over the domains is smaller by more than the standard error of the difference: a choice among
few domains is noisy. No row outside the training rows is seen.

From how many domains on a choice pays was learned by leaving out one model and one domain at a time (`make
bench-learned`; two real models and the demo's two). Mean error on unseen domains, models alike: the consensus .042,
choosing from three domains on .046, from five .043, from six .042, the least error without a margin .049. Trained on
all domains but one, six or nine, what is chosen is better than the consensus on three of these four models and equal
on one, which may be chance. Median of seven alone, .040, is off by .03 more than the consensus in simulated worlds
(`make bench-methods`). A validation of six domains chooses without each of them by the other five.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.estimators.catalogue import CANDIDATES, FEWEST_TO_CHOOSE
from entropy_sentinel.estimators.estimator import Estimator, Unfitted
from entropy_sentinel.estimators.training import TrainingRows

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
    if n_domains + rows.n_left_out < FEWEST_TO_CHOOSE:
        reason = f"a choice needs {FEWEST_TO_CHOOSE} labelled domains, there are {n_domains}"
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
