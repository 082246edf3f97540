"""Join a judge's verdicts with responses and labels, for the validation of `fit`."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.estimators.training import TrainingRows
from entropy_sentinel.estimators.witnessed import WitnessedRows
from entropy_sentinel.features.catalogue import FEATURES
from entropy_sentinel.formatting.text import counted
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.verbs.clusters import cluster_numbers
from entropy_sentinel.verbs.inputs import WEIGHT, labels_table, with_labels
from entropy_sentinel.verbs.witness_files import JUDGED, read_witnesses

log = logging.getLogger(__name__)
_VERDICT, _WEIGHT, _LABEL_WEIGHT = "(verdict)", "(weight of the verdict)", "(weight of the label)"


def witnessed_rows(
    responses: pl.DataFrame,
    domain: str,
    labels: pl.DataFrame | None,
    judged: Any,
    kind: Mapping[str, Any],
    signals: Sequence[str],
    cluster: str | None,
    training: TrainingRows,
) -> WitnessedRows:
    """Return the responses that have features and a verdict, in the domains of `training`.

    `responses` have features, the label by people, and their domain in the column `domain`. Those of another model or
    with other log-probabilities than `kind`, which the estimator is for, do not count.

    Raises InputError if no response with a label has a verdict.
    """
    people = None if labels is None else labels_table(labels)
    witnesses = read_witnesses(judged, labels=people)
    if len(witnesses) > 1:
        names = ", ".join(witness.name for witness in witnesses)
        raise InputError(f"{JUDGED}: has several witnesses ({names}); give one of them")
    verdicts = witnesses[0].rows
    rows = responses.with_columns(
        with_labels(responses, verdicts)["label"].cast(pl.Float64).alias(_VERDICT),
        _weights(responses, verdicts).alias(_WEIGHT),
        (pl.lit(None, pl.Float64) if people is None else _weights(responses, people)).alias(_LABEL_WEIGHT),
    )
    has_label = pl.col("label").is_not_null()
    rows = rows.filter(pl.col("reason").is_null(), pl.col(domain).is_in(np.unique(training.domains).tolist()))
    rows = rows.filter(*[pl.col(name).eq_missing(value) for name, value in kind.items()])
    n_labelled = rows.filter(has_label).height
    rows = rows.filter(pl.col(_VERDICT).is_not_null())
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
            counted(n_labelled - n_both, "label"),
            "it counts" if n_labelled - n_both == 1 else "they count",
        )
    return WitnessedRows(
        features=rows.select(*FEATURES, *signals),
        domains=rows[domain].cast(pl.String).to_numpy().astype(str),
        verdicts=rows[_VERDICT].to_numpy(),
        labels=rows["label"].cast(pl.Float64).fill_null(np.nan).to_numpy(),
        items=cluster_numbers(rows, cluster),
        weights=rows[_WEIGHT].fill_null(np.nan).to_numpy(),
        label_weights=rows[_LABEL_WEIGHT].fill_null(np.nan).to_numpy(),
        similarity=training.similarity,
    )


def _weights(responses: pl.DataFrame, labels: pl.DataFrame) -> pl.Series:
    """Return how many responses the label of each response represents, (n_rows,); null if unknown."""
    if WEIGHT not in labels.columns:
        return pl.Series(WEIGHT, [None] * len(responses), dtype=pl.Float64)
    key = [name for name in RESPONSE if name in labels.columns and name in responses.columns]
    weights = labels.filter(pl.col("label").is_not_null()).select(*key, WEIGHT).unique(key, keep="last")
    return responses.select(key).join(weights, on=key, how="left", maintain_order="left")[WEIGHT]
