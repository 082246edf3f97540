"""Frames of a made-up study, for the tests of tables, figures, report and summary: one of its domains has no labels."""

import json
from collections.abc import Sequence
from dataclasses import fields
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
import polars as pl
from observations import BESIDE

from entropy_sentinel.estimators.estimator_registry import BASELINES, CONFIGURATIONS
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.rendering.exhibit_files import draw
from entropy_sentinel.rendering.exhibit_style import Style
from entropy_sentinel.rendering.figure_style import Drawing
from entropy_sentinel.rendering.table_exhibit import Table
from entropy_sentinel.schemas.estimate_schema import ESTIMATES
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.study.analyses.accuracy.accuracy_exhibits import FIGURES
from entropy_sentinel.study.analyses.accuracy.exhibit_inputs import AccuracyFigureInputs, AccuracyTableInputs
from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_frames import AUROC, DOMAINS, REPEATS, SWEEP
from entropy_sentinel.study.analyses.accuracy.measuring.study_validation import (
    DomainResult,
    EstimatorErrors,
    ModelValidation,
)

DEFAULT = "forest-10d-balanced-isotonic"
MODELS = ("tiny-a", "tiny-b")
BENCHMARKS = ("arithmetic", "fractions", "geometry", "logic", "units", "words")
GROUPS: dict[str, dict[str, Any]] = {
    "extremes": {"benchmarks": ["words", "arithmetic"], "estimator": DEFAULT},
    "intermediate": {"benchmarks": ["fractions", "geometry"], "estimator": DEFAULT},
    "cross-domain": {"benchmarks": ["logic", "units"], "estimator": "logistic-10d-balanced-isotonic"},
    "sci-math": {"benchmarks": ["logic", "units", "words"], "estimator": "mlp-10d-balanced-isotonic"},
}
LABEL = "demo: synthetic domains, tiny models"
# What the recommended estimator says of its choice.
CHOSEN = {"method": "consensus", "domains": 2, "reason": "a choice needs 6 labelled domains; there are 2"}
# Nobody has labelled the responses to this one.
UNLABELLED = "puzzles"
# Tokens, captured mass, open steps, error bound (the vocabulary is not known), clamped tokens, displaced steps.
MASS = (17100, 0.9957, 0.1211, None, 3, 0)
MASS_COLUMNS = list(DOMAINS.schema)[13:19]
# Questions that look ambiguous, and of which that is known.
UNKNOWN = (None, None, None, None)
COUNTS = dict.fromkeys(
    ["n_unlabelled", "n_featureless", "n_truncated", "n_truncated_correct", "n_truncated_incorrect"], 0
)


def sweep_rows(
    aee: Sequence[float | None],
    rho: Sequence[float | None],
    models: Sequence[str] = ("a", "b", "c"),
    group: str = "arithmetic+words",
    estimator: str = DEFAULT,
    scope: str = "held_out",
) -> pl.DataFrame:
    """A frame SWEEP of one row per model, of one group, estimator and scope."""
    columns = {"model": models, "group": group, "k": group.count("+") + 1, "estimator": estimator, "scope": scope}
    reasons = [_reason(*values) for values in zip(aee, rho, strict=True)]
    return SWEEP.frame(columns | {"n_domains": 6, "aee": aee, "rho": rho, "reason": reasons, "method": None})


def _reason(*values: float | None) -> str | None:
    return "estimated accuracies are all equal" if None in values else None


def estimate_rows(
    model: str,
    group: str,
    rows: Sequence[tuple[str, str, float | None, float | None]],
    estimator: str = DEFAULT,
) -> pl.DataFrame:
    """A frame ESTIMATES from rows (benchmark, role, estimated, true accuracy) of 100 responses.

    All are labelled, or none where the true accuracy is null and the estimate is not.
    """
    full = []
    for benchmark, role, estimated, true in rows:
        labelled = true is not None or estimated is None
        reason = "no row" if estimated is None else None
        on_labelled = estimated if labelled else None
        counts = (100, 100 if labelled else 0, 2, 300)
        full.append(
            (model, group, estimator, benchmark, role, estimated, on_labelled, true, *counts, None, reason, None)
        )
    return ESTIMATES.frame(full)


