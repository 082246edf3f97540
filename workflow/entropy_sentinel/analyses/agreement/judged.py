"""Stages `judged` and `errors`: what each judge's labels make of accuracies, estimates and their errors."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

import polars as pl

from entropy_sentinel.analyses.agreement.frames import ERRORS, JUDGED
from entropy_sentinel.analyses.headings import Groups, training_group
from entropy_sentinel.frames.estimate import ESTIMATES
from entropy_sentinel.statistics.errors import evaluate


class EstimatesFile(TypedDict):
    """A file of estimates, and the judge from whose labels they were made."""

    judge: str
    path: str


def write_judged(files: Sequence[EstimatesFile], groups: Groups, judged_output: str, errors_output: str) -> None:
    """Both frames, of the training groups shown."""
    estimates = pl.concat([_estimates(**file) for file in files])
    own = {one.group: one.estimator for one in (training_group(groups, name) for name in groups)}
    JUDGED.write(judged(estimates, own), judged_output, {})
    ERRORS.write(errors(estimates, own), errors_output, {})


def _estimates(judge: str, path: str) -> pl.DataFrame:
    return ESTIMATES.read(path).with_columns(judge=pl.lit(judge))


def judged(estimates: pl.DataFrame, own: Mapping[str, str]) -> pl.DataFrame:
    """A frame of contract JUDGED, from ESTIMATES with a column `judge`; `own` is each group's estimator."""
    mine = pl.col("estimator") == pl.col("group").replace_strict(own, default=None, return_dtype=pl.String)
    return estimates.filter(mine).select(JUDGED.schema.names())


def errors(estimates: pl.DataFrame, own: Mapping[str, str]) -> pl.DataFrame:
    """A frame of contract ERRORS, from the same."""
    unseen = estimates.filter(pl.col("role") == "held_out", pl.col("group").is_in(list(own)))
    return ERRORS.frame(list(_error_rows(unseen, own)))


def _error_rows(unseen: pl.DataFrame, own: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for (judge, model, group), rows in unseen.group_by("judge", "model", "group", maintain_order=True):
        found = {
            name: evaluate(part["estimated_on_labelled"].to_numpy(), part["true_accuracy"].to_numpy())
            for (name,), part in rows.group_by("estimator", maintain_order=True)
        }
        known = {name: one for name, one in found.items() if one.aee is not None}
        best = min(known, key=lambda name: (known[name].aee, name), default=None)
        yield {
            "judge": judge,
            "model": model,
            "group": group,
            "estimator": own[group],
            **found[own[group]]._asdict(),
            "best": best,
            "best_aee": best and known[best].aee,
            "best_rho": best and known[best].rho,
        }
