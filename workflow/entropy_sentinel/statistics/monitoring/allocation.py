"""Divide a budget of labels among strata."""

import heapq
import math

import numpy as np

from entropy_sentinel.statistics.array_types import Numbers


def apportion_labels(shares: Numbers, least: Numbers, most: Numbers, total: int) -> np.ndarray:
    """Divide `total` among k strata in proportion to `shares`; return integers, (k,), between `least` and `most`.

    With shares N S (size times standard deviation) the estimated total has the least variance: the next unit goes to
    the stratum with the largest N S / sqrt(n (n + 1)), the first of equals (Wright 2012, "The equivalence of Neyman
    optimum allocation for sampling and equal proportions"). Returns `most` if its sum is at most `total`; raises
    ValueError if the sum of `least` is larger.
    """
    shares, most = np.asarray(shares, dtype=float), np.asarray(most, dtype=int)
    allocation: np.ndarray = np.minimum(np.asarray(least, dtype=int), most)
    if allocation.sum() > total:
        raise ValueError(f"total must be at least {allocation.sum()}, the sum of the least that each gets; got {total}")

    def heap_entry(place: int) -> tuple[float, float, int]:
        """The stratum at `place` with what decides its turn; the smallest entry of a heap comes first."""
        n, share = int(allocation[place]), float(shares[place])
        rank = -share / math.sqrt(n * (n + 1)) if n else -math.inf  # a stratum without a label is first
        return rank, -share, place

    heap = [heap_entry(int(place)) for place in np.flatnonzero(allocation < most)]
    heapq.heapify(heap)
    for _ in range(total - int(allocation.sum())):
        if not heap:
            break
        place = heapq.heappop(heap)[-1]
        allocation[place] += 1
        if allocation[place] < most[place]:
            heapq.heappush(heap, heap_entry(place))
    return allocation
