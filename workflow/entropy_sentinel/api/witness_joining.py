"""Join what witnesses say with responses and labels, for the validation of `fit`."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.api.cluster_numbers import number_clusters
from entropy_sentinel.api.input_checks import WEIGHT, add_labels
from entropy_sentinel.api.overlapping_samples import combine_weights
from entropy_sentinel.api.witness_reading import JUDGED, Witness, read_witnesses
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.estimators.training_rows import TrainingRows
from entropy_sentinel.estimators.witness_validation import WitnessedRows, WitnessModel
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.schemas.witness_schema import SAMPLES, VALUE

log = logging.getLogger(__name__)
_LABEL_WEIGHT = "(weight of the label)"


def join_witnesses(
    responses: pl.DataFrame,
    domain: str,
    labels: pl.DataFrame | None,
    judged: Any,
    kind: Mapping[str, Any],
    signals: Sequence[str],
    cluster: str | None,
    training: TrainingRows,
) -> WitnessedRows:
    """The responses that have features and a witness, in the domains of `training`.

    A witness is a model whose verdicts, or answers to the same questions, stand in for labels; `judged` are their
    files or tables. `responses` have features, the label by people, and their domain in the column `domain`. Those of
    another model or with other log-probabilities than `kind`, the estimator's values by column, do not count.

    Raises InputError if no response with a label has a verdict.
    """
    witnesses = read_witnesses(judged, labels=labels)
    numbers = range(len(witnesses))
    rows = responses.with_columns(
        *[
            _join_values(responses, witness.rows).alias(_name_value_column(number))
            for number, witness in enumerate(witnesses)
        ],
        *[
            _join_weights(responses, witness.rows).alias(_name_weight_column(number))
            for number, witness in enumerate(witnesses)
        ],
        *[
            _join_samples(responses, witness).alias(_name_sample_column(number))
            for number, witness in enumerate(witnesses)
        ],
        (pl.lit(None, pl.Float64) if labels is None else _join_weights(responses, labels)).alias(_LABEL_WEIGHT),
    )
    has_label = pl.col("label").is_not_null()
    rows = rows.filter(pl.col("reason").is_null(), pl.col(domain).is_in(np.unique(training.domains).tolist()))
    rows = rows.filter(*[pl.col(name).eq_missing(value) for name, value in kind.items()])
    rows = _combine_samples(rows, domain, len(witnesses))
    n_labelled = rows.filter(has_label).height
    rows = rows.filter(pl.any_horizontal(pl.col(map(_name_value_column, numbers)).is_not_null()))
    n_both = rows.filter(has_label).height
    if not n_both:
        raise InputError(
            f"{JUDGED}: no response has both a label and a verdict, so the labels cannot correct the judge; let the "
            "judge see the labelled ones too (`entropy-sentinel judge to_judge.csv to_label.csv`), and keep item_id"
        )
    if n_both < n_labelled:
        log.warning(
            "%s: %s without a verdict; %s for training, but the accuracy of a domain rests on labels with a verdict",
            JUDGED,
            format_count(n_labelled - n_both, "label"),
            "it counts" if n_labelled - n_both == 1 else "they count",
        )
    return WitnessedRows(
        features=rows.select(*FEATURES, *signals),
        domains=rows[domain].cast(pl.String).to_numpy().astype(str),
        witnesses=tuple(WitnessModel(each.kind, each.model, each.name, each.has_probabilities) for each in witnesses),
        values=rows.select(pl.col(map(_name_value_column, numbers)).fill_null(np.nan)).to_numpy(),
        labels=rows["label"].cast(pl.Float64).fill_null(np.nan).to_numpy(),
        items=number_clusters(rows, cluster),
        weights=rows.select(pl.col(map(_name_weight_column, numbers)).fill_null(np.nan)).to_numpy(),
        label_weights=rows[_LABEL_WEIGHT].fill_null(np.nan).to_numpy(),
        similarity=training.similarity,
    )


def _name_value_column(number: int) -> str:
    """The column with what the witness (judge or second model) of this number says, from 0 (incorrect) to 1."""
    return f"(value {number})"


def _name_weight_column(number: int) -> str:
    """The column with the weights of the sample of a witness (judge or second model).

    A weight is the number of responses that one represents.
    """
    return f"(weight {number})"


def _name_sample_column(number: int) -> str:
    """The column with the samples of a witness (judge or second model) that a response is in."""
    return f"(samples {number})"


def _join_samples(responses: pl.DataFrame, witness: Witness) -> pl.Series:
    """The SAMPLES of each response, (n_rows,); null if the witness (judge or second model) has one sample or none."""
    if witness.samples is None:
        return pl.Series(SAMPLES, [None] * len(responses))
    key = [name for name in witness.key if name in responses.columns]
    samples = witness.samples.select(*key, SAMPLES).unique(key, keep="last")
    return responses.select(key).join(samples, on=key, how="left", maintain_order="left")[SAMPLES]


def _combine_samples(rows: pl.DataFrame, domain: str, n_witnesses: int) -> pl.DataFrame:
    """The rows with the samples of each witness (judge or second model) as one: each response of a domain counts once.

    Times are not read, so of samples that overlap only those that cover the most have weights.
    """
    untimed = rows.group_by(slice=domain).agg(n=pl.len())
    rows = rows.with_columns(pl.col(domain).alias("slice"), pl.lit(None, pl.Datetime("us", "UTC")).alias("grain"))
    for number in range(n_witnesses):
        if rows[_name_sample_column(number)].count():
            rows = combine_weights(rows, _name_sample_column(number), _name_weight_column(number), untimed)
    return rows.drop("slice", "grain")


def _join_values(responses: pl.DataFrame, witness: pl.DataFrame) -> pl.Series:
    """What a witness (judge or second model) says of each response, (n_rows,); null where it says nothing.

    It is joined like a label.
    """
    return add_labels(responses, witness.with_columns(label=VALUE))["label"].cast(pl.Float64)


def _join_weights(responses: pl.DataFrame, labels: pl.DataFrame) -> pl.Series:
    """How many responses the label of each response represents, (n_rows,); null if unknown."""
    if WEIGHT not in labels.columns:
        return pl.Series(WEIGHT, [None] * len(responses), dtype=pl.Float64)
    key = [name for name in RESPONSE if name in labels.columns and name in responses.columns]
    weights = labels.filter(pl.col("label").is_not_null()).select(*key, WEIGHT).unique(key, keep="last")
    return responses.select(key).join(weights, on=key, how="left", maintain_order="left")[WEIGHT]
