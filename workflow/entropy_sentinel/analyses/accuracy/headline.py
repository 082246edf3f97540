"""The headline: one training group's estimates by domain, their errors, and the best simple baseline."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from entropy_sentinel.analyses.accuracy.headings import Groups, baseline_title, id_of
from entropy_sentinel.estimators.catalogue import baseline_name

# Absolute differences of AEE below this are rounding noise, not a better estimator.
_SAME = 1e-9


@dataclass(frozen=True)
class Score:
    """AEE and rho of one estimator over the domains of one scope; null with its reason."""

    aee: float | None
    rho: float | None
    n_domains: int
    reason: str | None


@dataclass(frozen=True)
class Headline:
    """What one training group says about one model.

    `domains` are the estimates (columns of ESTIMATES and `error`, estimated - true), training benchmarks first,
    each by falling true accuracy; `scores` are by scope. `baseline` is the title of the single-feature baseline of
    least AEE on unseen domains, null where none has one; `baseline_scores` are its.
    """

    model: str
    domains: tuple[dict[str, Any], ...]
    scores: dict[str, Score]
    baseline: str | None
    baseline_scores: dict[str, Score]

    @property
    def baseline_is_better(self) -> bool | None:
        """Whether the best baseline has the lower AEE on unseen domains; null where either has none."""
        own, simple = self.scores.get("held_out"), self.baseline_scores.get("held_out")
        if own is None or own.aee is None or simple is None or simple.aee is None:
            return None
        return simple.aee < own.aee - _SAME


def headlines(estimates: pl.DataFrame, sweep: pl.DataFrame, groups: Groups, name: str) -> list[Headline]:
    """One headline per model that has results for the named group, in the order of the sweep."""
    group, estimator = id_of(groups, name), groups[name]["estimator"]
    estimates = estimates.filter(pl.col("group") == group, pl.col("estimator") == estimator)
    sweep = sweep.filter(pl.col("group") == group)
    return [
        _headline(
            model,
            estimates.filter(pl.col("model") == model),
            sweep.filter(pl.col("model") == model),
            estimator,
        )
        for model in sweep["model"].unique(maintain_order=True)
    ]


def _headline(model: str, estimates: pl.DataFrame, sweep: pl.DataFrame, estimator: str) -> Headline:
    domains = estimates.with_columns(error=pl.col("estimated_accuracy") - pl.col("true_accuracy")).sort(
        "role", "true_accuracy", "benchmark", descending=[True, True, False], nulls_last=True
    )
    best = _best_baseline(sweep)
    return Headline(
        model,
        tuple(domains.iter_rows(named=True)),
        scores(sweep, estimator),
        baseline_title(best) if best else None,
        scores(sweep, best) if best else {},
    )


def scores(sweep: pl.DataFrame, estimator: str) -> dict[str, Score]:
    """Scores by scope of one estimator, from the rows of one model and group."""
    rows = sweep.filter(pl.col("estimator") == estimator).iter_rows(named=True)
    return {row["scope"]: Score(row["aee"], row["rho"], row["n_domains"], row["reason"]) for row in rows}


def _best_baseline(sweep: pl.DataFrame) -> str | None:
    unseen = sweep.filter(
        pl.col("estimator").str.starts_with(baseline_name("")),
        pl.col("scope") == "held_out",
        pl.col("aee").is_not_null(),
    )
    return None if unseen.is_empty() else unseen.sort("aee", "estimator")["estimator"][0]
