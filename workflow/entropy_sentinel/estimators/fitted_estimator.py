"""A fitted estimator with all that is known of it."""

from dataclasses import dataclass

from entropy_sentinel.core.printable import make_one_line
from entropy_sentinel.estimators.estimator_base import Estimator
from entropy_sentinel.estimators.fit_metadata import FitMetadata
from entropy_sentinel.estimators.training_predictions import TrainingPredictions
from entropy_sentinel.estimators.validation_record import Validation
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.formatting.text_format import format_html

# Largest number of domains that the notebook view names.
_MAX_DOMAINS = 4


@dataclass(frozen=True, repr=False)
class FittedEstimator:
    """An estimator and what is known of it.

    Attributes:
        estimator: The fitted estimator.
        metadata: What it was fitted on: model, domains, log-probabilities, signals, their statistics, its validation.
        training: P(correct) of the training responses by estimators fitted without them; None for one of a study, and
            of an earlier release.
    """

    estimator: Estimator
    metadata: FitMetadata
    training: TrainingPredictions | None = None

    @property
    def validation(self) -> Validation | None:
        """Its validation; None if it was fitted on rows without domains, or by an earlier version."""
        return self.metadata.validation

    @property
    def has_estimates(self) -> bool:
        """Whether it estimates accuracies; only `no_estimator` does not."""
        return self.estimator.has_estimates

    @property
    def signals(self) -> tuple[str, ...]:
        """The signals that it needs in addition to the features."""
        return tuple(name for name in self.metadata.signals or () if name not in FEATURES)

    def __repr__(self) -> str:
        return "\n  ".join(map(make_one_line, [*self._lines(), *self._verdicts()]))

    def _repr_html_(self) -> str:
        first, *details = self._lines()
        if validation := self.validation:
            return format_html(first, details) + validation._repr_html_()
        return format_html(first, [*details, *self._verdicts()])

    def _verdicts(self) -> list[str]:
        """The verdicts of its validation, each with its first reason."""
        if not (validation := self.validation):
            return ["verdict: no validation"]
        return [f"verdict{part.scope}: {part.verdict}; {part.reasons[0]}" for part in validation.answers]

    def _lines(self) -> list[str]:
        """Lines with its name, and what it was fitted on."""
        metadata = self.metadata
        name = self.estimator.name
        if method := (metadata.chosen or {}).get("method"):
            name += f" ({method})"
        domains = metadata.domains or ["?"]
        on = f"{len(domains)} domains: {', '.join(domains[:_MAX_DOMAINS])}"
        if len(domains) > _MAX_DOMAINS:
            on += ", ..."
        if metadata.n_training_rows is not None:
            on = f"{metadata.n_training_rows:,} responses to {on}"
        logprobs = [f"{key} {value}" for key, value in metadata.logprobs.to_dict().items() if value is not None]
        lines = [
            f"{name} of model {metadata.model}",
            f"fitted on {on}",
            f"log-probabilities: {', '.join(logprobs) or 'unknown'}",
        ]
        shares = []
        for domain, ambiguous in (metadata.ambiguous or {}).items():
            shares.append(f"{domain} {ambiguous.share:.0%} of {ambiguous.n_questions:,}")
        if shares:
            lines.append(f"questions that repeatedly get several answers: {', '.join(shares)}")
        return lines
