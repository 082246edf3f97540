"""Measure the flags `unfamiliar` and `outside support` on real answers to many kinds of question.

Estimators are fitted on 60 % of the items of 3, 6 or 12 kinds: of mathematics, of one family, or of several families
(examples/real, examples/kinds). They estimate slices of 20, 50 or 100 responses: of other kinds, and from the other
40 % of their own kinds, mixtures of these and the same kinds at temperature 1, which must not be flagged. Prints tables
of recall, false flags and intervals, and as its last line one JSON object. Run by `make bench-familiar`.
"""

import argparse
import json
import multiprocessing
import os
import random
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from tabulate import tabulate

import entropy_sentinel as es
from entropy_sentinel.estimators.estimator_base import FitFailure
from entropy_sentinel.estimators.estimator_settings import Estimation, Fitting
from entropy_sentinel.estimators.familiarity import Familiarity, residuals_if_unfamiliar
from entropy_sentinel.estimators.leave_one_out import validate_estimator
from entropy_sentinel.estimators.training_rows import TrainingRows, one_thread
from entropy_sentinel.estimators.training_support import Support
from entropy_sentinel.features.hashed_tokens import SCHEMA
from entropy_sentinel.schemas.response_schema import item_numbers

EXAMPLES = Path(__file__).parents[1] / "examples"
MODELS = ("qwen2.5-coder-0.5b", "smollm2-135m")
HOT = "qwen2.5-coder-0.5b-t1"
MATHEMATICS = "mathematics"
SIZES, GROUP_SIZES, LEVEL = (20, 50, 100), (3, 6, 12), 0.9
BAD, FAR, GOOD = 0.15, 0.25, 0.10
SETTINGS = Fitting.from_settings(Estimation().model_dump() | {"seed": 42})


@cache
def rows_of(model: str) -> pl.DataFrame:
    """The features, words and labels of a model's answers: `family`, `domain`, `fitted` (for fitting)."""
    parts = []
    for folder in ("kinds", "real"):
        traces = EXAMPLES / folder / "traces" / model
        if not traces.is_dir():
            continue
        labels = es.read_labels(sorted((EXAMPLES / folder / "labels" / model).glob("*.parquet")))
        # Labels beside the traces name neither model nor benchmark, but their ids do.
        rows = es.read_features(sorted(traces.glob("*.parquet")))
        rows = rows.join(labels.select("item_id", "sample", "label"), on=["item_id", "sample"], how="inner")
        kinds = pl.concat(_kinds(path) for path in sorted((EXAMPLES / folder / "benchmarks").glob("*.jsonl")))
        if folder == "kinds":
            rows = rows.join(kinds, on="item_id").with_columns(family="benchmark", domain="kind")
        else:
            rows = rows.with_columns(family=pl.lit(MATHEMATICS), domain="benchmark", kind="benchmark")
        parts.append(rows)
    rows = pl.concat(parts, how="diagonal_relaxed").filter(pl.col("label").is_not_null(), pl.col("reason").is_null())
    place = pl.int_range(pl.len()).shuffle(42).over("domain") / pl.len().over("domain")
    return rows.with_columns(fitted=place < 0.6)


def _kinds(path: Path) -> pl.DataFrame:
    lines = path.read_text(encoding="utf-8").splitlines()
    names = [json.loads(line).get("kind") for line in lines]
    return pl.DataFrame(
        {"item_id": [f"{path.stem}-{place:05d}" for place in range(len(lines))], "kind": names},
        schema={"item_id": pl.String, "kind": pl.String},
    )


