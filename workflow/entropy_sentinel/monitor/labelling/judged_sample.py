"""A sample of responses with what a witness says of them, and reading samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from entropy_sentinel.api.input_checks import WEIGHT, coerce_table, is_table
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.features.feature_registry import FEATURE_FRAME
from entropy_sentinel.logs.reader_base import QUESTION
from entropy_sentinel.monitor.labelling.interruption import Interruption
from entropy_sentinel.monitor.labelling.label_sheet import LABEL, read_label_sheet
from entropy_sentinel.monitor.labelling.sample_table import MESSAGES
from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.schemas.witness_schema import COMPARABLE, JUDGE, PROBABILITY, WITNESS, WitnessKind

# The columns with the reason why a label is missing, with the logged response, and with the second model's answer.
REASON, RESPONSE_TEXT, ANSWER = "reason", "response", "answer"
NO_TEXTS = "the log has no question or no response"


@dataclass(frozen=True)
class JudgedSample:
    """The rows of a sample with the labels of a witness.

    Attributes:
        rows: The rows, with `label`, `reason`, `judge`, `witness`, `probability`; and for a second opinion `answer` and
            `comparable`.
        kind: What the labels say.
        model: The name of the model that gave them.
        usd: What the requests cost, in US dollars; 0 without prices.
        answered: The number of requests that the server answered.
        cached: The number of replies from the cache.
        notices: What to know about the labels.
        interruption: What ended the requests before all responses had an answer; null if nothing did.
    """

    rows: pl.DataFrame
    kind: WitnessKind
    model: str
    usd: float = 0.0
    answered: int = 0
    cached: int = 0
    notices: tuple[str, ...] = ()
    interruption: Interruption | None = None

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many labels are true and false, and how many responses have none."""
        label = self.rows[LABEL]
        return int(label.sum()), int((~label).sum()), label.null_count()

    @property
    def n_comparable(self) -> int:
        """The number of labels of responses that can be compared by their text."""
        return int(self.rows.select((pl.col(COMPARABLE) & pl.col(LABEL).is_not_null()).sum()).item())


def add_labels(
    rows: pl.DataFrame,
    kind: WitnessKind,
    model: str,
    labels: Sequence[bool | None],
    reasons: Sequence[str | None],
    probabilities: Sequence[float | None] | None = None,
) -> pl.DataFrame:
    """The rows of a sample with the columns that the files of a judge or second model have.

    `labels`, the `reasons` why one is null, and `probabilities` of "correct" are (n_rows,).
    """
    return rows.with_columns(
        pl.Series(LABEL, labels, pl.Boolean),
        pl.Series(REASON, reasons, pl.String),
        pl.lit(model).alias(JUDGE),
        pl.lit(kind.value).alias(WITNESS),
        pl.Series(PROBABILITY, probabilities or [None] * len(rows), pl.Float64),
    )


def read_sample(responses: Any, needed: Sequence[str]) -> pl.DataFrame:
    """The responses of one table or file of `sample`, or of several: each once, further ones without weight.

    Raises InputError if a table lacks a column that is needed.
    """
    sources = list(responses) if isinstance(responses, list | tuple) else [responses]
    frames = [coerce_table(each, "responses") if is_table(each) else read_label_sheet(each) for each in sources]
    if not frames:
        raise InputError("responses: name at least one file")
    for number, frame in enumerate(frames, 1):
        if absent := [name for name in ("item_id", *needed) if name not in frame.columns]:
            raise InputError(f"responses: table {number} has no column '{absent[0]}'; give the files of `sample`")
    dtypes = {**{name: FEATURE_FRAME.schema[name] for name in RESPONSE}, WEIGHT: pl.Float64}
    dtypes |= dict.fromkeys((QUESTION, RESPONSE_TEXT, MESSAGES), pl.String)
    frames = [_cast_columns(frame, dtypes) for frame in frames]
    first, *later_frames = frames
    if later_frames and WEIGHT in first.columns:
        later_frames = [frame.with_columns(pl.lit(None, pl.Float64).alias(WEIGHT)) for frame in later_frames]
    rows = pl.concat([first, *later_frames], how="diagonal_relaxed")
    return rows.unique([name for name in RESPONSE if name in rows.columns], keep="first", maintain_order=True)


def _cast_columns(frame: pl.DataFrame, dtypes: Any) -> pl.DataFrame:
    """The columns of a sample in their types, without what people or another witness have said."""
    frame = frame.drop(LABEL, REASON, JUDGE, PROBABILITY, strict=False)
    if WITNESS in frame.columns:
        frame = frame.drop(WITNESS, ANSWER, COMPARABLE, strict=False)
    try:
        return frame.with_columns(pl.col(name).cast(dtypes[name]) for name in frame.columns if name in dtypes)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"responses: {' '.join(str(error).split())[:200]}") from None
