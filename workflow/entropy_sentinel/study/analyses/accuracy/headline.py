"""The headline results of a training group, and warnings about domains whose questions look ambiguous."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from entropy_sentinel.estimators.estimator_registry import CONFIGURATION_NAMES, RECOMMENDED, estimator_title
from entropy_sentinel.formatting.text_format import format_number
from entropy_sentinel.statistics.ambiguity import explain_ambiguity
from entropy_sentinel.statistics.estimate_errors import FEWEST_FOR_RHO
from entropy_sentinel.study.analyses.display_names import TrainingGroup


def warn_ambiguous(domains: pl.DataFrame) -> Iterator[str]:
    """Warn about domains whose questions look ambiguous, in sentences; `domains` is a frame DOMAINS."""
    rows = domains.drop_nulls("n_ambiguous").select("model", "benchmark", "n_ambiguous", "n_questions")
    for model, benchmark, n_ambiguous, n_questions in rows.iter_rows():
        reason = explain_ambiguity(n_ambiguous, n_questions)
        if reason:
            yield f"{model}, {benchmark}: ambiguous, {reason}."


# Absolute differences of AEE below this are rounding noise, not a better estimator.
_AEE_TOLERANCE = 1e-9
# Estimated minus true accuracy in a frame ESTIMATES, both over the labelled responses.
ERROR = pl.col("estimated_on_labelled") - pl.col("true_accuracy")


@dataclass(frozen=True)
class Score:
    """AEE and rho of one estimator over the domains of one scope (unseen, all); `reason` says why one is null."""

    aee: float | None
    rho: float | None
    n_domains: int
    reason: str | None

    @property
    def headline_rho(self) -> float | None:
        """rho, or None if it is over fewer than FEWEST_FOR_RHO domains, too few to show it at the top."""
        return self.rho if self.n_domains >= FEWEST_FOR_RHO else None

    @property
    def rho_text(self) -> str:
        """rho as text, with the number of domains if they are fewer than FEWEST_FOR_RHO."""
        is_over_few = self.rho is not None and self.headline_rho is None
        return format_number(self.rho) + (f" over {self.n_domains} domains" if is_over_few else "")


@dataclass(frozen=True)
class Recommendation:
    """The method recommended for this training group: its title, the reason, and its scores by scope."""

    method: str
    reason: str
    scores: dict[str, Score]


@dataclass(frozen=True)
class Headline:
    """The results of one training group for one model, which page and summary show.

    `unlabelled` are the estimates (columns of ESTIMATES) of the domains without labels, by name. `domains` are the
    others with their `error`: training benchmarks first, each by decreasing true accuracy. `scores` are by scope.
    `simple` is the title of the simple estimator with the smallest AEE on unseen domains, null without one, and
    `simple_scores` are its scores. `recommended` is null if it was not run or not fitted. `caution` is a warning about
    estimates from these training rows.
    """

    model: str
    unlabelled: tuple[dict[str, Any], ...]
    domains: tuple[dict[str, Any], ...]
    scores: dict[str, Score]
    simple: str | None
    simple_scores: dict[str, Score]
    recommended: Recommendation | None
    caution: str | None

    @property
    def simple_is_better(self) -> bool | None:
        """Whether the best simple estimator has the lower AEE on unseen domains; null if one of the two is missing."""
        group_score = self.scores.get("held_out")
        simple_score = self.simple_scores.get("held_out")
        if group_score is None or group_score.aee is None or simple_score is None or simple_score.aee is None:
            return None
        return simple_score.aee < group_score.aee - _AEE_TOLERANCE

    @property
    def against_simple(self) -> str:
        """One sentence: whether a simple estimator does better than the one that the config sets for the group."""
        if self.simple is None:
            return "No simple estimator was run."
        simple = self.simple_scores["held_out"]
        scored = f"{self.simple} (AEE {format_number(simple.aee)}, rho {simple.rho_text})"
        match self.simple_is_better:
            case None:
                return f"The estimator has no AEE to compare with the best simple one, {scored}."
            case True:
                return f"A simple estimator does better here: {scored}."
            case False:
                return f"No simple estimator does better; the best is {scored}."


def build_headlines(estimates: pl.DataFrame, sweep: pl.DataFrame, group: TrainingGroup) -> list[Headline]:
    """The group's results for each model that has some, in the order of the sweep.

    `estimates` is a frame ESTIMATES, `sweep` a frame SWEEP.
    """
    group_sweep = sweep.filter(pl.col("group") == group.group_id)
    results = []
    for model in group_sweep["model"].unique(maintain_order=True):
        is_model = pl.col("model") == model
        rows = estimates.filter(pl.col("group") == group.group_id, is_model)
        results.append(_build_headline(model, rows, group_sweep.filter(is_model), group.estimator))
    return results


def describe_comparison(headlines: Sequence[Headline]) -> str:
    """A sentence with the number of models for which a simple estimator beats that of the training group."""
    is_better_by_model = [headline.simple_is_better for headline in headlines]
    n_better, n_worse = is_better_by_model.count(True), is_better_by_model.count(False)
    if not n_better + n_worse:
        return "The estimator was not compared with simple ones."
    return (
        f"For {n_better} of {n_better + n_worse} models the best simple estimator is closer to the true accuracies "
        "than this one."
    )


def _build_headline(model: str, estimates: pl.DataFrame, sweep: pl.DataFrame, estimator: str) -> Headline:
    """The results from the rows of one model and group; `estimator` is the one that the config names for the group."""
    cautions = estimates["caution"].drop_nulls()
    domains = (
        estimates.filter(pl.col("estimator") == estimator)
        .with_columns(error=ERROR)
        .sort("role", "true_accuracy", "benchmark", descending=[True, True, False], nulls_last=True)
    )
    best = _find_best_simple(sweep)
    return Headline(
        model,
        unlabelled=tuple(domains.filter(pl.col("n_labelled") == 0).iter_rows(named=True)),
        domains=tuple(domains.filter(pl.col("n_labelled") > 0).iter_rows(named=True)),
        scores=read_scores(sweep, estimator),
        simple=estimator_title(best) if best else None,
        simple_scores=read_scores(sweep, best) if best else {},
        recommended=read_recommendation(estimates, sweep),
        caution=cautions[0] if len(cautions) else None,
    )


def read_recommendation(estimates: pl.DataFrame, sweep: pl.DataFrame) -> Recommendation | None:
    """The recommendation, from the rows of one model and group; None if none was run or no method could be fitted."""
    hyperparameters = estimates.filter(pl.col("estimator") == RECOMMENDED)["hyperparameters"].drop_nulls()
    if hyperparameters.is_empty():
        return None
    chosen = json.loads(hyperparameters[0])
    return Recommendation(estimator_title(chosen["method"]), chosen["reason"], read_scores(sweep, RECOMMENDED))


def read_scores(sweep: pl.DataFrame, estimator: str) -> dict[str, Score]:
    """One estimator's scores by scope (`held_out`, `all`), from the rows of one model and group in a frame SWEEP."""
    rows = sweep.filter(pl.col("estimator") == estimator).iter_rows(named=True)
    return {row["scope"]: Score(row["aee"], row["rho"], row["n_domains"], row["reason"]) for row in rows}


def _find_best_simple(sweep: pl.DataFrame) -> str | None:
    """The simple estimator with the lowest AEE on unseen domains; of equals, the first by name; None without any.

    Simple ones are those outside the 48 configurations. The recommended one does not count, because it is chosen
    without the unseen domains' labels.
    """
    unseen = sweep.filter(
        ~pl.col("estimator").is_in([*CONFIGURATION_NAMES, RECOMMENDED]),
        pl.col("scope") == "held_out",
        pl.col("aee").is_not_null(),
    )
    return None if unseen.is_empty() else unseen.sort("aee", "estimator")["estimator"][0]
