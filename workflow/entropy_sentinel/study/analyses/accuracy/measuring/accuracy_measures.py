"""Stages `domains`, `sweep` and `repeats`: what separates correct from incorrect, and the errors of all estimates."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.estimators.estimator_settings import EstimationSettings
from entropy_sentinel.features.feature_computation import summarise_top_k
from entropy_sentinel.schemas.estimate_schema import ESTIMATES
from entropy_sentinel.schemas.file_sets import read_by_owner
from entropy_sentinel.schemas.generation_schema import CUT_OFF
from entropy_sentinel.schemas.label_schema import NoAnswer
from entropy_sentinel.schemas.response_schema import item_numbers
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS, observation_contract, read_families
from entropy_sentinel.signal_families.signal_registry import SIGNALS
from entropy_sentinel.statistics.ambiguity import count_ambiguous_questions
from entropy_sentinel.statistics.auroc import measure_auroc_interval
from entropy_sentinel.statistics.estimate_errors import evaluate_groups
from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_frames import AUROC, DOMAINS, REPEATS, SWEEP
from entropy_sentinel.study.stages.estimate_stage import estimate_group


def write_domains(observations: Sequence[str], models: Sequence[str], auroc_output: str, domains_output: str) -> None:
    """Write the AUROC of every signal, and counts of labels and nulls, per model and domain; a file has one model."""
    # All files of a study have the same families.
    contract = observation_contract(read_families(observations[0]) if observations else ())
    frame = read_by_owner(contract, observations, {"model": models})
    aurocs: list[dict[str, Any]] = []
    domains: list[dict[str, Any]] = []
    for _, part in frame.group_by("model", "benchmark", maintain_order=True):
        aurocs += compute_auroc_rows(part)
        domains.append(build_domain_row(part))
    AUROC.write(AUROC.frame(aurocs), auroc_output, {})
    DOMAINS.write(DOMAINS.frame(domains), domains_output, {})


def compute_auroc_rows(observations: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the row of contract AUROC of each signal, from the observations of one model and domain.

    It is over the responses with a label, features and the signal.
    """
    usable = observations.filter(pl.col("label").is_not_null(), pl.col("feature_reason").is_null())
    labels = usable["label"].to_numpy()
    # Samples of one item are similar, which the interval accounts for.
    items = item_numbers(usable)
    for name, signal in SIGNALS.items():
        if name not in usable.columns:
            continue
        values = usable[name].to_numpy()
        is_finite = np.isfinite(values)
        is_correct = labels[is_finite]
        auroc = measure_auroc_interval(
            values[is_finite], is_correct, larger_is_confident=signal.confident, items=items[is_finite]
        )
        yield {
            **_get_domain(observations),
            "feature": name,
            **auroc._asdict(),
            "n_correct": int(is_correct.sum()),
            "n_incorrect": int((~is_correct).sum()),
        }


def build_domain_row(observations: pl.DataFrame) -> dict[str, Any]:
    """The row of contract DOMAINS, from the observations of one model and domain."""
    label = observations["label"]
    featureless = observations["feature_reason"].is_not_null()
    usable = observations.filter(label.is_not_null() & ~featureless)
    truncated = observations.filter(CUT_OFF)
    # The number of ambiguous questions and of all, or None without several samples of an item.
    question_counts = count_ambiguous_questions(observations)
    unanswered_labels = observations.filter(pl.col("label_reason").is_in([cause.value for cause in NoAnswer]))["label"]
    label_reasons = observations.filter(label.is_null())["label_reason"]
    reasons = pl.concat([label_reasons, observations["feature_reason"]]).drop_nulls()
    return {
        **_get_domain(observations),
        "n_responses": len(observations),
        "n_correct": label.sum(),
        "n_incorrect": (~label).sum(),
        "n_unlabelled": label.null_count(),
        "n_featureless": featureless.sum(),
        "n_truncated": len(truncated),
        "n_truncated_correct": truncated["label"].sum(),
        "n_truncated_incorrect": (~truncated["label"]).sum(),
        "mean_tokens": observations["n_tokens"].mean(),
        "accuracy": usable["label"].mean(),
        "accuracy_whole": usable.filter(~CUT_OFF)["label"].mean(),
        **summarise_top_k(observations, "feature_reason"),
        "reasons": json.dumps(dict(sorted(reasons.value_counts().iter_rows()))),
        "n_ambiguous": None if question_counts is None else question_counts[0],
        "n_questions": None if question_counts is None else question_counts[1],
        "n_unanswered": len(unanswered_labels),
        "n_unanswered_incorrect": (~unanswered_labels).sum(),
    }


