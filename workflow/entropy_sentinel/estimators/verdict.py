"""The verdict: what the errors of a validation allow users to do with an estimator, and with what confidence.

An estimator is `usable` if, on new domains, its mean error (AEE) is at most `usable_error`, and if it is off by more
than `far_off` on at most a share of USABLE_SHARE of them, each with a probability of `confidence`: users may set these
three `Limits`. Both posteriors subtract the label variance, so more domains always help, even with few labels in each.
If the opposite has that probability, the verdict is `ranking only` if the estimator ranks the domains correctly, or
else `do not use`. Otherwise there are `too few domains to say`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import brentq

from entropy_sentinel.estimators.verdict_limits import DEFAULT, USABLE_SHARE, Limits
from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.statistics.estimate_errors import FEWEST_FOR_RHO
from entropy_sentinel.statistics.large_error import LargeErrorRate
from entropy_sentinel.statistics.predictive_posterior import MEAN_ABS_NORMAL, Spread
from entropy_sentinel.statistics.slice_intervals import Residuals

# The largest number of further domains that advice recommends.
MOST_MORE = 50
# The prior is cautious: if it gives a number of further domains this probability of being enough, that number was
# enough in four of five validations (benchmarks/bench_more_domains.py).
_PROBABLY_ENOUGH = 0.6


@dataclass(frozen=True)
class Evidence:
    """The posteriors of the spread of errors, and of the share of domains whose error is above `Limits.far_off`.

    `chance` is the mean variance of an error that comes from the number of labels.
    """

    spread: Spread
    far_off: LargeErrorRate
    chance: float
    limits: Limits = field(default=DEFAULT)

    @classmethod
    def from_residuals(cls, residuals: Residuals, limits: Limits = DEFAULT) -> "Evidence":
        """The evidence from the errors on at least one labelled domain."""
        variances = residuals.variances
        far_off = LargeErrorRate.fit(residuals.errors, variances, limits.far_off, residuals.groups)
        return cls(residuals.spread, far_off, float(variances.mean()), limits)

    @property
    def usable(self) -> float:
        """The probability that the estimator is usable: the smaller of the two conditions' probabilities."""
        return min(self.spread.mean_error_below(self.limits.usable_error), self.far_off.share_below(USABLE_SHARE))

    def after(self, n_domains: int, mean_square: float = 0.0) -> "Evidence":
        """The evidence after `n_domains` more domains with errors of this mean square, none of them far off."""
        spread = self.spread.add_domains(n_domains, mean_square, self.chance)
        return replace(self, spread=spread, far_off=self.far_off.add_domains(n_domains, mean_square, self.chance))

    def fewest_more(self) -> int | None:
        """The least number of further domains for `usable`, if they have no error; None above MOST_MORE."""
        for n_domains in range(1, MOST_MORE + 1):
            if self.after(n_domains).usable >= self.limits.confidence:
                return n_domains
        return None

    def enough_more(self) -> int | None:
        """The number of further domains that is enough in four of five cases; None above MOST_MORE."""
        least = self.fewest_more() or MOST_MORE + 1
        for n_domains in range(least, MOST_MORE + 1):
            if self._probability_enough(n_domains) >= _PROBABLY_ENOUGH:
                return n_domains
        return None

    def _probability_enough(self, n_domains: int) -> float:
        """The probability that the verdict is `usable` after `n_domains` more domains, at least `fewest_more`."""
        from scipy.stats import chi2  # the import takes a second of CPU time, which only this needs

        typical = self.chance + self.far_off.small_variance  # the mean square of an error that is not far off
        if self.far_off.add_domains(n_domains, typical, self.chance).share_below(USABLE_SHARE) < self.limits.confidence:
            return 0.0
        largest = self._largest_mean_square(n_domains)

        def probability(spreads: np.ndarray) -> np.ndarray:
            # That the mean square of n_domains normal errors is at most `largest`, for each spread.
            small: np.ndarray = chi2.cdf(n_domains * largest / (spreads**2 + self.chance), n_domains)
            return small

        return self.spread.posterior_mean(probability)

    def _largest_mean_square(self, n_domains: int) -> float:
        """The largest mean square of the errors on `n_domains` domains that keeps the mean error small enough."""

        def margin(root: float) -> float:
            # Above 0 if errors with this root mean square leave the mean error small enough.
            spread = self.spread.add_domains(n_domains, root**2, self.chance)
            return spread.mean_error_below(self.limits.usable_error) - self.limits.confidence

        # No error is larger than 1; many domains with small errors outweigh even that. margin(0) is not below 0:
        # `n_domains` is at least `fewest_more`, which is enough if they have no error.
        return 1.0 if margin(1) >= 0 else float(brentq(margin, 0, 1, xtol=1e-5)) ** 2


