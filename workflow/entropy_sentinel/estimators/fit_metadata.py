"""What is known of a fitted estimator: what it was fitted on, what it chose, its validation. Its file has the same."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import polars as pl
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, ValidationError, model_validator

from entropy_sentinel.core.errors import ContractError
from entropy_sentinel.core.validation_errors import describe_error
from entropy_sentinel.estimators.estimator_base import Estimator, FitFailure
from entropy_sentinel.estimators.estimator_registry import signals_of
from entropy_sentinel.estimators.estimator_settings import Fitting
from entropy_sentinel.estimators.familiarity import Familiarity
from entropy_sentinel.estimators.field_types import MOST_DOMAINS, Count, Share, Whole
from entropy_sentinel.estimators.leave_one_out import validate_estimator
from entropy_sentinel.estimators.training_rows import TrainingRows
from entropy_sentinel.estimators.training_support import Support
from entropy_sentinel.estimators.validation_record import Validation
from entropy_sentinel.estimators.verdict_limits import DEFAULT, Limits
from entropy_sentinel.estimators.witness_validation import WitnessedRows
from entropy_sentinel.signal_families.signal_registry import FAMILY_OF
from entropy_sentinel.statistics.ambiguity import AmbiguousShare


class LogprobsKind(BaseModel):
    """The kind of log-probabilities; a study's also has the sampling settings and the commit of the weights."""

    model_config = ConfigDict(extra="allow", frozen=True)

    logprobs_mode: str | None = None
    top_k_returned: Whole | None = None

    def to_dict(self) -> dict[str, Any]:
        """The settings by name, without those that were never recorded."""
        return self.model_dump(exclude_unset=True)


class FeatureStatistics(BaseModel):
    """Statistics of a feature over the training rows; null without rows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mean: float | None
    std: float | None
    min: float | None
    q25: float | None
    median: float | None
    q75: float | None
    max: float | None


def _check_share(ambiguous: AmbiguousShare) -> AmbiguousShare:
    if not 0 <= ambiguous.share <= 1 or ambiguous.n_questions < 1:
        raise ValueError("must be a share between 0 and 1, of 1 question or more")
    return ambiguous


class FitMetadata(BaseModel):
    """What the file of an estimator has besides its parameters; of one that could not be fitted, the `reason`.

    Attributes:
        name: The estimator's name.
        model: The model that the responses are of; None if unknown.
        group: The domains, joined with `+`.
        domains: The names of the domains; none if they are unknown. In a file only if a name contains `+`.
        logprobs: The kind of log-probabilities of the responses.
        ambiguous: By domain, the share of questions that repeatedly get several answers, where it is known.
        settings: How it was fitted.
        n_training_rows: Number of responses that it was fitted on.
        training_accuracy: The share of them that are correct.
        signals: The signals that it needs, by name with their family.
        feature_statistics: Statistics of each feature over the training rows.
        caution: A warning about its estimates; None without one.
        chosen: What was chosen on the training rows, such as a method.
        validation: Its validation; None if it was fitted on rows without domains, or by an earlier version.
        support: The largest entropies of the training rows, by domain; None in files of an earlier version.
        familiarity: The words of the training rows, by domain; None if they had none, or in earlier files.
        n_validations: How often these labels were validated (`count_validations`).
        needs_features: Whether responses without features are left out; labels alone need none (`no_estimator`).
        reason: Why it could not be fitted.
    """

    # Files of later versions may have further fields, which are kept.
    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False)

    name: str
    model: str | None = None
    group: str | None = None
    domains: Annotated[list[str], Field(max_length=MOST_DOMAINS)] = []
    logprobs: Annotated[LogprobsKind, PlainSerializer(LogprobsKind.to_dict)] = LogprobsKind()
    ambiguous: dict[str, Annotated[AmbiguousShare, AfterValidator(_check_share)]] | None = None
    settings: Fitting | None = None
    n_training_rows: Whole | None = None
    training_accuracy: Share | None = None
    signals: dict[str, str] | None = None
    feature_statistics: dict[str, FeatureStatistics] | None = None
    caution: str | None = None
    chosen: dict[str, Any] | None = None
    validation: Annotated[Validation, PlainSerializer(Validation.to_dict)] | None = None
    support: Annotated[Support, PlainSerializer(Support.to_dict)] | None = None
    familiarity: Annotated[Familiarity, PlainSerializer(Familiarity.to_dict)] | None = None
    n_validations: Count = 1
    needs_features: bool = True
    reason: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _require_logprobs(cls, data: Any) -> Any:
        """Refuse fields without the kind of log-probabilities, unless the estimator could not be fitted."""
        if isinstance(data, dict) and data.get("logprobs") is None:
            if not data.get("reason"):
                raise ValueError("'logprobs' must be set")
            # A null gives way to the field's default.
            data = {name: value for name, value in data.items() if name != "logprobs"}
        return data

    @model_validator(mode="before")
    @classmethod
    def _split_group(cls, data: Any) -> Any:
        """Fill in `domains` from `group`, because a file has them only if a name contains `+`."""
        if isinstance(data, dict) and not data.get("domains") and isinstance(data.get("group"), str):
            data = data | {"domains": _split_domains(data["group"])}
        return data

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON, without those of rare use that have their default."""
        rare = {name for name in _RARE if getattr(self, name) == type(self).model_fields[name].default}
        if self.domains == _split_domains(self.group):
            rare.add("domains")
        return self.model_dump(mode="json", exclude=rare)