def _get_domain(observations: pl.DataFrame) -> dict[str, str]:
    return observations.select("model", "benchmark").row(0, named=True)


SCOPES = ("held_out", "all")


def write_sweep(estimates: Sequence[str], models: Sequence[str], groups: Sequence[str], output: str) -> None:
    """Write the mean absolute estimation error (AEE) and the rank correlation (rho) of every estimator in `estimates`.

    Models and groups may be in any order.
    """
    SWEEP.write(compute_sweep(read_by_owner(ESTIMATES, estimates, {"model": models, "group": groups})), output, {})


def compute_sweep(estimates: pl.DataFrame) -> pl.DataFrame:
    """A frame of contract SWEEP: a row per model, group, estimator and scope of ESTIMATES, in their order.

    The estimate on a domain's labelled rows is compared with the share of correct ones among the same rows.
    """
    scopes = pl.concat([_evaluate_scope(estimates, scope).with_row_index("place") for scope in SCOPES])
    # `place` is the row number within a scope: the rows of both scopes for one estimator follow each other.
    frame = scopes.sort("place", maintain_order=True)
    # k is the number of training benchmarks, whose names a group's id joins with `+`.
    frame = frame.with_columns(k=pl.col("group").str.count_matches("+", literal=True) + 1)
    return frame.select(pl.col(name).cast(dtype) for name, dtype in SWEEP.schema.items())


def _evaluate_scope(estimates: pl.DataFrame, scope: str) -> pl.DataFrame:
    """The errors of every model, group and estimator over the domains of a scope, which may be empty.

    The columns are those of SWEEP but `k`.
    """
    by = ("model", "group", "estimator")
    # Whether a domain counts in this scope; estimates on others become null.
    counts = pl.lit(True) if scope == "all" else pl.col("role") == "held_out"
    domains = estimates.select(
        *by,
        "hyperparameters",
        estimated=pl.when(counts).then("estimated_on_labelled"),
        true=pl.when(counts).then("true_accuracy"),
        own_reason=pl.when(counts).then("reason"),
    )
    # In the order of the rows of `evaluate_groups`.
    facts = domains.group_by(by, maintain_order=True).agg(
        own_reason=pl.col("own_reason").drop_nulls().first(),
        method=pl.col("hyperparameters").first().str.json_path_match("$.method"),
    )
    # If no domain can be compared, the estimator's own reason comes first.
    reason = pl.when(pl.col("n_domains") == 0).then(pl.coalesce("own_reason", "reason")).otherwise("reason")
    errors = evaluate_groups(domains, by).with_columns(*facts.select("own_reason", "method"), scope=pl.lit(scope))
    return errors.with_columns(reason=reason)


def write_repeats(
    observations: str,
    groups: Mapping[str, Sequence[str]],
    settings: EstimationSettings,
    seeds: Sequence[int],
    output: str,
) -> None:
    """Write AEE and rho of each group's estimators under each seed, for one model.

    `groups` has the names of estimators by the id of a training group. They and `seeds` replace those of `settings`.
    """
    rows = OBSERVATIONS.read(observations)
    REPEATS.write(
        compute_repeats(rows, groups, settings, seeds), output, {"seeds": list(seeds), "settings": dict(settings)}
    )


def compute_repeats(
    observations: pl.DataFrame, groups: Mapping[str, Sequence[str]], settings: EstimationSettings, seeds: Sequence[int]
) -> pl.DataFrame:
    """A frame of contract REPEATS of one model; `groups` has the names of estimators by the id of a training group."""
    parts = []
    for (group, names), seed in product(groups.items(), seeds):
        estimates = estimate_group(observations, group, {**settings, "seed": seed, "estimators": list(names)})
        parts.append(compute_sweep(estimates).with_columns(seed=pl.lit(seed, pl.UInt32)))
    return pl.concat(parts).select(REPEATS.schema.names())
