"""How many of a budget of labels go to each part of what is sampled."""

import heapq
import math
from collections.abc import Sequence

import numpy as np


def apportion(shares: Sequence[float], least: Sequence[int], most: Sequence[int], total: int) -> np.ndarray:
    """Whole numbers, (k,), that add up to `total` and lie between `least` and `most`, (k,) each, in these `shares`.

    With shares N S, size times standard deviation, of all such numbers these are the ones of least variance of the
    estimated total: the next one goes where N S / sqrt(n (n + 1)) is largest (Wright 2012, "The equivalence of Neyman
    optimum allocation for sampling and equal proportions"). Of equals the first gets it. All of `most` where they add
    up to no more than `total`; ValueError where `least` adds up to more.
    """
    shares, given, most = np.asarray(shares, dtype=float), np.array(least, dtype=int), np.asarray(most, dtype=int)
    given = np.minimum(given, most)
    if given.sum() > total:
        raise ValueError(f"total must be at least {given.sum()}, the sum of the least that each gets; was {total}")

    def entry(place: int) -> tuple[float, float, int]:
        n, share = int(given[place]), float(shares[place])
        return (-share / math.sqrt(n * (n + 1)) if n else -math.inf, -share, place)

    waiting = [entry(place) for place in range(len(given)) if given[place] < most[place]]
    heapq.heapify(waiting)
    for _ in range(total - int(given.sum())):
        if not waiting:
            break
        place = heapq.heappop(waiting)[-1]
        given[place] += 1
        if given[place] < most[place]:
            heapq.heappush(waiting, entry(place))
    return given
