"""Fit an estimator on what is labelled, and estimate the accuracy of slices of anything."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from pydantic import ValidationError

from entropy_sentinel.config.config import described
from entropy_sentinel.estimators.about import about
from entropy_sentinel.estimators.catalogue import RECOMMENDED, further_signals
from entropy_sentinel.estimators.estimator import Unfitted
from entropy_sentinel.estimators.fit import fit as fit_estimators
from entropy_sentinel.estimators.fit import score
from entropy_sentinel.estimators.saved import SavedEstimator, load_estimator, save_estimator
from entropy_sentinel.estimators.settings import Estimation, Fitting, group_id
from entropy_sentinel.estimators.training import TrainingRows
from entropy_sentinel.features.ambiguous_questions import ambiguous_shares
from entropy_sentinel.features.catalogue import FEATURES
from entropy_sentinel.frames.errors import ConfigError, InputError, ProvenanceError
from entropy_sentinel.frames.generation import LOGPROBS
from entropy_sentinel.frames.options import columns_by
from entropy_sentinel.frames.response import RESPONSE, item_numbers
from entropy_sentinel.verbs.frames import features_table, labels_table, require_slices

_DEFAULT = RECOMMENDED
_SEED = 42
# Columns of the estimates beside those of the slices.
_ESTIMATED = ("n_rows", "n_excluded", "n_labelled", "estimated_accuracy", "true_accuracy", "error", "overridden")
# The number of a row's slice; a log may have a column `slice` of its own.
_SLICE = "(slice)"


def fit(
    features: pl.DataFrame,
    labels: pl.DataFrame,
    estimator: str = _DEFAULT,
    settings: Mapping[str, Any] | None = None,
    domain: str = "benchmark",
) -> SavedEstimator:
    """Fit an estimator on the responses that have features and a label.

    Args:
        features: A row per response, as `read_features` or `features` gives them.
        labels: A row per labelled response, as `read_labels` gives them. The two are joined on what identifies a
            response: item_id, and model, benchmark and sample where both have them.
        estimator: Its name in `estimators.catalogue`.
        settings: Keys of the config's section `estimation` (folds, trees, seed, ...).
        domain: The column whose values are the domains that the validation and `recommended` leave out one at a
            time.

    Returns:
        The estimator, with its validation and what it was fitted on.

    Raises:
        ConfigError: For an unknown estimator or setting.
        InputError: Where no response has both, the column `domain` or that of a signal is not there, features are of
            several models or kinds of log-probabilities, or the estimator cannot be fitted on these rows.

    Examples:
        >>> import entropy_sentinel as es
        >>> features = es.features(es.read_logs(es.example().traces))
        >>> fitted = es.fit(features, es.read_labels(es.example().labels), "doc-mtp")
        >>> fitted.estimator.name, fitted.about["group"]
        ('doc-mtp', 'gsm8k+math+scibench+svamp+theoremqa')
    """
    if not isinstance(estimator, str):
        raise ConfigError(f"estimator: must be a name, as '{_DEFAULT}', was {type(estimator).__name__}")
    signals = further_signals(estimator)
    features, labels = features_table(features, signals=signals), labels_table(labels)
    if not isinstance(domain, str):
        raise InputError(f"domain: must be the name of a column, was {domain!r}"[:200])
    require_slices(features, [domain], "domain")
    rows = _join(features, labels).filter(pl.col("label").is_not_null(), pl.col("reason").is_null())
    if rows.is_empty():
        raise InputError("labels: no response has features and a label; item_id must be the same in both")
    model, logprobs = _one(rows, "model"), _logprobs(rows)
    domains = rows[domain].cast(pl.String).fill_null("-")
    how = _training_settings(settings or {})
    needed = rows.select(*FEATURES, *signals)
    training = TrainingRows(needed, rows["label"].to_numpy(), how, domains, item_numbers(rows))
    fitted = fit_estimators(training, [estimator])[estimator]
    if isinstance(fitted, Unfitted):
        raise InputError(f"estimator '{estimator}' cannot be fitted: {fitted.reason}")
    whose = {"model": model, "group": group_id(domains.unique()), "logprobs": logprobs}
    whose["ambiguous"] = ambiguous_shares(rows, domain)
    return SavedEstimator(fitted, whose | about(fitted, training))


def estimate(
    estimator: SavedEstimator | str | Path,
    features: pl.DataFrame,
    by: Sequence[str] = ("model", "benchmark"),
    labels: pl.DataFrame | None = None,
    any_model: bool = False,
    any_logprobs: bool = False,
) -> pl.DataFrame:
    """The estimated accuracy of every slice of responses.

    Args:
        estimator: One that `fit` or `load` has given, or its file.
        features: A row per response, as `read_features` or `features` gives them.
        by: The columns whose values make slices, combined.
        labels: Labels of some responses, as `read_labels` gives them.
        any_model: Take responses of another model than the estimator was fitted on.
        any_logprobs: Take features with log-probabilities of another kind, or another number of alternatives.

    Returns:
        One row per combination of the columns `by`, sorted. Columns: those of `by`; `n_rows`, the responses with
        features, which the estimate is over; `n_excluded`, those without; `estimated_accuracy` in [0, 1], null for a
        slice without features. With `labels` also `n_labelled`, `estimated_on_labelled` and `true_accuracy` over the
        labelled rows, and `error`, the difference of these two. With `any_model` or `any_logprobs`, where something
        does not match, a column `overridden` names it.

    Raises:
        ProvenanceError: For features of another model or log-probabilities than the estimator was fitted on, unless
            `any_model` or `any_logprobs` says that they may be.
        InputError: For a column that is not there.

    Examples:
        >>> import entropy_sentinel as es
        >>> features, labels = es.features(es.read_logs(es.example().traces)), es.read_labels(es.example().labels)
        >>> known = pl.col("benchmark").is_in(["svamp", "math", "scibench"])
        >>> estimator = es.fit(features.filter(known), labels, "atc-nll_sum")
        >>> es.estimate(estimator, features.filter(~known)).select("benchmark", "n_rows", "estimated_accuracy").rows()
        [('gsm8k', 30, 0...), ('theoremqa', 30, 0...)]
    """
    estimator, by = saved_estimator(estimator), list(dict.fromkeys(columns_by(by)))
    features = features_table(features, signals=estimator.signals)
    labels = None if labels is None else labels_table(labels)
    require_slices(features, by, "by")
    if taken := [name for name in by if name in _ESTIMATED]:
        raise InputError(f"by: '{taken[0]}' is a column of what is made; give it another name")
    differs = overridden(estimator, features, any_model, any_logprobs)
    rows = features.with_columns(label=pl.lit(None, pl.Boolean)) if labels is None else _join(features, labels)
    one = pl.struct(by).rank("dense") if by else pl.lit(1, pl.UInt32)
    rows = rows.with_columns(one.alias(_SLICE), usable=pl.col("reason").is_null())
    table = rows.group_by(_SLICE, *by).agg(
        n_rows=pl.col("usable").sum(),
        n_excluded=pl.col("usable").not_().sum(),
        n_labelled=pl.col("label").filter("usable").is_not_null().sum(),
        true_accuracy=pl.col("label").filter("usable").mean(),
    )
    table = table.join(_scores(estimator, rows.filter("usable")), on=_SLICE, how="left").sort(_SLICE)
    shown = [*by, "n_rows", "n_excluded", "estimated_accuracy"]
    if differs:
        table = table.with_columns(overridden=pl.lit("; ".join(differs)))
        shown.append("overridden")
    if labels is None:
        return table.select(shown)
    error = pl.col("estimated_on_labelled") - pl.col("true_accuracy")
    return table.select(*shown, "n_labelled", "estimated_on_labelled", "true_accuracy", error=error)


def save(estimator: SavedEstimator, path: str | Path) -> None:
    """Write an estimator to a file, in the form of `estimators.saved`: loading it runs no code.

    Args:
        estimator: One that `fit` or `load` has given.
        path: The file, by convention with the ending `.estimator`. The same estimator is the same bytes.

    Raises:
        InputError: For what is no estimator.
        ContractError: For one that `load` would refuse.
    """
    if not isinstance(estimator, SavedEstimator):
        raise InputError(f"estimator: must be one that `fit` or `load` has given, was {type(estimator).__name__}")
    save_estimator(estimator.estimator, path, estimator.about)


def load(path: str | Path) -> SavedEstimator:
    """Read an estimator from a file.

    Args:
        path: A file that `save`, the command `fit` or a study has written.

    Returns:
        The estimator, with its validation and what it was fitted on.

    Raises:
        InputError: For a file that is none, or has been changed or damaged.
        ProvenanceError: For one that another version of scikit-learn has written.

    Examples:
        >>> import entropy_sentinel as es, tempfile
        >>> features, labels = es.features(es.read_logs(es.example().traces)), es.read_labels(es.example().labels)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     es.save(es.fit(features, labels, "group-accuracy"), f"{folder}/mine.estimator")
        ...     es.load(f"{folder}/mine.estimator").estimator.accuracy(features)
        0...
    """
    if not isinstance(path, str | Path):
        raise InputError(f"estimator: must be the path of a file that `save` has written, was {type(path).__name__}")
    return load_estimator(path)


def saved_estimator(given: SavedEstimator | str | Path) -> SavedEstimator:
    """An estimator, or the one in a file; raises as `load` does."""
    return given if isinstance(given, SavedEstimator) else load(given)


def overridden(estimator: SavedEstimator, features: pl.DataFrame, any_model: bool, any_logprobs: bool) -> list[str]:
    """How the features differ from the rows that the estimator was fitted on, where that is allowed.

    Raises ProvenanceError where it is not.
    """
    models = features.filter(pl.col("reason").is_null())["model"].unique(maintain_order=True)
    checks: dict[Callable[[], None], bool] = {
        lambda: estimator.check_models(models, "features"): any_model,
        lambda: estimator.check_logprobs(_logprobs(features), "features"): any_logprobs,
    }
    found = []
    for check, allowed in checks.items():
        try:
            check()
        except ProvenanceError as error:
            if not allowed:
                raise
            found.append(str(error))
    return found


def _scores(estimator: SavedEstimator, rows: pl.DataFrame) -> pl.DataFrame:
    """Estimates over all rows and over the labelled ones, by slice; `rows` have features."""
    number, labelled = rows[_SLICE].to_numpy(), rows["label"].is_not_null().to_numpy()
    every = {int(one): number == one for one in np.unique(number)}
    both = every | {-one: mask & labelled for one, mask in every.items()}
    found = score(estimator.estimator, rows, both)
    columns = (_SLICE, "estimated_accuracy", "estimated_on_labelled")
    values = [(one, found[one], found[-one]) for one in every]
    return pl.DataFrame(
        values, schema=dict(zip(columns, (pl.UInt32, pl.Float64, pl.Float64), strict=True)), orient="row"
    )


def _training_settings(given: Mapping[str, Any]) -> Fitting:
    """What a fit depends on, checked as the config's section is."""
    try:
        asked = Estimation.model_validate(given)
    except ValidationError as error:
        raise ConfigError("\n".join(f"settings: {described(problem)}" for problem in error.errors())) from None
    return Fitting.of(asked.model_dump() | {"seed": _SEED if asked.seed is None else asked.seed})


def _logprobs(rows: pl.DataFrame) -> dict[str, Any]:
    """The facts that features must share; a response without features has no alternatives to a token to count."""
    with_features = rows.filter(pl.col("reason").is_null())
    return {name: _one(with_features, name) for name in LOGPROBS if name in rows.columns}


def _join(features: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Features with the label of each response, null where it has none."""
    key = [name for name in RESPONSE if name in labels.columns and name in features.columns]
    named = labels.select(*key, "label")
    if named.select(key).is_duplicated().any():
        raise InputError(f"labels: {', '.join(key)} must be there once each; they are there with several labels")
    return features.join(named, on=key, how="left", maintain_order="left")


def _one(rows: pl.DataFrame, column: str) -> Any:
    """The one value of a column; InputError where it has several."""
    found = rows[column].unique(maintain_order=True).to_list()
    if len(found) > 1:
        raise InputError(
            f"features: {column} must be the same in all rows, is {found[0]!r} and {found[1]!r}: filter them"
            + (", or cut all to the smaller number when they are read (top_k)" if column == "top_k_returned" else "")
        )
    return found[0] if found else None
