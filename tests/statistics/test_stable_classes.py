"""Which classes of answers are stable, and of which slices too many questions have several, by scipy's intervals."""

import numpy as np
import pytest
from scipy.stats import binomtest

from entropy_sentinel.statistics.ambiguity import count_stable_classes, estimate_ambiguous_share, explain_ambiguity


def lowest(count: int, n: int) -> float:
    """Wilson's lower 95 % limit, one-sided: scipy's of the alternative that the share is greater."""
    return binomtest(count, n, alternative="greater").proportion_ci(0.95, "wilson").low


@pytest.mark.parametrize("n", [10, 17, 30, 100])
def test_a_class_is_stable_from_the_count_that_scipy_says(n: int) -> None:
    needed = next(count for count in range(n) if lowest(count, n) >= 0.05)
    assert needed == {10: 2, 17: 3, 30: 4, 100: 9}[n]
    assert count_stable_classes([n - needed, needed]) == 2
    assert count_stable_classes([n - needed + 1, needed - 1]) == 1


def test_every_class_counts_by_itself() -> None:
    counts = np.random.default_rng(0).multinomial(30, [0.4, 0.2, 0.15, 0.1, 0.1, 0.05, 0], size=50)
    for row in counts:
        assert count_stable_classes(row) == sum(lowest(int(one), 30) >= 0.05 for one in row)


def test_few_samples_say_nothing() -> None:
    assert [count_stable_classes(counts) for counts in ([9], [5, 4], [], [1] * 10)] == [None, None, None, 0]


@pytest.mark.parametrize("n", [20, 40, 400])
def test_a_slice_is_flagged_from_the_count_that_scipy_says(n: int) -> None:
    def limits(count: int) -> tuple[float, float]:
        return tuple(binomtest(count, n).proportion_ci(0.95, "wilson"))

    needed = next(count for count in range(n) if limits(count)[0] > 0.1)
    assert needed == {20: 5, 40: 8, 400: 52}[n]
    assert estimate_ambiguous_share(needed, n)[:3] == pytest.approx((needed / n, *limits(needed)))
    assert explain_ambiguity(needed - 1, n) is None
    message = explain_ambiguity(needed, n)
    assert message is not None
    assert message.startswith(f"{needed / n:.0%} of the {n} questions with 10 samples or more have several answers")


def test_few_questions_raise_no_flag() -> None:
    assert explain_ambiguity(19, 19) is None
    assert explain_ambiguity(0, 0) is None
    assert estimate_ambiguous_share(0, 0).reason is not None
