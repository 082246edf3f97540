"""What the labelled domains show of an estimator's errors on new ones, against what `usable` asks for.

An estimator is usable if, on new domains, its mean error (AEE) is at most USABLE_ERROR, and if it is off by more than
FAR_OFF on at most a share of USABLE_SHARE of them, each with a probability of CONFIDENCE. Both posteriors take the
chance in the labels off, so that more domains show more, whatever the number of labels in each.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import binom, chi2

from entropy_sentinel.statistics.far_off import FarOff
from entropy_sentinel.statistics.intervals import Residuals
from entropy_sentinel.statistics.predictive import Spread

CONFIDENCE = 0.9
# The paper's own mean error is .10 in the median (AEE of Tables 2 and 7). Normal errors of that mean are off by more
# than .25, so that a good domain looks like a bad one, in 4.6 % of domains.
USABLE_ERROR, FAR_OFF, USABLE_SHARE = 0.10, 0.25, 0.05
# Nobody is told to label more domains than these.
MOST_MORE = 50
# The prior is cautious: where it gives a number of further domains this probability to be enough, that number was
# enough in four of five validations (tests/benchmarks/bench_more_domains.py).
_PROBABLY_ENOUGH = 0.6


@dataclass(frozen=True)
class Evidence:
    """The posteriors of the spread of errors and of the share of domains far off; `chance` is the labels' variance."""

    spread: Spread
    far_off: FarOff
    chance: float

    @classmethod
    def of(cls, residuals: Residuals) -> "Evidence":
        """The evidence in the errors on at least one labelled domain."""
        variances = residuals.variances
        return cls(residuals.spread, FarOff.of(residuals.errors, variances, FAR_OFF), float(variances.mean()))

    @property
    def usable(self) -> float:
        """The probability that the estimator is usable: that of the condition which is less sure."""
        return min(self.spread.mean_error_below(USABLE_ERROR), self.far_off.share_below(USABLE_SHARE))

    def after(self, more: int, mean_square: float = 0.0, far: int = 0) -> "Evidence":
        """The evidence after `more` domains with errors of this mean square, `far` of them far off."""
        spread = self.spread.after(more, mean_square, self.chance)
        return Evidence(spread, self.far_off.after(more, far, self.chance), self.chance)

    def fewest_more(self) -> int | None:
        """How many more domains it takes at least, without any error on them; null above MOST_MORE."""
        return next((more for more in range(1, MOST_MORE + 1) if self.after(more).usable >= CONFIDENCE), None)

    def enough_more(self) -> int | None:
        """How many more domains are enough in four of five cases; null above MOST_MORE."""
        least = self.fewest_more() or MOST_MORE + 1
        return next((more for more in range(least, MOST_MORE + 1) if self._enough(more) >= _PROBABLY_ENOUGH), None)

    def _enough(self, more: int) -> float:
        """The probability that the verdict is `usable` after `more` domains, which are not fewer than the fewest."""
        most_far, largest = self._most_far(more), self._largest_mean_square(more)

        def probability(spreads: np.ndarray) -> np.ndarray:
            variance = spreads**2 + self.chance
            shown_far = 2 * ndtr(-FAR_OFF / np.sqrt(variance))
            small: np.ndarray = chi2.cdf(more * largest / variance, more) * binom.cdf(most_far, more, shown_far)
            return small

        return self.spread.mean_over(probability)

    def _most_far(self, more: int) -> int:
        """How many of `more` domains may be far off, and the verdict be `usable`."""
        far = range(1, more + 1)
        return next((n - 1 for n in far if self.after(more, far=n).usable < CONFIDENCE), more)

    def _largest_mean_square(self, more: int) -> float:
        """The largest mean square of the errors on `more` domains that leaves the mean error small enough."""

        def margin(root: float) -> float:
            spread = self.spread.after(more, root**2, self.chance)
            return spread.mean_error_below(USABLE_ERROR) - CONFIDENCE

        # No error is larger than 1; many domains with small ones outweigh even that.
        return 1.0 if margin(1) >= 0 else float(brentq(margin, 0, 1, xtol=1e-5)) ** 2
