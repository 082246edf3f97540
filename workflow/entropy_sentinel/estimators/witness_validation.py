"""Responses of the labelled domains with witnesses, and the true accuracies that these give a validation.

Estimators are fitted on labels by people only; a judge's errors would be learned. The witnesses make the true accuracy
of a held-out domain more precise (`statistics.witnessed_accuracies`), so that a domain counts with fewer labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import polars as pl
from pydantic import AfterValidator, with_config

from entropy_sentinel.estimators.estimator_base import Estimator
from entropy_sentinel.estimators.field_types import EXACT_FIELDS, Share, Weight, Whole
from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.schemas.witness_schema import WitnessKind
from entropy_sentinel.statistics.design_effects import independent_sample_size
from entropy_sentinel.statistics.witness_powers import FEWEST_FOR_POWERS
from entropy_sentinel.statistics.witness_quality import Measure, Rate, measure_probabilities, measure_verdicts
from entropy_sentinel.statistics.witnessed_accuracies import WitnessedDomain, response_influences

# With verdicts on this many responses, a domain counts with this many labels. 20 labels alone are as few responses.
FEWEST_JUDGED, FEWEST_JUDGED_LABELS = 20, 5
_LEVEL = 0.9


class WitnessModel(NamedTuple):
    """The model behind a witness, null if unknown, the witness's kind and name, and whether it gives probabilities."""

    kind: WitnessKind
    model: str | None
    name: str
    has_probabilities: bool


def _check_rate(rate: Rate) -> Rate:
    if rate.n < 0 or any(part is not None and not 0 <= part <= 1 for part in (rate.share, rate.lower, rate.upper)):
        raise ValueError("must be shares between 0 and 1, of 0 responses or more")
    return rate


def _check_measure(measure: Measure) -> Measure:
    if measure.n < 0 or any(part is not None and abs(part) > 2 for part in (measure.lower, measure.upper)):
        raise ValueError("must have limits between -2 and 2, by 0 labels or more")
    if measure.value is not None and abs(measure.value) > 1:
        raise ValueError("must be between -1 and 1")
    return measure


_Rate = Annotated[Rate, AfterValidator(_check_rate)]
_Measure = Annotated[Measure, AfterValidator(_check_measure)]


@with_config(EXACT_FIELDS)
@dataclass(frozen=True)
class WitnessSummary:
    """What a validation knows of a witness.

    `n_labelled` responses of the labelled domains have a label and the witness, `n_judged` have the witness. It counts
    in `n_domains` of the domains. `sensitivity` and `specificity` are those of verdicts and second opinions, `auroc`
    and `calibration_error` those of probabilities. `power` is the weight of its values, from 0 (useless) to 1, null if
    it counts in no domain. `worth` is how many labels without witnesses tell as much as one label with all of them;
    null if no domain rests on them.
    """

    name: str
    kind: WitnessKind
    model: str | None
    n_labelled: Whole
    n_judged: Whole
    n_domains: Whole
    sensitivity: _Rate | None
    specificity: _Rate | None
    auroc: _Measure | None
    calibration_error: _Measure | None
    worth: Weight | None
    power: Share | None

    def line(self) -> str:
        """A sentence with its numbers."""
        n_labels = format_count(self.n_labelled, "label")
        if self.sensitivity is not None and self.specificity is not None:
            says, does_not = "says correct for", "incorrect for"
            if self.kind == WitnessKind.SECOND_OPINION:
                says, does_not = "agrees with", "disagrees with"
            quality = (
                f"{says} {self.sensitivity} of {format_count(self.sensitivity.n, 'correct response')}, and {does_not} "
                f"{self.specificity} of {self.specificity.n:,} incorrect ones"
            )
        else:
            quality = f"AUROC {self.auroc}, mean probability minus accuracy {self.calibration_error}"
        line = f"{self.name}: {quality}, by {n_labels} (90% intervals); {format_count(self.n_judged, 'verdict')} in all"
        if self.power is None:
            return (
                f"{line}. No domain rests on it: that needs {FEWEST_JUDGED_LABELS} labels with a verdict and "
                f"{FEWEST_JUDGED} verdicts in a domain, and at least {FEWEST_FOR_POWERS} labels more than domains"
            )
        return f"{line}; power {self.power:.2f} in {format_count(self.n_domains, 'domain')}"


def summary_lines(witnesses: Sequence[WitnessSummary]) -> list[str]:
    """A sentence about each witness (judge or second model), and one about what a label is worth with all of them."""
    lines = [witness.line() for witness in witnesses]
    worth = next((witness.worth for witness in witnesses if witness.worth is not None), None)
    if worth is not None:
        lines.append(f"with {'it' if len(witnesses) == 1 else 'them'}, one label counts as {worth:.1f}")
    return lines


