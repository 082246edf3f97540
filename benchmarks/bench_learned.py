"""Learn three settings from real answers: the rule of `recommended`, the prior of intervals, the support threshold.

For every model and domain, each setting is chosen on the other models and domains and tested only on that domain, so
nothing is tuned on its test data. It is compared with the shipped value, and with the best value for the
tested domains, which is not known beforehand. Cases are all training groups of three or more domains (or some of them,
drawn at random) of the given observation files, and the domains outside each. Run by
`make bench-learned` after `make study-real` and `make demo`; the last line is one JSON object.
"""

import argparse
import json
import math
import multiprocessing
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from tabulate import tabulate

from bench_intervals import winkler
from entropy_sentinel.estimators.combination import choose_candidate, leave_one_out_errors
from entropy_sentinel.estimators.estimator_base import FitFailure
from entropy_sentinel.estimators.estimator_registry import CANDIDATES, FEWEST_TO_CHOOSE, RECOMMENDED
from entropy_sentinel.estimators.estimator_settings import Estimation, Fitting
from entropy_sentinel.estimators.leave_one_out import validate_estimator
from entropy_sentinel.estimators.training_rows import TrainingRows, one_thread
from entropy_sentinel.estimators.training_support import LEAST_RISK, Support
from entropy_sentinel.schemas.response_schema import item_numbers
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.statistics.predictive_posterior import CAUTIOUS, Prior
from entropy_sentinel.statistics.slice_intervals import Residuals

FILES = ("results/real/observations/*/*.parquet", "results/demo/observations/math-verify/*.parquet")
SIZES = (3, 4, 5, 6, 9)
LEVEL, BAD = 0.9, 0.10
_FIT = Fitting.from_settings(Estimation().model_dump() | {"seed": 42})


@dataclass(frozen=True)
class Case:
    """One domain outside a training group: its truth, the candidates' estimates, and facts about the group."""

    model: str
    group: tuple[str, ...]
    domain: str
    true: float
    n: int
    estimates: Mapping[str, float]
    errors: Mapping[str, np.ndarray]
    residuals: Residuals
    distance: float
    noise: float

    def off(self, method: str) -> float:
        """The absolute error of a candidate, or of `recommended`."""
        return abs(self.estimates[method] - self.true)


class Setting(NamedTuple):
    """A setting to learn: its values by name, the shipped one, and the cost of a value.

    `result` is a value's result in one case; `cost` combines the results of many cases to one number.
    """

    values: Mapping[str, Any]
    shipped: str
    result: Callable[[Case, Any], float]
    cost: Callable[[Sequence[Case], np.ndarray], float]


def _mean(_: Sequence[Case], results: np.ndarray) -> float:
    return float(results.mean())


def _least(case: Case) -> str:
    return min(case.errors, key=lambda name: case.errors[name].mean())


def _chosen_from(fewest: int) -> Callable[[Case], str]:
    """The one-standard-error rule for at least `fewest` labelled domains, with the consensus below that."""
    return lambda case: choose_candidate(case.errors)[0] if len(case.group) >= fewest else CANDIDATES[0]


def _interval_score(case: Case, prior: Prior) -> float:
    """The interval score of `recommended`: width, and 20 times the distance of a truth outside."""
    lower, upper, _ = replace(case.residuals, prior=prior).intervals([case.estimates[RECOMMENDED]], [case.n], LEVEL)
    return float(winkler(lower, upper, [case.true], LEVEL)[0])


def _flagged(case: Case, least_risk: float) -> float:
    p = case.estimates[RECOMMENDED]
    return float(case.distance > case.noise and case.distance * 4 * p * (1 - p) > least_risk)


def _missed(cases: Sequence[Case], flagged: np.ndarray) -> float:
    """1 minus Youden's index: the share of unflagged bad cases plus the share of flagged others."""
    bad = np.array([case.off(RECOMMENDED) > BAD for case in cases])
    return float(1 - flagged[bad].mean() + flagged[~bad].mean()) if bad.any() and not bad.all() else math.nan


SETTINGS = {
    "rule of `recommended`": Setting(
        {
            **{f"always {name}": lambda case, name=name: name for name in CANDIDATES},
            **{f"one standard error, from {fewest} domains": _chosen_from(fewest) for fewest in (3, 5, 6, 9)},
            "least error": _least,
        },
        f"one standard error, from {FEWEST_TO_CHOOSE} domains",
        lambda case, rule: case.off(rule(case)),
        _mean,
    ),
    "prior of intervals (scale, freedom)": Setting(
        {
            f"{prior.scale:.2f}, {prior.freedom:g}": prior
            for prior in (Prior(s, f) for s in (0.06, 0.08, 0.11, 0.14, 0.18, 0.22) for f in (0.75, 1.5, 3.0, 4.5))
        },
        f"{CAUTIOUS.scale:.2f}, {CAUTIOUS.freedom:g}",
        _interval_score,
        _mean,
    ),
    "threshold of `outside support`": Setting(
        {f"{one:.2f}": one for one in (0.03, 0.05, 0.07, 0.10, 0.15, 0.20, 0.25, 0.30, 0.40, 1.0)},
        f"{LEAST_RISK:.2f}",
        _flagged,
        _missed,
    ),
}


