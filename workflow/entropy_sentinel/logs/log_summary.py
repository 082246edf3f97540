"""Summarise for users how a log was read, and find the record that causes an error."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import polars as pl

from entropy_sentinel.core.errors import InputError, restore_urls
from entropy_sentinel.core.extension_import import describe_failure
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.logs.log_record import BadRecord
from entropy_sentinel.logs.response_selection import ExclusionReason

# Any error that a record causes in a reader or a library: libraries in Rust raise their own panics, and a reader of an
# extension may call `exit()`.
ANY_ERROR = (Exception, SystemExit, pl.exceptions.PanicException)
Rows = TypeVar("Rows", list[Any], np.ndarray)
# Notes about responses that may be in the logs twice.
REPLACED_NOTE = "samples of an earlier attempt, replaced by those of a newer log of the same task"
TWICE_NOTE = "responses logged twice with the same id, text and log-probabilities, counted once"
EQUAL_NOTE = "responses without an id that equal an earlier one; all count: if exports overlap, give one of them"
# Number of bad records to show; all are counted.
MAX_EXAMPLES = 5


class WholeFileError(InputError):
    """An error in a whole file, not in a single record."""


def build_frames(
    rows: Rows, build: Callable[[Rows], pl.DataFrame], on_bad: Callable[[Rows, BaseException], None]
) -> Iterator[pl.DataFrame]:
    """Yield the frame that `build` returns for `rows`; if `build` raises an error, try each half, and so on.

    A single row that fails is passed to `on_bad` with the error; finding one such row in 1,000 takes 20 tries.
    WholeFileError is not caught.
    """
    try:
        frame = build(rows)
    except WholeFileError:
        raise
    except ANY_ERROR as error:
        problem = error
    else:
        yield frame
        return
    if len(rows) == 1:
        on_bad(rows, problem)
        return
    _check_columns(rows, build)
    middle = len(rows) // 2
    yield from build_frames(rows[:middle], build, on_bad)
    yield from build_frames(rows[middle:], build, on_bad)


def _check_columns(rows: Rows, build: Callable[[Rows], pl.DataFrame]) -> None:
    """Raise WholeFileError if `build` also fails without rows, which means that the columns are the cause."""
    try:
        build(rows[:0])
    except ANY_ERROR as error:
        raise WholeFileError(describe_error(error)) from None


def describe_error(error: BaseException) -> str:
    """A description of an error for the owner of the log."""
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, KeyError):
        return f"{error} is missing, but its format requires it"
    if isinstance(error, SystemExit):
        return describe_failure("its reader ended", error, "an extension")
    return f"does not match its format: {' '.join(str(error).split()) or type(error).__name__}"[:300]


@dataclass
class LogSummary:
    """Counts over the files read so far."""

    files: int = 0
    responses: int = 0
    tokens: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    # Responses by the number of alternatives per token.
    top_k: Counter[int] = field(default_factory=Counter)
    # Responses that have a refusal, tool calls or reasoning, or that were truncated or interrupted, by kind.
    facts: Counter[str] = field(default_factory=Counter)
    # Responses without features, by reason.
    unusable: Counter[str] = field(default_factory=Counter)
    # Responses by kind of log-probabilities, which the file or the user states, or which is assumed.
    modes: Counter[str] = field(default_factory=Counter)
    # Names of the columns that may define slices, in order.
    columns: dict[str, None] = field(default_factory=dict)
    unsorted_steps: int = 0
    # Steps with fewer alternatives than most others of their response.
    short_steps: int = 0
    displaced_steps: int = 0
    repeated_ids: int = 0
    # Responses with the id and the content of an earlier one, which do not count; and responses without an id that
    # equal an earlier one in every column, which count.
    twice: int = 0
    replaced: int = 0
    equal: int = 0
    ignored: Counter[str] = field(default_factory=Counter)
    # Responses that --where excludes, by their value.
    left_out: Counter[ExclusionReason] = field(default_factory=Counter)
    n_bad: int = 0
    bad: list[BadRecord] = field(default_factory=list)

    def add_bad(self, record: BadRecord) -> None:
        """Count an unusable record."""
        self.n_bad += 1
        if len(self.bad) < MAX_EXAMPLES:
            self.bad.append(record)

    def add_features(self, rows: pl.DataFrame) -> None:
        """Count responses of a file of features."""
        self.responses += len(rows)
        if "n_tokens" in rows.columns:
            self.tokens += int(rows["n_tokens"].sum())
        self.formats["features"] += len(rows)
        for counter, column in (
            (self.models, "model"),
            (self.top_k, "top_k_returned"),
            (self.modes, "logprobs_mode"),
            (self.unusable, "reason"),
        ):
            if column in rows.columns:
                counter.update(dict(rows[column].drop_nulls().value_counts().iter_rows()))

    def count_duplicates(self) -> dict[str, int]:
        """The numbers of responses that may count twice, by what they are, without zeros."""
        counts = {REPLACED_NOTE: self.replaced, TWICE_NOTE: self.twice, EQUAL_NOTE: self.equal}
        return {kind: count for kind, count in counts.items() if count}

    def format_rows(self) -> list[tuple[str, str]]:
        """The names and values of a table for users, without empty values."""
        values = {
            "files": f"{self.files:,}",
            "responses": f"{self.responses:,}",
            "tokens": f"{self.tokens:,}",
            "format": _format_counts(self.formats),
            "model": _format_counts(self.models),
            "alternatives per token": _format_counts(self.top_k),
            "log-probabilities": _format_counts(self.modes),
            "columns": ", ".join(self.columns),
            "of these responses": _format_counts(self.facts),
            "no features possible": _format_counts(self.unusable),
            "steps sorted": _format_count(self.unsorted_steps),
            "steps with fewer alternatives": _format_count(self.short_steps),
            "steps that may lack the k-th": _format_count(self.displaced_steps),
            "repeated ids (numbered)": _format_count(self.repeated_ids),
            "logged twice (counted once)": _format_count(self.twice),
            "replaced by a newer attempt": _format_count(self.replaced),
            "equal in every column, without an id": _format_count(self.equal),
            f"excluded by {format_option('where')}": _format_counts(self.left_out),
            "skipped": _format_counts(self.ignored),
            "could not be read": _format_count(self.n_bad),
        }
        return [(name, value) for name, value in values.items() if value]

    def format_problems(self) -> list[str]:
        """A line for each problem of the first bad records, with their places."""
        places: dict[str, list[str]] = {}
        for record in self.bad:
            places.setdefault(record.problem, []).append(record.where)
        lines = [restore_urls(f"{', '.join(where)}: {problem}") for problem, where in places.items()]
        if self.n_bad > len(self.bad):
            lines.append(f"... and {self.n_bad - len(self.bad):,} more")
        return lines

    def explain_empty(self) -> str:
        """Why there are no responses: all were excluded, none could be read, or the logs are empty."""
        if not self.left_out:
            return "; ".join(self.format_problems()) or "they are empty"
        columns = ", ".join(self.columns)
        return f"{format_option('where')} excludes all of them: {_format_counts(self.left_out)}; columns: {columns}"


def _format_count(count: int) -> str:
    """A count as text; empty for 0, which is not shown."""
    return f"{count:,}" if count else ""


def _format_counts(counter: Counter[Any]) -> str:
    """Counts as `a (10), b (2)`, the largest first; a single number of alternatives has no count."""
    names = sorted(counter, key=lambda name: (-counter[name], str(name)))
    if len(names) == 1 and isinstance(names[0], int):
        return str(names[0])
    return ", ".join(f"{name} ({counter[name]:,})" for name in names)
