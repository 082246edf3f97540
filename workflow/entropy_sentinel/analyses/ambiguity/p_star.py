"""What p* is like, by benchmark and source, and how far sources differ."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.analyses.ambiguity.frames import P_STARS
from entropy_sentinel.analyses.ambiguity.uncertainty import jensen_shannon, uncertainty
from entropy_sentinel.sources.fields import normalised


def p_stars(answers: pl.DataFrame, source: str) -> Iterator[dict[str, Any]]:
    """Rows of P_STARS from the right answers of a frame ALIGNED; p* does not depend on the model.

    The divergence is from the benchmark's own, `source`, over the answers of either; names are the same up to case,
    punctuation, articles and space.
    """
    distinct = answers.unique(subset=[*P_STARS.key, "class"], keep="first", maintain_order=True)
    found = dict(distinct.group_by(P_STARS.key, maintain_order=True))
    for (benchmark, name, item), own in found.items():
        shares = own["p_star"].to_numpy()
        first = found.get((benchmark, source, item))
        yield {
            "benchmark": benchmark,
            "source": name,
            "item_id": item,
            "n_answers": len(own),
            "counts": None if own["count"].has_nulls() else own["count"].to_list(),
            "entropy": uncertainty(shares, shares).aleatoric,
            "divergence": None if name == source or first is None else _divergence(_named(first), _named(own)),
        }


def _named(own: pl.DataFrame) -> dict[str, float]:
    return {normalised(name): share for name, share in own.select("name", "p_star").iter_rows()}


def _divergence(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    names = dict.fromkeys([*one, *other])
    return jensen_shannon(*(np.array([known.get(name, 0.0) for name in names]) for known in (one, other)))
