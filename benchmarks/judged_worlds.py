"""Worlds with a judge: an estimator's errors on domains, a few labels by people, and verdicts on more responses.

The judge's sensitivity and specificity differ between domains (logit-normal with a standard deviation of .7, of which
leniency moves both in opposite directions), and both fall where a domain is hard. In the worst case the judge follows
the estimator: where the estimate is too high, the judge is lenient.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from bench_verdict import EXPLAINED, Errors
from entropy_sentinel.estimators.verdict import decide_verdict
from entropy_sentinel.statistics.slice_intervals import Residuals
from entropy_sentinel.statistics.witnessed_accuracies import WitnessedDomain, estimate_accuracies


class Judge(NamedTuple):
    """Mean sensitivity and specificity of a judge, the spread of their logits between domains, and `follows`: the
    correlation of its leniency with the estimator's errors.
    """

    sensitivity: float = 0.9
    specificity: float = 0.85
    spread: float = 0.7
    follows: float = 0.0


class JudgedWorlds(NamedTuple):
    """Domains of some worlds: true accuracies (n_worlds, k), the estimator's errors, and each response's numbers.

    `p`, `right` and `verdicts` are (n_worlds, k, m): P(correct), whether a response is correct, and the verdict.
    """

    accuracies: np.ndarray
    errors: np.ndarray
    p: np.ndarray
    right: np.ndarray
    verdicts: np.ndarray


def draw_judged(
    errors: Errors,
    aee: float,
    k: int,
    worlds: int,
    judge: Judge,
    m: int = 200,
    between: tuple[float, float] = (0.15, 0.85),
    seed: int = 0,
) -> JudgedWorlds:
    """Draw worlds of k domains with accuracies between these limits, and m responses of each."""
    rng = np.random.default_rng(seed)
    accuracies = rng.uniform(*between, (worlds, k))
    off = errors(rng, accuracies, aee)
    weight = 1 / EXPLAINED - 1
    p = rng.beta(weight * accuracies[..., None], weight * (1 - accuracies[..., None]), (worlds, k, m))
    right = rng.random(p.shape) < p
    standard = off / max(float(off.std()), 1e-9) if aee else np.zeros_like(off)
    leniency = judge.follows * standard + np.sqrt(1 - judge.follows**2) * rng.normal(size=off.shape)
    skill = (accuracies - 0.5) + rng.normal(size=off.shape) * judge.spread / 2
    spread = judge.spread * np.sqrt(3 / 4)
    sensitivity = expit(logit(judge.sensitivity) + spread * leniency + skill)[..., None]
    specificity = expit(logit(judge.specificity) - spread * leniency + skill)[..., None]
    verdicts = rng.random(p.shape) < np.where(right, sensitivity, 1 - specificity)
    return JudgedWorlds(accuracies, off, p, right, verdicts)


def residuals_of(drawn: JudgedWorlds, world: int, labels: int, k: int | None = None) -> Residuals:
    """The validation errors of the first k domains of a world, with so many labels by people in each."""
    k = drawn.p.shape[1] if k is None else k
    domains, estimates = [], []
    for at in range(k):
        p, z = drawn.p[world, at], drawn.verdicts[world, at].astype(float)
        witnesses = np.column_stack([p, z])
        right = drawn.right[world, at, :labels].astype(float)
        domains.append(WitnessedDomain(right, witnesses[:labels], witnesses, p, labels, len(p)))
        estimates.append(float(np.clip(p.mean() + drawn.errors[world, at], 0, 1)))
    found = estimate_accuracies(domains, (False, True))
    assert found is not None  # at least eight labels beyond one a domain
    return Residuals(estimates, found.accuracies, [labels] * k, k, noise=found.variances)


def verdicts_of(drawn: JudgedWorlds, labels: int) -> list[str]:
    """The verdict of each world."""
    return [decide_verdict(residuals_of(drawn, world, labels), None) for world in range(len(drawn.p))]
