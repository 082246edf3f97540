"""Measure the accuracy to use with a few labels: the estimate, the labels with predictions, and both together.

Four tables. The first is a simulation: an estimator validated with an error of .06 on 16 domains, and a new slice
whose estimate is off by more, with n labels. It shows how often the 90 % interval holds, its width, the mean error, and
how often the labels contradict the estimate. The second has real answers of two models (examples/real): each domain is
held out, and n random labels of it are drawn. The third simulates people who label what looks odd, without weights
that say so: they prefer responses with a low P(correct), wrong answers, or both. The last simulates a judge's verdicts
on more responses of six slices (`statistics.judged`), by its sensitivity and specificity. Run by `make bench-combined`;
the last line is a JSON object.
"""

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from tabulate import tabulate

import entropy_sentinel as es
from entropy_sentinel.estimators.training_predictions import predict_responses
from entropy_sentinel.statistics.monitoring.label_combination import combine_labels
from entropy_sentinel.statistics.monitoring.prediction_powered import prediction_powered_mean
from entropy_sentinel.statistics.monitoring.witnessed_mean import LabelledSample, WitnessValues, witnessed_mean
from entropy_sentinel.statistics.slice_intervals import Residuals, sampling_variance
from entropy_sentinel.statistics.witness_powers import fit_witness_powers

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "shared"))
from labelled_slices import labelled_slice

REAL = Path(__file__).parents[1] / "examples" / "real"
MODELS, FEWEST_LABELS = ("qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"), 20
LABELS, BIASES, LEVEL = (4, 8, 16, 32, 64), (0.0, 0.05, 0.1, 0.2, 0.3, 0.5), 0.9
DOMAINS, SPREAD, RESPONSES = 16, 0.06, 300
WAYS = ("estimate", "labels", "use")
# How people choose responses to label, as weights from P(correct) and the truth.
CHOICES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "even": lambda p, correct: np.ones(len(p)),
    "low P(correct)": lambda p, correct: 1.05 - p,
    "wrong twice as often": lambda p, correct: np.where(correct, 1.0, 2.0),
    "both": lambda p, correct: (1.05 - p) * np.where(correct, 1.0, 2.0),
}
CHOSEN_LABELS = (4, 8, 16, 40)
# Judges by sensitivity and specificity, and the slices whose labels give the powers.
JUDGES, SLICES = ((0.95, 0.9), (0.8, 0.7), (0.5, 0.5)), 6


def ways(
    residuals: Residuals, estimate: float, correct: np.ndarray, p: np.ndarray, some: np.ndarray
) -> tuple[list[tuple[float, float, float]], bool]:
    """Accuracy, lower and upper limit of each of WAYS, and whether the labels contradict the estimate."""
    interval = residuals.intervals([estimate], [len(p)], LEVEL)
    labels = prediction_powered_mean(correct[some], p[some], p, LEVEL)
    [variance] = sampling_variance([estimate], [len(p)])
    both = combine_labels(residuals.spread, estimate, float(variance), labels.estimate, labels.n_effective, LEVEL)
    use = labels[:3] if both.contradicts else both[:3]
    return [(estimate, float(interval.lower[0]), float(interval.upper[0])), labels[:3], use], both.contradicts


def summary(found: list[tuple[list[tuple[float, float, float]], bool, float]]) -> list[str]:
    """For each of WAYS: mean error, width, how often the interval holds; then the share of contradictions."""
    cells = []
    for place in range(len(WAYS)):
        rows = [
            (abs(e - true), high - low, low <= true <= high)
            for here, _, true in found
            for e, low, high in here[place : place + 1]
        ]
        error, width, holds = np.mean(rows, axis=0)
        cells.append(f"{error:.3f}, {width:.2f}, {holds:.0%}")
    return [*cells, f"{np.mean([contradicts for _, contradicts, _ in found]):.0%}"]


def simulated(case: tuple[float, int, int], choice: str = "even") -> list[str]:
    """The summary of slices whose estimate is off by `bias`, with n labels, over draws.

    `choice` is a key of CHOICES: how the labelled responses are chosen.
    """
    bias, n, draws = case
    rng, found = np.random.default_rng([round(100 * bias), n]), []
    for _ in range(draws):
        true = rng.uniform(0.1, 0.9, DOMAINS)
        estimated = np.clip(true + SPREAD * rng.standard_normal(DOMAINS), 0, 1)
        residuals = Residuals(estimated, rng.binomial(40, true) / 40, [40] * DOMAINS, DOMAINS)
        correct, p = labelled_slice("calibrated", rng.uniform(0.1, 0.9), RESPONSES, rng)
        accuracy = float(correct.mean())
        off = (bias if accuracy < 0.5 else -bias) + SPREAD * rng.standard_normal()
        estimate = float(np.clip(accuracy + off, 0, 1))
        weights = CHOICES[choice](p, correct)
        some = rng.choice(len(p), n, replace=False, p=weights / weights.sum())
        found.append((*ways(residuals, estimate, correct.astype(float), p, some), accuracy))
    return summary(found)


def chosen(case: tuple[str, int, int]) -> list[str]:
    """The summary of slices like the validated ones whose labels were chosen in some way, over draws."""
    choice, n, draws = case
    return simulated((0.0, n, draws), choice)


def held_out(job: tuple[str, str]) -> dict[str, Any]:
    """What is known of a held-out domain of a real model."""
    model, domain = job
    features, labels = real_rows(model)
    saved = es.fit(features.filter(pl.col("benchmark") != domain), labels)
    part = features.filter(pl.col("benchmark") == domain).join(labels, on=["item_id", "sample"])
    residuals = saved.validation.residuals
    return {
        "model": model,
        "residuals": [np.asarray(each).tolist() for each in (residuals.estimated, residuals.true, residuals.n)],
        "estimate": float(saved.estimator.accuracy(part)),
        "p": predict_responses(saved.estimator, part),
        "correct": part["label"].to_numpy().astype(float),
    }