@dataclass(frozen=True)
class WitnessedRows:
    """Responses of labelled domains with a witness: features without nulls, and (m_rows,) for everything else.

    `values`, (m_rows, k), are what the `witnesses` say, NaN where one says nothing. `labels` are 0, 1, or NaN without a
    label by people. `weights`, (m_rows, k), and `label_weights` are how many responses each value and each label
    represents; NaN if unknown. A value without a weight, beside others of its witness that have one, only corrects the
    witness. `items` are the numbers of clusters of dependent responses, whose labels have the correlation `similarity`.
    """

    features: pl.DataFrame
    domains: np.ndarray
    witnesses: tuple[WitnessModel, ...]
    values: np.ndarray
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
    def sample_weights(self) -> np.ndarray:
        """The weight of each response in the sample of each witness (judge or second model), (m_rows, k); 0 outside."""
        has_weight = ~np.isnan(self.weights)
        has_weights = (has_weight & ~np.isnan(self.values)).any(axis=0)
        weights = np.where(has_weights, np.nan_to_num(self.weights), 1.0)
        sample_weights: np.ndarray = np.where(np.isnan(self.values), 0.0, weights)
        return sample_weights

    @property
    def recognises(self) -> list[bool]:
        """Which of P(correct) and the witnesses, (1 + k,), say whether a response is correct: all but P(correct).

        Witnesses are judges or second models. `statistics.witness_powers` keeps these in use even if no label is wrong.
        """
        return [False, *[True] * len(self.witnesses)]

    def counted_domains(self) -> dict[str, tuple[int, ...]]:
        """By domain, the numbers, from 1, of the witnesses (judges or second models) with enough labels and responses.

        Domains without such a witness are left out. All together, the labels must be enough to tell the witnesses'
        powers, the weights of their values; otherwise no domain counts.
        """
        sample, seen = self.sample_weights > 0, ~np.isnan(self.values)
        counted_domains: dict[str, tuple[int, ...]] = {}
        n_labels = 0
        for name in np.unique(self.domains):
            rows = self.domains == name
            numbers = []
            for number in range(len(self.witnesses)):
                labels = self._size(rows & self.is_labelled & seen[:, number])
                judged = self._size(rows & sample[:, number])
                if labels >= FEWEST_JUDGED_LABELS and judged >= FEWEST_JUDGED:
                    numbers.append(number + 1)
            if numbers:
                counted_domains[str(name)] = tuple(numbers)
                n_labels += int((rows & self.is_labelled).sum())
        return counted_domains if n_labels - len(counted_domains) >= FEWEST_FOR_POWERS else {}

    def estimate(self, domain: str, columns: tuple[int, ...], fitted: Estimator) -> "WitnessedEstimate":
        """What an estimator fitted without a domain says of its responses, with their labels and witnesses (judges).

        `columns` are the numbers of the witnesses that count, from 1; the estimate is that of the largest of their
        samples.
        """
        rows = self.domains == domain
        labelled, samples = self.is_labelled[rows], self.sample_weights[rows]
        weights = max((samples[:, column - 1] for column in columns), key=lambda each: int((each > 0).sum()))
        sample = weights > 0
        features = self.features.filter(rows)
        values, shares = fitted.values(features.filter(sample)), weights[sample]
        influences = np.zeros(len(weights))  # of each response on the estimate
        influences[sample] = response_influences(values, fitted.accuracies_of, shares)
        p = fitted.p_correct(features)
        # P(correct) counts like a witness; zeros tell nothing, if the estimator gives none.
        p_correct = np.zeros(len(weights)) if p is None else np.clip(p, 0, 1)
        witnesses = np.column_stack([p_correct, self.values[rows]])
        label_weights = self.label_weights[rows][labelled]
        any_sample = np.isin(np.arange(len(self.labels)), np.flatnonzero(rows)[(samples > 0).any(axis=1)])
        return WitnessedEstimate(
            float(fitted.accuracy_of(shares @ values / shares.sum())),
            WitnessedDomain(
                self.labels[rows][labelled],
                witnesses=witnesses[labelled],
                all_witnesses=witnesses,
                influences=influences,
                n=self._size(rows & self.is_labelled),
                m=self._size(any_sample) * len(weights) / int(any_sample.sum()),
                weights=None if np.isnan(label_weights).any() else label_weights,
                all_weights=np.column_stack([weights, samples]),
                columns=columns,
                clusters=self.items[rows][labelled],
            ),
            self._size(any_sample),
        )

    def summarise(
        self, worth: float | None = None, powers: np.ndarray | None = None, counts: np.ndarray | None = None
    ) -> tuple[WitnessSummary, ...]:
        """How good each witness (judge or second model) is by the labels.

        `worth` is that of a label with all witnesses. `powers` and `counts`, (1 + k,), are of P(correct) and then of
        each witness: the weight of its values, and the number of domains in which it counts. None if none counts.
        """
        summaries = []
        for number, witness in enumerate(self.witnesses):
            values = self.values[:, number]
            both = self.is_labelled & ~np.isnan(values)
            sensitivity, specificity = measure_verdicts(self.labels[both], values[both], _LEVEL)
            auroc, error = measure_probabilities(self.labels[both], values[both], _LEVEL)
            has_power = powers is not None and not np.isnan(powers[number + 1])
            summaries.append(
                WitnessSummary(
                    name=witness.name,
                    kind=witness.kind,
                    model=witness.model,
                    n_labelled=int(both.sum()),
                    n_judged=int((~np.isnan(values)).sum()),
                    n_domains=0 if counts is None else int(counts[number + 1]),
                    sensitivity=None if witness.has_probabilities else sensitivity,
                    specificity=None if witness.has_probabilities else specificity,
                    auroc=auroc if witness.has_probabilities else None,
                    calibration_error=error if witness.has_probabilities else None,
                    worth=worth,
                    power=float(powers[number + 1]) if powers is not None and has_power else None,
                )
            )
        return tuple(summaries)

    def _size(self, rows: np.ndarray) -> int:
        """The effective number of independent responses among some rows."""
        return independent_sample_size(self.items[rows], self.similarity) if rows.any() else 0


@dataclass(frozen=True)
class WitnessedEstimate:
    """The estimate of a domain's largest sample, the domain's labels and witnesses, and its number of responses."""

    estimated: float
    domain: WitnessedDomain
    n_judged: int
