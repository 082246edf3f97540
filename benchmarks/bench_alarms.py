"""Compare rules for alarms about drops by simulation: false alarms a month, and nights until a drop is told.

A monitor looks at several slices every night, after a reference of seven nights. One false alarm a month is accepted,
over all slices. The rules are:

- `q`: a change of the night with a false discovery rate below .05, the rule of versions before 0.44. Thin nights are
  pooled with the nights before until there are 30 responses;
- `spending`: a one-sided p of the night below the night's share of the accepted false alarms;
- `spending 1-32`: the same for the last 1, 2, 4, ... 32 nights together, with the share divided among them;
- `sequences`: the interval of the reference and a confidence sequence of everything after it (Robbins 1970), begun
  again every month, that separate;
- `package`: `statistics.drops`.

The worlds are nights that differ only by chance, nights that differ by .02, weeks of which a quarter have six times
the responses, nights whose questions are each asked twice, four times, or as often as chance has it, and conversations
of five responses on average that resemble each other. The package knows the questions and the conversations; the other
rules count responses. Run by `make bench-alarms`; the last line is one JSON object.
"""

import argparse
import itertools
import json
import multiprocessing
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import false_discovery_control, norm
from tabulate import tabulate

from entropy_sentinel.statistics.design_effects import ClusterMoments
from entropy_sentinel.statistics.monitoring.change_points import (
    DropRule,
    WindowSeries,
    find_series_drops,
    unit_variances,
)

MONTH, REFERENCE, ACCURACY, LEAST = 365.2425 / 12, 7, 0.7, 30
DROPS = (0.05, 0.1, 0.2, 0.3)
# Nights before a drop begins, and the nights that are waited for it.
QUIET, WAITED = 30, 60


class World(NamedTuple):
    """How nights vary: the standard deviation of their accuracies, heavy weeks, and clusters of a size.

    `size` draws so many numbers of responses of clusters, and `alike` is the share of a cluster's responses that have
    the same prediction.
    """

    between: float = 0.0
    heavy: bool = False
    size: Callable[[np.random.Generator, int], np.ndarray] = lambda rng, n: np.ones(n, dtype=int)
    alike: float = 1.0


