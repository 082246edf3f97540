"""Stage `sweep`: AEE and rho of every estimator, from the estimates of all models and training groups."""

from collections.abc import Sequence

import polars as pl

from entropy_sentinel.analyses.accuracy.frames import SWEEP
from entropy_sentinel.analyses.inputs import read_several
from entropy_sentinel.frames.estimate import ESTIMATES
from entropy_sentinel.statistics.errors import evaluate_all

SCOPES = ("held_out", "all")


def write_sweep(estimates: Sequence[str], models: Sequence[str], groups: Sequence[str], output: str) -> None:
    """AEE and rho of every estimator in the files `estimates`, which are of these models and groups, in any order."""
    SWEEP.write(sweep(read_several(ESTIMATES, estimates, {"model": models, "group": groups})), output, {})


def sweep(estimates: pl.DataFrame) -> pl.DataFrame:
    """A frame of contract SWEEP: a row per model, group, estimator and scope of ESTIMATES, in their order.

    The estimate on a domain's labelled rows is compared with the share of correct ones among the same rows.
    """
    scopes = pl.concat([_of_scope(estimates, scope).with_row_index("place") for scope in SCOPES])
    frame = scopes.sort("place", maintain_order=True)
    frame = frame.with_columns(k=pl.col("group").str.count_matches("+", literal=True) + 1)
    return frame.select(pl.col(name).cast(dtype) for name, dtype in SWEEP.schema.items())


def _of_scope(estimates: pl.DataFrame, scope: str) -> pl.DataFrame:
    """Errors of every model, group and estimator over the domains of a scope, of which there may be none."""
    by = ("model", "group", "estimator")
    counted = pl.lit(True) if scope == "all" else pl.col("role") == "held_out"
    columns = {"estimated": "estimated_on_labelled", "true": "true_accuracy", "told": "reason"}
    domains = estimates.select(
        *by, "hyperparameters", **{name: pl.when(counted).then(column) for name, column in columns.items()}
    )
    said = domains.group_by(by, maintain_order=True).agg(
        told=pl.col("told").drop_nulls().first(),
        method=pl.col("hyperparameters").first().str.json_path_match("$.method"),
    )
    # Where no domain can be compared, what the estimator says about it goes first.
    reason = pl.when(pl.col("n_domains") == 0).then(pl.coalesce("told", "reason")).otherwise("reason")
    found = evaluate_all(domains, by).with_columns(*said.select("told", "method"), scope=pl.lit(scope))
    return found.with_columns(reason=reason)
