"""Simulate how often a verdict is `usable`, by the number of labelled domains, labels per domain and mean error.

The worlds are those of benchmarks/bench_verdict.py with normal errors. `--write` replaces the table of `sample`,
workflow/entropy_sentinel/monitor/labelling/usable_probability.csv. `--errors heavy` or `one-sided` draws other errors,
and prints how far the table is off for them. Run by `make bench-usable`; the last line is one JSON object.
"""

import argparse
import itertools
import json
import math
import multiprocessing
import time

import numpy as np
import polars as pl
from tabulate import tabulate

from bench_verdict import EXPLAINED, draw, heavy, normal, one_sided
from entropy_sentinel.estimators.verdict import USABLE, decide_verdict
from entropy_sentinel.monitor.labelling.usable_probability import TABLE, read_table
from entropy_sentinel.statistics.slice_intervals import Residuals

ERRORS = (0.0, 0.02, 0.04, 0.06, 0.08)
DOMAINS = (6, 8, 10, 12, 15, 20, 25, 30, 40)
# A validation needs 20 labels per domain; with a judge, labels that tell as much as fewer can be enough.
LABELS = (10, 15, 20, 30, 40, 60, 100)
DRAWN = {"normal": normal, "heavy": heavy, "one-sided": one_sided}


def usable(case: tuple[str, float, int, int, int]) -> float:
    """The share of validations that say `usable`.

    `case` is the name of the errors, their mean, domains, labels per domain, and draws.
    """
    errors, error, domains, labels, worlds = case
    estimated, _, seen = draw(DRAWN[errors], error, domains, labels, worlds)
    counts, place = [labels] * domains, slice(domains)
    verdicts = [
        decide_verdict(Residuals(estimates[place], shares[place], counts, domains), None)
        for estimates, shares in zip(estimated, seen, strict=True)
    ]
    return float(np.mean([verdict == USABLE for verdict in verdicts]))


def usable_with_judge(case: tuple[str, float, int, int, int]) -> float:
    """The share of validations that say `usable`, with a judge and labels that tell as much as `labels` alone.

    The noise of the true accuracies is normal and its variance known, as benchmarks/bench_judged.py finds it.
    """
    errors, error, domains, labels, worlds = case
    rng = np.random.default_rng([domains, labels])
    p = rng.uniform(0.15, 0.85, (worlds, domains))
    variance = (1 - EXPLAINED) * float(np.mean(p * (1 - p))) / labels
    estimated = np.clip(p + DRAWN[errors](rng, p, error), 0, 1)
    seen = p + math.sqrt(variance) * rng.normal(size=p.shape)
    counts, noise = [labels] * domains, [variance] * domains
    verdicts = [
        decide_verdict(Residuals(estimates, shares, counts, domains, noise=noise), None)
        for estimates, shares in zip(estimated, seen, strict=True)
    ]
    return float(np.mean([verdict == USABLE for verdict in verdicts]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=2000, help="draws of each cell")
    parser.add_argument("--errors", choices=DRAWN, default="normal", help="how errors are distributed")
    parser.add_argument("--write", action="store_true", help="replace the table of the package, for normal errors")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    start, cells = time.perf_counter(), list(itertools.product(ERRORS, DOMAINS, LABELS))
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        cases = [(arguments.errors, *cell, arguments.worlds) for cell in cells]
        shares, with_judge = (pool.map(simulate, cases, chunksize=5) for simulate in (usable, usable_with_judge))
    table = pl.DataFrame(cells, schema=["error", "domains", "labels"], orient="row").with_columns(
        usable=pl.Series(shares).round(3), usable_with_judge=pl.Series(with_judge).round(3)
    )
    if arguments.errors != "normal":
        by = ["error", "domains", "labels"]
        off = table.join(read_table(), on=by, suffix="_table").with_columns(
            off=pl.col("usable") - pl.col("usable_table")
        )
        print(f"beside the table of normal errors: {off['off'].min():+.2f} to {off['off'].max():+.2f}")
    elif arguments.write:
        table.write_csv(TABLE)
    print(
        tabulate(
            table.pivot("labels", index=["error", "domains"], values="usable").rows(), ["error", "domains", *LABELS]
        )
    )
    twenty = table.filter(error=0.04, domains=20, labels=30)["usable"][0]
    print(
        json.dumps(
            {
                "benchmark": "usable",
                "ratio": twenty,
                "of": "share of validations that say usable with 20 domains of 30 labels and a mean error of .04",
                "wall_s": round(time.perf_counter() - start, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
