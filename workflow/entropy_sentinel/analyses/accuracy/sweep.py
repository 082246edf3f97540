"""Stage `sweep`: AEE and rho of every estimator, from the estimates of all models and training groups."""

import json
from collections.abc import Sequence

import polars as pl

from entropy_sentinel.analyses.accuracy.frames import SWEEP
from entropy_sentinel.analyses.accuracy.inputs import read_apart
from entropy_sentinel.frames.estimate import ESTIMATES
from entropy_sentinel.statistics.errors import evaluate

SCOPES = ("held_out", "all")


def write_sweep(estimates: Sequence[str], models: Sequence[str], groups: Sequence[str], output: str) -> None:
    """AEE and rho of every estimator in the files `estimates`, which are of these models and groups, in any order."""
    SWEEP.write(sweep(read_apart(ESTIMATES, estimates, {"model": models, "group": groups})), output, {})


def sweep(estimates: pl.DataFrame) -> pl.DataFrame:
    """A frame of contract SWEEP: a row per model, group, estimator and scope of ESTIMATES, in their order.

    The estimate on a domain's labelled rows is compared with the share of correct ones among the same rows.
    """
    rows = []
    for (model, group, estimator), frame in estimates.group_by("model", "group", "estimator", maintain_order=True):
        method = json.loads(frame["hyperparameters"][0] or "{}").get("method")
        for scope in SCOPES:
            domains = frame if scope == "all" else frame.filter(pl.col("role") == "held_out")
            errors = evaluate(domains["estimated_on_labelled"].to_numpy(), domains["true_accuracy"].to_numpy())
            row = {"model": model, "group": group, "k": group.count("+") + 1, "estimator": estimator, "scope": scope}
            said = {"reason": _reason(errors.n_domains, errors.reason, domains), "method": method}
            rows.append(row | errors._asdict() | said)
    return SWEEP.frame(rows)


def _reason(n_domains: int, reason: str | None, domains: pl.DataFrame) -> str | None:
    """Where no domain can be compared, what the estimator says about it goes first."""
    told = domains["reason"].drop_nulls()
    return told[0] if n_domains == 0 and len(told) else reason
