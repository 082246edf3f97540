"""Validate an estimator: estimate each labelled domain by estimators fitted on the others.

If domains have groups, there are two questions. Leaving out one domain shows what to expect of a new slice of the
labelled groups; leaving out its whole group, what to expect of anything else.

No estimate uses labels of its domain: a method that chooses among others, such as `recommended`, chooses again without
that domain.
"""

import logging
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from entropy_sentinel.estimators.estimator_base import Estimator, FitFailure
from entropy_sentinel.estimators.training_rows import TrainingRows, one_thread
from entropy_sentinel.estimators.validation_record import Domain, Validation, explain_few_labels
from entropy_sentinel.estimators.verdict import FEWEST_DOMAINS, FEWEST_LABELS
from entropy_sentinel.estimators.verdict_limits import DEFAULT, Limits
from entropy_sentinel.estimators.witness_validation import WitnessedEstimate, WitnessedRows, WitnessSummary
from entropy_sentinel.statistics.design_effects import independent_sample_size
from entropy_sentinel.statistics.probability_calibration import sum_by_bin
from entropy_sentinel.statistics.witnessed_accuracies import estimate_accuracies

# The progress of a validation, at level INFO.
log = logging.getLogger(__name__)


def validate_estimator(
    rows: TrainingRows, name: str, limits: Limits = DEFAULT, witnessed_rows: WitnessedRows | None = None
) -> Validation:
    """Estimate each domain of `rows` by the estimator `name` fitted on the other domains, and decide the verdict.

    If `rows` have groups, also estimate each domain by an estimator fitted on the other groups. With fewer than
    FEWEST_DOMAINS domains, or groups, nothing is estimated. A domain with fewer than FEWEST_LABELS labels is not held
    out: it stays in the training rows, but does not count. With `witnessed_rows`, responses with a judge's verdicts,
    fewer labels of a domain are enough. `limits` say what the verdict `usable` means.
    """
    n_domains = len(np.unique(rows.domains))
    by_group = None
    if rows.groups is not None:
        n_groups = len(np.unique(rows.groups))
        domains_by_group, group_witnesses = _hold_out(rows, name, rows.groups, witnessed_rows)
        by_group = Validation(
            name, n_domains, domains_by_group, n_groups=n_groups, limits=limits, witnesses=group_witnesses
        )
    domains, witnesses = _hold_out(rows, name, rows.domains, witnessed_rows)
    return Validation(name, n_domains, domains, new_groups=by_group, limits=limits, witnesses=witnesses)


def _hold_out(
    rows: TrainingRows, name: str, units: np.ndarray, witnessed_rows: WitnessedRows | None
) -> tuple[tuple[Domain, ...], tuple[WitnessSummary, ...]]:
    """Each domain, estimated without its unit (the domain itself or its group), and a summary of each witness.

    `units`, (n_rows,), are the domains or groups. A witness is a judge or another model, whose verdicts, corrected by
    labels, give the true accuracy of a domain with few labels; without `witnessed_rows`, there is none.
    """
    # By domain, the witnesses that count there.
    judged = witnessed_rows.counted_domains() if witnessed_rows is not None else dict[str, tuple[int, ...]]()
    domains: list[Domain] = []
    estimates: dict[str, WitnessedEstimate] = {}
    for domain, fitted in _refit_units(rows, name, units, set(judged)):
        domains.append(domain)
        if witnessed_rows is not None and fitted is not None and domain.domain in judged:
            with one_thread():
                estimates[domain.domain] = witnessed_rows.estimate(domain.domain, judged[domain.domain], fitted)
    if witnessed_rows is None:
        return tuple(domains), ()
    measured = None
    if estimates:
        measured = estimate_accuracies([one.domain for one in estimates.values()], witnessed_rows.recognises)
    if measured is None:  # too few labels have a verdict
        return tuple(map(_drop_verdicts, domains)), witnessed_rows.summarise()
    positions = {domain.domain: position for position, domain in enumerate(domains)}
    for (domain_name, estimate), true, noise in zip(
        estimates.items(), measured.accuracies, measured.variances, strict=True
    ):
        position = positions[domain_name]
        domains[position] = replace(
            domains[position],
            n=int(estimate.domain.n),
            estimated=estimate.estimated,
            true=float(true),
            n_judged=estimate.n_judged,
            noise=float(noise),
        )
    return tuple(domains), witnessed_rows.summarise(measured.worth, measured.powers, measured.counts)


def _drop_verdicts(domain: Domain) -> Domain:
    """The domain if its judge's verdicts cannot be used: without an estimate if its labels alone are too few."""
    if domain.estimated is None or domain.n >= FEWEST_LABELS:
        return domain
    return replace(domain, estimated=None, reason=explain_few_labels(domain.n), scored=None)


def _refit_units(
    rows: TrainingRows, name: str, units: np.ndarray, judged: set[str]
) -> Iterator[tuple[Domain, Estimator | None]]:
    """Yield each domain, estimated without its unit, and the estimator fitted without it.

    `units`, (n_rows,), are the domains themselves or their groups. The estimator is null for a domain that does not
    count: one with fewer than FEWEST_LABELS labels that is not in `judged`, those with enough verdicts of a judge.
    """
    names, unit_numbers = np.unique(units, return_inverse=True)
    if len(names) < FEWEST_DOMAINS:
        return
    domains, domain_numbers = np.unique(rows.domains, return_inverse=True)
    domain_rows = _group_positions(domain_numbers, len(domains))
    kind = "domain" if units is rows.domains else "group"
    for unit, unit_rows in enumerate(_group_positions(unit_numbers, len(names))):
        log.info("%s %d of %d", kind, unit + 1, len(names))
        unit_domains = [(str(domains[number]), domain_rows[number]) for number in np.unique(domain_numbers[unit_rows])]
        n_labels = [independent_sample_size(rows.items[members], rows.similarity) for _, members in unit_domains]
        counts = [n >= FEWEST_LABELS or domain in judged for (domain, _), n in zip(unit_domains, n_labels, strict=True)]
        fitted = None
        # Without a domain that counts, nothing is to be estimated.
        if any(counts):
            with one_thread():
                fitted = rows.part(unit_numbers != unit, left_out=len(unit_domains)).fit(name)
        for (domain, members), n, is_counted in zip(unit_domains, n_labels, counts, strict=True):
            estimate = _estimate_domain(rows, domain, members, n, fitted if is_counted else None)
            yield estimate, fitted if isinstance(fitted, Estimator) and is_counted else None


def _group_positions(numbers: np.ndarray, n: int) -> list[np.ndarray]:
    """For each number from 0 to n - 1, its positions in `numbers`, in order; each number occurs."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.bincount(numbers, minlength=n).cumsum()[:-1])


def _estimate_domain(
    rows: TrainingRows, domain: str, members: np.ndarray, n: int, fitted: Estimator | FitFailure | None
) -> Domain:
    """The domain, whose `n` labels are in the rows `members` (positions); `fitted` is null if it does not count."""
    true = float(rows.y[members].mean())
    group = None if rows.groups is None else str(rows.groups[members[0]])
    if fitted is None:
        return Domain(domain, n, estimated=None, true=true, reason=explain_few_labels(n), group=group)
    if isinstance(fitted, FitFailure):
        return Domain(domain, n, estimated=None, true=true, reason=fitted.reason, group=group)
    with one_thread():
        features = rows.features[members]
        p = fitted.p_correct(features)
        scored = None if p is None else sum_by_bin(np.clip(p, 0, 1), rows.y[members])
        return Domain(
            domain, n, estimated=fitted.accuracy(features), true=true, reason=None, group=group, scored=scored
        )
