"""Measure accuracies from labels that also fitted the estimator.

The first table has real answers. In each draw, some labels of each slice fit an estimator, and the same labels correct
its predictions: those of the estimator itself (`known`), or those out of fold that its file has (`out of fold`). `off`
is the root of the mean square, over slices, of the mean difference from the labels alone, which are right on average.
The second table has simulated slices of 300 responses with 20 labels each, alike or not, and also shows labels that did
not fit the estimator (`new`), and the accuracy to use where estimate and labels count together. Run by
`make bench-same-labels`; the last line is a JSON object.
"""

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from tabulate import tabulate

import entropy_sentinel as es
from entropy_sentinel.estimators.estimator_settings import Estimation, Fitting
from entropy_sentinel.estimators.leave_one_out import validate_estimator
from entropy_sentinel.estimators.training_predictions import TrainingPredictions, predict_responses
from entropy_sentinel.estimators.training_rows import TrainingRows
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.statistics.monitoring.label_combination import combine_labels
from entropy_sentinel.statistics.monitoring.prediction_powered import labelled_mean, prediction_powered_mean
from entropy_sentinel.statistics.slice_intervals import sampling_variance

EXAMPLES, MODEL = Path(__file__).parents[1] / "examples", "qwen2.5-coder-0.5b"
ESTIMATORS, LEVEL, FEWEST = ("forest-10d-balanced-isotonic", "log-3d", "recommended"), 0.9, 20
# The folder of real answers, and the labels of each slice.
REAL = (("kinds", 5), ("real", 15))
RESPONSES, LABELS = 300, 20
# Simulated slices: their number, and whether they are alike, which makes the estimator better on held-out ones.
WORLDS = ((16, False), (36, True))
HOW = Fitting.from_settings(Estimation().model_dump() | {"seed": 42})


def real_slices(folder: str) -> pl.DataFrame:
    """Features, label and slice of a model's answers: the kinds of question, or the benchmarks."""
    root = EXAMPLES / folder
    features = es.read_features(sorted((root / "traces" / MODEL).glob("*.parquet")))
    labels = es.read_labels(sorted((root / "labels" / MODEL).glob("*.parquet")))
    rows = features.join(labels.select("item_id", "label"), on="item_id").with_columns(slice="benchmark")
    if folder == "kinds":
        kinds = [
            (f"{path.stem}-{number:05d}", json.loads(line)["kind"])
            for path in sorted((root / "benchmarks").glob("*.jsonl"))
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines())
        ]
        kind = pl.DataFrame(kinds, schema=["item_id", "kind"], orient="row")
        rows = rows.join(kind, on="item_id").with_columns(slice=pl.format("{}/{}", "benchmark", "kind"))
    rows = rows.filter(pl.col("label").is_not_null(), pl.col("reason").is_null())
    return rows.filter(pl.len().over("slice") >= FEWEST).select(*FEATURES, "label", "slice")


def simulated_slices(answers: pl.DataFrame, n_slices: int, alike: bool, rng: np.random.Generator) -> pl.DataFrame:
    """Slices: real answers with noise in their features, and labels that depend on them.

    Each slice has the answers to one kind of question, or if `alike` those to all, with more or less entropy.
    """
    names = answers["slice"].unique().sort().to_numpy()
    names = np.arange(n_slices).astype(str) if alike else rng.choice(names, n_slices, replace=False)
    columns = ["mean", "max", "nll_sum", "mtp"]
    logs = np.log1p(answers.select(columns).to_numpy())
    scaled = (logs - logs.mean(axis=0)) / logs.std(axis=0)
    parts = []
    for name in names:
        same = answers if alike else answers.filter(pl.col("slice") == name)
        weights = np.exp(0.8 * rng.normal() * scaled[:, 0]) if alike else np.ones(len(same))
        part = same[rng.choice(len(same), RESPONSES, p=weights / weights.sum())].with_columns(slice=pl.lit(name))
        part = part.with_columns(pl.col(column) * np.exp(0.1 * rng.normal(size=RESPONSES)) for column in FEATURES)
        scores = (np.log1p(part.select(columns).to_numpy()) - logs.mean(axis=0)) / logs.std(axis=0)
        logit = 0.1 + scores @ [-1.0, -0.4, -0.5, 0.3] + 0.1 * rng.normal()
        parts.append(part.with_columns(label=pl.Series(rng.random(RESPONSES) < 1 / (1 + np.exp(-logit)))))
    return pl.concat(parts)