def real_rows(model: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Features, with the domain as benchmark, and labels of a model's answers."""
    kinds = [
        (f"{path.stem}-{number:05d}", f"{path.stem}/{json.loads(line)['kind']}")
        for path in sorted((REAL / "benchmarks").glob("*.jsonl"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines())
    ]
    domains = pl.DataFrame(kinds, schema=["item_id", "domain"], orient="row")
    features = es.read_features(sorted((REAL / "traces" / model).glob("*.parquet")))
    features = features.join(domains, on="item_id").with_columns(benchmark="domain").drop("domain")
    labels = es.read_labels(sorted((REAL / "labels" / model).glob("*.parquet")))
    labels = labels.select("item_id", "sample", "label").drop_nulls("label")
    return features.filter(pl.col("reason").is_null()), labels


def jobs(model: str) -> list[tuple[str, str]]:
    """The domains of a model with enough labels."""
    features, labels = real_rows(model)
    counts = features.join(labels, on=["item_id", "sample"]).group_by("benchmark").len()
    return [(model, domain) for domain in sorted(counts.filter(pl.col("len") >= FEWEST_LABELS)["benchmark"])]


def of_real(cases: list[dict[str, Any]], n: int, draws: int) -> list[str]:
    """The summary of n random labels of each held-out domain, over draws."""
    rng, found = np.random.default_rng(n), []
    for case in cases:
        estimated, true, counts = case["residuals"]
        residuals = Residuals(estimated, true, counts, len(counts))
        correct, p = case["correct"], case["p"]
        for _ in range(draws):
            some = rng.choice(len(p), min(n, len(p)), replace=False)
            found.append((*ways(residuals, case["estimate"], correct, p, some), float(correct.mean())))
    return summary(found)


def judged_by(case: tuple[float, float, int, int, int]) -> list[str]:
    """Error, width and coverage with labels and predictions, and with a judge's verdicts too, over draws."""
    sensitivity, specificity, n, m, draws = case
    rng, found = np.random.default_rng([n, m, round(100 * sensitivity)]), []
    for _ in range(draws):
        slices = [labelled_slice("calibrated", rng.uniform(0.2, 0.9), 600, rng) for _ in range(SLICES)]
        verdicts = [
            np.where(right, rng.random(600) < sensitivity, rng.random(600) > specificity) * 1.0 for right, _ in slices
        ]
        labels = [right[:n] * 1.0 for right, _ in slices]
        witnesses = [np.column_stack([z, p])[:n] for z, (_, p) in zip(verdicts, slices, strict=True)]
        powers = fit_witness_powers(
            np.concatenate(labels), np.concatenate(witnesses), np.repeat(range(SLICES), n), [True, False]
        )
        (right, p), z, y = slices[0], verdicts[0], labels[0]
        alone = prediction_powered_mean(y, p[:n], p, LEVEL)
        both = alone
        if powers is not None:
            judge = WitnessValues(z, (np.arange(600) < m) * 1.0)
            both = witnessed_mean(LabelledSample(y, np.arange(n)), [judge], p, powers.by_label[:n], LEVEL)
        true = float(right.mean())
        found.append([(abs(a - true), high - low, low <= true <= high) for a, low, high in (alone[:3], both[:3])])
    return [f"{error:.3f}, {width:.2f}, {holds:.0%}" for error, width, holds in np.mean(found, axis=0)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=400, help="draws of each cell")
    parser.add_argument("--no-real", action="store_true", help="only the simulation")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    start, head = time.perf_counter(), [*(f"{way}: error, width, holds" for way in WAYS), "contradict"]
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        cells = list(product(BIASES, LABELS))
        rows = pool.map(simulated, [(*cell, arguments.draws) for cell in cells], chunksize=1)
        print(tabulate([[*cell, *row] for cell, row in zip(cells, rows, strict=True)], ["bias", "labels", *head]))
        holds = float(rows[cells.index((0.0, 8))][2].split(", ")[2].rstrip("%")) / 100
        if not arguments.no_real:
            known = pool.map(held_out, [job for model in MODELS for job in jobs(model)], chunksize=1)
            table = [
                [model, n, *of_real([case for case in known if case["model"] == model], n, arguments.draws // 4)]
                for model, n in product(MODELS, LABELS[:3])
            ]
            print("\n" + tabulate(table, ["model", "labels", *head]))
        cells = list(product(CHOICES, CHOSEN_LABELS))
        rows = pool.map(chosen, [(*cell, arguments.draws) for cell in cells], chunksize=1)
        print(
            "\n" + tabulate([[*cell, *row] for cell, row in zip(cells, rows, strict=True)], ["chosen", "labels", *head])
        )
        cells = [(*judge, *numbers) for judge in JUDGES for numbers in ((8, 100), (20, 100), (20, 400), (60, 400))]
        rows = pool.map(judged_by, [(*cell, arguments.draws) for cell in cells], chunksize=1)
        names = ["sensitivity", "specificity", "labels", "verdicts", "labels alone", "labels and verdicts"]
        print("\n" + tabulate([[*cell, *row] for cell, row in zip(cells, rows, strict=True)], names))
    print(
        json.dumps(
            {
                "benchmark": "combined",
                "ratio": holds,
                "of": "how often the interval to use holds with 8 labels of a slice like the validated ones",
                "wall_s": round(time.perf_counter() - start, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
