"""Advice on training groups: how accurate their responses are together, and which domain to add."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import polars as pl

from entropy_sentinel.analyses.accuracy.showing.verdicts import ModelValidation
from entropy_sentinel.analyses.headings import TrainingGroup
from entropy_sentinel.frames.numbers import number

# Weighted accuracies of the training group between which the paper's errors are least (section 5, RQ3).
LOWEST, HIGHEST = 0.4, 0.7
_MIDDLE = (LOWEST + HIGHEST) / 2

# By domain: its accuracy, true or estimated, and its number of responses.
Accuracies = Mapping[str, tuple[float, int]]


@dataclass(frozen=True)
class Advice:
    """On one model and one set of training domains, `what`.

    `accuracy` is the set's weighted accuracy, null where a domain has none; `add` the domain that would bring it nearer
    to the middle of the range, null where it is inside or none would, and `with_it` the accuracy then. `to_label` says
    that nobody has labelled that domain: its accuracy is an estimate.
    """

    model: str
    what: str
    accuracy: float | None
    add: str | None = None
    with_it: float | None = None
    to_label: bool = False

    @property
    def outside(self) -> bool:
        """Whether to be warned."""
        return self.accuracy is not None and not LOWEST <= self.accuracy <= HIGHEST

    @property
    def text(self) -> str:
        """What to tell the user."""
        if self.accuracy is None:
            return f"{self.what}: its accuracy is not known, for a domain of it has no labels."
        where = f"{self.what}: weighted accuracy {number(self.accuracy, '.2f')}"
        if not self.outside:
            return f"{where}, inside {LOWEST}-{HIGHEST}, where the paper's errors are least."
        what = f"{where}, outside {LOWEST}-{HIGHEST}, where the paper's errors are least: too {self._side}."
        if self.add is None:
            return f"{what} No other domain of the study would bring it nearer."
        verb = "Labels for" if self.to_label else "Adding"
        return f"{what} {verb} {self.add} would make it {number(self.with_it, '.2f')}."

    @property
    def _side(self) -> str:
        return "easy" if self.accuracy is not None and self.accuracy > HIGHEST else "hard"


def advise(domains: pl.DataFrame, validations: Collection[ModelValidation], group: TrainingGroup) -> list[Advice]:
    """For each model advice on the training group, and on all its labelled domains; `domains` is a frame DOMAINS."""
    found = []
    for validation in validations:
        rows = domains.filter(pl.col("model") == validation.model, pl.col("accuracy").is_not_null())
        known = {name: (accuracy, n) for name, accuracy, n in rows["benchmark", "accuracy", "n_responses"].iter_rows()}
        title = f"training group {group.title}" if group.title != group.benchmarks else "training group"
        found.append(_advice(validation.model, f"{title} ({group.benchmarks})", group.group.split("+"), known))
        estimated = {one.domain: (one.estimated, one.n) for one in validation.unlabelled if one.estimated is not None}
        every = f"all {len(known)} labelled domains"
        found.append(_advice(validation.model, every, known, {**known, **estimated}, to_label=True))
    return found


def _advice(model: str, what: str, names: Collection[str], known: Accuracies, to_label: bool = False) -> Advice:
    """Advice on the set `names`; what can be added is the rest of `known`."""
    if not names or any(name not in known for name in names):
        return Advice(model, what, None)
    accuracy = _weighted(known, names)
    with_it = {name: _weighted(known, [*names, name]) for name in known if name not in names}
    nearest = min(with_it, key=lambda name: abs(with_it[name] - _MIDDLE), default=None)
    if LOWEST <= accuracy <= HIGHEST or nearest is None or abs(with_it[nearest] - _MIDDLE) >= abs(accuracy - _MIDDLE):
        return Advice(model, what, accuracy)
    return Advice(model, what, accuracy, nearest, with_it[nearest], to_label)


def _weighted(known: Accuracies, names: Collection[str]) -> float:
    """The mean accuracy of domains, weighted by their numbers of responses (paper, section 5, RQ3)."""
    return sum(known[name][0] * known[name][1] for name in names) / sum(known[name][1] for name in names)
