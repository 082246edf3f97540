"""The table of responses to label or to judge, their ids, and their random order."""

import hashlib
from collections.abc import Mapping, Sequence
from enum import StrEnum

import polars as pl

from entropy_sentinel.api.input_checks import WEIGHT
from entropy_sentinel.logs.conversation import CONVERSATION
from entropy_sentinel.logs.reader_base import QUESTION
from entropy_sentinel.logs.reference_answer import REFERENCE
from entropy_sentinel.monitor.reading.feature_stream import SLICE_PREFIX
from entropy_sentinel.schemas.response_schema import RESPONSE


class Purpose(StrEnum):
    """What labels are drawn for: to know the accuracy of the slices, or to validate a first estimator as `usable`."""

    WATCH = "watch"
    VALIDATE = "validate"


# The column with the whole conversation of each question, as JSON.
MESSAGES = "messages"
# The column with the reference answer that the log has.
REFERENCE_ANSWER = "reference"
# Columns of the two tables that are not slices.
_TABLE_COLUMNS = {
    *("item_id", "stratum", "inclusion_probability", "weight", "question", "response", "label"),
    *("n_responses", "n_to_label", "n_to_judge", "estimated_accuracy", "width_before", "width_labels_alone"),
    *("width_expected", "width_with_judge", "width_with_estimator", "width_with_both"),
    *("unfamiliar", MESSAGES, REFERENCE_ANSWER),
    # What `judge` adds.
    *("reason", "judge", "witness", "probability", "answer", "comparable"),
}


def name_slice_columns(by: Sequence[str]) -> dict[str, str]:
    """The names of the slice columns in the tables, by their names in rows with slices (`by.COLUMN`)."""
    return {f"{SLICE_PREFIX}{name}": f"slice_{name}" if name in _TABLE_COLUMNS else name for name in by}


def find_slice_columns(rows: pl.DataFrame) -> list[str]:
    """The slice columns of a table that `make_label_table` has made: those before the ids of responses."""
    names = rows.columns[: rows.columns.index("item_id")]
    if "sample" in rows.columns:  # the ids are then model, benchmark, item_id and sample
        for name in ("benchmark", "model"):
            if names[-1:] == [name]:
                names.pop()
    return [name for name in names if name not in _TABLE_COLUMNS]


def find_id_columns(rows: pl.DataFrame) -> tuple[str, ...]:
    """The columns that identify responses: if ids are unique, only the id, which survives renaming the log."""
    return ("item_id",) if rows["item_id"].is_unique().all() else RESPONSE


def make_label_table(
    rows: pl.DataFrame, by: Mapping[str, str], ids: Sequence[str], facts: Sequence[str]
) -> pl.DataFrame:
    """The table of responses to label: slices (`by` is that of `name_slice_columns`), `ids`, `facts` and texts."""
    columns = {column: pl.col(name) for name, column in by.items()}
    for name in ids:
        columns.setdefault(name, pl.col(name))
    for name in (*facts, WEIGHT, QUESTION, "response"):
        columns[name] = pl.col(name)
    columns["label"] = pl.lit(None, pl.Boolean)
    if rows[CONVERSATION].null_count() < len(rows):
        columns[MESSAGES] = pl.col(CONVERSATION)
    if rows[REFERENCE].null_count() < len(rows):
        columns[REFERENCE_ANSWER] = pl.col(REFERENCE)
    return rows.select(**columns)


def draw_order(rows: pl.DataFrame, seed: int) -> pl.Series:
    """A pseudo-random number for each response, which does not depend on its position."""
    names = rows.select(find_id_columns(rows)).iter_rows()
    return pl.Series([draw_number(f"{seed} {name}") for name in names], dtype=pl.UInt64)


def draw_number(text: str) -> int:
    """A pseudo-random 64-bit number, the same for the same text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