def validation(
    model: str = "a",
    left_out: Sequence[tuple[str, float | None, float]] = (("logic", 0.30, 0.45), ("words", 0.8, 0.9)),
    unlabelled: Sequence[tuple[str, float | None]] = (),
    **changes: Any,
) -> ModelValidation:
    """What a model's validation came to: domains (name, estimated, true) and those without labels, of 100 responses.

    Intervals are 0.1 to either side. The default estimator has an AEE of 0.2, ATC of 0.05.
    """
    result = [_domain(name, estimated, true) for name, estimated, true in left_out]
    known = [one for one in result if one.error is not None]
    aee, bias = (float(np.mean([of(one.error) for one in known])) if known else None for of in (abs, float))
    others = {DEFAULT: 0.2, "atc-max": 0.05}
    errors = {one.domain: one.error for one in known}
    reason = f"off by {aee:.3f} in the mean" if known else "there are 0 labelled domains"
    told = {
        "verdict": "usable" if known else "too few domains to say",
        "reasons": (reason,),
        "method": "consensus",
        "method_reason": "no candidate beats it",
        "methods": (
            EstimatorErrors("recommended", len(known), aee, 0.9 if len(known) > 1 else None, bias, errors),
            *(
                EstimatorErrors(name, len(known), other if known else None, None, None, dict.fromkeys(errors, other))
                for name, other in others.items()
            ),
        ),
        "coverage": ({"level": 0.9, "covered": 2, "n": 2, "lower": 0.34, "upper": 1.0, "basis": "predictive"},),
        "left_out": tuple(result),
        "unlabelled": tuple(_domain(name, estimated, None) for name, estimated in unlabelled),
        "n_training": 80 * len(left_out),
        "training_accuracy": 0.5,
        "caution": None,
        "error_at_least": 0.06 if known else None,
        "error_at_most": 0.09 if known else None,
    }
    return ModelValidation(model=model, **(told | changes))


def _domain(name: str, estimated: float | None, true: float | None) -> DomainResult:
    if estimated is None:
        return DomainResult(name, 100, None, None, None, None, true, "all training rows are correct")
    return DomainResult(name, 100, estimated, estimated - 0.1, estimated + 0.1, "predictive", true, None)