def draw(rows: pl.DataFrame, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The places of n responses of each slice, and of n others."""
    places = [rng.permutation(part["index"]) for part in rows.with_row_index().partition_by("slice")]
    return np.concatenate([part[:n] for part in places]), np.concatenate([part[n : 2 * n] for part in places])


def measure(name: str, rows: pl.DataFrame, n: int, rng: np.random.Generator, with_use: bool) -> list[dict[str, Any]]:
    """The difference from the truth, and from labels alone, and the interval of each slice by each way."""
    y, slices = rows["label"].to_numpy().astype(float), rows["slice"].to_numpy()
    same, new = draw(rows, n, rng)
    training = TrainingRows(rows[same], y[same] > 0, HOW, slices[same])
    fitted = training.require(name)
    is_training, out_of_fold = TrainingPredictions.fit(fitted, training).find(rows)
    known = predict_responses(fitted, rows)
    mended = np.where(is_training, out_of_fold.fill_null(0), known)
    ways = {"known": (same, known), "out of fold": (same, mended)}
    values, spread = fitted.values(rows), None
    if with_use:
        spread, ways["new"] = validate_estimator(training, name).residuals.spread, (new, known)
    found = []
    for slice_ in np.unique(slices):
        here = np.flatnonzero(slices == slice_)
        truth, estimate = y[here].mean(), fitted.accuracy_of(values[here].mean(axis=0))
        for way, (labelled, p) in ways.items():
            some = labelled[slices[labelled] == slice_]
            labels = prediction_powered_mean(y[some], p[some], p[here], LEVEL)
            kinds: dict[str, Any] = {"labels": labels}
            if spread is not None:
                [variance] = sampling_variance([estimate], [len(here)])
                both = combine_labels(spread, estimate, float(variance), labels.estimate, labels.n_effective, LEVEL)
                kinds["use"] = labels if both.contradicts else both
            alone = labelled_mean(y[some], LEVEL).estimate
            for kind, result in kinds.items():
                found.append(
                    {
                        **{"slice": slice_, "way": way, "kind": kind, "error": result.estimate - truth},
                        **{"off": result.estimate - alone, "holds": result.lower <= truth <= result.upper},
                    }
                )
    return found


def summarise(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean difference, its root mean square over slices, and coverage by kind and way."""
    by_way = defaultdict(list)
    for (kind, way), part in pl.DataFrame(found).group_by("kind", "way", maintain_order=True):
        by_slice = part.group_by("slice").agg(pl.col("off").mean(), var=pl.col("off").var() / pl.len())
        off = by_slice.select((pl.col("off") ** 2 - pl.col("var")).mean()).item()
        by_way[kind, way] = [part["off"].mean(), max(off or 0.0, 0.0) ** 0.5, part["error"].abs().mean()]
        by_way[kind, way].append(part["holds"].mean())
    names = ("mean_off", "off", "mean_error", "holds")
    return [
        {"kind": kind, "way": way, **{name: round(float(one), 4) for name, one in zip(names, numbers, strict=True)}}
        for (kind, way), numbers in by_way.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=30)
    parser.add_argument("--estimators", nargs="+", default=ESTIMATORS)
    options, start, cpu = parser.parse_args(), time.perf_counter(), time.process_time()
    real, simulated = [], []
    for name in options.estimators:
        for folder, n in REAL:
            rng, rows = np.random.default_rng(n), real_slices(folder)
            found = [each for _ in range(options.draws) for each in measure(name, rows, n, rng, with_use=False)]
            real += [{"estimator": name, "answers": folder, "labels": n, **row} for row in summarise(found)]
        answers = real_slices("kinds")
        for n_slices, alike in WORLDS:
            rng, found = np.random.default_rng(11), []
            for _ in range(options.draws):
                rows = simulated_slices(answers, n_slices, alike, rng)
                found += measure(name, rows, LABELS, rng, with_use=True)
            simulated += [{"estimator": name, "slices": n_slices, "alike": alike, **row} for row in summarise(found)]
    print(tabulate(real, headers="keys"), tabulate(simulated, headers="keys"), sep="\n\n")
    mended = [row for row in real if row["way"] == "out of fold"]
    print(
        json.dumps(
            {
                "benchmark": "same-labels",
                "largest_mean_off": max(abs(row["mean_off"]) for row in mended),
                "reached": all(abs(row["mean_off"]) < 0.005 and row["holds"] >= 0.88 for row in mended),
                "draws": options.draws,
                "cpu_s": round(time.process_time() - cpu, 1),
                "wall_s": round(time.perf_counter() - start, 1),
                "real": real,
                "simulated": simulated,
            }
        )
    )


if __name__ == "__main__":
    main()
