"""Measure the coverage of intervals on domains without labels: those of the demo, and of a known generator.

An estimator is fitted on k labelled domains; the errors from holding out each of these give the validation and the
intervals, which are compared with the truth of all other domains: over all groups of k, given the verdict `usable`, and
given any other verdict. In the generator's worlds (tests/shared/worlds.py) the k are drawn at random among all, so that
they are exchangeable with the others; in the demo every group of k is used, or 60 at random. Worlds are of two kinds:
domains without differences that an estimator cannot know, and domains on which the consensus is off by about .12
(`--distortion`). For errors that are drawn, not produced by an estimator: `make bench-verdict`. Run by `make
bench-intervals`; the last line is one JSON object.
"""

import argparse
import json
import math
import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from tabulate import tabulate
from worlds import world

from entropy_sentinel.estimators.estimator_base import FitFailure
from entropy_sentinel.estimators.estimator_settings import Estimation
from entropy_sentinel.estimators.leave_one_out import validate_estimator
from entropy_sentinel.estimators.training_rows import TrainingRows, one_thread
from entropy_sentinel.estimators.verdict import LEVELS, USABLE
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.statistics.slice_intervals import CONFORMAL, PREDICTIVE

DEMO = "results/demo/observations/*/*.parquet"
SIZES = (3, 4, 9, 19)
# Coverage given a verdict is shown only if at least this many fits have it.
FEWEST_FITS = 20
# A world's responses per domain; new domains of a world.
RESPONSES, NEW = 100, 5
WORLD = "worlds, distortion {:g}"
_FIT = {
    "seed": 42,
    **Estimation().model_dump(include={"folds", "trees", "max_depth", "min_samples_split", "hidden_layers"}),
}

Case = tuple[str, pl.DataFrame | tuple[int, float, int], tuple[str, ...] | int, str]


def winkler(lower: Sequence[float], upper: Sequence[float], true: Sequence[float], level: float) -> np.ndarray:
    """The interval score of each interval of `level`, (n,): lower is better (Winkler 1972; Gneiting and Raftery 2007).

    The width, and for a true value outside 2 / (1 - level) times its distance from the interval.
    """
    lower, upper, true = (np.asarray(one, dtype=float) for one in (lower, upper, true))
    outside = np.maximum(lower - true, 0) + np.maximum(true - upper, 0)
    return upper - lower + 2 / (1 - level) * outside