class SyntheticStudy:
    """A whole study at random but reproducible: all frames that the presentation takes."""

    def __init__(self, models: Sequence[str] = MODELS, benchmarks: Sequence[str] = BENCHMARKS) -> None:
        self.random = np.random.default_rng(7)
        self.models, self.benchmarks = models, benchmarks  # with labels
        self.accuracy = {
            (model, benchmark): accuracy
            for model in models
            for benchmark, accuracy in zip(benchmarks, self.random.uniform(0.05, 0.95, len(benchmarks)), strict=True)
        }
        self.domains = self._domains()
        self.auroc = self._auroc()
        estimates = [self._estimates(model, group) for model in models for group in self._groups()]
        self.estimates = pl.concat(estimates)
        self.sweep = pl.concat([_errors(frame) for frame in estimates])
        self.repeats = self._repeats()
        self.validations = [self._validation(model) for model in models]
        self.observations = self._observations(models[0])

    def inputs(self) -> dict[str, Any]:
        """What tables and figures are made from, by name."""
        return {
            "sweep": self.sweep,
            "auroc": self.auroc,
            "domains": self.domains,
            "estimates": self.estimates,
            "observations": self.observations,
            "repeats": self.repeats,
            "validations": self.validations,
            "groups": GROUPS,
            "default": DEFAULT,
            "headline_group": "extremes",
            "main_groups": list(GROUPS)[:2],
            "auroc_models": [self.models[0]],
            "auroc_benchmarks": list(self.benchmarks[:3]),
            "figure_model": self.models[0],
            "figure_benchmark": self.benchmarks[2],
            "label": LABEL,
            "style": Style(LABEL),
            "basis_note": "The values of this study rest on nothing: they are made up.",
        }

    def _validation(self, model: str) -> ModelValidation:
        rows = [
            (name, min(self.accuracy[model, name] + 0.03, 1.0), self.accuracy[model, name]) for name in self.benchmarks
        ]
        return validation(model, rows, [(UNLABELLED, 0.6)])

    def _groups(self) -> list[str]:
        sizes = sorted({1, 2, 3, len(self.benchmarks) - 1})
        return ["+".join(names) for k in sizes for names in combinations(sorted(self.benchmarks), k)]

    def _estimates(self, model: str, group: str) -> pl.DataFrame:
        named = {"+".join(sorted(entry["benchmarks"])): entry["estimator"] for entry in GROUPS.values()}
        swept = group in list(named)[:2]
        estimators = [c.name for c in CONFIGURATIONS] if swept else sorted({DEFAULT, named.get(group, DEFAULT)})
        frames = []
        for estimator in [*estimators, *BASELINES, "group-accuracy", "atc-max", "recommended"]:
            rows = []
            for benchmark in self.benchmarks:
                true = self.accuracy[model, benchmark]
                estimated = float(np.clip(0.15 + 0.7 * true + self.random.normal(0, 0.08), 0, 1))
                role = "training" if benchmark in group.split("+") else "held_out"
                rows.append((benchmark, role, estimated, true))
            rows.append((UNLABELLED, "held_out", float(self.random.uniform(0.3, 0.7)), None))
            frames.append(estimate_rows(model, group, rows, estimator))
        frames[-1] = frames[-1].with_columns(hyperparameters=pl.lit(json.dumps(CHOSEN)))
        return pl.concat(frames)

    def _repeats(self) -> pl.DataFrame:
        groups = ["+".join(sorted(entry["benchmarks"])) for entry in GROUPS.values()]
        shown = self.sweep.filter(pl.col("group").is_in(groups), pl.col("estimator") == DEFAULT)
        frames = [shown.with_columns(seed=pl.lit(seed, pl.UInt32), aee=pl.col("aee") + seed / 100) for seed in range(3)]
        return pl.concat(frames).select(REPEATS.schema.names())

    def _domains(self) -> pl.DataFrame:
        reasons = json.dumps({"no answer found": 17, "answer cannot be read": 3})
        truncated = {"n_truncated": 12, "n_truncated_correct": 1, "n_truncated_incorrect": 9}
        rows = []
        for (model, benchmark), accuracy in self.accuracy.items():
            correct = round(180 * accuracy)
            accuracies = {"accuracy": correct / 180, "accuracy_whole": (correct - 1) / 170}
            more = {"n_responses": 200, "n_unlabelled": 20, "mean_tokens": 85.5, "reasons": reasons}
            rows.append(_counted(model, benchmark, correct, 180 - correct) | truncated | accuracies | more)
        more = {"n_responses": 200, "n_unlabelled": 200, "mean_tokens": 60.0}
        more |= {"reasons": json.dumps({"no reference": 200})}
        rows += [_counted(model, UNLABELLED, 0, 0) | more for model in self.models]
        return DOMAINS.frame(rows)

    def _auroc(self) -> pl.DataFrame:
        rows = [
            (model, benchmark, feature, (area := float(self.random.uniform(0.45, 0.9))), area - 0.05, area + 0.05)
            + (90, 90, None)
            for model in self.models
            for benchmark in self.benchmarks
            for feature in FEATURES
        ]
        return AUROC.frame(rows)

    def _observations(self, model: str) -> pl.DataFrame:
        rows = []
        for benchmark in self.benchmarks:
            for number in range(60):
                label = bool(self.random.random() < self.accuracy[model, benchmark])
                values = dict.fromkeys(FEATURES, 1.0) | {"max": float(self.random.gamma(2 if label else 5, 0.25))}
                row = {"model": model, "benchmark": benchmark, "item_id": f"{benchmark}-{number:05}", "sample": 0}
                row |= {"split": "train", "label": label, "n_tokens": 80, "finish_reason": "stop"}
                rows.append(row | values | BESIDE)
        return OBSERVATIONS.frame(rows)


def _errors(estimates: pl.DataFrame) -> pl.DataFrame:
    """AEE and rho of the frame's estimates, by Polars and not by the code that the workflow uses."""
    estimates = estimates.filter(pl.col("true_accuracy").is_not_null())
    error = (pl.col("estimated_on_labelled") - pl.col("true_accuracy")).abs().mean()
    rank = pl.corr("estimated_on_labelled", "true_accuracy", method="spearman")
    scopes = {"held_out": estimates.filter(pl.col("role") == "held_out"), "all": estimates}
    frames = [
        rows.group_by("model", "group", "estimator", maintain_order=True)
        .agg(n_domains=pl.len(), aee=error, rho=rank.fill_nan(None))
        .with_columns(
            scope=pl.lit(scope),
            k=pl.col("group").str.count_matches("+", literal=True) + 1,
            reason=pl.when(pl.col("rho").is_null()).then(pl.lit("fewer than 2 domains")),
            method=pl.when(pl.col("estimator") == "recommended").then(pl.lit("consensus")),
        )
        for scope, rows in scopes.items()
    ]
    return pl.concat(frames).select(pl.col(column).cast(dtype) for column, dtype in SWEEP.schema.items())


