"""What real answers teach: the rule of `recommended`, the prior of intervals, the threshold of the support flag.

For every model and domain, each of the three is chosen anew on the other models and the other domains, and tried on
that domain alone: nothing is tuned on what it is tested on. Beside it stand the shipped value, and the one that would
have been best on the tested domains, which nobody knows beforehand. Cases are all training groups of three domains and
more (or some of them, drawn at random) of the observation files given, and the domains outside of each. Run by
`make bench-learned` after `make study-real` and `make demo`; the last line is one JSON object.
"""

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from bench_intervals import winkler
from tabulate import tabulate

from entropy_sentinel.estimators.catalogue import CANDIDATES, RECOMMENDED
from entropy_sentinel.estimators.estimator import Unfitted
from entropy_sentinel.estimators.fit import one_thread
from entropy_sentinel.estimators.recommended import choose, leave_one_out_errors
from entropy_sentinel.estimators.settings import Estimation, Fitting
from entropy_sentinel.estimators.support import LEAST_RISK, Support
from entropy_sentinel.estimators.training import TrainingRows
from entropy_sentinel.estimators.validation import validate
from entropy_sentinel.features.observation_frame import OBSERVATIONS
from entropy_sentinel.frames.response import item_numbers
from entropy_sentinel.statistics.intervals import Residuals
from entropy_sentinel.statistics.predictive import CAUTIOUS, Prior

FILES = ("results/real/observations/*/*.parquet", "results/demo/observations/math-verify/*.parquet")
SIZES = (3, 4, 6, 9)
LEVEL, BAD = 0.9, 0.10
_FIT = {"seed": 42, **Estimation().model_dump(include=set(Fitting.__dataclass_fields__) - {"seed"})}


@dataclass(frozen=True)
class Case:
    """One domain outside of a training group: its truth, what the candidates estimate, and what the group knows."""

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
        """How far a candidate, or `recommended`, is off."""
        return abs(self.estimates[method] - self.true)


class Setting(NamedTuple):
    """Something to be learned: its values by name, the shipped one, and what a value costs in some cases."""

    values: Mapping[str, Any]
    shipped: str
    cost: Callable[[Sequence[Case], Any], float]


def _error_of_rule(cases: Sequence[Case], rule: Callable[[Case], str]) -> float:
    return float(np.mean([case.off(rule(case)) for case in cases]))


def _least(case: Case) -> str:
    return min(case.errors, key=lambda name: case.errors[name].mean())


def _interval_score(cases: Sequence[Case], prior: Prior) -> float:
    """The mean interval score of `recommended`: width, and 20 times the distance of a truth outside."""
    found = []
    for case in cases:
        lower, upper, _ = replace(case.residuals, prior=prior).intervals([case.estimates[RECOMMENDED]], [case.n], LEVEL)
        found.append(float(winkler(lower, upper, [case.true], LEVEL)[0]))
    return float(np.mean(found))


def _flagged(case: Case, least_risk: float) -> bool:
    p = case.estimates[RECOMMENDED]
    return case.distance > case.noise and case.distance * 4 * p * (1 - p) > least_risk


def _missed(cases: Sequence[Case], least_risk: float) -> float:
    """1 minus Youden's index: the share of bad cases that are not flagged, and that of the others that are."""
    bad = [case for case in cases if case.off(RECOMMENDED) > BAD]
    good = [case for case in cases if case.off(RECOMMENDED) <= BAD]
    missed = 1 - np.mean([_flagged(case, least_risk) for case in bad]) if bad else 0.0
    return float(missed + (np.mean([_flagged(case, least_risk) for case in good]) if good else 0.0))


SETTINGS = {
    "rule of `recommended`": Setting(
        {
            **{f"always {name}": lambda case, name=name: name for name in CANDIDATES},
            "one standard error": lambda case: choose(case.errors)[0],
            "least error": _least,
        },
        "one standard error",
        _error_of_rule,
    ),
    "prior of intervals (scale, freedom)": Setting(
        {
            f"{prior.scale:.2f}, {prior.freedom:g}": prior
            for prior in (Prior(s, f) for s in (0.06, 0.08, 0.11, 0.14, 0.18, 0.22) for f in (0.75, 1.5, 3.0, 4.5))
        },
        f"{CAUTIOUS.scale:.2f}, {CAUTIOUS.freedom:g}",
        _interval_score,
    ),
    "threshold of `outside support`": Setting(
        {f"{one:.2f}": one for one in (0.05, 0.10, 0.15, 0.20, 0.25, 0.30, 0.40, 1.0)}, f"{LEAST_RISK:.2f}", _missed
    ),
}


