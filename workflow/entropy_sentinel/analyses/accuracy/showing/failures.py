"""What failed or is missing in a study: domains and estimators without a result, responses without labels or an end."""

import json
from collections.abc import Sequence
from typing import Any

import polars as pl

from entropy_sentinel.analyses.accuracy.showing.verdicts import ModelValidation
from entropy_sentinel.estimators.catalogue import in_order, title
from entropy_sentinel.frames.label import NO_REFERENCE

# Shares of a domain's responses that are told.
SHARE = 0.05
# So many estimators are named, of more the number is told.
_NAMED = 3


def failures(sweep: pl.DataFrame, validations: Sequence[ModelValidation]) -> list[str]:
    """What has no result, in sentences: domains by the recommended estimator, and rows of a frame SWEEP by reason."""
    lines = [
        f"{validation.model}, {one.domain}: the recommended estimator gives no estimate: {one.reason}."
        for validation in validations
        for one in (*validation.left_out, *validation.unlabelled)
        if one.estimated is None
    ]
    lines += [
        f"{validation.model}: no recommended estimator could be fitted: {validation.method_reason}."
        for validation in validations
        if validation.method is None
    ]
    unseen = sweep.filter(pl.col("scope") == "held_out")
    nulls = unseen.filter(pl.col("aee").is_null())
    for (reason,), rows in nulls.group_by("reason", maintain_order=True):
        models = ", ".join(rows["model"].unique(maintain_order=True))
        lines.append(
            f"{len(rows)} of {len(unseen)} errors on unseen domains, one for each estimator and training group, could "
            f"not be computed ({models}; {_estimators(rows)}): {reason or 'no reason given'}."
        )
    return lines


def gaps(domains: pl.DataFrame) -> list[dict[str, Any]]:
    """The domains of which at least SHARE of the responses have no label, no features or no end, with these shares.

    `domains` is a frame DOMAINS. `model`, `benchmark`, `unlabelled`, `featureless`, `cut_off` in [0, 1], and `reasons`.
    Responses to items without a reference are not counted as unlabelled: nothing could be compared.
    """
    found = []
    for row in domains.filter(pl.col("n_responses") > 0).iter_rows(named=True):
        reasons, n = json.loads(row["reasons"]), row["n_responses"]
        shares = {
            "unlabelled": (row["n_unlabelled"] - reasons.pop(NO_REFERENCE, 0)) / n,
            "featureless": row["n_featureless"] / n,
            "cut_off": row["n_truncated"] / n,
        }
        if max(shares.values()) >= SHARE:
            told = "; ".join(f"{reason}: {count}" for reason, count in reasons.items())
            found.append({"model": row["model"], "benchmark": row["benchmark"], **shares, "reasons": told or "-"})
    return found


def _estimators(rows: pl.DataFrame) -> str:
    names = in_order(rows["estimator"].unique())
    return ", ".join(map(title, names)) if len(names) <= _NAMED else f"{len(names)} estimators"