def measure(job: tuple[pl.DataFrame, tuple[str, ...]]) -> list[Case]:
    """The cases of one training group."""
    frame, group = job
    known = frame.filter(pl.col("benchmark").is_in(group))
    rows = TrainingRows(known, known["label"].to_numpy(), _FIT, known["benchmark"], item_numbers(known))
    with one_thread():
        fitted = {name: rows.fit(name) for name in (*CANDIDATES, RECOMMENDED)}
        if any(isinstance(one, FitFailure) for one in fitted.values()):
            return []
        errors, residuals = leave_one_out_errors(rows), validate_estimator(rows, RECOMMENDED).residuals
    support, actual = Support.fit(rows.features, rows.domains), []
    for (name,), part in frame.filter(~pl.col("benchmark").is_in(group)).group_by("benchmark", maintain_order=True):
        compared = support.compare(support.counts(part, np.zeros(len(part), dtype=int), 1))
        estimates = {method: one.accuracy(part) for method, one in fitted.items()}
        message = estimates, errors, residuals, abs(float(compared.distance[0])), float(compared.noise[0])
        actual.append(Case(frame["model"][0], group, name, part["label"].mean(), len(part), *message))
    return actual


def results(setting: Setting, cases: Sequence[Case]) -> pl.DataFrame:
    """The result of every value in every case, a column for each, (n_cases,)."""
    return pl.DataFrame(
        {name: [setting.result(case, value) for case in cases] for name, value in setting.values.items()}
    )


def costs(setting: Setting, cases: Sequence[Case], actual: pl.DataFrame, which: np.ndarray) -> dict[str, float]:
    """The cost of every value in the cases `which`, a mask (n_cases,); all models have equal weight."""
    models = np.array([case.model for case in cases])
    masks = [which & (models == one) for one in np.unique(models[which])]
    by_value = {}
    for value in actual.columns:
        column = actual[value].to_numpy()
        each = [
            setting.cost([case for case, own in zip(cases, mask, strict=True) if own], column[mask]) for mask in masks
        ]
        by_value[value] = float(np.nanmean(each))
    return by_value


def learned(setting: Setting, cases: Sequence[Case], actual: pl.DataFrame, tested: str) -> tuple[float, dict[str, int]]:
    """The cost of values chosen without this model and the tested domain, and how often each was chosen."""
    own = [at for at, case in enumerate(cases) if case.model == tested]
    taken: dict[str, str] = {}
    for domain in sorted({cases[at].domain for at in own}):
        others = np.array([case.model != tested and domain not in (case.domain, *case.group) for case in cases])
        by_value = costs(setting, cases, actual, others)
        taken[domain] = min(by_value, key=by_value.__getitem__)
    given = np.array([actual[taken[cases[at].domain]][at] for at in own])
    counted = {value: list(taken.values()).count(value) for value in dict.fromkeys(taken.values())}
    return setting.cost([cases[at] for at in own], given), counted


def jobs(files: Sequence[str], most: int) -> list[tuple[pl.DataFrame, tuple[str, ...]]]:
    actual = []
    for path in files or sorted(str(path) for pattern in FILES for path in Path().glob(pattern)):
        frame = OBSERVATIONS.read(path).filter(pl.col("label").is_not_null(), pl.col("feature_reason").is_null())
        names = sorted(frame["benchmark"].unique())
        for size in (size for size in SIZES if size < len(names)):
            groups = list(combinations(names, size))
            actual += [(frame, groups[at]) for at in np.random.default_rng(size).permutation(len(groups))[:most]]
    return actual


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("observations", nargs="*", help="observation files, one per model; else of real and demo")
    parser.add_argument("--groups", type=int, default=35, help="training groups of each size, of each model")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    os.environ.update(POLARS_MAX_THREADS="1", OMP_NUM_THREADS="1")
    start = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        if not (todo := jobs(arguments.observations, arguments.groups)):
            parser.error("needs files of observations: run `make study-real` and `make demo`, or name some")
        cases = [case for actual in pool.imap(measure, todo, chunksize=4) for case in actual]
    models, summary = sorted({case.model for case in cases}), {}
    for name, setting in SETTINGS.items():
        actual, rows = results(setting, cases), []
        for model in models:
            own = np.array([case.model == model for case in cases])
            by_value = costs(setting, cases, actual, own)
            best = min(by_value, key=by_value.__getitem__)
            cost, chosen = learned(setting, cases, actual, model)
            rows.append([model, int(own.sum()), by_value[setting.shipped], cost, chosen, by_value[best], best])
        print(f"\n{name}; shipped: {setting.shipped}")
        heads = ["left out", "cases", "shipped", "learned elsewhere", "chosen (domains)", "best afterwards", "which"]
        print(tabulate(rows, heads, floatfmt=".4f"), flush=True)
        over_all = costs(setting, cases, actual, np.ones(len(cases), dtype=bool))
        all_costs = {value: round(cost, 4) for value, cost in sorted(over_all.items(), key=lambda item: item[1])}
        print("over all models:", all_costs)
        shipped, elsewhere = (round(float(np.mean([row[at] for row in rows])), 4) for at in (2, 3))
        summary[name] = {"shipped": shipped, "learned elsewhere": elsewhere, "over all": all_costs}
    rule = summary["rule of `recommended`"]
    print(
        json.dumps(
            {
                "benchmark": "learned",
                "ratio": round(rule["shipped"] / rule["learned elsewhere"], 3),
                "of": "mean error of `recommended` on unseen domains, shipped rule over the one learned elsewhere",
                "cases": len(cases),
                "wall_s": round(time.perf_counter() - start, 1),
                "settings": summary,
            }
        )
    )


if __name__ == "__main__":
    main()
