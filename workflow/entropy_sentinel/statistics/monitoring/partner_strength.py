"""Check whether a partner, the model that gives second opinions, is stronger than the model that it watches.

The agreement of two models estimates the accuracy of one only if the other is stronger: a weaker one disagrees with
right answers. Labels of the logged answers show how often the partner is right, unless both differ and the logged one
is wrong:

    both agree,  logged right:  partner right
    both agree,  logged wrong:  partner wrong
    they differ, logged right:  partner wrong
    they differ, logged wrong:  unknown

So its accuracy lies between two bounds, which are far apart. They are closer if a partner is at most as good on the
questions that the watched model gets wrong as on those that it gets right. With r, the share of right answers with
which it agrees, and the watched model's accuracy a, its accuracy is then between a r (right on none of the former) and
r (equally good on both). The middle, r (1 + a) / 2, is compared with a. On nine pairs of real models, it is .33 to .62
against accuracies of .14 to .49 for the stronger partners, and .19 to .42 against .40 to .75 for the weaker ones; with
100 labels, the right case is found in 88 to 100 % of draws.

A partner that is hardly weaker and whose agreement is near the accuracy does no harm as an estimate. This is decided
first, because the middle of the bounds is too low for good models that make different errors: for one of accuracy .97
and a partner of .975 it is below .97, and the more labels there are, the surer that looks.

If the answers have a reference, the answers of both models are compared with it, and no label is needed.
"""

from enum import StrEnum
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from entropy_sentinel.statistics.array_types import Numbers

# One-sided confidence in a difference.
CONFIDENCE = 0.9
# With so many labels the more probable case counts; with fewer than the second a partner is not checked.
ENOUGH, FEWEST = 100, 20
# An agreement that is off from the accuracy by at most this does no harm, if the partner is weaker by at most this.
HARMLESS = 0.1


class PartnerVerdict(StrEnum):
    """Whether the agreement of a partner may be an estimate."""

    # Stronger than the watched model, or its agreement is near the accuracy.
    STRONG = "strong"
    # Weaker than the watched model, as far as labels tell.
    WEAK = "weak"
    # Too few labels to tell.
    UNCHECKED = "unchecked"


class PartnerCheck(NamedTuple):
    """What n labelled responses, or responses with a reference, say of a partner; null if they cannot tell.

    `accuracy` is that of the watched model; the partner's is between `at_least` and `at_most`, which are equal with a
    reference. `agreement` is the share of answers with which the partner agrees, `sensitivity` that of right ones.
    `has_reference` tells whether a reference told the accuracies. The fields are those of the monitor's JSON.
    """

    verdict: PartnerVerdict
    n: int
    accuracy: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    agreement: float | None = None
    sensitivity: float | None = None
    has_reference: bool = False


def check_partner(labels: Numbers, agrees: Numbers, clusters: Numbers | None = None) -> PartnerCheck:
    """Check a partner by n labels of logged answers and whether it agrees with these, (n,) each, 0 or 1.

    `clusters`, (n,), are the numbers of clusters of dependent responses; by default all are independent.
    """
    y, z = np.asarray(labels, dtype=float), np.asarray(agrees, dtype=float)
    n, n_right = len(y), float(y.sum())
    if not n:
        return PartnerCheck(PartnerVerdict.UNCHECKED, 0)
    accuracy = n_right / n
    # The partner is right if both agree and y = 1; it may be right if they differ and y = 0.
    partner_lower_bound = float((y * z).mean())
    partner_upper_bound = partner_lower_bound + float(((1 - y) * (1 - z)).mean())
    sensitivity = float(y @ z) / n_right if n_right else None
    verdict = PartnerVerdict.UNCHECKED
    if n >= FEWEST and sensitivity is not None:
        # Half of a right answer with which the partner agrees, and of one with which it does not, so that few right
        # answers do not seem certain.
        r, a = (float(y @ z) + 0.5) / (n_right + 1), accuracy
        # Closer bounds of the partner's accuracy are a r and r, if it is at most as good on the questions that the
        # watched model gets wrong as on those that it gets right. The lead is their middle minus a.
        lead = r * (1 + a) / 2 - a
        # Of each response on the lead: d lead / d r times that on r, plus d lead / d a times that on a.
        influences = (1 + a) / 2 * y * (z - r) / a + (r / 2 - 1) * (y - a)
        verdict = _decide_verdict(lead, influences, z - y, clusters)
    return PartnerCheck(
        verdict,
        n,
        accuracy=accuracy,
        at_least=partner_lower_bound,
        at_most=partner_upper_bound,
        agreement=float(z.mean()),
        sensitivity=sensitivity,
    )


