"""Compare measures of `outside support` by how well they predict large errors on new domains and temperatures.

Estimators are fitted at temperature 0.5 on groups of 2, 3 and all but one of the demo's ten domains, and estimate every
domain at 0.5, 0.7, 0.9 and 1.2, and a mix of the group's own domains, on items that they were not fitted on
(data/support.parquet, made by support_data.py), or the domains of simulated worlds (--worlds). A case is bad if the
error is above 0.15. Measures are compared by the AUROC of bad against good cases, and by the share of bad
cases found with as many flagged good cases as by the rule of estimators/support.py. Run by `make bench-support`;
prints tables, and as its last line one JSON object.
"""

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import wasserstein_distance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from tabulate import tabulate
from worlds import world

from entropy_sentinel.estimators.estimator import Unfitted
from entropy_sentinel.estimators.settings import Estimation
from entropy_sentinel.estimators.support import LEAST_RISK, Support
from entropy_sentinel.estimators.training import TrainingRows, fit
from entropy_sentinel.features.catalogue import FEATURES

DATA = Path(__file__).parent / "data" / "support.parquet"
BAD = (0.1, 0.15, 0.25)
MIX = "(mix of the group)"
SHIPPED = "distance from the nearest mix x 4p(1-p)"
SETTINGS = {"seed": 42, **Estimation().model_dump(exclude={"default", "seed", "test_share", "estimators", "keep"})}


def studies(worlds: int, distortion: float) -> Iterator[pl.DataFrame]:
    """Return rows for each model: benchmark, temperature, whether for training, label, features."""
    if not worlds:
        yield from pl.read_parquet(DATA).cast({pl.Categorical: pl.String, pl.Float32: pl.Float64}).partition_by("model")
    for seed in range(worlds):
        first = pl.int_range(pl.len()).over("benchmark") < 100
        yield world(seed, distortion).with_columns(model=pl.lit(f"{seed}"), temperature=pl.lit(0.5), training=first)