def cases(arguments: argparse.Namespace) -> Iterator[Case]:
    """Yield name, rows or their generator, the labelled domains or their number, and the estimator."""
    for path in arguments.observations or sorted(Path().glob(DEMO)):
        frame = OBSERVATIONS.read(path).filter(pl.col("label").is_not_null(), pl.col("feature_reason").is_null())
        names = sorted(frame["benchmark"].unique())
        for size in (size for size in SIZES if size < len(names)):
            groups = list(combinations(names, size))
            for place in np.random.default_rng(size).permutation(len(groups))[: arguments.groups]:
                yield frame["model"][0], frame, groups[place], arguments.estimator
    for distortion in (0.0, arguments.distortion):
        for size in SIZES:
            for seed in range(-(-arguments.domains // NEW)):
                yield WORLD.format(distortion), (seed, distortion, size + NEW), size, arguments.in_worlds


def measure(case: Case) -> list[dict[str, Any]]:
    """The intervals of the unlabelled domains, with their true accuracies."""
    name, source, labelled, estimator = case
    frame = source if isinstance(source, pl.DataFrame) else world(*source[:2], n_domains=source[2], n=RESPONSES)
    if isinstance(labelled, int):
        names = frame["benchmark"].unique(maintain_order=True).to_list()
        labelled = tuple(np.random.default_rng(source[0]).permutation(names)[:labelled])
    known = frame.filter(pl.col("benchmark").is_in(labelled))
    rows = TrainingRows(known, known["label"].to_numpy(), _FIT, domains=known["benchmark"])
    with one_thread():
        validation, fitted = validate_estimator(rows, estimator), rows.fit(estimator)
    if isinstance(fitted, FitFailure):
        return []
    result = []
    for (_,), other in frame.filter(~pl.col("benchmark").is_in(labelled)).group_by("benchmark", maintain_order=True):
        estimate, true = fitted.accuracy(other), other["label"].mean()
        for level in LEVELS:
            for make in (validation.residuals.intervals, validation.residuals.conformal_intervals):
                lower, upper, basis = make([estimate], [len(other)], level)
                one = {"name": name, "k": len(labelled), "level": level, "basis": basis, "true": true}
                one["fit"] = f"{source[0]}" if isinstance(source, tuple) else "+".join(labelled)
                one["usable"], one["estimate"] = validation.verdict == USABLE, estimate
                result.append(one | {"lower": float(lower[0]), "upper": float(upper[0])})
    return [one for one in result if not math.isnan(one["lower"])]


def clustered(part: pl.DataFrame) -> tuple[float, float]:
    """Coverage and its standard error by fits, because new domains of one fit share its errors."""
    inside = part.with_columns(inside=pl.col("true").is_between("lower", "upper"))
    by_fit = inside.group_by("fit").agg(pl.col("inside").mean())["inside"]
    spread = by_fit.std() if len(by_fit) > 1 else math.nan
    return by_fit.mean(), spread / np.sqrt(len(by_fit))


def given(part: pl.DataFrame, usable: bool) -> str:
    """Coverage if the validation says `usable`, or does not; a dash if there are too few such validations."""
    chosen = part.filter(pl.col("usable") == usable)
    return f"{clustered(chosen)[0]:.3f}" if chosen["fit"].n_unique() >= FEWEST_FITS else "-"


def summed_up(result: pl.DataFrame) -> list[dict[str, Any]]:
    """Coverage, width and interval score by name, k, level and basis."""
    rows = []
    for (name, k, level, basis), part in result.group_by("name", "k", "level", "basis", maintain_order=True):
        ends = part["lower"].to_numpy(), part["upper"].to_numpy(), part["true"].to_numpy()
        share, error = clustered(part)
        rows.append(
            {
                "name": name,
                "labelled": k,
                "error": round(float((part["estimate"] - part["true"]).abs().mean()), 3),
                "usable": round(part["usable"].mean(), 3),
                "nominal": level,
                "basis": basis,
                "covered": round(share, 3),
                "from": round(share - 1.96 * error, 3),
                "to": round(min(share + 1.96 * error, 1), 3),
                "if usable": given(part, True),
                "if not": given(part, False),
                "width": round(float(np.mean(ends[1] - ends[0])), 3),
                "score": round(float(winkler(*ends, level).mean()), 3),
                "domains": len(part),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("observations", nargs="*", help=f"observation files of a study, one per model; else {DEMO}")
    parser.add_argument("--estimator", default="consensus", help="on the observations")
    parser.add_argument("--in-worlds", default="consensus", help="on the generator's worlds")
    parser.add_argument("--groups", type=int, default=60, help="training groups of each size, of each model")
    parser.add_argument("--domains", type=int, default=400, help="new domains of the generator, for each k")
    parser.add_argument("--distortion", type=float, default=0.2, help="size of differences unknown to any estimator")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    start, jobs = time.perf_counter(), list(cases(arguments))
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        result = pl.DataFrame([row for rows in pool.imap(measure, jobs, chunksize=2) for row in rows])
    rows = summed_up(result.sort("name", "k", "level", "basis", maintain_order=True))
    print(tabulate(rows, headers="keys"))
    of_worlds = [row for row in rows if row["name"].startswith("worlds")]
    predictive, conformal = ([row for row in of_worlds if row["basis"] == one] for one in (PREDICTIVE, CONFORMAL))
    print(
        json.dumps(
            {
                "benchmark": "intervals",
                "ratio": round(min(row["covered"] / row["nominal"] for row in predictive), 3),
                "of": "coverage over nominal level, predictive intervals on the generator's domains: the smallest",
                "conformal": round(min(row["covered"] / row["nominal"] for row in conformal), 3),
                "wall_s": round(time.perf_counter() - start, 1),
                "rows": rows,
            }
        )
    )


if __name__ == "__main__":
    main()
