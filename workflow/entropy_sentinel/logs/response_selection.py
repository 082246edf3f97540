"""Apply the options `column` and `where`: rename columns, and select responses."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.features.feature_registry import FEATURE_FRAME
from entropy_sentinel.logs.log_options import LogOptions
from entropy_sentinel.logs.model_names import LOGGED_MODEL, SameModels, strip_prefix
from entropy_sentinel.schemas.generation_schema import GENERATIONS, LOGPROBS, UNUSABLE

# The optional column with the place of a response, file and line.
PLACE = "place_in_log"
# Columns of a frame of traces or features. A log's column with such a name becomes `log_NAME`, and a log's own
# `log_NAME` becomes `log_log_NAME`.
_RESERVED_NAMES = {
    *GENERATIONS.schema,
    *FEATURE_FRAME.schema,
    *LOGPROBS,
    "model",
    "benchmark",
    UNUSABLE,
    PLACE,
    "label",
    "label_reason",
}
# Other names that logs use for a column.
_ALIASES = {"time": ("timestamp",)}
# Largest number of kinds to count separately; a column may have any number of values.
_MOST_KINDS = 20


class ExclusionReason(NamedTuple):
    """Why `where` excludes responses: their value in a column, null if they have none.

    `is_summary` stands for all other values of the column, because it may have any number.
    """

    column: str
    value: str | None
    is_summary: bool = False

    def __str__(self) -> str:
        if self.is_summary:
            return f"other values of {self.column}"
        return f"without {self.column}" if self.value is None else f"{self.column} '{self.value}'"


class ResponseSelection:
    """Applies the options `column` and `where` to frames of responses.

    `left_out` counts the responses that `where` excludes; `seen` are the columns of `where` with a value.
    """

    def __init__(self, options: LogOptions) -> None:
        """Prepare the two options."""
        self._places = _group_pairs(options.column)  # the log's columns for each new name
        self._values = _group_pairs(options.where)  # the values to select for each column
        self.left_out = Counter[ExclusionReason]()
        self.seen = set[str]()
        # Called with the column of `where` and the responses that it excludes.
        self.on_excluded: Callable[[str, pl.DataFrame], None] | None = None

        # Names of models that count as another model's.
        self.same_models = SameModels()

    def list_columns(self, names: Iterable[str]) -> list[str]:
        """The columns to read from a log so that the columns `names` are available."""
        columns: dict[str, None] = {}
        for name in (*names, *self._places, *self._values):
            for place in (name, *self._places.get(name, ())):
                columns |= dict.fromkeys((place, *_ALIASES.get(place, ())))
        return list(columns)

    def select(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The selected responses of a frame, with the renamed columns added."""
        frame = self.same_models.rename(frame)
        renamed = {frame_name(name): coalesce_columns(frame, (*places, name)) for name, places in self._places.items()}
        frame = frame.with_columns(**renamed)
        for name, values in self._values.items():
            text = to_text(coalesce_columns(frame, [name]))
            if text.null_count() < len(text):
                self.seen.add(name)
            kept = text.fill_null("").is_in(values)
            if name == "model" and LOGGED_MODEL in frame.columns:
                kept |= frame[LOGGED_MODEL].fill_null("").is_in(values)
            self._count_excluded(name, text.filter(~kept))
            if self.on_excluded is not None and not kept.all():
                self.on_excluded(name, frame.filter(~kept))
            frame = frame.filter(kept)
        return frame

    def _count_excluded(self, name: str, values: pl.Series) -> None:
        """Count excluded responses by their `values` in the column `name`, rare ones together."""
        for value, count in values.value_counts(sort=True).iter_rows():
            kind = ExclusionReason(name, value)
            is_separate = kind in self.left_out or len(self.left_out) < _MOST_KINDS
            self.left_out[kind if is_separate else ExclusionReason(name, None, is_summary=True)] += count


def find_columns(frame: pl.DataFrame, name: str) -> list[str]:
    """The frame's columns for a log's column with this name; the log's own column comes first."""
    columns = []
    for place in (name, *_ALIASES.get(name, ())):
        if _is_reserved(place):
            columns.append(frame_name(place))
        columns.append(place)
    return [column for column in columns if column in frame.columns]


def coalesce_columns(frame: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    """Each row's value from the first of these columns that has a value, (n,), or null."""
    columns = []
    for name in names:
        for column in find_columns(frame, name):
            if frame[column].null_count() < len(frame):
                columns.append(frame[column])
    if not columns:
        return pl.Series(names[-1], [None] * len(frame), dtype=pl.Null)
    if len({column.dtype for column in columns}) > 1:
        columns = [to_text(column) for column in columns]
    return pl.select(pl.coalesce(*columns)).to_series().alias(names[-1])


def to_text(column: pl.Series) -> pl.Series:
    """A column as text, so that 7 and "7" are equal; raises InputError if rows can have several values."""
    if column.dtype.is_nested():
        raise InputError(f"column '{column.name}' must have one value per response, got {column.dtype}"[:300])
    if isinstance(column.dtype, pl.Datetime):
        return column.dt.strftime("%Y-%m-%dT%H:%M:%S")
    return column.cast(pl.String, strict=False)


def frame_name(name: str) -> str:
    """The name that a log's column with this name has in a frame."""
    return f"log_{name}" if _is_reserved(name) else name


def _is_reserved(name: str) -> bool:
    """Whether a frame has its own column with this name, or gives this name to a renamed column of a log."""
    while name.startswith("log_"):
        name = name.removeprefix("log_")
    return name in _RESERVED_NAMES


def _group_pairs(pairs: Iterable[str]) -> dict[str, list[str]]:
    """The values of `NAME=VALUE` texts by name; values may contain `=`."""
    values_of: dict[str, list[str]] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        values_of.setdefault(name, []).append(strip_prefix(value) if name == "model" else value)
    return values_of
