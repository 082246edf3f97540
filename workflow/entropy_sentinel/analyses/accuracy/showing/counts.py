"""The report's table of counts: the responses of every domain, and how many have a label."""

import json
from typing import Any

import polars as pl

from entropy_sentinel.frames.label import NO_REFERENCE


def counts(domains: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of DOMAINS with `cut_off` (share of responses that are), reasons as text, and `unlabelled`.

    `unlabelled` says in words, in the place of counts, that a domain has no label at all; null where it has some.
    """
    rows = []
    for row in domains.iter_rows(named=True):
        reasons = json.loads(row["reasons"])
        nothing = "no references" if reasons.get(NO_REFERENCE) == row["n_responses"] else "no labels"
        rows.append(
            row
            | {
                "cut_off": row["n_truncated"] / row["n_responses"] if row["n_responses"] else None,
                "reasons": "; ".join(f"{reason}: {count}" for reason, count in reasons.items()) or "-",
                "unlabelled": None if row["n_correct"] + row["n_incorrect"] else nothing,
            }
        )
    return rows
