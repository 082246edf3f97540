"""What failed or is missing in a study, and advice: the accuracy of a training group, and which domain to add."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from entropy_sentinel.analyses.accuracy.validation import ModelValidation
from entropy_sentinel.analyses.headings import TrainingGroup
from entropy_sentinel.estimators.catalogue import in_order, title
from entropy_sentinel.frames.label import NO_REFERENCE
from entropy_sentinel.frames.printable import number

# Shares of a domain's responses from which they are reported.
SHARE = 0.05
# At most this many estimators are named; beyond it only their number is given.
_NAMED = 3


def failures(sweep: pl.DataFrame, validations: Sequence[ModelValidation]) -> list[str]:
    """Name in sentences the missing results: domains without a recommended estimate, and rows of SWEEP by reason."""
    lines = [
        f"{validation.model}, {domain.domain}: the recommended estimator gives no estimate: {domain.reason}."
        for validation in validations
        for domain in (*validation.left_out, *validation.unlabelled)
        if domain.estimated is None
    ]
    lines += [
        f"{validation.model}: no recommended estimator could be fitted: {validation.method_reason}."
        for validation in validations
        if validation.method is None
    ]
    unseen = sweep.filter(pl.col("scope") == "held_out")
    nulls = unseen.filter(pl.col("aee").is_null())
    for (reason,), rows in nulls.group_by("reason", maintain_order=True):
        models = ", ".join(rows["model"].unique(maintain_order=True))
        lines.append(
            f"{len(rows)} of {len(unseen)} errors on unseen domains, one for each estimator and training group, could "
            f"not be computed ({models}; {_estimators(rows)}): {reason or 'no reason given'}."
        )
    return lines


def gaps(domains: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the domains where at least SHARE of the responses are unlabelled, lack features or are truncated.

    `domains` is a frame DOMAINS. `model`, `benchmark`, `unlabelled`, `featureless`, `cut_off` in [0, 1], and `reasons`.
    Responses to items without a reference do not count as unlabelled, because a judge has nothing to compare them with.
    """
    rows = []
    for row in domains.filter(pl.col("n_responses") > 0).iter_rows(named=True):
        reasons, n = json.loads(row["reasons"]), row["n_responses"]
        shares = {
            "unlabelled": (row["n_unlabelled"] - reasons.pop(NO_REFERENCE, 0)) / n,
            "featureless": row["n_featureless"] / n,
            "cut_off": row["n_truncated"] / n,
        }
        if max(shares.values()) >= SHARE:
            told = "; ".join(f"{reason}: {count}" for reason, count in reasons.items())
            rows.append({"model": row["model"], "benchmark": row["benchmark"], **shares, "reasons": told or "-"})
    return rows


def _estimators(rows: pl.DataFrame) -> str:
    names = in_order(rows["estimator"].unique())
    return ", ".join(map(title, names)) if len(names) <= _NAMED else f"{len(names)} estimators"


# Weighted accuracies of the training group between which the paper's errors are least (section 5, RQ3).
LOWEST, HIGHEST = 0.4, 0.7
_MIDDLE = (LOWEST + HIGHEST) / 2

# By domain: its accuracy, true or estimated, and its number of responses.
Accuracies = Mapping[str, tuple[float, int]]


@dataclass(frozen=True)
class Advice:
    """Advice for one model on one set of training domains, named by `what`.

    `accuracy` is the set's weighted accuracy, null if the accuracy of a domain is unknown. `add` is the domain that
    would bring it closer to the middle of the range, null if it is already inside or no domain helps; `with_it` is the
    accuracy after adding it. `to_label`: the domain is unlabelled, so its accuracy is an estimate.
    """

    model: str
    what: str
    accuracy: float | None
    add: str | None = None
    with_it: float | None = None
    to_label: bool = False

    @property
    def outside(self) -> bool:
        """Whether the user should be warned."""
        return self.accuracy is not None and not LOWEST <= self.accuracy <= HIGHEST

    @property
    def text(self) -> str:
        """The advice in words."""
        if self.accuracy is None:
            return f"{self.what}: its accuracy is unknown, because one of its domains has no labels."
        where = f"{self.what}: weighted accuracy {number(self.accuracy, '.2f')}"
        if not self.outside:
            return f"{where}, inside {LOWEST}-{HIGHEST}, where the paper's errors are least."
        what = f"{where}, outside {LOWEST}-{HIGHEST}, where the paper's errors are least: too {self._side}."
        if self.add is None:
            return f"{what} No other domain of the study would bring it closer."
        verb = "Labels for" if self.to_label else "Adding"
        return f"{what} {verb} {self.add} would make it {number(self.with_it, '.2f')}."

    @property
    def _side(self) -> str:
        return "easy" if self.accuracy is not None and self.accuracy > HIGHEST else "hard"


def advise(domains: pl.DataFrame, validations: Collection[ModelValidation], group: TrainingGroup) -> list[Advice]:
    """Advise each model on its training group and on all its labelled domains; `domains` is a frame DOMAINS."""
    sets = []
    for validation in validations:
        rows = domains.filter(pl.col("model") == validation.model, pl.col("accuracy").is_not_null())
        known = {name: (accuracy, n) for name, accuracy, n in rows["benchmark", "accuracy", "n_responses"].iter_rows()}
        title = f"training group {group.title}" if group.title != group.benchmarks else "training group"
        sets.append(_advice(validation.model, f"{title} ({group.benchmarks})", group.group.split("+"), known))
        estimated = {
            domain.domain: (domain.estimated, domain.n)
            for domain in validation.unlabelled
            if domain.estimated is not None
        }
        every = f"all {len(known)} labelled domains"
        sets.append(_advice(validation.model, every, known, {**known, **estimated}, to_label=True))
    return sets


def _advice(model: str, what: str, names: Collection[str], known: Accuracies, to_label: bool = False) -> Advice:
    """Advise on the set `names`; the other domains of `known` can be added."""
    if not names or any(name not in known for name in names):
        return Advice(model, what, None)
    accuracy = _weighted(known, names)
    with_it = {name: _weighted(known, [*names, name]) for name in known if name not in names}
    nearest = min(with_it, key=lambda name: abs(with_it[name] - _MIDDLE), default=None)
    if LOWEST <= accuracy <= HIGHEST or nearest is None or abs(with_it[nearest] - _MIDDLE) >= abs(accuracy - _MIDDLE):
        return Advice(model, what, accuracy)
    return Advice(model, what, accuracy, nearest, with_it[nearest], to_label)


def _weighted(known: Accuracies, names: Collection[str]) -> float:
    """Return the mean accuracy of domains, weighted by their numbers of responses (paper, section 5, RQ3)."""
    return sum(known[name][0] * known[name][1] for name in names) / sum(known[name][1] for name in names)