def geometric(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.geometric(0.2, n)


WORLDS = {
    "by chance": World(),
    "differ by .02": World(0.02),
    "heavy weeks": World(0.02, heavy=True),
    "questions twice": World(size=lambda rng, n: np.full(n, 2)),
    "questions four times": World(size=lambda rng, n: np.full(n, 4)),
    "questions of any frequency": World(size=lambda rng, n: np.minimum(rng.zipf(2.0, n), 20)),
    "conversations": World(size=geometric, alike=0.6),
}


class Slice:
    """A slice's nights: numbers of responses and means of their predictions, (nights,), and their unit variances."""

    def __init__(self, rng: np.random.Generator, nights: int, n: int, world: str, drop: float) -> None:
        between, heavy, size, alike = WORLDS[world]
        self.n = np.maximum(rng.poisson(n, nights), 1)
        if heavy:
            self.n *= np.repeat(rng.choice([1, 1, 1, 6], nights // 7 + 1), 7)[:nights]
        accuracy = np.where(np.arange(nights) < REFERENCE + QUIET, ACCURACY, ACCURACY - drop)
        accuracy = np.clip(accuracy + between * rng.standard_normal(nights), 0.02, 0.98)
        # Predictions near 0 and 1, as those of real estimators.
        draws: list[np.ndarray] = []
        moments = ClusterMoments.zeros(nights)
        for night, (mean, count) in enumerate(zip(accuracy, self.n, strict=True)):
            cluster = np.repeat(np.arange(count), size(rng, count))[:count]
            shared = rng.beta(1.2 * mean, 1.2 * (1 - mean), cluster[-1] + 1)
            fresh = rng.beta(1.2 * mean, 1.2 * (1 - mean), count)
            draws.append(np.where(rng.random(count) < alike, shared[cluster], fresh))
            sizes, sums = np.bincount(cluster), np.bincount(cluster, draws[-1])
            of_night = len(sizes), count, sizes @ sizes, sums.sum(), sizes @ sums, sums @ sums, draws[-1] @ draws[-1]
            for total, value in zip(moments, of_night, strict=True):
                total[night] = value
        self.effect = moments.cumulative().robust_effect
        self.sums = np.array([part.sum() for part in draws])
        squares = np.array([part @ part for part in draws])
        self.variance = unit_variances(self.n, self.sums[:, None], squares[:, None, None], lambda means: means[:, 0])
        self.n_total, self.total = np.append(0, np.cumsum(self.n)), np.append(0, np.cumsum(self.sums))

    def z(self, first: np.ndarray, end: np.ndarray) -> np.ndarray:
        """How far the nights from `first` to `end` are below the reference, in standard deviations."""
        n = self.n_total[end] - self.n_total[first]
        mean = (self.total[end] - self.total[first]) / n
        n0 = self.n_total[REFERENCE]
        deviation = np.sqrt(self.variance[end - 1] * (1 / n + 1 / n0))
        return np.where(n >= LEAST, (self.total[REFERENCE] / n0 - mean) / deviation, -np.inf)

    def newest(self, ends: np.ndarray) -> np.ndarray:
        """`z` of each newest night, pooled with earlier ones until there are LEAST responses."""
        first = np.searchsorted(self.n_total, self.n_total[ends] - LEAST, side="right") - 1
        return self.z(np.clip(first, REFERENCE, ends - 1), ends)


Nights = np.ndarray


def by_q(slices: list[Slice]) -> Nights:
    ends = np.arange(REFERENCE, len(slices[0].n)) + 1
    z = np.array([each.newest(ends) for each in slices])
    p = np.where(np.isfinite(z), 2 * norm.sf(np.abs(z)), 1)
    return (false_discovery_control(p, axis=0) < 0.05) & (z > 0)


def by_spending(slices: list[Slice]) -> Nights:
    ends = np.arange(REFERENCE, len(slices[0].n)) + 1
    z = np.array([each.newest(ends) for each in slices])
    return z > norm.isf(min(1 / MONTH / len(slices), 0.5))


def by_spending_more(slices: list[Slice]) -> Nights:
    ends, spans = np.arange(REFERENCE, len(slices[0].n)) + 1, (1, 2, 4, 8, 16, 32)
    level = norm.isf(min(1 / MONTH / len(slices) / len(spans), 0.5))
    firsts = [np.maximum(ends - span, REFERENCE) for span in spans]
    return np.array([np.max([each.z(first, ends) for first in firsts], axis=0) > level for each in slices])


def by_sequences(slices: list[Slice]) -> Nights:
    alpha = min(1 / len(slices), 0.5) / 2
    return np.array([_sequence(each, alpha) for each in slices])


def _sequence(each: Slice, alpha: float) -> Nights:
    nights = np.arange(REFERENCE, len(each.n))
    begins = nights - (nights - REFERENCE) % round(MONTH)
    n = each.n_total[nights + 1] - each.n_total[begins]
    mean = (each.total[nights + 1] - each.total[begins]) / n
    variance, n0 = each.variance[nights], each.n_total[REFERENCE]
    # The normal mixture that is narrowest after as many responses as the reference has, one-sided.
    log_odds = 2 * np.log(1 / (2 * alpha))
    tuned = n0 / (log_odds + np.log(1 + log_odds))
    radius = np.sqrt(variance * (n + tuned) / n**2 * np.log((n + tuned) / tuned / (4 * alpha**2)))
    reference = norm.isf(alpha) * np.sqrt(variance / n0)
    return (each.total[REFERENCE] / n0 - reference > mean + radius) & (n >= LEAST)


def by_package(slices: list[Slice]) -> Nights:
    rule = DropRule(max(len(slices) * MONTH, 20), LEAST, 0.02)
    return np.array([_alarms(each, rule) for each in slices])


def _alarms(each: Slice, rule: DropRule) -> Nights:
    alarms = np.zeros(len(each.n) - REFERENCE, dtype=bool)
    series = WindowSeries(each.n, each.sums[:, None], each.effect * each.variance, REFERENCE, lambda means: means[:, 0])
    for drop in find_series_drops(series, rule):
        alarms[drop.alarm_window - REFERENCE : None if drop.end_window is None else drop.end_window - REFERENCE] = True
    return alarms


RULES: dict[str, Callable[[list[Slice]], Nights]] = {
    "q": by_q,
    "spending": by_spending,
    "spending 1-32": by_spending_more,
    "sequences": by_sequences,
    "package": by_package,
}


def begun(alarms: Nights) -> int:
    """The number of alarms that begin; one that lasts several nights counts once."""
    return int((alarms[:, 0]).sum() + (alarms[:, 1:] & ~alarms[:, :-1]).sum())


def measured(case: tuple[str, int, int, int, int, tuple[str, ...]]) -> dict[str, list[float]]:
    """For each rule the false alarms a month, and the mean nights until each of DROPS is told.

    `case` is the world, responses a night, slices, nights without a drop in all, drops of each size, and the rules.
    """
    world, n, n_slices, nights, repeats, chosen = case
    rng = np.random.default_rng([n, n_slices, list(WORLDS).index(world)])
    runs = max(nights // 365, 1)
    quiet = [[Slice(rng, REFERENCE + 365, n, world, 0.0) for _ in range(n_slices)] for _ in range(runs)]
    rules = {name: RULES[name] for name in chosen}
    found = {name: [sum(begun(rule(run)) for run in quiet) / (runs * 365 / MONTH)] for name, rule in rules.items()}
    for drop in DROPS:
        waits: dict[str, list[int]] = {name: [] for name in rules}
        for _ in range(repeats):
            # The other slices only matter for the rule q, which is not among the rules that keep a promise.
            fallen = Slice(rng, REFERENCE + QUIET + WAITED, n, world, drop)
            others = [Slice(rng, REFERENCE + QUIET + WAITED, n, world, 0.0) for _ in range(min(n_slices, 5) - 1)]
            for name, rule in rules.items():
                slices = [fallen, *others, *([others[-1]] * (n_slices - 1 - len(others)) if others else [])]
                after = rule(slices)[0, QUIET:]
                waits[name].append(int(after.argmax()) + 1 if after.any() else WAITED + 1)
        for name, each in waits.items():
            found[name].append(float(np.mean(each)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nights", type=int, default=3650, help="nights without a drop, in years of 365")
    parser.add_argument("--repeats", type=int, default=40, help="drops of each size")
    parser.add_argument("--slices", type=int, nargs="+", default=[1, 5, 50])
    parser.add_argument("--responses", type=int, nargs="+", default=[20, 60, 500], help="responses a night")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rules", nargs="+", choices=RULES, default=list(RULES))
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS))
    arguments = parser.parse_args()
    start = time.perf_counter()
    kinds = list(itertools.product(arguments.worlds, arguments.responses, arguments.slices))
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        cases = [(*kind, arguments.nights, arguments.repeats, tuple(arguments.rules)) for kind in kinds]
        found = pool.map(measured, cases, chunksize=1)
    rows = [
        [*kind, name, f"{rates[0]:.2f}", *(f"{nights:.1f}" for nights in rates[1:])]
        for kind, rules in zip(kinds, found, strict=True)
        for name, rates in rules.items()
    ]
    print(
        tabulate(
            rows,
            ["nights", "responses", "slices", "rule", "false alarms a month", *(f"nights to {x}" for x in DROPS)],
            disable_numparse=True,
        )
    )
    largest = max(rules.get("package", [0.0])[0] for rules in found)
    print(
        json.dumps(
            {
                "benchmark": "alarms",
                "ratio": round(largest, 2),
                "of": "largest number of false alarms a month, where 1 is accepted",
                "wall_s": round(time.perf_counter() - start, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