def training_sets(model: str, n: int, draw: random.Random) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield a title and the domains of each training set, about `n` of each kind and size."""
    families = {
        family: sorted(part["domain"].unique())
        for (family,), part in rows_of(model).group_by("family", maintain_order=True)
    }
    for size in GROUP_SIZES:
        for family, domains in families.items():
            sets = list(combinations(domains, size))
            title = MATHEMATICS if family == MATHEMATICS else "one family"
            for group in draw.sample(sets, min(len(sets), n if family == MATHEMATICS else max(1, n // 4))):
                yield title, group
        every = [(family, name) for family, domains in families.items() for name in domains]
        for _ in range(n):
            order = draw.sample(every, len(every))
            # As many families as possible: one kind of each, then the others.
            first = list(dict(order).values())
            rest = [name for _, name in order if name not in first]
            yield "several families", tuple(sorted((first + rest)[:size]))


def measure(job: tuple[str, str, tuple[str, ...], int]) -> list[dict[str, Any]]:
    """The cases of one training set."""
    model, title, group, seed = job
    rows = rows_of(model)
    known = rows.filter(pl.col("fitted"), pl.col("domain").is_in(group))
    words = known.select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())
    training = TrainingRows(
        known, known["label"].to_numpy(), SETTINGS, known["domain"], item_numbers(known), None, words
    )
    with one_thread():
        estimator = training.fit("recommended")
        if isinstance(estimator, FitFailure):
            return []
        residuals = validate_estimator(training, "recommended").residuals
        support, familiarity = Support.fit(known, known["domain"]), Familiarity.fit(words, known["domain"])
        assumed = residuals_if_unfamiliar(len(group))
        cases = []
        for what, domain, part in _slices(model, group, seed):
            p, one = estimator.accuracy(part), np.zeros(len(part), dtype=np.int64)
            unfamiliar = familiarity.flags_of(part, one, 1)[0] is not None
            outside = support.flags(support.counts(part, one, 1), np.array([p]))[0] is not None
            true = part["label"].mean()
            holds = {}
            for name, base in (("validated", residuals), ("shown", assumed if unfamiliar else residuals)):
                lower, upper, _ = base.intervals([p], [len(part)], LEVEL)
                holds |= {name: bool(lower[0] <= true <= upper[0]), f"{name}_width": float(upper[0] - lower[0])}
            cases.append(
                {"model": model, "fitted": title, "k": len(group), "slice": what, "domain": domain, "n": len(part)}
                | {"error": abs(p - true), "unfamiliar": unfamiliar, "outside": outside, **holds}
            )
    return cases


def _slices(model: str, group: tuple[str, ...], seed: int) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Yield the kind of slice, its domain and its responses."""
    rows = rows_of(model)
    apart = rows.filter(~pl.col("fitted"), pl.col("domain").is_in(group))
    families = set(rows.filter(pl.col("domain").is_in(group))["family"])
    for (domain, family), part in rows.filter(~pl.col("domain").is_in(group)).group_by(
        "domain", "family", maintain_order=True
    ):
        what = "another kind" if family in families else "another family"
        yield from ((what, domain, one) for one in _of_sizes(part, seed))
    for (domain,), part in apart.group_by("domain", maintain_order=True):
        yield from (("own", domain, one) for one in _of_sizes(part, seed))
    yield from (("mixture", "", one) for one in _of_sizes(apart, seed))
    if model == MODELS[0]:
        for (domain,), part in rows_of(HOT).filter(pl.col("domain").is_in(group)).group_by("domain"):
            yield from (("temperature 1", domain, one) for one in _of_sizes(part, seed))


def _of_sizes(part: pl.DataFrame, seed: int) -> Iterator[pl.DataFrame]:
    for size in SIZES:
        if len(part) >= size:
            yield part.sample(size, seed=seed)


def shares(part: pl.DataFrame) -> list[Any]:
    """A row of a table: cases, far ones, recall, false flags, intervals that hold and their width."""
    error, new, old = (part[name].to_numpy() for name in ("error", "unfamiliar", "outside"))

    def share(of: np.ndarray, among: np.ndarray) -> float | None:
        return round(float(of[among].mean()), 3) if among.any() else None

    everything = np.ones(len(part), dtype=bool)
    return [
        len(part), share(error > FAR, everything), share(new, error > FAR), share(old, error > FAR),
        share(new, error > BAD), share(new, error < GOOD), share(old, error < GOOD),
        share(part["validated"].to_numpy(), everything), share(part["shown"].to_numpy(), everything),
        share(part["shown"].to_numpy(), new), share(part["shown"].to_numpy(), ~new),
    ]  # fmt: skip


HEADS = [
    *("cases", f"off > {FAR}", f"found > {FAR}", "by outside support", f"found > {BAD}", f"false < {GOOD}"),
    *("by outside support", "intervals of the validation", "intervals shown", "of flagged", "of unflagged"),
]


def show(cases: pl.DataFrame, *by: str) -> dict[str, list[Any]]:
    """Print a table of `shares` by columns, and return its rows by name."""
    rows = {" / ".join(map(str, key)): shares(part) for key, part in cases.sort(by).group_by(by, maintain_order=True)}
    lines = [[name, *row] for name, row in rows.items()]
    print(f"\n{tabulate(lines, [', '.join(by), *HEADS], floatfmt='.2f', missingval='-')}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=8, help="training sets of each kind and size, about")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    os.environ.update(POLARS_MAX_THREADS="1", OMP_NUM_THREADS="1")
    draw = random.Random(42)
    jobs = [
        (model, title, group, number)
        for model in MODELS
        for number, (title, group) in enumerate(training_sets(model, arguments.sets, draw))
    ]
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        cases = pl.DataFrame([case for part in pool.imap(measure, jobs) for case in part], infer_schema_length=None)
    unlike = cases.filter(pl.col("slice").is_in(["another kind", "another family"]))
    report = {
        "by training": show(unlike, "model", "fitted", "slice"),
        "mathematics by size": show(unlike.filter(fitted=MATHEMATICS, slice="another family"), "n"),
        "by domains": show(unlike, "model", "fitted", "k"),
    }
    own = cases.filter(~pl.col("slice").is_in(["another kind", "another family"]))
    flagged = (
        own.group_by("model", "slice").agg(cases=pl.len(), flagged=pl.col("unfamiliar").sum()).sort("model", "slice")
    )
    print(f"\n{tabulate(flagged.rows(), flagged.columns)}")
    report["must not be flagged"] = [own["unfamiliar"].sum(), len(own)]
    print(json.dumps({"benchmark": "familiar", "training_sets": len(jobs), **report}))


if __name__ == "__main__":
    main()
