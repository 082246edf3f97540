"""Does an estimator hold for this model? Each labelled domain is estimated by what is fitted on the others.

No label of a domain is looked at by what estimates it: where the method itself chooses among others, as `recommended`
does, it chooses again without that domain.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from entropy_sentinel.estimators.estimator import Unfitted
from entropy_sentinel.estimators.training import TrainingRows, one_thread
from entropy_sentinel.estimators.verdict import FEWEST_DOMAINS, FEWEST_LABELS, LEVELS, TOO_FEW, Verdict, verdict_of
from entropy_sentinel.frames.printable import counted, html, number, one_line
from entropy_sentinel.statistics.conformal import coverage
from entropy_sentinel.statistics.errors import evaluate
from entropy_sentinel.statistics.intervals import Residuals


@dataclass(frozen=True)
class Domain:
    """A labelled domain: how many items, what was estimated without it, and what is true.

    Several answers to one item may all be right or wrong together: they count as one label.

    `estimated` is null, with the `reason`, where the estimator cannot be fitted on the others or the domain has too few
    labels to count.
    """

    domain: str
    n: int
    estimated: float | None
    true: float
    reason: str | None = None

    @property
    def signed(self) -> float | None:
        """Estimated minus true; null without an estimate."""
        return None if self.estimated is None else self.estimated - self.true

    @property
    def error(self) -> float:
        """How far the estimate is from the truth; 0 without one."""
        return abs(self.signed or 0.0)


@dataclass(frozen=True)
class Coverage:
    """How many of the domains' intervals of a level hold the truth, each made from the other domains' errors.

    `basis` is what they rest on, `lower` and `upper` Wilson's interval at 95 % for the share.
    """

    level: float
    covered: int
    n: int
    lower: float
    upper: float
    basis: str


@dataclass(frozen=True, repr=False)
class Validation:
    """The leave-one-domain-out validation of an estimator.

    `n_domains` are the domains that the estimator is fitted on, `n_counted` those that count: with FEWEST_LABELS labels
    and an estimate. All that follows is over these. `bias` is the mean of estimated minus true; `aee`, `rho` and `bias`
    are null where there is nothing to compute them from. `verdict`, `reasons` and the limits of the error on new
    domains are those of `estimators.verdict`.
    """

    estimator: str
    n_domains: int
    n_counted: int
    domains: tuple[Domain, ...]
    aee: float | None
    rho: float | None
    bias: float | None
    error_at_least: float | None
    error_at_most: float | None
    coverage: tuple[Coverage, ...]
    verdict: str
    reasons: tuple[str, ...]

    @classmethod
    def of(cls, estimator: str, n_domains: int, domains: tuple[Domain, ...]) -> "Validation":
        """The validation that follows from what was estimated for each domain without it."""
        known, residuals = _counted(domains), _residuals(domains, n_domains)
        errors = evaluate(residuals.estimated, residuals.true)
        bias = float(residuals.errors.mean()) if known else None
        levels: tuple[Coverage, ...] = ()
        if len(known) < FEWEST_DOMAINS or errors.aee is None or bias is None:
            there = len(known) if domains else n_domains
            reason = (
                f"a verdict needs {FEWEST_DOMAINS} domains with {FEWEST_LABELS} labels each, and an estimate from the "
                f"others: label {counted(FEWEST_DOMAINS - there, 'more domain')}"
            )
            outcome = Verdict(TOO_FEW, (reason,))
        else:
            outcome = verdict_of([domain.domain for domain in known], residuals, errors.aee, errors.rho, bias)
            levels = tuple(_coverage(residuals, level) for level in LEVELS)
        return cls(
            estimator=estimator,
            n_domains=n_domains,
            n_counted=len(known),
            domains=domains,
            aee=errors.aee,
            rho=errors.rho,
            bias=bias,
            error_at_least=outcome.error_at_least,
            error_at_most=outcome.error_at_most,
            coverage=levels,
            verdict=outcome.verdict,
            reasons=(*outcome.reasons, *_left_aside(domains)),
        )

    @property
    def worst(self) -> Domain | None:
        """The domain with the largest error; null where none has been estimated."""
        return max(_counted(self.domains), key=lambda domain: domain.error, default=None)

    @property
    def residuals(self) -> Residuals:
        """What intervals for other slices are made of."""
        return _residuals(self.domains, self.n_domains)

    def as_dict(self) -> dict[str, Any]:
        """The validation as JSON has it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> "Validation":
        """The validation from JSON, made anew from its domains: one of an earlier release is judged as of now."""
        domains = (Domain(**domain) for domain in kept["domains"])
        counted = tuple(
            domain if domain.n >= FEWEST_LABELS else _too_few(domain.domain, domain.n, domain.true)
            for domain in domains
        )
        return cls.of(kept["estimator"], kept["n_domains"], counted)

    def __repr__(self) -> str:
        return "\n  ".join([f"verdict on {self.estimator}: {self.verdict}", *map(one_line, self.reasons)])

    def _repr_html_(self) -> str:
        """Verdict and reasons, each labelled domain as estimated by the others, how often intervals hold."""
        domains = [
            (
                domain.domain,
                f"{domain.n:,}",
                number(domain.estimated),
                number(domain.true),
                number(domain.signed, "+.3f"),
            )
            for domain in self.domains
        ]
        held = [
            f"{share.level:.0%} intervals hold the truth of {share.covered} of {share.n} domains ({share.basis})"
            for share in self.coverage
        ]
        tables = [(("domain", "labels", "estimated", "true", "error"), domains)] if domains else []
        return html(f"Verdict: {self.verdict}", [*self.reasons, *held], *tables)


