"""What the errors of a validation allow to do with an estimator, and with what confidence.

The mean error on new domains (AEE) is not known from k domains, but its posterior is (`statistics.predictive`). An
estimator is `usable` where that error is at most USABLE_ERROR with a probability of CONFIDENCE, and no domain was off
by more than USABLE_WORST. Where it is above USABLE_ERROR with that probability, it is `ranking only` if it puts the
domains in the right order, or else `do not use`. In between there are `too few domains to say`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from entropy_sentinel.statistics.errors import FEWEST_FOR_RHO
from entropy_sentinel.statistics.intervals import Residuals

USABLE, RANKING, NO_USE, TOO_FEW = "usable", "ranking only", "do not use", "too few domains to say"

CONFIDENCE = 0.9
# With fewer, there is nothing to leave out: an estimator of one domain says little about its rivals on three.
FEWEST_DOMAINS = 3
# With fewer labels, the chance in a domain's share of correct ones (.5 / sqrt(n)) is as large as the error that would
# have to be seen in it: it does not count as a domain.
FEWEST_LABELS = 20
# An estimate is of use on its own if it is off by no more than the paper's is in the median (AEE of Tables 2 and 7,
# .10), and in no domain by so much that a good one is taken for a bad one.
USABLE_ERROR, USABLE_WORST = 0.10, 0.25
# What puts domains in the right order is of use for deciding where to look first.
RANKING_RHO = 0.7
# Nobody is told to label more domains than these.
_MOST_MORE = 50


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
    below = residuals.spread.mean_error_below(USABLE_ERROR)
    if 1 - CONFIDENCE < below < CONFIDENCE:
        return TOO_FEW
    if below >= CONFIDENCE and abs(residuals.errors).max() <= USABLE_WORST:
        return USABLE
    return RANKING if len(residuals) >= FEWEST_FOR_RHO and rho is not None and rho >= RANKING_RHO else NO_USE


def verdict_of(names: Sequence[str], residuals: Residuals, aee: float, rho: float | None, bias: float) -> Verdict:
    """The verdict on what was estimated for each of k domains without it; `names` are the domains', (k,).

    `aee`, `rho` and `bias` are over these domains.
    """
    spread, verdict = residuals.spread, decide(residuals, rho)
    least, most = spread.mean_error(1 - CONFIDENCE), spread.mean_error(CONFIDENCE)
    off = abs(residuals.errors)
    worst = int(off.argmax())
    reasons = [
        f"off by {aee:.3f} in the mean over {len(names)} domains that it had not seen",
        f"on new domains {_limits(least, most)} (usable up to {USABLE_ERROR:.2f})",
        f"worst in {names[worst]}: {residuals.estimated[worst]:.3f} estimated, {residuals.true[worst]:.3f} true "
        f"(usable up to {USABLE_WORST:.2f}, is {off[worst]:.3f})",
        _bias(bias),
        _order(len(names), rho),
    ]
    if verdict == TOO_FEW:
        reasons.append(_what_more_domains_would_say(residuals))
    return Verdict(verdict, tuple(reasons), least, most)


def _limits(least: float, most: float) -> str:
    if most <= USABLE_ERROR:
        return f"off by at most {most:.3f} in the mean, with {CONFIDENCE:.0%} confidence"
    if least >= USABLE_ERROR:
        return f"off by at least {least:.3f} in the mean, with {CONFIDENCE:.0%} confidence"
    return f"off by {least:.3f} to {most:.3f} in the mean, either limit with {CONFIDENCE:.0%} confidence"


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


def _what_more_domains_would_say(residuals: Residuals) -> str:
    """How many more domains it takes for another verdict, if their errors are like those seen."""
    for more in range(1, _MOST_MORE + 1):
        below = residuals.spread_after(more).mean_error_below(USABLE_ERROR)
        if not 1 - CONFIDENCE < below < CONFIDENCE:
            end = "make it usable" if below >= CONFIDENCE else "show that it is not usable"
            return f"about {more} more labelled domains with errors like these would {end}"
    return f"errors like these are so near to the limit that {_MOST_MORE} more domains would not decide it"
