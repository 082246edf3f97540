"""Whether a partner is stronger than the model that it watches: by hand, and on answers of real pairs of models."""

import numpy as np
import pytest

from entropy_sentinel.statistics.monitoring.partner_strength import (
    PartnerVerdict,
    check_by_reference,
    check_partner,
)

STRONG, WEAK, UNCHECKED = PartnerVerdict.STRONG, PartnerVerdict.WEAK, PartnerVerdict.UNCHECKED


def answers(agree_right: int, agree_wrong: int, differ_right: int, differ_wrong: int) -> tuple[np.ndarray, np.ndarray]:
    """Return labels of the logged answers, and whether the partner agrees."""
    counts = [agree_right, agree_wrong, differ_right, differ_wrong]
    return np.repeat([1.0, 0.0, 1.0, 0.0], counts), np.repeat([1.0, 1.0, 0.0, 0.0], counts)


def test_bounds_by_hand() -> None:
    """Of 100: right 40 + 10; the partner is right on the 40, wrong on 5 + 10, and nobody knows about 45."""
    found = check_partner(*answers(40, 5, 10, 45))
    assert (found.n, found.verdict, found.has_reference) == (100, STRONG, False)
    numbers = (found.accuracy, found.at_least, found.at_most, found.agreement, found.sensitivity)
    assert numbers == pytest.approx((0.5, 0.4, 0.85, 0.45, 0.8))


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        # Real pairs, answers that can be compared, on kinds of question, then on mathematics. The watched model and its
        # partner: 0.5B and 1.5B, 135M and 1.5B, 135M and 0.5B; 0.5B and 1.5B; 0.5B and 135M; 1.5B and 0.5B.
        pytest.param((344, 38, 57, 483), STRONG, id="0.5B by 1.5B"),
        pytest.param((111, 26, 50, 460), STRONG, id="135M by 1.5B"),
        pytest.param((121, 95, 101, 583), STRONG, id="135M by 0.5B"),
        pytest.param((47, 41, 25, 402), STRONG, id="mathematics, 0.5B by 1.5B"),
        pytest.param((172, 51, 240, 497), WEAK, id="0.5B by 135M"),
        pytest.param((46, 28, 114, 172), WEAK, id="mathematics, 1.5B by 0.5B"),
        # A tenth of each: too few to refuse, enough to accept what is much stronger.
        pytest.param((34, 4, 5, 49), STRONG, id="a tenth of 0.5B by 1.5B"),
        # It agrees with .46 of the right answers, where .40 are right, and the middle of .18 and .46 is .32.
        pytest.param((92, 15, 108, 285), WEAK, id="weak, but agrees with many right answers"),
        pytest.param((4, 1, 6, 13), UNCHECKED, id="a fortieth of 0.5B by 135M"),
        # Both are good, and equally so: the agreement is .03 too low, which does no harm.
        pytest.param((91, 1, 4, 4), STRONG, id="alike and good"),
        # .97 by .975: .981 of the right ones, so the middle is .966, surely below .97. The agreement is .018 too low.
        pytest.param((9520, 0, 180, 300), STRONG, id="good, with many labels"),
        # The middle of .30 and .60 is .45, below .50; it agrees with .60 of all, more than .1 too many.
        pytest.param((300, 300, 200, 200), WEAK, id="weaker, and wrong alike"),
        pytest.param((10, 1, 2, 6), UNCHECKED, id="19 labels"),
        pytest.param((0, 0, 60, 40), WEAK, id="never agrees with right answers"),
        pytest.param((0, 60, 0, 40), UNCHECKED, id="no right answer"),
        pytest.param((0, 0, 0, 0), UNCHECKED, id="no labels"),
    ],
)
def test_verdicts(counts: tuple[int, int, int, int], verdict: PartnerVerdict) -> None:
    assert check_partner(*answers(*counts)).verdict == verdict


def test_with_a_reference() -> None:
    """Partner right on 70 of 100, the watched model on 50, of which 40 are common."""
    partner, logged = np.repeat([1, 1, 0, 0], [40, 30, 10, 20]), np.repeat([1, 0, 1, 0], [40, 30, 10, 20])
    found = check_by_reference(partner, logged, partner == logged)
    assert (found.accuracy, found.at_least, found.at_most) == (0.5, 0.7, 0.7)
    assert (found.verdict, found.has_reference) == (STRONG, True)
    assert check_by_reference(logged, partner, partner == logged).verdict == WEAK
    assert check_by_reference(partner[:19], logged[:19], logged[:19]).verdict == UNCHECKED


def test_dependent_responses_tell_less() -> None:
    """Twenty-five answers that are each logged four times count as 25."""
    clusters = np.repeat(np.arange(25), 4)
    y, z = answers(11, 1, 3, 10)
    repeated = np.repeat(y, 4), np.repeat(z, 4)
    assert check_partner(*repeated).verdict == STRONG
    assert check_partner(*repeated, clusters).verdict == UNCHECKED
