"""Test whether the number of further labelled domains that a validation names makes its estimator usable.

A validation of few domains says `too few domains to say`. It also names either the number of further domains that make
the estimator usable, or the minimum number. That many more domains are drawn from the same world, and the verdict is
repeated. The benchmark prints, for each named number, how many validations named it and for how many it was right. A
validation that names a minimum is right if the estimator is not usable with fewer.

The worlds have normal errors, with mean errors from .02 to .20, equally often; each domain has a hundred labels.

`--looks` measures looking again instead: domains of 20 labels are added in fours, from 8 to 40, and the verdict is
repeated after each four. It prints how often the verdict of all 40 is `usable`, and how often any of the nine was.

Run by `make bench-more_domains`; the last line is one JSON object.
"""

import argparse
import json
import multiprocessing
from functools import partial

import numpy as np
from tabulate import tabulate

from bench_verdict import Errors, draw, few_far_off, normal
from entropy_sentinel.estimators.verdict import MOST_MORE, TOO_FEW, USABLE, Evidence, decide_verdict
from entropy_sentinel.statistics.slice_intervals import Residuals

ERRORS = (0.02, 0.05, 0.08, 0.10, 0.12, 0.16, 0.20)
SIZES = (3, 4, 6, 9, 14)
LABELS = 100
# Ranges of numbers that are reported together.
BINS = ((1, 1), (2, 3), (4, 7), (8, 15), (16, 30), (31, MOST_MORE))
# Looking again: the worlds with their mean error, the numbers of domains at each look, and the labels of a domain.
LOOKED_AT: list[tuple[str, Errors, float]] = [
    *(("normal errors", normal, error) for error in (0.04, 0.10, 0.12)),
    ("1 domain in 10 off by .3 to .5", partial(few_far_off, share=0.10), 0.02),
]
LOOKS, LABELS_OF_LOOKS = range(8, 41, 4), 20


def look_again(case: tuple[str, Errors, float, int]) -> dict[str, object]:
    """How often the last verdict in a world is `usable`, and how often any verdict was."""
    name, errors, aee, worlds = case
    estimated, _, seen = draw(errors, aee, LOOKS[-1], LABELS_OF_LOOKS, worlds)
    usable = np.zeros((worlds, len(LOOKS)), dtype=bool)
    for world, (estimates, shares) in enumerate(zip(estimated, seen, strict=True)):
        for place, n in enumerate(LOOKS):
            residuals = Residuals(estimates[:n], shares[:n], [LABELS_OF_LOOKS] * n, n)
            usable[world, place] = decide_verdict(residuals, None) == USABLE
    once, ever = usable[:, -1].mean(), usable.any(axis=1).mean()
    return {"world": name, "error": aee, "usable once": round(once, 3), "usable ever": round(ever, 3)}


def measure(case: tuple[float, int, int]) -> list[tuple[str, int, bool, float]]:
    """For each validation with too few domains: what it names, how many, whether it is right, the mean error."""
    aee, k, worlds = case
    estimated, _, seen = draw(normal, aee, k + MOST_MORE, LABELS, worlds)
    return [named for one in zip(estimated, seen, strict=True) if (named := _named(*one, aee, k))]


def _named(estimated: np.ndarray, seen: np.ndarray, aee: float, k: int) -> tuple[str, int, bool, float] | None:
    def of(n: int) -> Residuals:
        return Residuals(estimated[:n], seen[:n], [LABELS] * n, n)

    if decide_verdict(of(k), None) != TOO_FEW:
        return None
    evidence = Evidence.from_residuals(of(k))
    if enough := evidence.enough_more():
        return "enough", enough, decide_verdict(of(k + enough), None) == USABLE, aee
    fewest = evidence.fewest_more() or MOST_MORE + 1
    return "at least", fewest, all(decide_verdict(of(k + n), None) != USABLE for n in range(1, fewest)), aee


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=200, help="draws of each mean error and number of domains")
    parser.add_argument("--looks", action="store_true", help="measure looking again")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.looks:
        with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
            rows = pool.map(look_again, [(*world, arguments.worlds) for world in LOOKED_AT], chunksize=1)
        print(tabulate(rows, headers="keys"))
        print(json.dumps({"benchmark": "looks", "looks": len(LOOKS), "rows": rows}))
        return
    cases = [(aee, k, arguments.worlds) for aee in ERRORS for k in SIZES]
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        named = [one for part in pool.map(measure, cases, chunksize=1) for one in part]
    rows = []
    for what in ("enough", "at least"):
        for first, last in (*BINS, (MOST_MORE + 1, MOST_MORE + 1)):
            kept = [one[2] for one in named if one[0] == what and first <= one[1] <= last]
            if kept:
                rows.append(
                    {
                        "named": what,
                        "from": first,
                        "to": last,
                        "validations": len(kept),
                        "kept": round(np.mean(kept), 3),
                    }
                )
    print(tabulate(rows, headers="keys"))
    print(json.dumps({"benchmark": "more domains", "rows": rows}))


if __name__ == "__main__":
    main()
