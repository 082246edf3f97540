"""Measure the coverage of intervals given the verdict, in worlds with known errors; both were designed with this.

A world is a distribution of an estimator's errors on domains; k labelled domains and a new one are drawn from it, with
random labels. The verdict and the intervals for the new domain follow from the k. It prints, by world and
k: how often the verdict is `usable`, the estimator's error on the new domain in that case, and how often intervals
of 80, 90 and 95 % contain its truth, over all draws, given `usable`, and given any other verdict.

Given the verdict, no interval of finite width reaches its level in every world. If `usable` is rare, it is due to luck,
and its intervals are too narrow, because they assume an error of at most .10. The prior therefore makes `usable` very
rare in worlds with a mean error of .12; in worlds where it is not rare, intervals hold.

Worlds with groups draw 18 or 36 domains in groups of 1 to 6, whose errors share none, half or all of their variance.
The new domain is of a `new group`, and whole groups are held out; or of a `known group`, and single domains are.

Run by `make bench-verdict`; the last line is one JSON object. With real estimators: `make bench-intervals`.
"""

import argparse
import itertools
import json
import math
import multiprocessing
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from tabulate import tabulate

from entropy_sentinel.estimators.verdict import LEVELS, NO_USE, TOO_FEW, USABLE, decide_verdict
from entropy_sentinel.statistics.predictive_posterior import CAUTIOUS, MEAN_ABS_NORMAL, Prior
from entropy_sentinel.statistics.slice_intervals import Residuals

SIZES = (3, 4, 6, 9, 19)
# Numbers of domains, and labels per domain, with large label noise.
FEW_LABELS = ((20, 20), (40, 20), (80, 20), (160, 20), (30, 30), (40, 50))
# Domains, and domains of a group; shares of the variance between groups; mean errors.
GROUPS = ((18, 1), (18, 2), (18, 3), (18, 6), (36, 6))
SHARES, ERRORS_IN_GROUPS = (0.0, 0.5, 1.0), (0.05, 0.08, 0.12, 0.16)
# The share of the variance of "correct" within a domain that P(correct) explains; of real domains it is .09 to .24.
EXPLAINED = 0.12
# With fewer validations, a share is not reported.
FEWEST_DRAWS = 50
# Returns errors (n_worlds, n_domains) with a mean absolute value of `aee`, for domains of these accuracies.
Errors = Callable[[np.random.Generator, np.ndarray, float], np.ndarray]


def normal(rng: np.random.Generator, p: np.ndarray, aee: float) -> np.ndarray:
    return aee / MEAN_ABS_NORMAL * rng.normal(size=p.shape)


def heavy(rng: np.random.Generator, p: np.ndarray, aee: float) -> np.ndarray:
    """Student's t with three degrees of freedom, whose mean distance is 2 sqrt(3) / pi."""
    return aee * math.pi / (2 * math.sqrt(3)) * rng.standard_t(3, p.shape)


def one_sided(rng: np.random.Generator, p: np.ndarray, aee: float) -> np.ndarray:
    """Errors with a bias, the same for all domains of a world, and random parts a third as large."""
    return aee * rng.choice([-1.0, 1.0], (len(p), 1)) * (1 + rng.normal(size=p.shape) / 3)


def few_far_off(rng: np.random.Generator, p: np.ndarray, aee: float, share: float) -> np.ndarray:
    """Normal errors, and errors of .3 to .5 on a share of the domains."""
    far = rng.uniform(0.3, 0.5, p.shape) * np.where(p > 0.5, -1, 1)
    return np.where(rng.random(p.shape) < share, far, normal(rng, p, aee))


def grouped(rng: np.random.Generator, p: np.ndarray, aee: float, groups: np.ndarray, share: float) -> np.ndarray:
    """Normal errors, of whose variance this share is the same for all domains of a group; `groups` is (n_domains,)."""
    between = rng.normal(size=(len(p), groups.max() + 1))[:, groups]
    within = rng.normal(size=p.shape)
    return aee / MEAN_ABS_NORMAL * (math.sqrt(share) * between + math.sqrt(1 - share) * within)


class Case(NamedTuple):
    """A world, and the draws from it; `groups` are those of the labelled domains, if whole groups are held out."""

    world: str
    errors: Errors
    error: float
    domains: int
    labels: int
    draws: int
    prior: Prior
    groups: np.ndarray | None = None


WORLDS: list[tuple[str, Errors, float]] = [
    ("unshifted", normal, 0.0),
    *(("shifted", normal, aee) for aee in (0.02, 0.05, 0.08, 0.10, 0.12, 0.16, 0.20)),
    *(("heavy tails", heavy, aee) for aee in (0.05, 0.12, 0.20)),
    *(("one-sided", one_sided, aee) for aee in (0.05, 0.12, 0.20)),
]
# Worlds that are drawn with few labels and many domains.
WORLDS_OF_FEW_LABELS: list[tuple[str, Errors, float]] = [
    ("unshifted", normal, 0.0),
    *(("shifted", normal, aee) for aee in (0.05, 0.08, 0.12, 0.16)),
    ("5 % far off", partial(few_far_off, share=0.05), 0.02),
    ("10 % far off", partial(few_far_off, share=0.10), 0.02),
    ("20 % far off", partial(few_far_off, share=0.20), 0.02),
]


