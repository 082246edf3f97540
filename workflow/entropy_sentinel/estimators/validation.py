"""Does an estimator hold for this model? Each labelled domain is estimated by what is fitted on the others.

No label of a domain is looked at by what estimates it: where the method itself chooses among others, as `recommended`
does, it chooses again without that domain.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from entropy_sentinel.estimators.estimator import Unfitted
from entropy_sentinel.estimators.fit import one_thread
from entropy_sentinel.estimators.training import TrainingRows
from entropy_sentinel.statistics.conformal import coverage
from entropy_sentinel.statistics.errors import FEWEST_FOR_RHO, evaluate
from entropy_sentinel.statistics.intervals import Residuals

LEVELS = (0.8, 0.9, 0.95)
# With fewer, there is nothing to leave out: an estimator of one domain says little about its rivals on three.
FEWEST_DOMAINS = 3
# An estimate is of use on its own if it is off by no more than the paper's is in the median (AEE of Tables 2 and 7,
# .10), and in no domain by so much that a good one is taken for a bad one.
USABLE_AEE, USABLE_WORST = 0.10, 0.25
# What puts domains in the right order is of use for deciding where to look first.
RANKING_RHO = 0.7

USABLE, RANKING, NO_USE, UNKNOWN = "usable", "ranking only", "do not use", "not validated"


@dataclass(frozen=True)
class Domain:
    """A labelled domain: how many responses, what was estimated without it, and what is true.

    `estimated` is null where the estimator cannot be fitted on the others, with the `reason`.
    """

    domain: str
    n: int
    estimated: float | None
    true: float
    reason: str | None = None


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


@dataclass(frozen=True)
class Validation:
    """The validation card of an estimator.

    `bias` is the mean of estimated minus true; `aee`, `rho` and `bias` are null where there is nothing to compute them
    from. `reasons` are sentences with the numbers that the verdict rests on. `n_domains` are the domains that the
    estimator is fitted on.
    """

    estimator: str
    n_domains: int
    domains: tuple[Domain, ...]
    aee: float | None
    rho: float | None
    bias: float | None
    coverage: tuple[Coverage, ...]
    verdict: str
    reasons: tuple[str, ...]

    @property
    def worst(self) -> Domain | None:
        """The domain with the largest error; null where none has been estimated."""
        return max(self._estimated(), key=lambda one: abs(one.estimated - one.true), default=None)

    @property
    def residuals(self) -> Residuals:
        """What intervals for other slices are made of."""
        known = self._estimated()
        return Residuals(
            [one.estimated for one in known], [one.true for one in known], [one.n for one in known], self.n_domains
        )

    def as_dict(self) -> dict[str, Any]:
        """The card as JSON has it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, card: Mapping[str, Any]) -> "Validation":
        """The card from JSON."""
        domains = tuple(Domain(**one) for one in card["domains"])
        levels = tuple(Coverage(**one) for one in card["coverage"])
        return cls(**{**card, "domains": domains, "coverage": levels, "reasons": tuple(card["reasons"])})

    def _repr_html_(self) -> str:
        from entropy_sentinel.estimators.shown import card_as_html  # which imports this module

        return card_as_html(self)

    def _estimated(self) -> list[Domain]:
        return [one for one in self.domains if one.estimated is not None]


def validate(rows: TrainingRows, name: str) -> Validation:
    """Estimate each domain of `rows` by the estimator `name` fitted on the other domains, and say what that means.

    With fewer than FEWEST_DOMAINS domains nothing is estimated, and the verdict is "not validated".
    """
    names = np.unique(rows.domains)
    if len(names) < FEWEST_DOMAINS:
        reason = f"leaving out one domain at a time needs {FEWEST_DOMAINS} labelled domains, there are {len(names)}"
        return Validation(name, len(names), (), None, None, None, (), UNKNOWN, (reason,))
    with one_thread():
        domains = tuple(_left_out(rows, name, domain) for domain in names)
    known = [one for one in domains if one.estimated is not None]
    estimated, true = [one.estimated for one in known], [one.true for one in known]
    errors = evaluate(estimated, true)
    bias = float(np.subtract(estimated, true).mean()) if known else None
    card = Validation(name, len(names), domains, errors.aee, errors.rho, bias, (), UNKNOWN, ())
    verdict, reasons = _verdict(card)
    levels = tuple(_coverage(card.residuals, level) for level in LEVELS) if len(known) >= FEWEST_DOMAINS else ()
    return Validation(name, len(names), domains, errors.aee, errors.rho, bias, levels, verdict, reasons)


def _left_out(rows: TrainingRows, name: str, domain: str) -> Domain:
    here = rows.domains == domain
    fitted, true, n = rows.part(~here).fit(name), float(rows.y[here].mean()), int(here.sum())
    if isinstance(fitted, Unfitted):
        return Domain(str(domain), n, None, true, fitted.reason)
    return Domain(str(domain), n, fitted.accuracy(rows.features.filter(here)), true)


def _coverage(residuals: Residuals, level: float) -> Coverage:
    """The share of domains inside the interval that the others' errors give."""
    made = []
    for place in range(len(residuals)):
        others = residuals.without(place)
        made.append(others.intervals([residuals.estimated[place]], [residuals.n[place]], level))
    lower, upper = (np.concatenate(ends) for ends in zip(*((one.lower, one.upper) for one in made), strict=True))
    share = coverage(lower, upper, residuals.true)
    covered = round(share.estimate * len(made))
    return Coverage(level, covered, len(made), share.lower, share.upper, made[0].basis)


def _verdict(card: Validation) -> tuple[str, tuple[str, ...]]:
    """What may be done with the estimates, and why."""
    missing = [one.domain for one in card.domains if one.estimated is None]
    absent = (f"{len(missing)} of {len(card.domains)} domains could not be estimated: {missing[0]}",) if missing else ()
    worst, known = card.worst, len(card.domains) - len(missing)
    if known < FEWEST_DOMAINS:
        return UNKNOWN, absent
    off = worst.estimated - worst.true
    reasons = [
        f"off by {card.aee:.3f} in the mean over {known} domains that it had not seen (usable up to {USABLE_AEE:.2f})",
        f"worst in {worst.domain}: {worst.estimated:.3f} estimated, {worst.true:.3f} true (usable up to "
        f"{USABLE_WORST:.2f}, is {abs(off):.3f})",
        "estimates have no bias in the mean"
        if round(card.bias, 3) == 0
        else f"estimates are too {'high' if card.bias > 0 else 'low'} by {abs(card.bias):.3f} in the mean",
    ]
    ranks = card.rho is not None and known >= FEWEST_FOR_RHO
    if ranks:
        reasons.append(f"rank correlation with the truth {card.rho:.3f} (a ranking from {RANKING_RHO:.1f})")
    else:
        reasons.append(f"the order of {known} domains shows nothing: a ranking needs {FEWEST_FOR_RHO}")
    if card.aee <= USABLE_AEE and abs(off) <= USABLE_WORST:
        return USABLE, (*reasons, *absent)
    return (RANKING if ranks and card.rho >= RANKING_RHO else NO_USE), (*reasons, *absent)
