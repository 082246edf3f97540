"""Stage `estimate`: fit a training group's estimators, estimate every domain with features, and keep some as files."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.core.errors import ProvenanceError
from entropy_sentinel.estimators.estimator_base import Estimator, FitFailure
from entropy_sentinel.estimators.estimator_file import save_estimator
from entropy_sentinel.estimators.estimator_registry import extra_signals
from entropy_sentinel.estimators.estimator_settings import EstimationSettings, Fitting
from entropy_sentinel.estimators.fit_metadata import describe_fit
from entropy_sentinel.estimators.training_rows import TrainingRows, fit_estimators, score_slices
from entropy_sentinel.features.hashed_tokens import SCHEMA
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.estimate_schema import ESTIMATES, SCORES
from entropy_sentinel.schemas.response_schema import RESPONSE, item_numbers
from entropy_sentinel.schemas.signal_schema import add_reasons
from entropy_sentinel.signal_families.observation_frame import DOMAIN, OBSERVATIONS, read_observations
from entropy_sentinel.statistics.ambiguity import measure_ambiguous_shares

RAW_MODE = "raw_logprobs"
_HAS_FEATURES, _HAS_LABEL = pl.col("feature_reason").is_null(), pl.col("label").is_not_null()


def write_groups(observations: str, groups: Sequence[tuple[str, EstimationSettings]], outputs: Sequence[str]) -> None:
    """Write the estimates of several training groups (`a+b`), each with its settings, to one file each."""
    for (group, settings), output in zip(groups, outputs, strict=True):
        write_estimates(observations, group, settings, output)


def write_estimates(observations: str, group: str, settings: EstimationSettings, output: str) -> None:
    """Write the estimates of one training group (benchmarks to fit on, `a+b`) from the `observations` of one model.

    Raises ProvenanceError for traces whose log-probabilities are not from the model's distribution before temperature.
    """
    rows, logprob_facts = read_raw_observations(observations)
    frame = estimate_group(rows, group, settings)
    ESTIMATES.write(frame, output, {"group": group, "settings": dict(settings), "logprobs": logprob_facts})


def read_raw_observations(observations: str) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The rows of a file of observations, and from its provenance the facts about their log-probabilities, a dict.

    Raises ProvenanceError unless the log-probabilities are from before temperature.
    """
    rows = read_observations(observations)
    logprob_facts = read_provenance(observations)["logprobs"]
    if logprob_facts["logprobs_mode"] != RAW_MODE:
        raise ProvenanceError(
            f"{observations}: log-probabilities must be '{RAW_MODE}' (before temperature), got "
            f"'{logprob_facts['logprobs_mode']}'; generate the traces with that mode"
        )
    return rows, logprob_facts


def estimate_group(observations: pl.DataFrame, group: str, settings: EstimationSettings) -> pl.DataFrame:
    """Fit on the group's `train` rows and score every domain of one model; a frame of contract ESTIMATES.

    A training benchmark is scored on its `test` rows, any other on all its rows.
    """
    estimates: dict[str, pl.DataFrame] = {}
    for rows, names in split_by_signals(observations, settings["estimators"]):
        estimates |= _estimate_with_signals(rows, group, settings, names)
    return pl.concat(estimates[name] for name in settings["estimators"])


def split_by_signals(observations: pl.DataFrame, estimators: Iterable[str]) -> Iterator[tuple[pl.DataFrame, list[str]]]:
    """Yield the observations for estimators that need the same signals besides the features, and their names.

    In these observations, a response without one of the signals counts as one without features (`feature_reason`).
    """
    names_by_signals: dict[tuple[str, ...], list[str]] = {}
    for name in estimators:
        names_by_signals.setdefault(extra_signals(name), []).append(name)
    for signals, names in names_by_signals.items():
        yield add_reasons(observations, signals, "feature_reason").select(*OBSERVATIONS.schema, *signals), names


def _estimate_with_signals(
    observations: pl.DataFrame, group: str, settings: EstimationSettings, estimators: Sequence[str]
) -> dict[str, pl.DataFrame]:
    """The rows of contract ESTIMATES by estimator, for estimators that need the same signals besides the features.

    In `observations`, a response without these signals counts as one without features (`split_by_signals`).
    """
    training = select_training_rows(observations, group, settings)
    in_training = pl.col("benchmark").is_in(group.split("+"))
    # Of a training benchmark, estimators have seen the `train` rows.
    rows = observations.filter(~in_training | (pl.col("split") == "test"))
    domains = _summarise_domains(rows, in_training)
    featured = rows.filter(_HAS_FEATURES)
    # Which rows of `featured` are those of each benchmark, and which of them are labelled.
    masks = _build_masks(featured)
    domains = domains.with_columns(
        model=pl.lit(observations["model"][0]),
        group=pl.lit(group),
        n_training_rows=pl.lit(len(training), pl.UInt32),
        caution=pl.lit(training.caution, pl.String),
    )
    estimates = {}
    for name, estimator in fit_estimators(training, estimators).items():
        accuracies = score_slices(estimator, featured, masks)
        estimates[name] = _build_estimates(estimator, accuracies, domains).select(ESTIMATES.schema.names())
    return estimates


def select_training_rows(observations: pl.DataFrame, group: str, settings: EstimationSettings) -> TrainingRows:
    """The rows of a group for fitting: those in its `train` split with a label and features."""
    group_rows = observations.filter(pl.col("benchmark").is_in(group.split("+")), pl.col("split") == "train")
    return select_labelled_rows(group_rows, settings)