# Fields that a file has only if their value is not the default.
_RARE = ("n_validations", "needs_features", "reason")


def describe_fit(
    estimator: Estimator | FitFailure,
    rows: TrainingRows,
    limits: Limits = DEFAULT,
    witnessed_rows: WitnessedRows | None = None,
    *,
    model: str | None = None,
    group: str | None = None,
    domains: Sequence[str] = (),
    logprobs: Mapping[str, Any] | None = None,
    ambiguous: Mapping[str, AmbiguousShare] | None = None,
) -> FitMetadata:
    """The metadata of an estimator fitted on `rows`, with its validation.

    `group` joins the `domains` with `+`, and suffices if none has a `+` in its name. `limits` are those of the
    validation's verdict, and `witnessed_rows` the responses with a judge's verdicts. Raises
    ContractError for a kind of log-probabilities that no file may have.
    """
    support = familiarity = validation = chosen = None
    if isinstance(estimator, Estimator):
        chosen = estimator.chosen
        validation = validate_estimator(rows, estimator.name, limits, witnessed_rows)
        support = Support.fit(rows.features, rows.domains)
        if rows.buckets is not None:
            familiarity = Familiarity.fit(rows.buckets, rows.domains, rows.groups)
    fields = {
        "name": estimator.name,
        "model": model,
        "group": group,
        "domains": list(domains),
        "logprobs": dict(logprobs or {}),
        "ambiguous": ambiguous,
        "settings": rows.settings,
        "n_training_rows": len(rows),
        "training_accuracy": rows.accuracy if len(rows) else None,
        "signals": {name: FAMILY_OF[name] for name in signals_of(estimator.name)},
        "feature_statistics": measure_features(rows.features),
        "caution": rows.caution,
        "chosen": chosen,
        "validation": validation,
        "support": support,
        "familiarity": familiarity,
    }
    try:
        return FitMetadata.model_validate(fields)
    except ValidationError as error:
        raise ContractError(f"estimator '{estimator.name}': {describe_error(error.errors()[0])}") from None


def _split_domains(group: str | None) -> list[str]:
    """The domains of a group, if none has a `+` in its name."""
    return group.split("+") if group else []


def measure_features(features: pl.DataFrame) -> dict[str, FeatureStatistics]:
    """The statistics of each feature over the training rows."""
    quantiles = {"min": 0.0, "q25": 0.25, "median": 0.5, "q75": 0.75, "max": 1.0}
    statistics = {}
    for column in features:
        fields = {name: column.quantile(share, "linear") for name, share in quantiles.items()}
        moments = {"mean": column.mean(), "std": column.std(ddof=0)}
        statistics[column.name] = FeatureStatistics.model_validate(moments | fields)
    return statistics


def count_validations(metadata: FitMetadata, previous: FitMetadata | None) -> int:
    """The number of validations of these labels so far, this one included.

    `previous` is the metadata of the estimator that this one replaces. Labels are the same if the model is the same and
    a domain has the same name. Repeating a validation without any change does not count; other labels or another
    estimator do. The confidence of a verdict is that of a single look at the labels: whoever adds labels until the
    verdict is `usable` reaches it more often (docs/verdicts.md).
    """
    if previous is None or previous.model != metadata.model:
        return 1
    new, old = _held_out(metadata), _held_out(previous)
    if new == old:
        return previous.n_validations
    return previous.n_validations + 1 if new.keys() & old.keys() else 1


def _held_out(metadata: FitMetadata) -> dict[str, tuple[int, float | None, float]]:
    """By domain of the validation: number of labels, estimated accuracy (None if it does not count), true accuracy."""
    domains = metadata.validation.domains if metadata.validation else ()
    return {domain.domain: (domain.n, domain.estimated, domain.true) for domain in domains}
