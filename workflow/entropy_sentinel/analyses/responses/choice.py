"""Which responses of a domain are worth a look: the most and least certain, and those where certainty misleads."""

import polars as pl

from entropy_sentinel.analyses.responses.reading import Which
from entropy_sentinel.frames.response import RESPONSE, SAMPLE

# Kinds of responses: which labels (null for any), and whether the most certain come first.
KINDS: dict[str, tuple[bool | None, bool]] = {
    "most certain": (None, True),
    "least certain": (None, False),
    "wrong but certain": (False, True),
    "right but uncertain": (True, False),
}


def choose(observations: pl.DataFrame, scores: pl.DataFrame, per_kind: int) -> dict[Which, list[str]]:
    """Responses of one model and benchmark, each with the kinds that it is one of, in the order of KINDS.

    `observations` are rows of OBSERVATIONS, `scores` of SCORES, of one estimator. Certainty is P(correct); of equals,
    and where there are no scores, LNTP, the geometric mean of the tokens' probabilities. Responses without features
    are no candidates. Where none has features, as those of an engine without log-probabilities, they are chosen by
    their labels alone.
    """
    rows = observations.filter(pl.col("feature_reason").is_null())
    if rows.is_empty():
        return _without_certainty(observations, per_kind)
    rows = rows.join(scores.select(*RESPONSE, "p"), on=RESPONSE, how="left", maintain_order="left")
    chosen: dict[Which, list[str]] = {}
    for kind, (label, certain) in KINDS.items():
        candidates = rows if label is None else rows.filter(pl.col("label") == label)
        first = candidates.sort("p", "lntp", *SAMPLE, descending=[certain, certain, False, False])
        for which in first.head(per_kind).select(SAMPLE).iter_rows():
            chosen.setdefault(which, []).append(kind)
    return chosen


def _without_certainty(observations: pl.DataFrame, per_kind: int) -> dict[Which, list[str]]:
    """The first responses of each label."""
    chosen: dict[Which, list[str]] = {}
    for kind, label in {"right": True, "wrong": False, "no label": None}.items():
        candidates = observations.filter(pl.col("label").eq_missing(label)).sort(SAMPLE)
        chosen |= {which: [kind] for which in candidates.head(per_kind).select(SAMPLE).iter_rows()}
    return chosen
