"""Stage `validation`: use the study's labels to check whether the recommended estimator can be trusted on a model.

Each labelled domain is held out in turn and estimated by an estimator fitted on the others. Fitted on all of them,
it estimates the unlabelled domains, with intervals from its errors on the labelled ones. The file is
`{judge}/validation/{model}.json`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from pydantic import ValidationError

from entropy_sentinel.core.errors import DamagedFileError
from entropy_sentinel.core.validation_errors import describe_error
from entropy_sentinel.core.whole_files import write_whole
from entropy_sentinel.estimators.estimator_base import Estimator, FitFailure
from entropy_sentinel.estimators.estimator_registry import RECOMMENDED, estimator_title
from entropy_sentinel.estimators.estimator_settings import EstimationSettings
from entropy_sentinel.estimators.familiarity import Familiarity, residuals_if_unfamiliar
from entropy_sentinel.estimators.leave_one_out import validate_estimator
from entropy_sentinel.estimators.training_rows import TrainingRows, fit_estimators, score_slices
from entropy_sentinel.estimators.validation_record import Validation
from entropy_sentinel.features.hashed_tokens import SCHEMA
from entropy_sentinel.signal_families.observation_frame import DOMAIN
from entropy_sentinel.statistics.estimate_errors import FEWEST_FOR_RHO, mean_interval
from entropy_sentinel.statistics.slice_intervals import NOTES, Residuals
from entropy_sentinel.study.stages.estimate_stage import read_raw_observations, select_labelled_rows, split_by_signals

# Level of the intervals shown. A conformal interval of this level needs nine labelled domains.
LEVEL = 0.9


@dataclass(frozen=True)
class DomainResult:
    """A domain of `n` items with responses that have features, estimated by an estimator fitted on other domains.

    `true` is null if the domain is unlabelled. `estimated` and its interval, `lower` to `upper`, are null without an
    estimate; `reason` says why. `basis` says what the interval is based on (statistics/slice_intervals.py).
    `conformal_lower` and `conformal_upper` are the conformal interval, also null if there are too few domains for it.
    `unfamiliar` says why an unlabelled domain is unlike all labelled ones; its interval then ignores the errors on
    these, and is from the prior only.
    """

    domain: str
    n: int
    estimated: float | None
    lower: float | None
    upper: float | None
    basis: str | None
    true: float | None
    reason: str | None
    conformal_lower: float | None = None
    conformal_upper: float | None = None
    unfamiliar: str | None = None

    @property
    def error(self) -> float | None:
        """Estimated minus true."""
        return None if self.estimated is None or self.true is None else self.estimated - self.true


@dataclass(frozen=True)
class EstimatorErrors:
    """One estimator's errors over the labelled domains, each held out in turn; null if there are none.

    `errors` has estimated minus true of each domain with an estimate.
    """

    estimator: str
    n_domains: int
    aee: float | None
    rho: float | None
    bias: float | None
    errors: Mapping[str, float]

    @property
    def title(self) -> str:
        """The estimator as tables show it."""
        return estimator_title(self.estimator)

    def aee_interval(self) -> tuple[float, float] | None:
        """The interval of its AEE on further domains like these; null for one domain."""
        ends = mean_interval([abs(error) for error in self.errors.values()], LEVEL)
        return None if ends is None else (max(ends[0], 0.0), ends[1])

    def minus(self, reference: "EstimatorErrors") -> tuple[float, tuple[float, float] | None] | None:
        """AEE of this method minus that of `reference`, over the domains that both estimated, and its interval.

        The interval is that of the paired differences; None for a single domain. None without a common domain.
        """
        differences = [
            abs(self.errors[name]) - abs(reference.errors[name]) for name in self.errors if name in reference.errors
        ]
        if not differences:
            return None
        return float(np.mean(differences)), mean_interval(differences, LEVEL)


@dataclass(frozen=True)
class ModelValidation:
    """The recommended estimator on one model: its results on each held-out labelled domain and on unlabelled domains.

    `verdict`, `reasons` and `coverage` are those of `estimators.validation_record`, and so are `error_at_least` and
    `error_at_most`, the limits of the mean error on new domains, null with too few domains. `left_out` are the labelled
    domains, each estimated without its labels; `unlabelled` are the others, estimated from all labelled domains.
    `method` was chosen on all labelled domains; it is null if it could not be fitted. `method_reason` has the reason.
    `methods` has one entry per estimator compared, the recommended first. `n_training` and `training_accuracy` are of
    the labelled rows; `caution` is a warning about estimates from these. If the domains are kinds of a benchmark's
    questions, `new_groups` is the validation that leaves out a whole benchmark at a time.
    """

    model: str
    verdict: str
    reasons: tuple[str, ...]
    method: str | None
    method_reason: str
    methods: tuple[EstimatorErrors, ...]
    coverage: tuple[Mapping[str, Any], ...]
    left_out: tuple[DomainResult, ...]
    unlabelled: tuple[DomainResult, ...]
    n_training: int
    training_accuracy: float | None
    caution: str | None
    error_at_least: float | None
    error_at_most: float | None
    new_groups: Validation | None = None

    @property
    def verdicts_by_scope(self) -> list[tuple[str, str, Sequence[str]]]:
        """Triples of which new domains a verdict is about, the verdict, and its reasons.

        The first one is text behind a model's name: "" for a single verdict; " (kinds of a known benchmark)" and
        " (another benchmark)" if the domains are kinds of a benchmark's questions.
        """
        if self.new_groups is None:
            return [("", self.verdict, self.reasons)]
        return [
            (" (kinds of a known benchmark)", self.verdict, self.reasons),
            (" (another benchmark)", self.new_groups.verdict, self.new_groups.reasons),
        ]

    @property
    def recommended(self) -> EstimatorErrors:
        """The errors of the recommended estimator."""
        return next(method for method in self.methods if method.estimator == RECOMMENDED)

    @property
    def method_title(self) -> str:
        """The method used, as tables show it; "-" if no method could be fitted."""
        return estimator_title(self.method) if self.method else "-"

    @property
    def worst(self) -> DomainResult | None:
        """The domain with the largest error; null if no domain was held out."""
        domains = [domain for domain in self.left_out if domain.error is not None]
        return max(domains, key=lambda domain: abs(domain.error or 0), default=None)

    @property
    def headline_rho(self) -> float | None:
        """rho of the recommended estimator; None over fewer than FEWEST_FOR_RHO domains, too few to show it."""
        return self.recommended.rho if self.recommended.n_domains >= FEWEST_FOR_RHO else None

    def find_errors(self, estimator: str) -> EstimatorErrors | None:
        """The errors of an estimator; null if it was not run."""
        for method in self.methods:
            if method.estimator == estimator:
                return method
        return None

    @property
    def best(self) -> EstimatorErrors | None:
        """Of the methods with estimates of the most domains, the one with the lowest AEE; it is known only afterwards.

        The recommended one does not count; None if no other has an AEE.
        """
        candidates = [method for method in self.methods if method.estimator != RECOMMENDED and method.aee is not None]
        return min(candidates, key=lambda method: (-method.n_domains, method.aee), default=None)

    def write(self, path: str | Path) -> None:
        """Write it as JSON, in one step."""
        saved = asdict(self) | {"new_groups": self.new_groups and self.new_groups.to_dict()}
        write_whole(path, json.dumps(saved, indent=1) + "\n")


def read_validations(paths: Sequence[str | Path]) -> list[ModelValidation]:
    """Read the files of `ModelValidation.write` for several models; raise DamagedFileError for any other file."""
    return [_read_validation(path) for path in paths]


def _read_validation(path: str | Path) -> ModelValidation:
    """Read a file of `ModelValidation.write`; raise DamagedFileError for any other file."""
    try:
        saved = json.loads(Path(path).read_text(encoding="utf-8"))
        # JSON has lists and dicts for tuples and classes.
        typed_fields = {
            "reasons": tuple(saved["reasons"]),
            "coverage": tuple(saved["coverage"]),
            "methods": tuple(EstimatorErrors(**method) for method in saved["methods"]),
            "left_out": tuple(DomainResult(**domain) for domain in saved["left_out"]),
            "unlabelled": tuple(DomainResult(**domain) for domain in saved["unlabelled"]),
            "new_groups": saved["new_groups"] and Validation.from_dict(saved["new_groups"]),
        }
        return ModelValidation(**(saved | typed_fields))
    except (ValueError, KeyError, TypeError) as error:
        problem = describe_error(error.errors()[0]) if isinstance(error, ValidationError) else error
        raise DamagedFileError(
            f"{path}: must be a file of stage 'validation', is not ({problem}); delete it: it is rebuilt"
        ) from None


def list_interval_notes(validations: Sequence[ModelValidation]) -> list[str]:
    """One sentence for each method by which intervals of unlabelled domains were computed (`DomainResult.basis`)."""
    bases: set[str | None] = set()
    for validation in validations:
        bases.update(domain.basis for domain in validation.unlabelled)
    return [text for basis, text in NOTES.items() if basis in bases]


def write_validation(observations: str, settings: EstimationSettings, output: str) -> None:
    """Validate on one model's file `observations`, and write the file that `read_validations` reads.

    All estimators of `settings`, which include the recommended one, are compared.
    """
    rows, _ = read_raw_observations(observations)  # also the facts about their log-probabilities
    validate_model(rows, settings).write(output)


def validate_model(observations: pl.DataFrame, settings: EstimationSettings) -> ModelValidation:
    """Validate the recommended estimator on the observations of one model."""
    validations = _validate_estimators(observations, settings)
    training = select_labelled_rows(observations, settings)
    record = validations[RECOMMENDED]
    estimator = fit_estimators(training, [RECOMMENDED])[RECOMMENDED]
    method, method_reason = _describe_choice(estimator)
    return ModelValidation(
        model=observations["model"][0],
        verdict=record.verdict,
        reasons=record.reasons,
        method=method,
        method_reason=method_reason,
        methods=tuple(_summarise_errors(validation) for validation in validations.values()),
        coverage=tuple(map(asdict, record.coverage)),
        left_out=tuple(_list_left_out(record)),
        unlabelled=tuple(_estimate_unlabelled(observations, estimator, record.residuals, training)),
        n_training=len(training),
        training_accuracy=training.accuracy if len(training) else None,
        caution=training.caution,
        error_at_least=record.error_at_least,
        error_at_most=record.error_at_most,
        new_groups=record.new_groups,
    )


def _describe_choice(recommended: Estimator | FitFailure) -> tuple[str | None, str]:
    """The method that the recommended estimator chose, and why; None and the reason if it could not be fitted."""
    if isinstance(recommended, FitFailure):
        return None, recommended.reason
    assert recommended.chosen is not None  # this estimator chooses a method
    return recommended.chosen["method"], recommended.chosen["reason"]


def _validate_estimators(observations: pl.DataFrame, settings: EstimationSettings) -> dict[str, Validation]:
    """The validations of all estimators by name, in their order, each on the rows that have the estimator's signals."""
    validations: dict[str, Validation] = {}
    for usable_rows, names in split_by_signals(observations, settings["estimators"]):
        training = select_labelled_rows(usable_rows, settings)
        validations |= {name: validate_estimator(training, name) for name in names}
    return {name: validations[name] for name in settings["estimators"]}