def draw(errors: Errors, aee: float, k: int, labels: int, worlds: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Estimated, true and seen accuracies, (n_worlds, k + 1); the last domain is the new one.

    The estimate and the labels are of the same responses, as in `fit`: P(correct) of a response has a beta distribution
    with EXPLAINED of the variance of "correct" in its domain.
    """
    rng = np.random.default_rng(k)
    p = rng.uniform(0.15, 0.85, (worlds, k + 1))
    weight = 1 / EXPLAINED - 1
    p_correct = rng.beta(weight * p[..., None], weight * (1 - p[..., None]), (worlds, k + 1, labels))
    seen = (rng.random(p_correct.shape) < p_correct).mean(axis=2)
    return np.clip(p_correct.mean(axis=2) + errors(rng, p, aee), 0, 1), p, seen


def cases_of_groups(sizes: Sequence[tuple[int, int]], labels: int, draws: int, prior: Prior) -> list[Case]:
    """Worlds with groups, by number of domains and domains of a group."""
    cases = []
    for (k, size), share, error in itertools.product(sizes, SHARES, ERRORS_IN_GROUPS):
        groups = np.arange(k) // size
        for last, known in ((groups[-1] + 1, False), (0, True)):
            errors = partial(grouped, groups=np.append(groups, last), share=share)
            name = f"{'known' if known else 'new'} group, {k // size} of {size}, share {share}"
            cases.append(Case(name, errors, error, k, labels, draws, prior, None if known else groups))
    return cases


def measure(case: Case) -> dict[str, object]:
    """Verdicts and coverage in one world."""
    name, errors, aee, k, labels, worlds, prior, groups = case
    estimated, p, seen = draw(errors, aee, k, labels, worlds)
    verdicts, inside, widths = [], np.empty((worlds, len(LEVELS)), dtype=bool), []
    for at in range(worlds):
        residuals = Residuals(
            estimated[at, :k], seen[at, :k], [labels] * k, k if groups is None else groups[-1] + 1, prior, groups
        )
        verdicts.append(decide_verdict(residuals, None))
        for place, level in enumerate(LEVELS):
            lower, upper, _ = residuals.intervals(estimated[at, k:], [labels], level)
            inside[at, place] = lower[0] <= seen[at, k] <= upper[0]
            if level == 0.9:
                widths.append(upper[0] - lower[0])
    usable, too_few, no_use = (np.array(verdicts) == verdict for verdict in (USABLE, TOO_FEW, NO_USE))
    off = np.abs(estimated - p)[:, k]
    return {
        "world": name,
        "error": aee,
        "domains": k,
        "labels": labels,
        "usable": round(float(usable.mean()), 4),
        "too few": round(float(too_few.mean()), 4),
        "no use": round(float(no_use.mean()), 4),
        "error if usable": round(float(off[usable].mean()), 3) if usable.sum() >= FEWEST_DRAWS else None,
        "covered": _shares(inside),
        "covered if usable": _shares(inside[usable]),
        "covered if too few": _shares(inside[too_few]),
        "covered if no use": _shares(inside[no_use]),
        "width at 90 %": round(float(np.mean(widths)), 3),
    }


def _shares(inside: np.ndarray) -> list[float] | None:
    return [round(float(one), 3) for one in inside.mean(axis=0)] if len(inside) >= FEWEST_DRAWS else None


def shortest(rows: list[dict[str, object]]) -> float:
    """The largest shortfall of coverage over all draws from its level."""
    known = [row["covered"] for row in rows if row["covered"] is not None]
    return max((level - one for shares in known for level, one in zip(LEVELS, shares, strict=True)), default=math.nan)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=4000, help="draws of each world and number of domains")
    parser.add_argument("--labels", type=int, default=100, help="labels per domain")
    parser.add_argument(
        "--prior",
        type=float,
        nargs=2,
        default=CAUTIOUS,
        metavar=("SCALE", "FREEDOM"),
        help="instead of the prior in use",
    )
    parser.add_argument("--groups", action="store_true", help="only the worlds with groups")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    start = time.perf_counter()
    sizes = [(world, k, arguments.labels) for world in WORLDS for k in SIZES]
    sizes += [(world, *size) for world in WORLDS_OF_FEW_LABELS for size in FEW_LABELS]
    prior = Prior(*arguments.prior)
    cases = [Case(*world, k, labels, arguments.worlds, prior) for world, k, labels in sizes]
    cases = [] if arguments.groups else cases
    cases += cases_of_groups(GROUPS, arguments.labels, arguments.worlds, prior)
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        rows = pool.map(measure, cases, chunksize=1)
    print(tabulate([{name: _text(value) for name, value in row.items()} for row in rows], headers="keys"))
    judged = [row for row in rows if row["world"] in ("unshifted", "shifted") or "group" in row["world"]]
    print(
        json.dumps(
            {
                "benchmark": "verdict",
                "prior": list(arguments.prior),
                "ratio": round(shortest(judged), 3),
                "of": "coverage short of its level over all draws: the most, in worlds with normal errors",
                "usable_where_off_by_.12": max(row["usable"] for row in judged if row["error"] == 0.12),
                "wall_s": round(time.perf_counter() - start, 1),
                "rows": rows,
            }
        )
    )


def _text(value: object) -> object:
    return " ".join(f"{one:.3f}" for one in value) if isinstance(value, list) else "-" if value is None else value


if __name__ == "__main__":
    main()