def cell(table: Table, row: dict[str, object], column: str) -> object:
    """The one cell of the row with these values."""
    result = table.frame.filter(**row)
    assert len(result) == 1, f"{len(result)} rows are {row}"
    return result[column][0]


def domains(rows: list[tuple[str, str, int, int, float | None]]) -> pl.DataFrame:
    """A frame DOMAINS from model, benchmark, correct and incorrect responses, accuracy."""
    return DOMAINS.frame(
        [
            _counted(model, name, right, wrong) | {"accuracy": accuracy, "accuracy_whole": accuracy}
            for model, name, right, wrong, accuracy in rows
        ]
    )


def _counted(model: str, benchmark: str, right: int, wrong: int) -> dict[str, Any]:
    """A row of DOMAINS without accuracies; all responses are labelled."""
    masses = dict(zip(MASS_COLUMNS, MASS, strict=True))
    whose = {"model": model, "benchmark": benchmark, "mean_tokens": 10.0, "reasons": "{}"}
    return whose | {"n_responses": right + wrong, "n_correct": right, "n_incorrect": wrong} | COUNTS | masses


def auroc_frame(models: list[str]) -> pl.DataFrame:
    """AUROC 0.5 + feature's number / 100 on `x`; null on `y`, which has no incorrect response."""
    rows = []
    for model in models:
        for number, feature in enumerate(FEATURES):
            rows.append((model, "x", feature, 0.5 + number / 100, 0.4, 0.8, 10, 10, None))
            rows.append((model, "y", feature, None, None, None, 10, 0, "no incorrect response"))
    return AUROC.frame(rows)


_Inputs = TypeVar("_Inputs", AccuracyTableInputs, AccuracyFigureInputs)
# What an exhibit of a test does not show.
_EMPTY: dict[str, Any] = {
    "label": LABEL,
    "groups": {},
    "headline_group": "extremes",
    "default": DEFAULT,
    "auroc_models": [],
    "auroc_benchmarks": [],
    "figure_model": "",
    "figure_benchmark": "",
    "style": Style(LABEL),
    "sweep": SWEEP.frame([]),
    "auroc": AUROC.frame([]),
    "domains": DOMAINS.frame([]),
    "estimates": ESTIMATES.frame([]),
    "repeats": REPEATS.frame([]),
    "observations": OBSERVATIONS.frame([]),
    "validations": [],
    "basis_note": "",
}


def table_inputs(**values: Any) -> AccuracyTableInputs:
    """What tables are made from: these values, and nothing else; values of figures are left out."""
    return _fill(AccuracyTableInputs, values)


def figure_inputs(**values: Any) -> AccuracyFigureInputs:
    """What figures are made from: these values, and nothing else; values of tables are left out."""
    return _fill(AccuracyFigureInputs, values)


def _fill(cls: type[_Inputs], values: dict[str, Any]) -> _Inputs:
    complete = {**_EMPTY, "main_groups": list(values.get("groups", ())), **values}
    assert complete.keys() == _EMPTY.keys() | {"main_groups"}, complete.keys()
    names = {field.name for field in fields(cls)}
    return cls(**{name: value for name, value in complete.items() if name in names})


def draw_figure(name: str, inputs: dict[str, Any]) -> Drawing:
    """The figure of the catalogue of this name."""
    return draw(FIGURES[name], figure_inputs(**inputs))


def generation_facts(models: Sequence[str], benchmarks: Sequence[str]) -> list[dict[str, Any]]:
    """The facts that files of generations record, for each model and benchmark."""
    facts = {
        "revision": None,
        "sampling": {"temperature": 0.5, "max_tokens": 128},
        "engine": "vllm",
        "engine_version": "0.11.0",
        "logprobs_mode": "raw_logprobs",
    }
    records = []
    for model in models:
        for benchmark in benchmarks:
            own = {"model": model, "benchmark": benchmark, "weights": f"models/{model}"}
            records.append({**own, **facts, "prompts_hash": f"hash of {benchmark}"})
    return records
