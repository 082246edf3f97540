"""Stage `sweep`: the estimates of all models and groups, their errors, and what each domain looks like."""

import json
from collections.abc import Iterable, Sequence

import polars as pl

from entropy_sentinel.analyses.accuracy.frames import AUROC, DOMAINS, SWEEP
from entropy_sentinel.features.catalogue import CONFIDENCE_FEATURES, FEATURES
from entropy_sentinel.frames.estimate import ESTIMATES
from entropy_sentinel.frames.observation import OBSERVATIONS
from entropy_sentinel.statistics.auroc import auroc
from entropy_sentinel.statistics.errors import aee, rho

SCOPES = ("held_out", "all")


def write_sweep(estimates: Sequence[str], models: Sequence[str], groups: Sequence[str], output: str) -> None:
    """AEE and rho of every estimator in the files `estimates`, one per (model, group)."""
    rows = []
    for path, model, group in zip(estimates, models, groups, strict=True):
        rows += sweep_rows(ESTIMATES.read(path), model, group)
    SWEEP.write(SWEEP.frame(rows), output, {})


def sweep_rows(estimates: pl.DataFrame, model: str, group: str) -> list[dict]:
    """Rows of contract SWEEP for one frame of contract ESTIMATES: one per estimator and scope."""
    rows = []
    for (estimator,), frame in estimates.group_by("estimator", maintain_order=True):
        for scope in SCOPES:
            domains = frame if scope == "all" else frame.filter(pl.col("role") == "held_out")
            usable = domains.filter(pl.col("estimated_accuracy").is_not_null())
            estimated, true = usable["estimated_accuracy"].to_numpy(), usable["true_accuracy"].to_numpy()
            if len(usable):
                error, (correlation, reason) = aee(estimated, true), rho(estimated, true)
            else:
                reasons = domains["reason"].drop_nulls()
                error, correlation, reason = None, None, reasons[0] if len(reasons) else "no domain"
            rows.append(
                {
                    "model": model,
                    "group": group,
                    "k": group.count("+") + 1,
                    "estimator": estimator,
                    "scope": scope,
                    "n_domains": len(usable),
                    "aee": error,
                    "rho": correlation,
                    "reason": reason,
                }
            )
    return rows


def write_domain_statistics(
    observations: Sequence[str], models: Sequence[str], auroc_output: str, domains_output: str
) -> None:
    """AUROC of every feature, and the counts of labels and nulls, per model and domain."""
    auroc_rows, domain_rows = [], []
    for path, model in zip(observations, models, strict=True):
        for (benchmark,), frame in OBSERVATIONS.read(path).group_by("benchmark", maintain_order=True):
            auroc_rows += auroc_of_features(frame, model, benchmark)
            domain_rows.append(domain_row(frame, model, benchmark))
    AUROC.write(AUROC.frame(auroc_rows), auroc_output, {})
    DOMAINS.write(DOMAINS.frame(domain_rows), domains_output, {})


def auroc_of_features(observations: pl.DataFrame, model: str, benchmark: str) -> Iterable[dict]:
    """Rows of contract AUROC for one domain, over its rows with a label and features."""
    usable = observations.filter(pl.col("label").is_not_null(), pl.col("feature_reason").is_null())
    correct = usable["label"].to_numpy()
    for feature in FEATURES:
        value, reason = auroc(usable[feature].to_numpy(), correct, feature in CONFIDENCE_FEATURES)
        yield {
            "model": model,
            "benchmark": benchmark,
            "feature": feature,
            "auroc": value,
            "n_correct": int(correct.sum()),
            "n_incorrect": int((~correct).sum()),
            "reason": reason,
        }


def domain_row(observations: pl.DataFrame, model: str, benchmark: str) -> dict:
    """The row of contract DOMAINS for one domain."""
    label, featureless = observations["label"], observations["feature_reason"].is_not_null()
    usable = observations.filter(label.is_not_null() & ~featureless)
    reasons = pl.concat([observations["label_reason"], observations["feature_reason"]]).drop_nulls()
    return {
        "model": model,
        "benchmark": benchmark,
        "n_responses": len(observations),
        "n_correct": label.sum(),
        "n_incorrect": (~label).sum(),
        "n_unlabelled": label.null_count(),
        "n_featureless": featureless.sum(),
        "n_truncated": (observations["finish_reason"] == "length").sum(),
        "mean_tokens": observations["n_tokens"].mean(),
        "accuracy": usable["label"].mean(),
        "reasons": json.dumps(dict(sorted(reasons.value_counts().iter_rows()))),
    }