def validate(rows: TrainingRows, name: str) -> Validation:
    """Estimate each domain of `rows` by the estimator `name` fitted on the other domains, and say what that means.

    With fewer than FEWEST_DOMAINS domains nothing is estimated. A domain of fewer than FEWEST_LABELS labels is not left
    out: the others are fitted with it, but it does not count.
    """
    names = np.unique(rows.domains)
    if len(names) < FEWEST_DOMAINS:
        return Validation.of(name, len(names), ())
    with one_thread():
        domains = tuple(_left_out(rows, name, domain) for domain in names)
    return Validation.of(name, len(names), domains)


def _left_out(rows: TrainingRows, name: str, domain: str) -> Domain:
    here = rows.domains == domain
    true, n = float(rows.y[here].mean()), len(np.unique(rows.items[here]))
    if n < FEWEST_LABELS:
        return _too_few(str(domain), n, true)
    fitted = rows.part(~here, left_out=1).fit(name)
    if isinstance(fitted, Unfitted):
        return Domain(str(domain), n, None, true, fitted.reason)
    return Domain(str(domain), n, fitted.accuracy(rows.features.filter(here)), true)


def _too_few(domain: str, n: int, true: float) -> Domain:
    return Domain(domain, n, None, true, f"{counted(n, 'label')}, fewer than {FEWEST_LABELS}: it does not count")


def _counted(domains: tuple[Domain, ...]) -> list[Domain]:
    return [domain for domain in domains if domain.estimated is not None]


def _residuals(domains: tuple[Domain, ...], n_domains: int) -> Residuals:
    known = [(domain.estimated, domain.true, domain.n) for domain in domains if domain.estimated is not None]
    estimated, true, n = zip(*known, strict=True) if known else ((), (), ())
    return Residuals(estimated, true, n, n_domains)


def _left_aside(domains: tuple[Domain, ...]) -> tuple[str, ...]:
    """What to say of the domains that do not count."""
    few = [domain.domain for domain in domains if domain.n < FEWEST_LABELS]
    unfitted = [domain.domain for domain in domains if domain.estimated is None and domain.n >= FEWEST_LABELS]
    notes = []
    if few:
        notes.append(
            f"not counted, with fewer than {FEWEST_LABELS} labels: {len(few)} of {len(domains)} domains "
            f"({', '.join(few)})"
        )
    if unfitted:
        notes.append(f"not estimated: {len(unfitted)} of {len(domains)} domains ({', '.join(unfitted)})")
    return tuple(notes)


def _coverage(residuals: Residuals, level: float) -> Coverage:
    """The share of domains inside the interval that the others' errors give."""
    made = []
    for place in range(len(residuals)):
        others = residuals.without(place)
        made.append(others.intervals([residuals.estimated[place]], [residuals.n[place]], level))
    lower, upper = (
        np.concatenate(ends) for ends in zip(*((interval.lower, interval.upper) for interval in made), strict=True)
    )
    share, least, most = coverage(lower, upper, residuals.true).known()
    return Coverage(level, round(share * len(made)), len(made), least, most, made[0].basis)
