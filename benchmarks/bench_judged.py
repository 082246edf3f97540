"""Measure verdicts that rest on a judge: labels needed, wrong `usable`, noise of the true accuracies, and real answers.

Worlds with a judge (judged_worlds.py) have 200 verdicts in each domain. `stated` is the standard deviation of the noise
in an estimator's observed errors by the formula, `real` that of the drawn errors, and `held` how often the 90 %
interval from the formula contains the true error; the last column has it for accuracies below .1 or above .9.

`--looks` adds four domains at a time, from 8 on, and validates each time. `--real` fits estimators on the real answers
of examples/real, by kind of question, with a simulated judge of sensitivity .9 and specificity .85, and with a real
one: whether the other model's answer ends with the same number.

Run by `make bench-judged`; the last line is one JSON object. Each part takes one or two CPU-minutes.
"""

import argparse
import json
import logging
import time
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit, logit
from scipy.stats import norm
from tabulate import tabulate

import entropy_sentinel as es
from bench_combined import REAL, real_rows
from bench_verdict import Errors, few_far_off, heavy, normal, one_sided
from entropy_sentinel.estimators.verdict import USABLE, decide_verdict
from judged_worlds import Judge, draw_judged, residuals_of

GOOD, BETTER, WEAK = Judge(), Judge(0.97, 0.95), Judge(0.8, 0.75)
# In the worst case, the judge is lenient where the estimate is too high.
FOLLOWER = Judge(spread=1.0, follows=0.9)
MIDDLE, EVERYWHERE = (0.15, 0.85), (0.01, 0.99)
Case = tuple[str, Judge, Errors, float, int, int, tuple[float, float]]


def one_in_ten(rng: np.random.Generator, p: np.ndarray, aee: float) -> np.ndarray:
    return few_far_off(rng, p, aee, 0.1)


# Name, judge, errors, mean error, domains, labels in each, and accuracies.
CASES: list[Case] = [
    *((".9/.85", GOOD, normal, error, 37, 10, MIDDLE) for error in (0.02, 0.04, 0.06, 0.10, 0.12, 0.15)),
    *((".9/.85", GOOD, normal, 0.04, k, n, MIDDLE) for k, n in ((20, 10), (20, 20), (60, 5))),
    *((".97/.95", BETTER, normal, error, 20, 10, MIDDLE) for error in (0.04, 0.10, 0.12)),
    *((".8/.75", WEAK, normal, error, 31, 15, MIDDLE) for error in (0.04, 0.10, 0.12)),
    *(("follows the estimator", FOLLOWER, normal, error, 37, 10, MIDDLE) for error in (0.04, 0.10, 0.12)),
    *(("heavy tails", GOOD, heavy, error, 37, 10, MIDDLE) for error in (0.04, 0.10, 0.12)),
    *(("one-sided", GOOD, one_sided, error, 37, 10, MIDDLE) for error in (0.04, 0.10, 0.12)),
    ("1 in 10 far off", GOOD, one_in_ten, 0.02, 37, 10, MIDDLE),
    *(("accuracies 0 to 1", GOOD, normal, error, 37, 5, EVERYWHERE) for error in (0.0, 0.04, 0.10, 0.12)),
    *(("perfect judge, 0 to 1", Judge(0.999, 0.999), normal, error, 37, 5, EVERYWHERE) for error in (0.0, 0.10)),
]
LOOKS = range(8, 41, 4)
REAL_MODELS = "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"


def simulated(case: Case, worlds: int) -> dict[str, Any]:
    """How often the verdict is `usable`, and how well the noise of errors is known."""
    name, judge, errors, aee, k, labels, between = case
    drawn = draw_judged(errors, aee, k, worlds, judge, between=between, seed=k)
    verdicts, off, stated, errors_of_estimates = [], [], [], []
    for world in range(worlds):
        residuals = residuals_of(drawn, world, labels)
        verdicts.append(decide_verdict(residuals, None) == USABLE)
        # The observed error minus that of the estimator, unless the estimate was clipped.
        off.append(residuals.true - drawn.p[world].mean(axis=1))
        stated.append(residuals.variances)
        errors_of_estimates.append(np.abs(residuals.estimated - drawn.p[world].mean(axis=1)))
    noise, variance = np.concatenate(off), np.concatenate(stated)
    accuracies = drawn.accuracies.ravel()
    held = np.abs(noise) < norm.ppf(0.95) * np.sqrt(variance)
    edge = np.abs(accuracies - 0.5) > 0.4
    share = float(np.mean(verdicts))
    return {
        "world": name,
        # An estimate cannot leave [0, 1].
        "error": round(float(np.mean(errors_of_estimates)), 3),
        "domains": k,
        "labels": k * labels,
        "usable": round(share, 3),
        "se": round((share * (1 - share) / worlds) ** 0.5, 3),
        "stated": round(float(np.sqrt(variance.mean())), 4),
        "real": round(float(noise.std()), 4),
        "bias": round(float(noise.mean()), 4),
        "held": round(float(held.mean()), 3),
        "held near 0, 1": round(float(held[edge].mean()), 3) if edge.any() else None,
    }


