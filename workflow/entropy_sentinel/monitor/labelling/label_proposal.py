"""Propose how many responses of each slice to label next, from the rows of the newest window."""

from dataclasses import dataclass

import numpy as np

from entropy_sentinel.monitor.alert_codes import Flag
from entropy_sentinel.monitor.monitor_result import Monitored, Row, name_slice
from entropy_sentinel.statistics.monitoring.allocation import apportion_labels

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


def propose_slices(result: Monitored) -> list[Proposal]:
    """The slices of the newest window to label next, at most BUDGET labels in all, the most labels first.

    Slices whose accuracy is unknown or cannot be relied on (unfamiliar, or contradicted by labels) come first, until
    they have FEWEST_UNRELIED labels. The others share the rest as in `sample`, with more labels for large and
    uncertain slices, as far as each gets FEWEST.
    """
    rows = result.now.filter(result.now["n_estimated"] > 0).to_dicts()
    chosen: list[tuple[Row, int]] = []
    left = BUDGET
    row: Row
    for row in filter(_explain_priority, rows):
        n = min(max(FEWEST_UNRELIED - row.get("n_labelled", 0), 0), row["n_estimated"])
        if n > left:
            break
        chosen.append((row, n))
        left -= n
    remaining_rows = sorted((row for row in rows if not _explain_priority(row)), key=_compute_weight, reverse=True)
    remaining_rows = remaining_rows[: left // FEWEST]  # as many as can have FEWEST labels
    sizes = [row["n_estimated"] for row in remaining_rows]
    counts = apportion_labels([_compute_weight(row) for row in remaining_rows], np.minimum(FEWEST, sizes), sizes, left)
    chosen += zip(remaining_rows, counts.tolist(), strict=True)
    proposals = []
    for row, n in chosen:
        if n:
            name = name_slice(row[column] for column in result.by)
            proposals.append(Proposal(name, n, _explain_priority(row)))
    return proposals


def _explain_priority(row: Row) -> str:
    """Why a slice's accuracy is unknown or cannot be relied on, or an empty text."""
    if Flag.UNFAMILIAR in row["flag_codes"]:
        return Flag.UNFAMILIAR.words
    if row["estimated_accuracy"] is None:
        if not row.get("n_labelled"):
            return "no labels"
        if _select_accuracy(row) is None:
            return "no accuracy yet"
    return Flag.CONTRADICTED.words if Flag.CONTRADICTED in row["flag_codes"] else ""


def _select_accuracy(row: Row) -> float | None:
    """The estimated accuracy; without an estimate, that from labels."""
    accuracy: float | None = row["estimated_accuracy"]
    return row.get("use_accuracy") if accuracy is None else accuracy


def _compute_weight(row: Row) -> float:
    """The weight of a slice in the allocation of labels: sqrt(size) times the standard deviation of a label."""
    known_accuracy = _select_accuracy(row)
    accuracy = min(max(0.5 if known_accuracy is None else known_accuracy, 0.05), 0.95)
    return float(np.sqrt(row["n_estimated"] * accuracy * (1 - accuracy)))
