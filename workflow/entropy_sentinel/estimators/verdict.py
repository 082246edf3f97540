"""What the errors of a validation allow to do with an estimator, and with what confidence.

`usable` is what `estimators.evidence` asks for, with a probability of CONFIDENCE. Where the opposite has that
probability, the estimator is `ranking only` if it puts the domains in the right order, or else `do not use`. In between
there are `too few domains to say`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from entropy_sentinel.estimators.evidence import CONFIDENCE, FAR_OFF, MOST_MORE, USABLE_ERROR, USABLE_SHARE, Evidence
from entropy_sentinel.frames.numbers import counted
from entropy_sentinel.statistics.errors import FEWEST_FOR_RHO
from entropy_sentinel.statistics.intervals import Residuals

USABLE, RANKING, NO_USE, TOO_FEW = "usable", "ranking only", "do not use", "too few domains to say"

# With fewer, there is nothing to leave out: an estimator of one domain says little about its rivals on three.
FEWEST_DOMAINS = 3
# With fewer labels, the chance in a domain's share of correct ones (.5 / sqrt(n)) is as large as the error that would
# have to be seen in it: it does not count as a domain.
FEWEST_LABELS = 20
# What puts domains in the right order is of use for deciding where to look first.
RANKING_RHO = 0.7
# Levels of the intervals whose coverage is told.
LEVELS = (0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Verdict:
    """What may be done, `reasons` as sentences with the numbers that it rests on, and the limits of the mean error.

    The mean error on new domains is at least `error_at_least` with a probability of CONFIDENCE, and at most
    `error_at_most` with the same; null with fewer than FEWEST_DOMAINS domains that count.
    """

    verdict: str
    reasons: tuple[str, ...]
    error_at_least: float | None = None
    error_at_most: float | None = None


def decide(residuals: Residuals, rho: float | None) -> str:
    """The verdict on these errors of k domains, whose rank correlation with the truth is `rho`."""
    usable = Evidence.of(residuals).usable
    if usable >= CONFIDENCE:
        return USABLE
    if usable > 1 - CONFIDENCE:
        return TOO_FEW
    return RANKING if len(residuals) >= FEWEST_FOR_RHO and rho is not None and rho >= RANKING_RHO else NO_USE


def verdict_of(names: Sequence[str], residuals: Residuals, aee: float, rho: float | None, bias: float) -> Verdict:
    """The verdict on what was estimated for each of k domains without it; `names` are the domains', (k,).

    `aee`, `rho` and `bias` are over these domains.
    """
    evidence, verdict = Evidence.of(residuals), decide(residuals, rho)
    least, most = (evidence.spread.mean_error(confidence) for confidence in (1 - CONFIDENCE, CONFIDENCE))
    reasons = [
        f"mean error {aee:.3f} over {counted(len(names), 'held-out domain')}",
        f"mean error on new domains {_limits(least, most)} (usable up to {USABLE_ERROR:.2f})",
        _far_off(residuals, evidence),
        _largest(names, residuals),
        _bias(bias),
        _order(len(names), rho),
    ]
    if verdict == TOO_FEW:
        reasons += [_more_domains(evidence), _intervals(residuals, most)]
    return Verdict(verdict, tuple(reasons), least, most)


def _limits(least: float, most: float) -> str:
    if most <= USABLE_ERROR:
        return f"at most {most:.3f} with {CONFIDENCE:.0%} confidence"
    if least >= USABLE_ERROR:
        return f"at least {least:.3f} with {CONFIDENCE:.0%} confidence"
    return f"{least:.3f} to {most:.3f}, each limit with {CONFIDENCE:.0%} confidence"


def _far_off(residuals: Residuals, evidence: Evidence) -> str:
    n_far = int((abs(residuals.errors) > FAR_OFF).sum())
    few = evidence.far_off.share_below(USABLE_SHARE)
    return (
        f"errors above {FAR_OFF:.2f} in {n_far} of {counted(len(residuals), 'domain')}; in at most {USABLE_SHARE:.0%} "
        f"of new ones with a probability of {few:.1%} (usable from {CONFIDENCE:.0%})"
    )


def _largest(names: Sequence[str], residuals: Residuals) -> str:
    off = abs(residuals.errors)
    worst = int(off.argmax())
    return (
        f"largest error {off[worst]:.3f}, in {names[worst]} ({residuals.estimated[worst]:.3f} estimated, "
        f"{residuals.true[worst]:.3f} true)"
    )


def _bias(bias: float) -> str:
    if round(bias, 3) == 0:
        return "estimates have no bias in the mean"
    return f"estimates are too {'high' if bias > 0 else 'low'} by {abs(bias):.3f} in the mean"


def _order(n_domains: int, rho: float | None) -> str:
    if n_domains < FEWEST_FOR_RHO:
        return f"the order of {n_domains} domains shows nothing: a ranking needs {FEWEST_FOR_RHO}"
    if rho is None:
        return "there is no order: estimates, or true accuracies, are all equal"
    return f"rank correlation with the truth {rho:.3f} (a ranking from {RANKING_RHO:.1f})"


def _more_domains(evidence: Evidence) -> str:
    """How many more labelled domains it takes to be usable."""
    fewest, enough = evidence.fewest_more(), evidence.enough_more()
    if fewest is None:
        return f"even {MOST_MORE} more labelled domains without any error on them would not make it usable"
    if enough is None:
        return (
            f"usable takes at least {counted(fewest, 'more labelled domain')}, even without any error on them, and may "
            f"take more than {MOST_MORE}"
        )
    takes = counted(enough, "more labelled domain")
    return f"usable takes {f'{fewest} to ' if fewest < enough else ''}{takes} in about four of five cases"


def _intervals(residuals: Residuals, most: float) -> str:
    """How often intervals hold if the mean error is at its upper limit: chosen by this verdict, they are too narrow."""
    shares = [residuals.spread.share_inside(level, most) for level in LEVELS]
    return (
        f"if the mean error is at its limit of {most:.3f}, {_slashed(LEVELS)}% intervals hold for only "
        f"{_slashed(shares)}% of new domains"
    )


def _slashed(shares: Sequence[float]) -> str:
    return "/".join(f"{100 * share:.0f}" for share in shares)