def check_by_reference(
    partner_right: Numbers, logged_right: Numbers, agrees: Numbers, clusters: Numbers | None = None
) -> PartnerCheck:
    """Check a partner by n responses with a reference, without labels.

    `partner_right` and `logged_right`, (n,), tell whether the answers of the partner and of the watched model match the
    reference, `agrees`, (n,), whether they match each other. `clusters`, (n,), are as for `check_partner`.
    """
    partner, logged = np.asarray(partner_right, dtype=float), np.asarray(logged_right, dtype=float)
    z, n = np.asarray(agrees, dtype=float), len(partner)
    if not n:
        return PartnerCheck(PartnerVerdict.UNCHECKED, 0)
    verdict = PartnerVerdict.UNCHECKED
    if n >= FEWEST:
        leads = partner - logged
        verdict = _decide_verdict(float(leads.mean()), leads - leads.mean(), z - logged, clusters)
    right = float(logged.sum())
    sensitivity = float(z @ logged) / right if right else None
    partner_accuracy = float(partner.mean())
    return PartnerCheck(
        verdict,
        n,
        accuracy=float(logged.mean()),
        at_least=partner_accuracy,
        at_most=partner_accuracy,
        agreement=float(z.mean()),
        sensitivity=sensitivity,
        has_reference=True,
    )


def _decide_verdict(
    lead: float, influences: np.ndarray, errors: np.ndarray, clusters: Numbers | None
) -> PartnerVerdict:
    """The verdict from a partner's lead and the errors of its agreement.

    `lead` is the partner's accuracy minus the watched model's, `influences`, (n,), each response's influence on it, and
    `errors`, (n,), the agreement minus the label, whose mean is the agreement's distance from the accuracy. If the lead
    is certain neither way, its sign decides with ENOUGH independent responses.
    """
    quantile = float(norm.ppf(CONFIDENCE))
    margin = quantile * _standard_error(influences, clusters)
    is_stronger, is_weaker = lead - margin > 0, lead + margin < 0
    error = float(errors.mean())
    error_margin = quantile * _standard_error(errors - error, clusters)
    # The agreement does no harm if it is surely not much below the accuracy. That of a weaker partner may also be too
    # high, or near the accuracy only because both make the same errors.
    is_surely_not_too_low = error - error_margin > -HARMLESS
    is_surely_not_too_high = error + error_margin < HARMLESS
    is_harmless = is_surely_not_too_low and (not is_weaker or (is_surely_not_too_high and lead > -HARMLESS))
    if is_stronger or is_harmless:
        return PartnerVerdict.STRONG  # its agreement may be used
    if is_weaker:
        return PartnerVerdict.WEAK
    n = len(errors) if clusters is None else len(np.unique(np.asarray(clusters)))
    if n < ENOUGH:
        return PartnerVerdict.UNCHECKED
    return PartnerVerdict.STRONG if lead > 0 else PartnerVerdict.WEAK


def _standard_error(deviations: np.ndarray, clusters: Numbers | None) -> float:
    """The standard error of a mean from the deviations of n responses, (n,): sqrt(sum of squares + 1/4) / n.

    With clusters, (n,), the squares are those of each cluster's sum.
    """
    if clusters is not None:
        _, cluster_numbers = np.unique(np.asarray(clusters), return_inverse=True)
        sums = np.bincount(cluster_numbers, deviations)
    else:
        sums = deviations
    # A quarter, half a difference squared, keeps the error above 0 if all responses are alike.
    return float(np.sqrt(sums @ sums + 0.25)) / len(deviations)
