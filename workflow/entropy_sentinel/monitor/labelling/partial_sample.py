"""A sample of which a model has answered only a part: the budget was spent, the server failed, or the user stopped.

Requests are sent in an order in which every beginning represents all slices: the responses of each slice and stratum
are in random order, and all slices advance at the same pace. So the answered responses are a smaller random sample, and
their weights only have to grow until they add up to the responses of the slice again (two phases: Neyman 1938).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import polars as pl

from entropy_sentinel.api.input_checks import WEIGHT
from entropy_sentinel.core.errors import BudgetSpentError, EntropySentinelError
from entropy_sentinel.monitor.labelling.interruption import Interruption, InterruptionCode
from entropy_sentinel.monitor.labelling.judged_sample import REASON
from entropy_sentinel.monitor.labelling.sample_table import draw_order, find_slice_columns

Answer = TypeVar("Answer")
# With the default seed of `sample`, the responses to label come first; any other seed is as good.
_SEED = 42
_ORDER, _PLACE, _KEPT, _SIZE = "(order)", "(place)", "(kept)", "(size)"


class StoppedByUserError(EntropySentinelError):
    """The user interrupted the requests, such as with Ctrl-C."""


@dataclass(frozen=True)
class Answers(Generic[Answer]):
    """The answers about rows that were asked about, `asked`, and the error that ended the requests, if any."""

    asked: Sequence[int]
    by_row: Mapping[int, Answer]
    error: EntropySentinelError | None

    def find_missing(self, n_rows: int) -> np.ndarray:
        """Which of all rows were to be asked about and have no answer, (n_rows,) of bool."""
        missing = np.zeros(n_rows, dtype=bool)
        missing[[row for row in self.asked if row not in self.by_row]] = True
        return missing


# The codes of errors; any other error is the server's.
_CODES: dict[type[EntropySentinelError], InterruptionCode] = {
    BudgetSpentError: InterruptionCode.BUDGET,
    StoppedByUserError: InterruptionCode.INTERRUPTED,
}


def collect_answers(
    answers: Iterable[tuple[int, Answer]], asked: Sequence[int], counts: Mapping[str, int], progress: str
) -> Answers[Answer]:
    """All answers that come before an error or interrupt; raise it if there is none from the server or the cache.

    `asked` are the rows of a sample in the order of the requests, `counts` the replies so far. The error gets the
    number of these and `progress`, what is true of them.
    """
    by_row: dict[int, Answer] = {}
    try:
        for position, answer in answers:
            by_row[asked[position]] = answer
    except EntropySentinelError as error:
        n_replies = counts["answered"] + counts["cached"]
        message = str(error).removeprefix("judges.")
        stopped = type(error)(f"{message} ({n_replies:,} of {len(asked):,} {progress})")
        if not n_replies:
            raise stopped from None
        return Answers(asked, by_row, stopped)
    except KeyboardInterrupt:
        if not by_row:
            raise
        return Answers(asked, by_row, StoppedByUserError(f"interrupted ({len(by_row):,} of {len(asked):,} {progress})"))
    return Answers(asked, by_row, None)


def order_requests(rows: pl.DataFrame) -> list[int]:
    """The positions of the rows of a sample in the order in which a model is asked about them.

    Rows without a weight come first: they are to correct the model's errors, and represent nothing.
    """
    if WEIGHT not in rows.columns:
        rows = rows.with_columns(pl.lit(1.0).alias(WEIGHT))
    # In each cell, whose responses had equal chances to be drawn, the rank in random order as a share of the cell.
    cells = _sampling_cells(rows)
    ranks = pl.col(_ORDER).rank("ordinal").over(cells) if cells else pl.col(_ORDER).rank("ordinal")
    size = pl.len().over(cells) if cells else pl.len()
    ordered = (
        rows.with_columns(draw_order(rows, _SEED).alias(_ORDER), pl.int_range(pl.len()).alias(_PLACE))
        .with_columns(((ranks - 0.5) / size).alias(_KEPT))
        .sort(pl.col(WEIGHT).is_not_null(), _KEPT, _ORDER, _PLACE)
    )
    return ordered[_PLACE].to_list()


class PartialSample(NamedTuple):
    """The rows of a sample with the weights of a part of it, and what ended the requests; null if nothing did."""

    rows: pl.DataFrame
    interruption: Interruption | None


def keep_answered(rows: pl.DataFrame, answers: Answers[Answer]) -> PartialSample:
    """The rows of a sample; if an error ended the requests, those with an answer represent the whole sample.

    The others get the code of the error as reason, and no weight.
    """
    error, missing = answers.error, answers.find_missing(len(rows))
    if error is None or not missing.any():
        return PartialSample(rows, None)
    code = _CODES.get(type(error), InterruptionCode.SERVER)
    is_missing = pl.Series(missing)
    has_weights = WEIGHT in rows.columns and rows[WEIGHT].count() > 0
    slices = _slices_without(rows, is_missing) if has_weights else ()
    interruption = Interruption(
        code,
        message=str(error),
        n_missing=int(missing.sum()),
        n_responses=len(rows),
        slices=slices,
        has_weights=has_weights,
    )
    rows = rows.with_columns(pl.when(is_missing).then(pl.lit(code.value)).otherwise(REASON).alias(REASON))
    return PartialSample(_raise_weights(rows, is_missing) if has_weights else rows, interruption)


def _sampling_cells(rows: pl.DataFrame) -> list[str]:
    """The columns whose values tell apart what was drawn with different probabilities."""
    return [*find_slice_columns(rows), *(["stratum"] if "stratum" in rows.columns else []), WEIGHT]


def _raise_weights(rows: pl.DataFrame, is_missing: pl.Series) -> pl.DataFrame:
    """The rows with weights, null for those that are missing, that add up to those of the whole sample.

    They do so in each cell, as far as it has an answer, and then in each slice.
    """
    weight, kept = pl.col(WEIGHT), pl.col(_KEPT)
    columns = rows.columns
    rows = rows.with_columns(pl.when(~is_missing).then(weight).alias(_KEPT), weight.alias(_SIZE))
    for cells in (_sampling_cells(rows), find_slice_columns(rows)):
        total, kept_total = (one.sum().over(cells) if cells else one.sum() for one in (pl.col(_SIZE), kept))
        rows = rows.with_columns((kept * total / kept_total).alias(_KEPT))
    return rows.with_columns(kept.alias(WEIGHT)).select(columns)


def _slices_without(rows: pl.DataFrame, is_missing: pl.Series) -> tuple[str, ...]:
    """The slices of which no response has an answer."""
    names = find_slice_columns(rows)
    if not names:
        return ()
    drawn = rows.with_columns(is_missing.alias(_KEPT)).drop_nulls(WEIGHT)
    without = drawn.group_by(names, maintain_order=True).agg(pl.col(_KEPT).all()).filter(_KEPT)
    return tuple("/".join("-" if value is None else str(value) for value in row) for row in without[names].rows())
