"""Propose how many responses of each slice to label next, from the rows of the newest window."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from entropy_sentinel.monitor.labelling.using import CONTRADICTED
from entropy_sentinel.monitor.result import Monitored, Row, slice_name
from entropy_sentinel.monitor.settings import UNFAMILIAR
from entropy_sentinel.statistics.allocation import apportion

# The number of labels of a proposal, and the fewest of a slice.
BUDGET, FEWEST = 30, 5
# The fewest labels of a slice whose estimate cannot be relied on.
FEWEST_UNRELIED = 10


@dataclass(frozen=True)
class Proposal:
    """A slice to label next: its name, the number of responses, and why it comes first, or an empty text."""

    slice: str
    n: int
    why: str


def proposals(result: Monitored) -> list[Proposal]:
    """Return the slices of the newest window to label next, at most BUDGET labels in all, the most labels first.

    Slices whose estimate cannot be relied on (unfamiliar, or contradicted by labels) come first, until they have
    FEWEST_UNRELIED labels. The others share the rest as in `sample`, with more labels for large and uncertain slices,
    as far as each gets FEWEST.
    """
    rows = result.now.filter(result.now["n_estimated"] > 0).to_dicts()
    unsure = [row for row in rows if _why(row)]
    first = [min(max(FEWEST_UNRELIED - row.get("n_labelled", 0), 0), row["n_estimated"]) for row in unsure]
    while sum(first) > BUDGET:
        first.pop()
    others = [row for row in rows if not _why(row)]
    left = BUDGET - sum(first)
    others = sorted(others, key=_weight, reverse=True)[: left // FEWEST]
    sizes = [row["n_estimated"] for row in others]
    counts = apportion([_weight(row) for row in others], np.minimum(FEWEST, sizes), sizes, left)
    chosen = [*zip(unsure, first, strict=False), *zip(others, counts, strict=True)]
    return [Proposal(slice_name(row[name] for name in result.by), int(n), _why(row)) for row, n in chosen if n]


def _why(row: Row) -> str:
    return next((flag for flag in (UNFAMILIAR, CONTRADICTED) if flag in row["flags"]), "")


def _weight(row: dict[str, Any]) -> float:
    """Return sqrt(size) times the standard deviation of a label."""
    accuracy = min(max(row["estimated_accuracy"], 0.05), 0.95)
    return float(np.sqrt(row["n_estimated"] * accuracy * (1 - accuracy)))
