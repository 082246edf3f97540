"""Frames of a made-up study with the paper's models, benchmarks and training groups, for what stands beside the paper.

Its AUROCs are the published ones plus 0.01. Its errors of the group Extremes are those of the paper's Table 8; all
others are drawn at random.
"""

from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from frames import LABEL

from entropy_sentinel.estimators.estimator_registry import BASELINES, CONFIGURATIONS
from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_frames import AUROC, DOMAINS, SWEEP

PAPER = Path(__file__).parents[2] / "workflow/entropy_sentinel/study/analyses/accuracy/published"
DEFAULT = "forest-10d-balanced-isotonic"
BENCHMARKS = [
    *("gpqa", "gsm-symbolic", "gsm8k", "livemathbench", "matscibench"),
    *("math", "olympiadbench", "scibench", "svamp", "theoremqa"),
]
GROUPS: dict[str, dict[str, Any]] = {
    "extremes": {"benchmarks": ["gsm8k", "olympiadbench"], "estimator": DEFAULT},
    "intermediate": {"benchmarks": ["math", "scibench"], "estimator": DEFAULT},
    "cross-domain": {"benchmarks": ["matscibench", "gsm-symbolic"], "estimator": "logistic-10d-balanced-isotonic"},
    "sci-math": {"benchmarks": ["gpqa", "matscibench", "gsm8k"], "estimator": "mlp-10d-balanced-isotonic"},
}
RESTS_ON = "The values of this study rest on nothing: they are made up."


def published(file: str) -> pl.DataFrame:
    """A file of published values."""
    return pl.read_csv(PAPER / f"{file}.csv")


@cache
def paper_inputs() -> dict[str, Any]:
    """What tables and figures are made from, by name."""
    models = published("table_10_leave_one_out")["model"].to_list()
    return {
        "sweep": _sweep(models),
        "auroc": _auroc(),
        "domains": DOMAINS.frame(_domains(models)),
        "groups": GROUPS,
        "default": DEFAULT,
        "headline_group": "extremes",
        "main_groups": ["extremes", "intermediate"],
        "auroc_models": ["phi-3.5-mini", "ministral-3-8b", "gpt-oss-20b"],
        "auroc_benchmarks": ["math", "gsm8k", "olympiadbench"],
        "label": LABEL,
        "basis_note": RESTS_ON,
    }


def _auroc() -> pl.DataFrame:
    values = published("table_1_6_auroc").with_columns(auroc=pl.col("auroc") + 0.01)
    bounds = {"lower": pl.col("auroc") - 0.05, "upper": pl.col("auroc") + 0.05}
    counts = {"n_correct": pl.lit(90), "n_incorrect": pl.lit(90), "reason": pl.lit(None)}
    frame = values.with_columns(feature=pl.col("statistic"), **bounds, **counts)
    return AUROC.check(frame.select(AUROC.schema.names()).cast(dict(AUROC.schema)))


def _sweep(models: list[str]) -> pl.DataFrame:
    groups = ["+".join(names) for k in (1, 2, 3, 4, 9) for names in combinations(BENCHMARKS, k)]
    estimators = [*(one.name for one in CONFIGURATIONS), *BASELINES]
    frame = pl.DataFrame({"model": models})
    for column, values in {"group": groups, "estimator": estimators, "scope": ["held_out", "all"]}.items():
        frame = frame.join(pl.DataFrame({column: values}), how="cross")
    random = np.random.default_rng(11)
    k = pl.col("group").str.count_matches("+", literal=True) + 1
    frame = frame.with_columns(
        k=k,
        n_domains=pl.when(pl.col("scope") == "all").then(10).otherwise(10 - k),
        aee=pl.Series(random.uniform(0.05, 0.2, len(frame))),
        rho=pl.Series(random.uniform(0.8, 1, len(frame))),
        reason=pl.lit(None),
        method=pl.lit(None),
    )
    frame = frame.join(_extremes(), on=["model", "group", "estimator", "scope"], how="left", maintain_order="left")
    frame = frame.with_columns(aee=pl.coalesce("their_aee", "aee"), rho=pl.coalesce("their_rho", "rho"))
    return SWEEP.check(frame.select(SWEEP.schema.names()).cast(dict(SWEEP.schema)))


def _extremes() -> pl.DataFrame:
    """The paper's Table 8 in the words of the sweep."""
    names = {"default": DEFAULT, "se_max": "baseline-max", "se_mean": "baseline-mean"}
    method = pl.col("method")
    return published("table_8_baselines_by_model").select(
        "model",
        group=pl.lit("gsm8k+olympiadbench"),
        estimator=pl.when(method.is_in(list(names))).then(method.replace(names)).otherwise("baseline-" + method),
        scope=pl.lit("all"),
        their_aee="aee",
        their_rho="spearman",
    )


def _domains(models: list[str]) -> list[dict[str, Any]]:
    return [
        dict.fromkeys(DOMAINS.schema, 0)
        | {"model": model, "benchmark": name, "n_responses": 100, "n_correct": 50, "n_incorrect": 50}
        | {"accuracy": 0.5, "mean_tokens": 80.0, "reasons": "{}"}
        for model in models
        for name in BENCHMARKS
    ]
