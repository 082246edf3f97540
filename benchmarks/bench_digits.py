"""Measure how digit tokens rank single responses, and what they do to the estimates of slices.

Two real models (examples/real), each of seven benchmarks held out: AUROC of P(correct) within the held-out benchmark,
and the mean error of its estimated accuracy, of `log-digits` beside other estimators. Run by `make bench-digits`; the
last line is one JSON object.
"""

import argparse
import json
import multiprocessing
import time
from itertools import product

import numpy as np
import polars as pl
from sklearn.metrics import roc_auc_score
from tabulate import tabulate

import entropy_sentinel as es
from bench_combined import MODELS, REAL, real_rows
from entropy_sentinel.signal_families.digits.digits_family import compute

ESTIMATORS, FEWEST = ("log-3d", "recommended", "log-digits"), 5


def measured(case: tuple[str, str]) -> tuple[float, float]:
    """The mean AUROC over the benchmarks with FEWEST right and wrong answers, and the mean error over all."""
    model, name = case
    features, labels = real_rows(model)
    paths = sorted((REAL / "traces" / model).glob("*.parquet"))
    traces = [pl.read_parquet(path) for path in paths]
    digits = [frame.select("item_id", "sample").hstack(compute(frame.lazy())) for frame in traces]
    rows = features.join(pl.concat(digits), on=["item_id", "sample"]).with_columns(
        benchmark=pl.col("item_id").str.extract(r"^(.*)-\d+$")
    )
    ranks, errors = [], []
    for benchmark in rows["benchmark"].unique().sort():
        held_out = pl.col("benchmark") == benchmark
        saved = es.fit(rows.filter(~held_out), labels, name)
        part = rows.filter(held_out).join(labels, on=["item_id", "sample"])
        right = part["label"].to_numpy()
        errors.append(abs(saved.estimator.accuracy(part) - right.mean()))
        p = saved.estimator.p_correct(part)
        if p is not None and FEWEST <= right.sum() <= len(right) - FEWEST:
            ranks.append(roc_auc_score(right, p))
    return float(np.mean(ranks)), float(np.mean(errors))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    start, cases = time.perf_counter(), list(product(MODELS, ESTIMATORS))
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        found = dict(zip(cases, pool.map(measured, cases, chunksize=1), strict=True))
    print(
        tabulate(
            [[*case, *numbers] for case, numbers in found.items()],
            ["model", "estimator", "AUROC within", "mean error"],
            floatfmt=".3f",
        )
    )
    gains = [found[model, "log-digits"][0] - found[model, "recommended"][0] for model in MODELS]
    print(
        json.dumps(
            {
                "benchmark": "digits",
                "ratio": round(float(np.mean(gains)), 3),
                "of": "mean gain of AUROC over recommended's P(correct)",
                "wall_s": round(time.perf_counter() - start, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