def _summarise_errors(validation: Validation) -> EstimatorErrors:
    """An estimator's errors; a domain without an estimate has none."""
    errors = {}
    for domain in validation.domains:
        if domain.estimated is not None:
            errors[domain.domain] = domain.estimated - domain.true
    return EstimatorErrors(
        validation.estimator, validation.n_counted, validation.aee, validation.rho, validation.bias, errors
    )


def _list_left_out(validation: Validation) -> Iterable[DomainResult]:
    """The labelled domains by falling true accuracy, each with an interval from the errors on the others.

    `validation` is that of the recommended estimator.
    """
    place = 0  # the domain's index among the residuals, which only domains with an estimate have
    domains = []
    for domain in validation.domains:
        if domain.estimated is None:
            domains.append(_make_missing_result(domain.domain, domain.n, domain.true, domain.reason))
            continue
        residuals = validation.residuals.leave_out(place)
        domains.append(_make_result(residuals, domain.domain, domain.n, domain.estimated, domain.true))
        place += 1
    return sorted(domains, key=lambda domain: domain.true or 0, reverse=True)


def _estimate_unlabelled(
    observations: pl.DataFrame, estimator: Estimator | FitFailure, residuals: Residuals, training: TrainingRows
) -> Iterable[DomainResult]:
    """Yield the unlabelled domains, each with its estimate or the reason why it has no estimate.

    `estimator` was fitted on all labelled domains, the rows of `training`; intervals are from its errors on these,
    `residuals`, unless the domain's texts are unlike them (`Familiarity`).
    """
    familiarity = None  # without hashed tokens of the texts, no domain is known to be unfamiliar
    if training.buckets is not None:
        familiarity = Familiarity.fit(training.buckets, training.domains, training.groups)
    assumed = residuals_if_unfamiliar(len(np.unique(training.domains)))
    unlabelled = observations.filter(pl.col("label").is_null().all().over(DOMAIN))
    for (name,), rows in unlabelled.group_by(DOMAIN, maintain_order=True):
        featured = rows.filter(pl.col("feature_reason").is_null())
        n = featured["item_id"].n_unique()
        # All rows of `featured` are one slice.
        is_in_slice = np.ones(len(featured), dtype=bool)
        estimated = score_slices(estimator, featured, {name: is_in_slice})[name]
        if estimated is None:
            reason = "no row of the domain has features"
            if isinstance(estimator, FitFailure) and not featured.is_empty():
                reason = estimator.reason
            yield _make_missing_result(name, n, None, reason)
            continue
        flag = None  # why the domain is unfamiliar
        if familiarity is not None and set(SCHEMA) <= set(featured.columns):
            slice_numbers = np.zeros(len(featured), dtype=np.int64)
            [flag] = familiarity.flags_of(featured, slice_numbers, n_slices=1)
        result = _make_result(residuals if flag is None else assumed, name, n, estimated, None)
        yield replace(result, unfamiliar=flag)


def _make_missing_result(name: str, n: int, true: float | None, reason: str | None) -> DomainResult:
    """The result of a domain without an estimate."""
    return DomainResult(name, n, estimated=None, lower=None, upper=None, basis=None, true=true, reason=reason)


def _make_result(residuals: Residuals, name: str, n: int, estimated: float, true: float | None) -> DomainResult:
    """The domain with the intervals of its estimate, computed from these errors."""
    lower, upper, basis = residuals.intervals([estimated], [n], LEVEL)
    conformal = residuals.conformal_intervals([estimated], [n], LEVEL)
    return DomainResult(
        name,
        n,
        estimated,
        lower=float(lower[0]),
        upper=float(upper[0]),
        basis=basis,
        true=true,
        reason=None,
        conformal_lower=_replace_nan(conformal.lower[0]),
        conformal_upper=_replace_nan(conformal.upper[0]),
    )


def _replace_nan(number: float) -> float | None:
    return None if np.isnan(number) else float(number)