def select_labelled_rows(observations: pl.DataFrame, settings: EstimationSettings | Fitting) -> TrainingRows:
    """All rows with a label and features, with their domains.

    A benchmark whose questions have kinds has a domain for each kind; then benchmarks are groups of domains.
    """
    rows = observations.filter(_HAS_FEATURES, _HAS_LABEL)
    has_kinds = rows["kind"].count() > 0
    has_words = set(SCHEMA) <= set(rows.columns)  # columns of hashed words (features/hashed_tokens.py)
    return TrainingRows(
        rows,
        rows["label"].to_numpy(),
        settings,
        domains=rows.select(DOMAIN).to_series(),
        items=item_numbers(rows),
        groups=rows["benchmark"] if has_kinds else None,
        buckets=rows.select(*SCHEMA) if has_words else None,
    )


def _summarise_domains(rows: pl.DataFrame, in_training: pl.Expr) -> pl.DataFrame:
    """One row per domain: benchmark, role (training or held_out), true_accuracy, n_rows, n_labelled, n_excluded."""
    usable = _HAS_FEATURES & _HAS_LABEL
    return rows.group_by("benchmark", maintain_order=True).agg(
        role=pl.when(in_training).then(pl.lit("training")).otherwise(pl.lit("held_out")).first(),
        true_accuracy=pl.col("label").filter(usable).mean(),
        n_rows=_HAS_FEATURES.sum().cast(pl.UInt32),
        n_labelled=usable.sum().cast(pl.UInt32),
        n_excluded=(~_HAS_FEATURES).sum().cast(pl.UInt32),
    )


def _build_masks(featured: pl.DataFrame) -> dict[str, np.ndarray]:
    """The mask (n_rows,) of each domain's rows by its name, and under `<domain> labelled` that of its labelled rows."""
    benchmark = featured["benchmark"].to_numpy()
    labelled = featured["label"].is_not_null().to_numpy()
    masks = {}
    for name in featured["benchmark"].unique(maintain_order=True):
        masks[name] = benchmark == name
        masks[f"{name} labelled"] = masks[name] & labelled
    return masks


def _build_estimates(
    estimator: Estimator | FitFailure, accuracies: Mapping[str, float | None], domains: pl.DataFrame
) -> pl.DataFrame:
    """One estimator's estimates of all domains, null with the reason, beside the columns of `domains`.

    `accuracies` are the estimates by domain, and under `<domain> labelled` those for its labelled rows only.
    """
    if isinstance(estimator, FitFailure):
        chosen, reason = None, pl.lit(estimator.reason)
    else:
        chosen = estimator.chosen  # hyperparameters
        reason = pl.when(pl.col("n_rows") == 0).then(pl.lit("no row of the domain has features"))
    names = domains["benchmark"]
    return domains.with_columns(
        estimator=pl.lit(estimator.name),
        estimated_accuracy=pl.Series([accuracies.get(name) for name in names], dtype=pl.Float64),
        estimated_on_labelled=pl.Series([accuracies.get(f"{name} labelled") for name in names], dtype=pl.Float64),
        hyperparameters=pl.lit(json.dumps(chosen) if chosen else None, pl.String),
        reason=reason,
    )


def write_kept(
    observations: str,
    groups: Sequence[tuple[str, EstimationSettings]],
    estimators: Sequence[str],
    scores: Sequence[str],
) -> None:
    """Write the estimators of several training groups, each with its settings.

    `estimators` are the files of the estimators, group by group; `scores` has a file for each group.
    """
    files = iter(estimators)
    for (group, settings), scores_file in zip(groups, scores, strict=True):
        files_of_group = list(islice(files, len(settings["estimators"])))
        write_estimators(observations, group, settings, files_of_group, scores_file)


def write_estimators(
    observations: str, group: str, settings: EstimationSettings, outputs: Sequence[str], scores: str
) -> None:
    """Fit the group's (`a+b`) estimators `settings["estimators"]` and write each to its file of `outputs`.

    P(correct) of all responses with features goes to the file `scores`, with the share of training questions of each
    benchmark that look ambiguous.
    """
    rows, logprob_facts = read_raw_observations(observations)
    training_observations = rows.filter(pl.col("benchmark").is_in(group.split("+")), pl.col("split") == "train")
    ambiguous_shares = measure_ambiguous_shares(training_observations)  # by benchmark; None if unknown
    origin = {"model": rows["model"][0], "group": group, "logprobs": logprob_facts}
    paths = dict(zip(settings["estimators"], outputs, strict=True))
    score_frames = [SCORES.schema.to_frame()]
    for rows_with_signals, names in split_by_signals(rows, settings["estimators"]):
        training = select_training_rows(rows_with_signals, group, settings)
        estimators = fit_estimators(training, names)
        for name, estimator in estimators.items():
            metadata = describe_fit(estimator, training, ambiguous=ambiguous_shares, **origin)
            save_estimator(estimator, paths[name], metadata)
        score_frames.append(predict_p_correct(estimators.values(), rows_with_signals))
    ambiguous = None
    if ambiguous_shares is not None:
        ambiguous = {name: asdict(share) for name, share in ambiguous_shares.items()}
    SCORES.write(pl.concat(score_frames), scores, origin | {"ambiguous": ambiguous})


def predict_p_correct(estimators: Iterable[Estimator | FitFailure], observations: pl.DataFrame) -> pl.DataFrame:
    """P(correct) of every response with features by every estimator that gives it; a frame of contract SCORES."""
    featured = observations.filter(_HAS_FEATURES)
    parts = [SCORES.schema.to_frame()]
    if featured.is_empty():
        return parts[0]
    for estimator in estimators:
        p = None if isinstance(estimator, FitFailure) else estimator.p_correct(featured)
        if p is not None:
            column = pl.Series(p, dtype=pl.Float64)
            parts.append(featured.select(*RESPONSE, estimator=pl.lit(estimator.name), p=column))
    return pl.concat(parts)