USABLE, RANKING, NO_USE, TOO_FEW = "usable", "ranking only", "do not use", "too few domains to say"

# With fewer, too little is left for fitting: an estimator fitted on one domain shows little about one fitted on three.
FEWEST_DOMAINS = 3
# With fewer labels, a domain does not count: the standard error of its accuracy (.5 / sqrt(n)) is as large as the error
# to be detected.
FEWEST_LABELS = 20
# An estimator that ranks domains correctly helps to decide where to look first.
RANKING_RHO = 0.7
# The levels of the intervals whose coverage is shown.
LEVELS = (0.8, 0.9, 0.95)


@dataclass(frozen=True)
class UsabilityVerdict:
    """The verdict, its `reasons` as sentences with the numbers, and the limits of the mean error.

    The mean error on new domains is at least `error_at_least` with a probability of `Limits.confidence`, and at most
    `error_at_most` with the same; null with fewer than FEWEST_DOMAINS domains that count. `needed` is the reason that
    says what to label for `usable`, if that is open.
    """

    verdict: str
    reasons: tuple[str, ...]
    error_at_least: float | None = None
    error_at_most: float | None = None
    needed: str | None = None


def decide_verdict(residuals: Residuals, rho: float | None, limits: Limits = DEFAULT) -> str:
    """The verdict on the errors of k domains; `rho` is the rank correlation of estimates with the truth."""
    usable = Evidence.from_residuals(residuals, limits).usable
    if usable >= limits.confidence:
        return USABLE
    if usable > 1 - limits.confidence:
        return TOO_FEW
    ranks = residuals.n_units >= FEWEST_FOR_RHO and rho is not None and rho >= RANKING_RHO
    return RANKING if ranks else NO_USE


def explain_verdict(
    names: Sequence[str],
    residuals: Residuals,
    aee: float,
    rho: float | None,
    bias: float,
    limits: Limits = DEFAULT,
    n_judged: int = 0,
) -> UsabilityVerdict:
    """The verdict on the estimates of k domains, each without it or its group; `names`, (k,), are the domains'.

    `aee`, `rho` and `bias` are over these domains; the true accuracies of `n_judged` of them rest on a judge.
    """
    evidence = Evidence.from_residuals(residuals, limits)
    verdict = decide_verdict(residuals, rho, limits)
    least = evidence.spread.mean_error_limit(1 - limits.confidence)
    most = evidence.spread.mean_error_limit(limits.confidence)
    reasons = [
        f"mean error {aee:.3f} over {_describe_held_out(residuals)}{_describe_judged(residuals, n_judged)}",
        _describe_mean_error(least, most, limits),
        _describe_large_errors(residuals, evidence),
        _describe_worst(names, residuals),
        _describe_bias(bias),
        _describe_ranking(residuals, rho),
    ]
    needed = None
    if verdict == TOO_FEW:
        needed = _advise_domains(evidence, residuals)
        reasons += [needed, _describe_coverage(residuals, most)]
    return UsabilityVerdict(verdict, reasons=tuple(reasons), error_at_least=least, error_at_most=most, needed=needed)


def _describe_held_out(residuals: Residuals) -> str:
    if residuals.groups is None:
        return format_count(len(residuals), "held-out domain")
    return f"{format_count(len(residuals), 'domain')} of {format_count(residuals.n_units, 'held-out group')}"


def _describe_judged(residuals: Residuals, n_judged: int) -> str:
    """That the verdict was reached with a judge, if it was; the observed errors then contain its noise."""
    if not n_judged:
        return ""
    noise = float(np.sqrt(residuals.variances.mean()) * MEAN_ABS_NORMAL)
    which = "all" if n_judged == len(residuals) else f"{n_judged:,}"
    return f"; true accuracies of {which} of them rest on a judge, and are off by {noise:.3f} themselves"