def measure(job: tuple[pl.DataFrame, tuple[str, ...]]) -> list[Case]:
    """The cases of one training group."""
    frame, group = job
    known = frame.filter(pl.col("benchmark").is_in(group))
    rows = TrainingRows(known, known["label"].to_numpy(), _FIT, known["benchmark"], item_numbers(known))
    with one_thread():
        fitted = {name: rows.fit(name) for name in (*CANDIDATES, RECOMMENDED)}
        if any(isinstance(one, Unfitted) for one in fitted.values()):
            return []
        errors, residuals = leave_one_out_errors(rows), validate(rows, RECOMMENDED).residuals
    support, found = Support.of(rows.features, rows.domains), []
    for (name,), part in frame.filter(~pl.col("benchmark").is_in(group)).group_by("benchmark", maintain_order=True):
        compared = support.compare(support.counts(part, np.zeros(len(part), dtype=int), 1))
        estimates = {method: one.accuracy(part) for method, one in fitted.items()}
        said = estimates, errors, residuals, abs(float(compared.distance[0])), float(compared.noise[0])
        found.append(Case(frame["model"][0], group, name, part["label"].mean(), len(part), *said))
    return found


def mean_cost(setting: Setting, cases: Iterable[Case], value: str) -> float:
    """The cost over cases, each model as much as another."""
    by_model: dict[str, list[Case]] = {}
    for case in cases:
        by_model.setdefault(case.model, []).append(case)
    return float(np.mean([setting.cost(some, setting.values[value]) for some in by_model.values()]))


def learned(setting: Setting, cases: Sequence[Case], tested: str) -> tuple[float, dict[str, int]]:
    """The cost on a model of values chosen without it and without the tested domain, and how often each was chosen."""
    costs, chosen = [], dict.fromkeys(setting.values, 0)
    for domain in sorted({case.domain for case in cases if case.model == tested}):
        others = [c for c in cases if c.model != tested and domain not in (c.domain, *c.group)]
        best = min(setting.values, key=lambda value: mean_cost(setting, others, value))
        chosen[best] += 1
        own = [case for case in cases if case.model == tested and case.domain == domain]
        costs.append((setting.cost(own, setting.values[best]), len(own)))
    cost, weight = np.array(costs).T
    return float(np.average(cost, weights=weight)), {value: count for value, count in chosen.items() if count}


def jobs(files: Sequence[str], most: int) -> list[tuple[pl.DataFrame, tuple[str, ...]]]:
    found = []
    for path in files or sorted(str(path) for pattern in FILES for path in Path().glob(pattern)):
        frame = OBSERVATIONS.read(path).filter(pl.col("label").is_not_null(), pl.col("feature_reason").is_null())
        names = sorted(frame["benchmark"].unique())
        for size in (one for one in SIZES if one < len(names)):
            groups = list(combinations(names, size))
            found += [(frame, groups[at]) for at in np.random.default_rng(size).permutation(len(groups))[:most]]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("observations", nargs="*", help="observation files, one per model; else of real and demo")
    parser.add_argument("--groups", type=int, default=35, help="training groups of each size, of each model")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    os.environ.update(POLARS_MAX_THREADS="1", OMP_NUM_THREADS="1")
    start = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        todo = jobs(arguments.observations, arguments.groups)
        cases = [case for found in pool.imap(measure, todo, chunksize=4) for case in found]
    models, summary = sorted({case.model for case in cases}), {}
    for name, setting in SETTINGS.items():
        rows = []
        for model in models:
            own = [case for case in cases if case.model == model]
            costs = {value: setting.cost(own, what) for value, what in setting.values.items()}
            cost, chosen = learned(setting, cases, model)
            best = min(costs, key=costs.__getitem__)
            rows.append([model, len(own), costs[setting.shipped], cost, chosen, costs[best], best])
        print(f"\n{name}; shipped: {setting.shipped}")
        heads = ["left out", "cases", "shipped", "learned elsewhere", "chosen (domains)", "best afterwards", "which"]
        print(tabulate(rows, heads, floatfmt=".4f"), flush=True)
        all_costs = {value: round(mean_cost(setting, cases, value), 4) for value in setting.values}
        print("over all models:", dict(sorted(all_costs.items(), key=lambda item: item[1])))
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
