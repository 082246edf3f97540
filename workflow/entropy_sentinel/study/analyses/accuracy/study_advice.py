"""What failed or is missing in a study, and advice: the accuracy of a training group, and which domain to add."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from entropy_sentinel.estimators.estimator_registry import estimator_title, sort_estimators
from entropy_sentinel.formatting.text_format import format_number
from entropy_sentinel.schemas.label_schema import NO_REFERENCE
from entropy_sentinel.study.analyses.accuracy.measuring.study_validation import ModelValidation
from entropy_sentinel.study.analyses.display_names import TrainingGroup

# Report a domain if at least this share of its responses is unlabelled, lacks features or is truncated.
SHARE = 0.05
# Name at most this many estimators; if there are more, give only their number.
_MAX_NAMED = 3


def describe_failures(sweep: pl.DataFrame, validations: Sequence[ModelValidation]) -> list[str]:
    """Sentences that list missing estimates and estimators, and the reasons for null errors in `sweep` (SWEEP)."""
    lines: list[str] = []
    unfitted: list[str] = []
    for validation in validations:
        for domain in (*validation.left_out, *validation.unlabelled):
            if domain.estimated is None:
                where = f"{validation.model}, {domain.domain}"
                lines.append(f"{where}: the recommended estimator gives no estimate: {domain.reason}.")
        if validation.method is None:
            why = validation.method_reason
            unfitted.append(f"{validation.model}: no recommended estimator could be fitted: {why}.")
    lines += unfitted
    unseen = sweep.filter(pl.col("scope") == "held_out")
    nulls = unseen.filter(pl.col("aee").is_null())
    for (reason,), rows in nulls.group_by("reason", maintain_order=True):
        models = ", ".join(rows["model"].unique(maintain_order=True))
        lines.append(
            f"The error on unseen domains could not be computed for {len(rows)} of {len(unseen)} combinations of "
            f"model, estimator and training group ({models}; {_name_estimators(rows)}): {reason or 'no reason given'}."
        )
    return lines


def find_gaps(domains: pl.DataFrame) -> list[dict[str, Any]]:
    """The domains where at least SHARE of the responses are unlabelled, lack features or are truncated.

    `domains` is a frame DOMAINS. Each row has `model`, `benchmark`, `reasons`, and three shares in [0, 1]:
    `unlabelled`, `featureless` and `cut_off`.
    Responses to items without a reference do not count as unlabelled, because a judge has nothing to compare them with.
    """
    rows = []
    for row in domains.filter(pl.col("n_responses") > 0).iter_rows(named=True):
        n = row["n_responses"]
        reasons = json.loads(row["reasons"])  # counts by reason
        shares = {
            "unlabelled": (row["n_unlabelled"] - reasons.pop(NO_REFERENCE, 0)) / n,
            "featureless": row["n_featureless"] / n,
            "cut_off": row["n_truncated"] / n,
        }
        if max(shares.values()) >= SHARE:
            gap = {"model": row["model"], "benchmark": row["benchmark"], **shares, "reasons": format_reasons(reasons)}
            rows.append(gap)
    return rows


def format_reasons(counts: Mapping[str, int]) -> str:
    """Reasons with their numbers, `no label: 3; timeout: 1`; "-" without any."""
    return "; ".join(f"{reason}: {count}" for reason, count in counts.items()) or "-"


def _name_estimators(rows: pl.DataFrame) -> str:
    """The titles of the estimators in rows of SWEEP, or only their number if there are many."""
    names = sort_estimators(rows["estimator"].unique())
    return ", ".join(map(estimator_title, names)) if len(names) <= _MAX_NAMED else f"{len(names)} estimators"


# The paper's errors are smallest for training groups with a weighted accuracy in this range (section 5, RQ3).
LOWEST, HIGHEST = 0.4, 0.7
_MIDDLE = (LOWEST + HIGHEST) / 2

# Each domain's accuracy (true or estimated) and number of responses.
Accuracies = Mapping[str, tuple[float, int]]


@dataclass(frozen=True)
class Advice:
    """Advice for one model on one set of training domains; `what` names the set in words.

    `accuracy` is the set's weighted accuracy, null if the accuracy of a domain is unknown. `add` is the domain that
    would bring `accuracy` closest to the middle of the range from LOWEST to HIGHEST, null if `accuracy` is already in
    the range or no domain helps. `with_it` is the accuracy with that domain added. If `to_label` is true, the domain is
    unlabelled and its accuracy is an estimate.
    """

    model: str
    what: str
    accuracy: float | None
    add: str | None = None
    with_it: float | None = None
    to_label: bool = False

    @property
    def outside(self) -> bool:
        """Whether the accuracy is known and outside the range."""
        return self.accuracy is not None and not LOWEST <= self.accuracy <= HIGHEST

    @property
    def text(self) -> str:
        """The advice in words."""
        if self.accuracy is None:
            return f"{self.what}: accuracy unknown, because at least one of its domains has no labels."
        where = f"{self.what}: weighted accuracy {format_number(self.accuracy, '.2f')}"
        if not self.outside:
            return f"{where}, inside {LOWEST}-{HIGHEST}, where the paper's errors are smallest."
        side = "easy" if self.accuracy > HIGHEST else "hard"
        problem = f"{where}, too {side}: the paper's errors are smallest between {LOWEST} and {HIGHEST}."
        if self.add is None:
            return f"{problem} No other domain of the study would bring it closer."
        verb = "Labels for" if self.to_label else "Adding"
        return f"{problem} {verb} {self.add} would make it {format_number(self.with_it, '.2f')}."


def write_advice(domains: pl.DataFrame, validations: Collection[ModelValidation], group: TrainingGroup) -> list[Advice]:
    """Advice on each model's training group and on all its labelled domains; `domains` is a frame DOMAINS."""
    title = f"training group {group.title}" if group.title != group.benchmarks else "training group"
    advice = []
    for validation in validations:
        model = validation.model
        rows = domains.filter(pl.col("model") == model, pl.col("accuracy").is_not_null())
        accuracies = {
            name: (accuracy, n) for name, accuracy, n in rows["benchmark", "accuracy", "n_responses"].iter_rows()
        }
        advice.append(_advise_on_domains(model, f"{title} ({group.benchmarks})", group.group_id.split("+"), accuracies))
        extended = dict(accuracies)
        for domain in validation.unlabelled:
            if domain.estimated is not None:
                extended[domain.domain] = (domain.estimated, domain.n)
        advice.append(
            _advise_on_domains(model, f"all {len(accuracies)} labelled domains", accuracies, extended, to_label=True)
        )
    return advice