def _describe_mean_error(least: float, most: float, limits: Limits) -> str:
    """The limits of the mean error on new domains: only one of them if that decides the verdict."""
    confidence = f"{_format_percent(limits.confidence)} confidence"
    if most <= limits.usable_error:
        ends = f"at most {most:.3f}"
    elif least >= limits.usable_error:
        ends = f"at least {least:.3f}"
    else:
        ends, confidence = f"between {least:.3f} and {most:.3f}", f"{confidence} in each limit"
    return f"mean error on new domains: {ends} ({confidence}); it must be at most {_format_limit(limits.usable_error)}"


def _describe_large_errors(residuals: Residuals, evidence: Evidence) -> str:
    """How many domains are far off, and how probable it is that few new ones are."""
    limits = evidence.limits
    n_far = int((abs(residuals.errors) > limits.far_off).sum())
    few = evidence.far_off.share_below(USABLE_SHARE)
    return (
        f"errors above {_format_limit(limits.far_off)}: {n_far} of {format_count(len(residuals), 'domain')}; at most "
        f"{USABLE_SHARE:.0%} of new domains have one with a probability of {few:.1%}, which must be at least "
        f"{_format_percent(limits.confidence)}"
    )


def _format_percent(share: float) -> str:
    return f"{100 * share:g}%"


def _format_limit(share: float) -> str:
    """A limit with two decimals, or with all that it has."""
    return max(f"{share:.2f}", f"{share:g}", key=len)


def _describe_worst(names: Sequence[str], residuals: Residuals) -> str:
    off = abs(residuals.errors)
    worst = int(off.argmax())
    return (
        f"largest error {off[worst]:.3f}: {names[worst]} ({residuals.estimated[worst]:.3f} estimated, "
        f"{residuals.true[worst]:.3f} true)"
    )


def _describe_bias(bias: float) -> str:
    if round(bias, 3) == 0:
        return "mean bias 0"
    return f"estimates are {abs(bias):.3f} too {'high' if bias > 0 else 'low'} on average"


def _describe_ranking(residuals: Residuals, rho: float | None) -> str:
    if residuals.n_units < FEWEST_FOR_RHO:
        unit = "domains" if residuals.groups is None else "groups"
        return f"too few {unit} for a rank correlation ({residuals.n_units}; needs {FEWEST_FOR_RHO})"
    if rho is None:
        return "no rank correlation: all estimates, or all true accuracies, are equal"
    return f"rank correlation with the truth {rho:.3f} (ranking from {RANKING_RHO:.1f})"


def _advise_domains(evidence: Evidence, residuals: Residuals) -> str:
    """A sentence about how many more domains to label for `usable`; with groups, how many more groups."""
    unit = "domain" if residuals.groups is None else "group"
    fewest, enough = evidence.fewest_more(), evidence.enough_more()
    if fewest is None:
        return f"{MOST_MORE} more {unit}s would not make the verdict usable, not even without any error"
    if enough is None:
        limit = _format_limit(evidence.limits.usable_error)
        return (
            f"for usable, label at least {format_count(fewest, f'more {unit}')}; if the true error is near "
            "the limit of "
            f"{limit}, even {MOST_MORE} may not settle it"
        )
    advice = format_count(enough, f"more {unit}")
    if fewest < enough:
        advice = f"{fewest} to {advice}"
    return f"for usable, label {advice}, which is enough in about four of five cases"


def _describe_coverage(residuals: Residuals, most: float) -> str:
    """The coverage of intervals if the mean error is at its upper limit; given this verdict it is lower."""
    shares = [residuals.spread.coverage(level, most) for level in LEVELS]
    return (
        f"if the mean error is at its upper limit of {most:.3f}, {_join_percentages(LEVELS)}% intervals cover only "
        f"{_join_percentages(shares)}% of new domains"
    )


def _join_percentages(shares: Sequence[float]) -> str:
    return "/".join(f"{100 * share:.0f}" for share in shares)
