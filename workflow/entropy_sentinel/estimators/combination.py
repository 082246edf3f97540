"""Families `combination`, `recommended` and `group-accuracy`: estimates from other estimators.

`consensus` is the mean of three ATC, `median-of-seven` the median of seven estimators of several kinds, which resists
members that are far off in a domain. Members are in `COMBINATIONS` of the catalogue. `group-accuracy` gives every
domain the accuracy of the training group: the floor that others must beat.

`recommended` is the median of seven, or a method that is better on six or more labelled domains. Every candidate is
fitted on all labelled domains but one and estimates that one. The median is chosen unless another candidate's mean
error over the domains is smaller by more than the standard error of the difference, because a choice among few domains
is noisy. Only training rows are used. With one or two labelled domains it is the consensus, which is better there on
larger models, and so it is where the median cannot be fitted. docs/how_well.md compares the two. The necessary number
of domains was learned by leaving out one model and one domain at a time (`make bench-learned`). The validation of six
domains holds out each of them, and chooses by the other five.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.estimators.estimator_base import Estimator, FitFailure, Fits
from entropy_sentinel.estimators.estimator_registry import (
    CANDIDATES,
    COMBINATIONS,
    FEWEST_FOR_FIRST,
    FEWEST_TO_CHOOSE,
    RECOMMENDED,
)
from entropy_sentinel.estimators.training_rows import TrainingRows

_SUMMARIES: dict[str, Callable[..., np.ndarray]] = {"mean": np.mean, "median": np.median}


@dataclass(frozen=True)
class Combination(Estimator):
    """The mean or median of the members' estimates; P(correct) is the mean over `rankers`."""

    summary: str
    members: tuple[Estimator, ...]
    rankers: tuple[Estimator, ...]

    def values(self, features: pl.DataFrame) -> np.ndarray:
        """The members' values, one of each, (n_rows, n_members)."""
        return np.hstack([member.values(features) for member in self.members])

    def accuracies_of(self, means: np.ndarray) -> np.ndarray:
        """The mean or median of the members' accuracies, (n_slices,), from the means of their values."""
        estimates = np.empty((len(means), len(self.members)))
        # Each member has one value per response, and so one column of the means.
        for place, (member, column) in enumerate(zip(self.members, means.T, strict=True)):
            estimates[:, place] = member.accuracies_of(column[:, None])
        return _SUMMARIES[self.summary](estimates, axis=1)

    def p_correct(self, features: pl.DataFrame) -> np.ndarray | None:
        """The mean P(correct) of the rankers that give one, (n_rows,); None if none does."""
        ranker_probabilities = []
        for ranker in self.rankers:
            p = ranker.p_correct(features)
            if p is not None:
                ranker_probabilities.append(p)
        return np.asarray(np.mean(ranker_probabilities, axis=0)) if ranker_probabilities else None


def default_candidate(rows: TrainingRows) -> str:
    """The candidate of `recommended` without a reason for another: the first, or with few domains the second.

    A held-out domain counts, so that the validation takes what is taken on all domains.
    """
    first, second = CANDIDATES[:2]
    enough = len(np.unique(rows.domains)) + rows.n_left_out >= FEWEST_FOR_FIRST
    return first if enough and isinstance(rows.fit(first), Estimator) else second


@dataclass(frozen=True)
class Recommended(Estimator):
    """The chosen method, with the reason and the error of each candidate.

    If the method gives no P(correct), as a threshold does, `ranker` gives it.
    """

    method: Estimator
    ranker: Estimator
    why: dict[str, Any]

    def values(self, features: pl.DataFrame) -> np.ndarray:
        return self.method.values(features)

    def accuracies_of(self, means: np.ndarray) -> np.ndarray:
        return self.method.accuracies_of(means)

    def p_correct(self, features: pl.DataFrame) -> np.ndarray | None:
        """P(correct) of the method or, if it gives none, of `ranker`."""
        p = self.method.p_correct(features)
        return self.ranker.p_correct(features) if p is None else p

    def refit(self, rows: Fits) -> "Recommended":
        return replace(self, method=rows.require(self.method.name), ranker=rows.require(self.ranker.name))

    @property
    def chosen(self) -> dict[str, Any]:
        """`method`, `domains` (the number of labelled ones), `reason`, and `leave_one_out_aee` by candidate if
        measured.
        """
        return {"method": self.method.name, **self.why}