def _advise_on_domains(
    model: str, what: str, names: Collection[str], accuracies: Accuracies, to_label: bool = False
) -> Advice:
    """Advice on the training domains `names`; any other domain in `accuracies` may be added.

    `to_label` says that those others are unlabelled, with estimated accuracies.
    """
    if not names or any(name not in accuracies for name in names):
        return Advice(model, what, None)
    accuracy = _weigh_accuracies(accuracies, names)
    # The set's accuracy with one more domain, by that domain.
    extended = {name: _weigh_accuracies(accuracies, [*names, name]) for name in accuracies if name not in names}
    nearest = min(extended, key=lambda name: abs(extended[name] - _MIDDLE), default=None)
    is_inside = LOWEST <= accuracy <= HIGHEST
    if is_inside or nearest is None or abs(extended[nearest] - _MIDDLE) >= abs(accuracy - _MIDDLE):
        return Advice(model, what, accuracy)
    return Advice(model, what, accuracy, add=nearest, with_it=extended[nearest], to_label=to_label)


def _weigh_accuracies(accuracies: Accuracies, names: Collection[str]) -> float:
    """The mean accuracy of domains, weighted by their numbers of responses (paper, section 5, RQ3)."""
    parts = [accuracies[name] for name in names]
    return sum(accuracy * n for accuracy, n in parts) / sum(n for _, n in parts)