def jobs(arguments: argparse.Namespace) -> Iterator[tuple]:
    for rows in studies(arguments.worlds, arguments.distortion):
        domains = sorted(rows["benchmark"].unique())
        for size in (2, 3, len(domains) - 1):
            groups = list(combinations(domains, size))
            for group in groups[:: max(1, len(groups) // arguments.groups)]:
                yield rows, group, arguments.estimator, arguments.responses


def slices(rows: pl.DataFrame, group: tuple[str, ...], responses: int) -> Iterator[tuple[float, str, pl.DataFrame]]:
    """Yield temperature, domain and responses of each slice to estimate."""
    apart = rows.filter(~pl.col("training"))
    for (temperature, domain), part in apart.group_by("temperature", "benchmark", maintain_order=True):
        yield round(temperature, 1), domain, part.head(responses)
    own = apart.filter(pl.col("benchmark").is_in(group), pl.col("temperature") == 0.5)
    yield 0.5, MIX, own.sample(min(responses, len(own)), seed=0)


def measure(job: tuple) -> list[dict]:
    """Return the cases of one group: error of the estimate, and each measure's value for the slice."""
    rows, group, name, responses = job
    known = rows.filter(pl.col("training"), pl.col("benchmark").is_in(group))
    training = TrainingRows(known, known["label"].to_numpy(), SETTINGS, domains=known["benchmark"])
    estimator = fit(training, [name])[name]
    if isinstance(estimator, Unfitted):
        return []
    support, measures, cases = Support.of(known, known["benchmark"]), Measures(training), []
    for temperature, domain, part in slices(rows, group, responses):
        p, state = estimator.accuracy(part), support.counts(part, np.zeros(len(part), dtype=int), 1)
        distance, risk = float(np.abs(support.compare(state).distance[0])), 4 * p * (1 - p)
        result = measures(part) | {"distance from the nearest mix": distance}
        cases.append(
            {
                "model": rows["model"][0],
                "size": len(group),
                "temperature": temperature,
                "held_out": domain not in (*group, MIX),
                "mix": domain == MIX,
                "error": abs(p - part["label"].mean()),
                "flagged": support.flags(state, np.array([p]))[0] is not None,
                "4p(1-p) alone": risk,
                **result,
                **{f"{key} x 4p(1-p)": value * risk for key, value in result.items()},
            }
        )
    return cases


class Measures:
    """The other measures of a slice's distance from training rows, using all features."""

    def __init__(self, training: TrainingRows) -> None:
        self.known = training.features.to_numpy()
        self.low, self.high = np.quantile(self.known, (0.005, 0.995), axis=0)
        left_out = [training.domains == one for one in np.unique(training.domains)]
        self.spread = np.max([self.by_ranks(self.known[~one], self.known[one]) for one in left_out], axis=0)

    def __call__(self, part: pl.DataFrame) -> dict[str, float]:
        values = part.select(FEATURES).to_numpy()
        distances = self.by_ranks(self.known, values)
        outside = ((values < self.low) | (values > self.high)).mean(axis=0)
        return {
            "Wasserstein-1 of ranks, largest of 17": float(distances.max()),
            "Wasserstein-1 over its leave-one-domain-out spread": float((distances / self.spread).max()),
            "Wasserstein-1 of ranks, max alone": float(distances[FEATURES.index("max")]),
            "AUROC of a two-sample classifier": self.classified(values),
            "share outside 0.5-99.5 %, largest of 17": float(outside.max()),
            "share outside 0.5-99.5 %, mean of 17": float(outside.mean()),
        }

    def by_ranks(self, known: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Wasserstein-1 distance per feature, (n_features,), after the rank transform of the rows `known`."""
        result = []
        for one, other in zip(known.T, values.T, strict=True):
            ordered = np.sort(one)
            ranks = [(np.searchsorted(ordered, x) + np.searchsorted(ordered, x, "right")) / 2 for x in (one, other)]
            result.append(wasserstein_distance(*ranks) / len(one))
        return np.array(result)

    def classified(self, values: np.ndarray) -> float:
        """Return how well a logistic regression on all features separates slice and training rows, in sample."""
        both, which = np.concatenate([self.known, values]), np.repeat([0, 1], [len(self.known), len(values)])
        scaled = StandardScaler().fit_transform(both)
        model = LogisticRegression(class_weight="balanced", max_iter=1000).fit(scaled, which)
        return float(roc_auc_score(which, model.decision_function(scaled)))


def shares(cases: pl.DataFrame, flagged: np.ndarray) -> list[float | int | None]:
    """Cases, bad ones, share of them flagged for each limit of BAD, false alarms and precision at 0.15."""

    def share(of: np.ndarray, among: np.ndarray) -> float | None:
        return float(of[among].mean()) if among.any() else None

    error = cases["error"].to_numpy()
    bad = [error > limit for limit in BAD]
    sensitivity = [share(flagged, one) for one in bad]
    return [len(cases), int(bad[1].sum()), *sensitivity, share(flagged, ~bad[1]), share(bad[1], flagged)]


def show(cases: pl.DataFrame) -> dict[str, list]:
    """The shipped rule by size of group, and by temperature of domains in and out of it."""
    heads = ["size", "domains", "T", "cases", "bad", *(f"found >{limit}" for limit in BAD), "false alarms", "precision"]
    rows, kinds = (
        [],
        {"left out": pl.col("held_out"), "own": ~pl.col("held_out") & ~pl.col("mix"), "mix": pl.col("mix")},
    )
    for size in cases["size"].unique().sort():
        one = cases.filter(size=size)
        rows.append([size, "all", "all", *shares(one, one["flagged"].to_numpy())])
        for kind, which in kinds.items():
            for temperature in one.filter(which)["temperature"].unique().sort():
                part = one.filter(which, temperature=temperature)
                rows.append([size, kind, temperature, *shares(part, part["flagged"].to_numpy())])
    print(tabulate(rows, heads, floatfmt=".2f", missingval="-"), flush=True)
    return {f"size {row[0]}": row[3:] for row in rows if row[1] == "all"}


def compare(cases: pl.DataFrame) -> dict[str, list]:
    """Return the AUROC for each limit of BAD by measure, and the share found at the shipped rule's false alarms."""
    error, flagged = cases["error"].to_numpy(), cases["flagged"].to_numpy()
    good, rows = error <= 0.15, []
    alarms = flagged[good].mean()
    for name in cases.columns[cases.columns.index("4p(1-p) alone") :]:
        values = cases[name].to_numpy()
        result = (values > np.quantile(values[good], 1 - alarms))[~good].mean()
        rows.append([name, *(roc_auc_score(error > limit, values) for limit in BAD), result])
    rows.sort(key=lambda row: -row[2])
    heads = ["measure", *(f"AUROC >{limit}" for limit in BAD), f"found at {alarms:.0%} false alarms"]
    print(tabulate(rows, heads, floatfmt=".3f"), flush=True)
    return {row[0]: [round(value, 3) for value in row[1:]] for row in rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--estimator", default="recommended")
    parser.add_argument("--groups", type=int, default=15, help="training groups of each size and model, about")
    parser.add_argument("--responses", type=int, default=100, help="responses of a slice")
    parser.add_argument("--worlds", type=int, default=0, help="number of simulated worlds to use instead of the demo")
    parser.add_argument("--distortion", type=float, default=0.25, help="of the worlds: tests/shared/worlds.py")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    start = time.perf_counter()
    os.environ.update(POLARS_MAX_THREADS="1", OMP_NUM_THREADS="1")
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        result = [case for cases in pool.imap(measure, jobs(arguments), chunksize=2) for case in cases]
    cases = pl.DataFrame(result, infer_schema_length=None)
    rule, few = show(cases), cases.filter(pl.col("size") <= 3)
    compared = compare(few)
    best = max(value[-1] for name, value in compared.items() if "4p(1-p)" not in name)
    print(
        json.dumps(
            {
                "benchmark": "support",
                "ratio": round(compared[SHIPPED][-1] / best, 2),
                "of": "bad cases found at equal false alarms, shipped measure over the best that uses only features",
                "estimator": arguments.estimator,
                "least_risk": LEAST_RISK,
                "responses": arguments.responses,
                "cases": len(cases),
                "rule": {size: [value and round(value, 3) for value in row] for size, row in rule.items()},
                "measures": compared,
                "wall_s": round(time.perf_counter() - start, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