def leave_one_out_errors(rows: TrainingRows) -> dict[str, np.ndarray]:
    """|estimated - true| of each held-out domain by candidate, (n_domains,).

    Each candidate is fitted on the other domains. A candidate that cannot be fitted every time is left out.
    """
    errors: dict[str, list[float]] = {candidate: [] for candidate in CANDIDATES}
    for domain in np.unique(rows.domains):
        left_out = rows.domains == domain
        training = rows.part(~left_out)
        features, true = rows.features.filter(left_out), rows.y[left_out].mean()
        for candidate in CANDIDATES:
            fitted = training.fit(candidate)
            # A candidate that cannot be fitted on all domains cannot be recommended.
            if isinstance(fitted, FitFailure) or isinstance(rows.fit(candidate), FitFailure):
                errors[candidate].append(math.nan)
            else:
                errors[candidate].append(abs(fitted.accuracy(features) - true))
    always_fitted = {}
    for candidate, domain_errors in errors.items():
        if not np.isnan(domain_errors).any():
            always_fitted[candidate] = np.array(domain_errors)
    return always_fitted


def choose_candidate(errors: Mapping[str, np.ndarray]) -> tuple[str, str]:
    """The candidate to use and the reason, from errors by candidate, (n_domains,) each and at least 2.

    It is the candidate of least mean error among those that beat the first by more than one standard error of the
    mean paired difference (the one-standard-error rule: Breiman et al. 1984, section 3.4.3), or else the first.
    """
    first, *rivals = errors
    better = []
    for candidate in rivals:
        gains = errors[first] - errors[candidate]
        if gains.mean() > gains.std(ddof=1) / math.sqrt(len(gains)):
            better.append(candidate)
    if not better:
        return first, "no other method was clearly better"
    best = min(better, key=lambda candidate: errors[candidate].mean())
    return best, f"clearly better than {first} on held-out domains"


@dataclass(frozen=True)
class GroupAccuracy(Estimator):
    """Gives every slice the accuracy of the training rows."""

    training_accuracy: float

    def values(self, features: pl.DataFrame) -> np.ndarray:
        return np.full((len(features), 1), self.training_accuracy)


SAVED = (Combination, Recommended, GroupAccuracy)


def fit(name: str, rows: TrainingRows) -> Estimator:
    """Fit every member, or choose a candidate; raise CannotFit with the first reason why a member cannot be fitted.

    A combination fitted on rows of one class gives no P(correct), because they allow no ranking.
    """
    rows.require_rows()
    if name == "group-accuracy":
        return GroupAccuracy(name, rows.accuracy)
    if name == RECOMMENDED:
        return _recommend_method(name, rows)
    recipe = COMBINATIONS[name]
    members = tuple(rows.require(member) for member in recipe.members)
    rankers = [rows.fit(ranker) for ranker in recipe.rankers]
    fitted = tuple(ranker for ranker in rankers if isinstance(ranker, Estimator))
    return Combination(name, recipe.summary, members, fitted)


def _recommend_method(name: str, rows: TrainingRows) -> Recommended:
    """Choose among `CANDIDATES` on these rows, or take the default with few domains; fit the method on all rows."""
    n_domains = len(np.unique(rows.domains))
    default = default_candidate(rows)
    if n_domains + rows.n_left_out < FEWEST_TO_CHOOSE:
        method = default
        reason = f"a choice needs {FEWEST_TO_CHOOSE} labelled domains; there are {n_domains}"
        why: dict[str, Any] = {"domains": n_domains, "reason": reason}
    else:
        errors = leave_one_out_errors(rows)
        method, reason = choose_candidate(errors)
        means = {candidate: round(float(domain_errors.mean()), 4) for candidate, domain_errors in errors.items()}
        why = {"domains": n_domains, "reason": reason, "leave_one_out_aee": means}
    return Recommended(name, rows.require(method), rows.require(default), why)
