"""Responses of the labelled domains with a judge's verdicts, and the true accuracies that these give a validation.

Estimators are fitted on labels by people only; a judge's errors would be learned. The verdicts make the true accuracy
of a held-out domain more precise (`statistics.witnesses`), so that a domain counts with fewer labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.estimators.estimator import Estimator
from entropy_sentinel.formatting.text import counted
from entropy_sentinel.statistics.agreement import wilson
from entropy_sentinel.statistics.clustering import effective_size
from entropy_sentinel.statistics.witnesses import FEWEST_FOR_POWERS, WitnessedDomain, influences

# With verdicts on this many responses, a domain counts with this many labels. 20 labels alone are as few responses.
FEWEST_JUDGED, FEWEST_JUDGED_LABELS = 20, 5
_LEVEL = 0.9


@dataclass(frozen=True)
class Rate:
    """How often a judge is right about `n` responses: their share, with its 90 % interval; null without a response."""

    n: int
    share: float | None
    lower: float | None
    upper: float | None

    @classmethod
    def of(cls, agrees: np.ndarray) -> "Rate":
        """Return the rate from whether the judge agrees with each label, (n,)."""
        if not len(agrees):
            return cls(0, None, None, None)
        return cls(len(agrees), *wilson(float(agrees.sum()), len(agrees), _LEVEL).known())

    def __str__(self) -> str:
        if self.share is None:
            return "an unknown share"
        return f"{self.share:.2f} ({self.lower:.2f} to {self.upper:.2f})"


@dataclass(frozen=True)
class JudgeSummary:
    """What a validation knows of its judge.

    `n_labelled` responses of the labelled domains have a label and a verdict, `n_judged` have a verdict. `n_domains` of
    the domains that count rest on the judge. `worth` is how many labels without a judge tell as much as one label with
    it, and `power` the weight of its verdicts, from 0 (useless) to 1; both are null if no domain rests on it.
    """

    n_labelled: int
    n_judged: int
    n_domains: int
    sensitivity: Rate
    specificity: Rate
    worth: float | None
    power: float | None

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any] | None) -> "JudgeSummary | None":
        """Return the summary from JSON."""
        if kept is None:
            return None
        rates = {name: Rate(**kept[name]) for name in ("sensitivity", "specificity")}
        return cls(**{**kept, **rates})

    def as_dict(self) -> dict[str, Any]:
        """Return the summary as JSON."""
        return asdict(self)

    def line(self) -> str:
        """Return a sentence with its numbers."""
        rates = (
            f"judge: says correct for {self.sensitivity} of {counted(self.sensitivity.n, 'correct response')}, "
            f"and incorrect for {self.specificity} of {self.specificity.n:,} incorrect ones, by "
            f"{counted(self.n_labelled, 'label')} with a verdict (90% intervals); "
            f"{counted(self.n_judged, 'verdict')} in all"
        )
        if self.worth is None:
            return (
                f"{rates}. No domain rests on it: that needs {FEWEST_JUDGED_LABELS} labels with a verdict and "
                f"{FEWEST_JUDGED} verdicts in a domain, and at least {FEWEST_FOR_POWERS} labels more than domains"
            )
        return f"{rates}. One label with the judge is worth {self.worth:.1f} labels without it"


@dataclass(frozen=True)
class WitnessedRows:
    """Responses of labelled domains with a verdict: features without nulls, and (m_rows,) for everything else.

    `labels` are 0, 1, or NaN without a label by people. `weights` and `label_weights` are how many responses each
    verdict and each label represents; NaN if unknown. A verdict without a weight, beside others that have one, only
    corrects the judge. `items` are the numbers of clusters of dependent responses, whose labels have the correlation
    `similarity`.
    """

    features: pl.DataFrame
    domains: np.ndarray
    verdicts: np.ndarray
    labels: np.ndarray
    items: np.ndarray
    weights: np.ndarray
    label_weights: np.ndarray
    similarity: float = 1.0

    @property
    def is_labelled(self) -> np.ndarray:
        """Whether each response has a label by people, (m_rows,)."""
        labelled: np.ndarray = ~np.isnan(self.labels)
        return labelled

    @property
    def represents(self) -> np.ndarray:
        """Whether each verdict is one of the sample that represents its domain, (m_rows,)."""
        weighted = ~np.isnan(self.weights)
        return weighted if weighted.any() else np.ones(len(self.weights), dtype=bool)

    def counted_domains(self) -> set[str]:
        """Return the domains with enough labels and verdicts; none if all labels are too few for a judge."""
        names = set()
        n_labels = 0
        for name in np.unique(self.domains):
            labels, judged = (self._size((self.domains == name) & part) for part in (self.is_labelled, self.represents))
            if labels >= FEWEST_JUDGED_LABELS and judged >= FEWEST_JUDGED:
                names.add(str(name))
                n_labels += int(((self.domains == name) & self.is_labelled).sum())
        return names if n_labels - len(names) >= FEWEST_FOR_POWERS else set()

    def estimate(self, domain: str, fitted: Estimator) -> "WitnessedEstimate":
        """Return what an estimator fitted without a domain says of its responses."""
        here = self.domains == domain
        everywhere, labelled = here & self.represents, here & self.is_labelled
        features = self.features.filter(everywhere)
        weights = self.weights[everywhere]
        shares = np.ones(len(weights)) if np.isnan(weights).any() else weights
        values = fitted.values(features)
        label_weights = self.label_weights[labelled]
        p = fitted.p_correct(self.features.filter(here))
        # Without P(correct), the verdicts are the only witness.
        p_here = np.zeros(int(here.sum())) if p is None else np.clip(p, 0, 1)
        witnesses = np.column_stack([p_here, self.verdicts[here]])
        return WitnessedEstimate(
            float(fitted.accuracy_of(shares @ values / shares.sum())),
            WitnessedDomain(
                self.labels[labelled],
                witnesses[self.is_labelled[here]],
                witnesses[self.represents[here]],
                influences(values, fitted.accuracies_of, shares),
                self._size(labelled),
                self._size(everywhere),
                None if np.isnan(label_weights).any() else label_weights,
                shares,
            ),
        )

    def summarise(self, n_domains: int, worth: float | None, power: float | None) -> JudgeSummary:
        """Return how often the judge agrees with the labels, beside what the validation found."""
        right, says = self.labels[self.is_labelled] == 1, self.verdicts[self.is_labelled] == 1
        return JudgeSummary(
            n_labelled=len(right),
            n_judged=len(self.verdicts),
            n_domains=n_domains,
            sensitivity=Rate.of(says[right]),
            specificity=Rate.of(~says[~right]),
            worth=worth,
            power=power,
        )

    def _size(self, rows: np.ndarray) -> int:
        """Return the effective number of independent responses among some rows."""
        return effective_size(self.items[rows], self.similarity) if rows.any() else 0


@dataclass(frozen=True)
class WitnessedEstimate:
    """The estimate of a domain's judged responses, and the domain's labels and witnesses."""

    estimated: float
    domain: WitnessedDomain


# Which witnesses of `WitnessedRows.estimate` are verdicts: P(correct) is not, the judge's are.
RECOGNISES: Sequence[bool] = (False, True)