def looks(name: str, judge: Judge, errors: Errors, aee: float, worlds: int, labels: int) -> dict[str, Any]:
    """How often `usable` was reached at one of several looks, and the labels for four chances in five."""
    drawn = draw_judged(errors, aee, LOOKS[-1], worlds, judge, seed=1)
    first = []
    for world in range(worlds):
        reached = (k for k in LOOKS if decide_verdict(residuals_of(drawn, world, labels, k), None) == USABLE)
        first.append(next(reached, np.inf))
    n80 = float(np.quantile(first, 0.8, method="inverted_cdf"))
    share = float(np.isfinite(first).mean())
    return {
        "judge": name,
        "error": aee,
        "labels each": labels,
        "usable ever": round(share, 3),
        "se": round((share * (1 - share) / worlds) ** 0.5, 3),
        "labels for 80 %": n80 * labels if np.isfinite(n80) else None,
    }


def judge_of(rows: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """The verdicts of a judge of .9 and .85, whose rates differ between kinds."""
    parts = []
    for part in rows.partition_by("benchmark"):
        leniency, skill = rng.normal(size=2)
        sensitivity = expit(logit(0.9) + 0.6 * leniency + 0.35 * skill)
        specificity = expit(logit(0.85) - 0.6 * leniency + 0.35 * skill)
        right = part["label"].to_numpy()
        says = rng.random(len(right)) < np.where(right, sensitivity, 1 - specificity)
        parts.append(part.select("item_id", "sample", label=pl.Series(says)))
    return pl.concat(parts)


def agreement(model: str, other: str) -> pl.DataFrame:
    """Whether the last number in an answer is that of the other model's answer to the same item."""
    last = [read_last_numbers(name) for name in (model, other)]
    both = last[0].join(last[1], on=["item_id", "sample"], suffix="_other")
    return both.select("item_id", "sample", label=pl.col("last").eq_missing(pl.col("last_other")))


def read_last_numbers(model: str) -> pl.DataFrame:
    """The last number in each of a model's answers, as text."""
    traces = [
        pl.read_parquet(path, columns=["item_id", "sample", "text"])
        for path in sorted((REAL / "traces" / model).glob("*.parquet"))
    ]
    numbers = pl.col("text").str.extract_all(r"-?\d+(?:[.,/]\d+)*").list.last().str.replace_all(",", "")
    return pl.concat(traces).select("item_id", "sample", last=numbers)


def real(model: str, other: str, labels: int, draws: int) -> list[dict[str, Any]]:
    """How often the validation is `usable` with so many labels of each kind, by the judge."""
    features, every = real_rows(model)
    rows = features.join(every, on=["item_id", "sample"])
    rows = rows.join(rows.group_by("benchmark").len().filter(pl.col("len") >= 20), on="benchmark", how="semi")
    judges = {"of .9 and .85": judge_of, f"agrees with {other}": lambda _, __: agreement(model, other)}
    found = []
    for name, says in judges.items():
        usable, worth, n = [], [], 0
        for draw in range(draws):
            mixed = rows.sample(fraction=1, shuffle=True, seed=draw)
            mixed = mixed.with_columns(place=pl.int_range(pl.len()).over("benchmark"))
            people = mixed.filter(pl.col("place") < labels).select("item_id", "sample", "label")
            verdicts = says(mixed.filter(pl.col("place") < 200), np.random.default_rng(draw))
            validation = es.fit(mixed.drop("label", "place"), people, judged=verdicts).validation
            assert validation is not None
            usable.append(validation.verdict == USABLE)
            worth.append(validation.witnesses[0].worth)
            n = len(people)
        share = float(np.mean(usable))
        found.append(
            {
                "model": model,
                "judge": name,
                "labels": n,
                "usable": round(share, 2),
                "se": round((share * (1 - share) / draws) ** 0.5, 2),
                "a label is worth": round(float(np.median(worth)), 1),
            }
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=1000, help="draws of each world")
    parser.add_argument("--looks", action="store_true", help="measure looking again")
    parser.add_argument("--real", action="store_true", help="measure the real answers")
    parser.add_argument("--draws", type=int, default=20, help="draws of labels from the real answers")
    parser.add_argument("--labels", type=int, default=10, help="labels of each kind of the real answers")
    arguments = parser.parse_args()
    logging.getLogger("entropy_sentinel").setLevel(logging.ERROR)
    start = time.process_time()
    if arguments.real:
        rows = real(*REAL_MODELS, arguments.labels, arguments.draws)
    elif arguments.looks:
        worlds = arguments.worlds // 4
        rows = [
            looks(name, judge, errors, error, worlds, 10)
            for name, judge in ((".9/.85", GOOD), (".97/.95", BETTER), ("follows the estimator", FOLLOWER))
            for errors, error in ((normal, 0.04), (normal, 0.10), (normal, 0.12))
        ]
        rows.append(looks(".9/.85, 1 in 10 far off", GOOD, one_in_ten, 0.02, worlds, 10))
    else:
        rows = [simulated(case, arguments.worlds) for case in CASES]
    print(tabulate(rows, headers="keys"))
    print(json.dumps({"benchmark": "judged", "cpu_s": round(time.process_time() - start, 1), "rows": rows}))


if __name__ == "__main__":
    main()
