"""Fit an estimator on labelled responses; save and load it."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import polars as pl
from pydantic import ValidationError

from entropy_sentinel.api.cluster_numbers import number_clusters
from entropy_sentinel.api.domains import FILE, advise_domains, check_kinds, count_domains, find_domain_columns
from entropy_sentinel.api.input_checks import Paths, add_labels, read_slice_values, require_one_value
from entropy_sentinel.api.label_reading import coerce_labels
from entropy_sentinel.api.one_model import OneModel
from entropy_sentinel.api.response_reading import coerce_features
from entropy_sentinel.api.verb_options import FitKeywords
from entropy_sentinel.api.witness_joining import join_witnesses
from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.core.object_stores import get_local_path
from entropy_sentinel.core.option_classes import document_options
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.core.validation_errors import describe_error
from entropy_sentinel.estimators.estimator_base import FitFailure
from entropy_sentinel.estimators.estimator_file import load_estimator, save_estimator
from entropy_sentinel.estimators.estimator_registry import FEWEST_TO_CHOOSE, RECOMMENDED, extra_signals
from entropy_sentinel.estimators.estimator_settings import Estimation, Fitting, group_id
from entropy_sentinel.estimators.fit_metadata import describe_fit
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.estimators.training_predictions import TrainingPredictions
from entropy_sentinel.estimators.training_rows import TrainingRows, fit_estimators
from entropy_sentinel.estimators.verdict import FEWEST_LABELS
from entropy_sentinel.estimators.verdict_limits import Limits
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.features.hashed_tokens import COLUMN, SCHEMA
from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.logs.label_table import LABEL_QUESTION
from entropy_sentinel.logs.reader_base import QUESTION, REQUEST
from entropy_sentinel.schemas.generation_schema import LOGPROBS
from entropy_sentinel.statistics.ambiguity import measure_ambiguous_shares
from entropy_sentinel.statistics.design_effects import intraclass_correlation

_DEFAULT = RECOMMENDED
_SEED = 42
# Largest number of reasons that an error names.
_REASONS = 3

log = logging.getLogger(__name__)


@document_options(Limits)
def fit(
    features: Any,
    labels: pl.DataFrame | Paths | None = None,
    estimator: str = _DEFAULT,
    settings: Mapping[str, Any] | None = None,
    domain: str | None = None,
    group: str | None = None,
    cluster: str | None = None,
    judged: Any | None = None,
    **options: Unpack[FitKeywords],
) -> FittedEstimator:
    """Fit an estimator on the responses that have features and a label.

    Args:
        features: A row per response, from `read_features` or `features`; or logs, as `read_features` takes them.
        labels: A row per labelled response, from `read_labels`, or their files. The two are joined on item_id, and on
            model, benchmark and sample if both have them. By default the column `label` of the features, which logs of
            evaluations have. `monitor` may be given the same labels.
        estimator: Its name in `estimators.estimator_registry`.
        settings: Keys of the config's section `estimation` (folds, trees, seed, ...).
        domain: The column whose values are the domains. The validation and `recommended` hold out each in turn. By
            default `benchmark`, a log's file, if the files are not named by day or part.
        group: A column whose values are groups of similar domains, such as the benchmark of its subjects. The
            validation then also holds out each whole group. A domain is a value of `domain` within a group, named
            GROUP/DOMAIN, or GROUP if it has no value.
        cluster: A column whose values are clusters of dependent responses, such as conversations or users: folds keep
            a cluster together, and a domain's labels count by clusters. By default responses to the same request, or to
            the same item, are a cluster, and count as one label.
        judged: Verdicts of judges, or second opinions of other models, on more responses than the labels have: a table,
            a file of `judge`, or several, of one model or several. The labels correct their errors. With 20 verdicts in
            a domain, 5 labels of these responses are enough for it to count. Only the validation uses them; the
            estimator is fitted on the labels.
        **options: The fields of `Limits`, which `help(es.fit)` lists.

    Returns:
        The estimator, with its validation and what it was fitted on.

    Raises:
        ConfigError: For an unknown estimator or setting, or an impossible limit.
        InputError: If no response has features and a label, or the estimator cannot be fitted on them; if the column
            `domain`, `group` or a signal is missing; if no `domain` is given and files are named by day or part; or if
            the features come from several models or kinds of log-probabilities.

    Examples:
        >>> import entropy_sentinel as es
        >>> features = es.features(es.read_logs(es.example().traces))
        >>> fitted = es.fit(features, es.read_labels(es.example().labels), "doc-mtp")
        >>> fitted.estimator.name, fitted.metadata.group
        ('doc-mtp', 'gsm8k+math+scibench+svamp+theoremqa')
    """
    if not isinstance(estimator, str):
        raise ConfigError(f"estimator: must be a name such as '{_DEFAULT}', got {type(estimator).__name__}")
    signals = extra_signals(estimator)
    limits = Limits.from_keywords("fit", options)
    extra_columns = [REQUEST, *[name for name in (domain, group, cluster) if name]]
    labels = None if labels is None else coerce_labels(labels)
    if labels is not None and LABEL_QUESTION in labels.columns:
        extra_columns.append(QUESTION)
    features = coerce_features(features, signals, OneModel(labels), further=extra_columns)
    if domain is None:
        domain = FILE
        check_kinds(features, "domain")
    for name, column in (("domain", domain), ("group", group or domain), ("cluster", cluster or domain)):
        if not isinstance(column, str):
            raise InputError(f"{name}: must be the name of a column, got {column!r}"[:200])
        read_slice_values(features, column, name)  # raises an error for a column that is empty or has lists
    if labels is not None:
        rows = add_labels(features, labels)
    elif features.schema.get("label") in (pl.Boolean, pl.Null):
        rows = features
    else:
        labels_option = format_option("labels", placeholder="FILE")
        raise InputError(f"labels: must be given ({labels_option}), because the responses do not include any")
    labelled_features = rows
    rows = rows.filter(pl.col("label").is_not_null(), pl.col("reason").is_null())
    if rows.is_empty():
        raise InputError(f"labels: no response has features and a label; {_explain_unlabelled(features, labels)}")
    clusters = number_clusters(rows, cluster)
    rows = rows.drop(REQUEST, strict=False)
    model = require_one_value(rows, "model")
    logprobs = {name: require_one_value(rows, name) for name in LOGPROBS if name in rows.columns}
    domains, groups = _assign_domains(rows, domain, group)
    _warn_few_domains(rows, domains, [domain] if group is None else [domain, group])
    fitting = _parse_training_settings(settings or {})
    training_features = rows.select(*FEATURES, *signals)
    # The hashed tokens or words of the responses, if the features have them.
    words = rows.select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items()) if COLUMN in rows.columns else None
    training = TrainingRows(
        training_features,
        labels=rows["label"].to_numpy(),
        settings=fitting,
        domains=domains,
        items=clusters,
        groups=groups,
        buckets=words,
    )
    if cluster is not None:
        # Labels of a cluster are less alike than those of one question, which have the correlation 1.
        training.similarity = intraclass_correlation(training.y, training.domains, training.items)
    fitted = fit_estimators(training, [estimator])[estimator]
    if isinstance(fitted, FitFailure):
        raise InputError(f"estimator '{estimator}' cannot be fitted: {fitted.reason}")
    witnessed_rows = None
    if judged is not None:
        responses = labelled_features.with_columns(_assign_domains(labelled_features, domain, group)[0])
        kind = {"model": model, **logprobs}
        witnessed_rows = join_witnesses(
            responses,
            domain=domains.name,
            labels=labels,
            judged=judged,
            kind=kind,
            signals=signals,
            cluster=cluster,
            training=training,
        )
    metadata = describe_fit(
        fitted,
        training,
        limits,
        witnessed_rows,
        model=model,
        group=group_id(domains.unique()),
        domains=sorted(domains.unique()),
        logprobs=logprobs,
        ambiguous=measure_ambiguous_shares(rows.with_columns(domains), domains.name),
    )
    return FittedEstimator(fitted, metadata, TrainingPredictions.fit(fitted, training))


def save(estimator: FittedEstimator, path: str | Path) -> None:
    """Write an estimator to a file in the format of `estimators.estimator_file`; loading it runs no code.

    Args:
        estimator: An estimator from `fit` or `load`.
        path: The file, by convention with the suffix `.estimator`. The same estimator gives the same bytes.

    Raises:
        InputError: If `estimator` is not an estimator.
        ContractError: For an estimator that `load` would refuse.
    """
    if not isinstance(estimator, FittedEstimator):
        raise InputError(f"estimator: must come from `fit` or `load`, got {type(estimator).__name__}")
    save_estimator(estimator.estimator, path, estimator.metadata, estimator.training)


def load(path: str | Path) -> FittedEstimator:
    """Read an estimator from a file.

    Args:
        path: A file written by `save`, the command `fit` or a study.

    Returns:
        The estimator, with its validation and what it was fitted on.

    Raises:
        InputError: For a file that is not an estimator, or was changed or damaged.
        ProvenanceError: For a file written by another version of scikit-learn.

    Examples:
        >>> import entropy_sentinel as es, tempfile
        >>> features, labels = es.features(es.read_logs(es.example().traces)), es.read_labels(es.example().labels)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     es.save(es.fit(features, labels, "group-accuracy"), f"{folder}/mine.estimator")
        ...     es.load(f"{folder}/mine.estimator").estimator.accuracy(features)
        0...
    """
    if not isinstance(path, str | Path):
        raise InputError(f"estimator: must be the path of a file written by `save`, got {type(path).__name__}")
    return load_estimator(get_local_path(path))


def ensure_estimator(estimator: FittedEstimator | str | Path) -> FittedEstimator:
    """An estimator, loading it if given as a path; raises the errors of `load`."""
    return estimator if isinstance(estimator, FittedEstimator) else load(estimator)


def _assign_domains(rows: pl.DataFrame, domain: str, group: str | None) -> tuple[pl.Series, pl.Series | None]:
    """The domain of each row, and its group, (n_rows,) each; no groups if no column `group` is given.

    The same domain in two groups counts as two.
    """
    domains = read_slice_values(rows, domain, "domain").cast(pl.String).alias("(domain)")
    if group is None:
        return domains.fill_null("-"), None
    groups = read_slice_values(rows, group, "group").cast(pl.String).fill_null("-").alias("(group)")
    nested_domains = groups + "/" + domains
    return nested_domains.fill_null(groups).alias(domains.name), groups  # the group alone where the domain is null


def _explain_unlabelled(features: pl.DataFrame, labels: pl.DataFrame | None) -> str:
    """Why no response has a label: given `labels` match none, or those of the features' logs are null."""
    if labels is not None:
        return "item_id must be the same in both"
    if "label_reason" not in features.columns:
        return "all labels are null"
    counts = features["label_reason"].drop_nulls().value_counts(sort=True).head(_REASONS)
    return "; ".join(f"{reason} ({n:,} responses)" for reason, n in counts.iter_rows())


def _warn_few_domains(rows: pl.DataFrame, domains: pl.Series, columns: Sequence[str]) -> None:
    """Warn if `domains`, (n_rows,), made of these columns, are few and another column gives more."""
    n = count_domains(rows.with_columns(domains), [domains.name])
    if n < FEWEST_TO_CHOOSE and (domain_columns := find_domain_columns(rows, columns, n)):
        log.warning(
            "domain: the labels cover %s with at least %d labels, by %s; %s",
            format_count(n, "domain"),
            FEWEST_LABELS,
            ", ".join(columns),
            advise_domains(domain_columns, "domain"),
        )


def _parse_training_settings(values: Mapping[str, Any]) -> Fitting:
    """The settings of a fit from keys of the config's section `estimation`; raises ConfigError for an invalid one."""
    try:
        settings = Estimation.model_validate(values)
    except ValidationError as error:
        lines = (f"settings: {describe_error(problem, in_python=True)}" for problem in error.errors())
        raise ConfigError("\n".join(lines)) from None
    return Fitting.from_settings(settings.model_dump() | {"seed": _SEED if settings.seed is None else settings.seed})
