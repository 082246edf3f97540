"""A file of logs, traces or features as frames of bounded size: features, slice, window, and why a row is no use."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from entropy_sentinel.features.catalogue import FEATURES
from entropy_sentinel.features.compute import compute_features
from entropy_sentinel.features.feature_frame import FEATURE_FRAME
from entropy_sentinel.frames.arrow import read_batches
from entropy_sentinel.frames.contract import given, read_provenance
from entropy_sentinel.frames.errors import IncompleteFileError, InputError
from entropy_sentinel.frames.generation import GENERATIONS, LOGPROBS
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.frames.signals import with_reasons
from entropy_sentinel.monitor.catalogue import made_of
from entropy_sentinel.monitor.reading.clock import Clock
from entropy_sentinel.monitor.reading.excluding import Excluding
from entropy_sentinel.monitor.reading.files import holds_features, opened_log
from entropy_sentinel.monitor.reading.identity import NUMBERS, Others
from entropy_sentinel.monitor.reading.problems import Problems
from entropy_sentinel.monitor.reading.settings import TIME, Slicing
from entropy_sentinel.monitor.reading.times import DTYPE
from entropy_sentinel.signals.computing import with_signals
from entropy_sentinel.sources.logs.numbers import UNNAMED
from entropy_sentinel.sources.logs.question import QUESTION
from entropy_sentinel.sources.logs.selection import PLACE, Selection, as_text, first_of
from entropy_sentinel.sources.logs.summary import Summary

# Rows of a file of features that are held at a time.
FEATURES_AT_A_TIME = 20_000
# Columns of a frame, before the name of the log's own column.
BY = "by."
# What statistics are made of: columns of feature files, those of traces alone, which features do not have, and those
# that a log has beside them.
_OF_FEATURES = [name for name in made_of() if name in FEATURE_FRAME.schema]
_OF_TRACES = [name for name in made_of() if name in GENERATIONS.schema and name not in _OF_FEATURES]
_OF_LOGS = [name for name in made_of() if name not in (*_OF_FEATURES, *_OF_TRACES)]


class Inputs:
    """Files, or frames of features, read for an estimator; what was seen is counted.

    `excluding` counts what the estimator is not for; `seen` are the columns that are asked for and had a value.
    """

    def __init__(
        self,
        about: dict[str, Any],
        reading: Slicing,
        problems: Problems,
        others: Others | None = None,
        texts: bool = False,
    ) -> None:
        """With `others`, responses that these have are left out, and frames have the columns NUMBERS.

        With `texts`, frames have QUESTION and `response`, null where a file has no texts.
        """
        self._texts = (QUESTION, "response") if texts else ()
        self._model = about.get("model")
        self._signals = [name for name in about.get("signals") or () if name not in FEATURES]
        self._reading, self._problems, self._others = reading, problems, others
        self.seen: set[str] = set()
        self.excluding = Excluding(about, reading, problems)

    def frames(self, source: str | pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Rows of signals, RESPONSE, what statistics need, `excluded` (why, or null), `grain`, and `by.COLUMN` as text.

        What cannot be used is counted, the rest of a file too that is damaged somewhere; if strict it is an InputError.
        """
        clock = None if self._reading.grain is None else Clock(self._reading.grain, self._problems)
        try:
            for batch in self._features(source):
                batch = with_reasons(batch, self._signals)
                if self._others is not None:
                    batch = self._others.new(batch, self._time)
                if len(batch):
                    yield self._prepared(batch, clock)
        except IncompleteFileError as error:
            if self._problems.strict:
                raise
            self._problems.add("files that cannot be read to their end", [str(error)])

    @property
    def _time(self) -> str:
        return self._reading.time_column or TIME

    def _features(self, source: str | pl.DataFrame) -> Iterator[pl.DataFrame]:
        if isinstance(source, pl.DataFrame):
            yield from self._placed(source.iter_slices(FEATURES_AT_A_TIME), "features")
        elif holds_features(source):
            with given(source):
                logprobs = {name: pl.lit(read_provenance(source).get(name)) for name in LOGPROBS}
                FEATURE_FRAME.scan(source)
                batches = read_batches(source, rows=FEATURES_AT_A_TIME)
                yield from self._placed((batch.with_columns(**logprobs) for batch in batches), source)
        else:
            yield from self._logs(source)

    def _placed(self, batches: Iterator[pl.DataFrame], name: str) -> Iterator[pl.DataFrame]:
        start, selection = 0, Selection(self._reading)
        for batch in batches:
            for column in (*FEATURES, *self._signals, *RESPONSE, *_OF_FEATURES, "reason"):
                if column not in batch.columns:
                    raise InputError(f"{name}: column '{column}' is missing; columns there: {', '.join(batch.columns)}")
            place = pl.format("{}: row {}", pl.lit(name), start + pl.int_range(pl.len()))
            # Features do not have them: a column of such a name is of something else.
            unknown = {name: pl.lit(None, GENERATIONS.schema[name]) for name in _OF_TRACES}
            unknown |= {name: pl.lit(None, pl.String) for name in self._texts if name not in batch.columns}
            yield selection.of(
                batch.with_columns(pl.col(self._signals).cast(pl.Float64, strict=False), place.alias(PLACE), **unknown)
            )
            start += len(batch)
        self._count_left_out(selection)

    def _logs(self, path: str) -> Iterator[pl.DataFrame]:
        # What tells responses of two files apart has the time in it.
        more = [self._time] if self._others is not None else []
        question = self._texts[:1]
        logs = opened_log(path, self._reading, self._problems.strict, [*more, *self._signals, *_OF_LOGS, *question])
        try:
            for frame in logs:
                features = with_signals(compute_features(frame), frame, self._signals)
                texts = {"response": frame["text"], QUESTION: first_of(frame, [QUESTION])} if self._texts else {}
                yield features.with_columns(frame.select(_OF_TRACES), **texts)
        finally:
            self._count_records(logs.summary)
            self._count_left_out(logs.selection)

    def _count_records(self, summary: Summary) -> None:
        if summary.n_bad:
            places = [f"{bad.where} ({bad.problem})" for bad in summary.bad]
            self._problems.add("records that cannot be read", places, summary.n_bad)
        for kind, count in summary.ignored.items():
            self._problems.note(f"records passed over: {kind}", [], count)

    def _count_left_out(self, selection: Selection) -> None:
        self.seen |= selection.seen
        for kind, count in selection.left_out.items():
            self._problems.note(f"responses left out by --where: {kind}", [], count)

    def _prepared(self, batch: pl.DataFrame, clock: Clock | None) -> pl.DataFrame:
        if unnamed := batch.filter(pl.col("model") == UNNAMED)[PLACE].to_list():
            self._problems.note(f"responses of a log that names no model, taken for '{self._model}'", unnamed)
            batch = batch.with_columns(pl.col("model").replace(UNNAMED, self._model))
        keys = {f"{BY}{name}": as_text(self._column(batch, name)) for name in self._reading.by}
        own = {name: as_text(self._column(batch, name)) for name in _OF_LOGS if name not in self._signals}
        frame = batch.with_columns(excluded=self.excluding.of(batch), grain=self._grain(batch, clock), **keys, **own)
        self.excluding.count(frame)
        numbers = [] if self._others is None else NUMBERS
        columns = dict.fromkeys((*FEATURES, *self._signals, *RESPONSE, *made_of()))
        return frame.select(*columns, "excluded", "grain", *numbers, *keys, *self._texts)

    def _column(self, batch: pl.DataFrame, name: str) -> pl.Series:
        """A column of the log; nulls where this frame has none of the name."""
        column = first_of(batch, [name])
        if column.null_count() < len(column):
            self.seen.add(name)
        return column

    def _grain(self, batch: pl.DataFrame, clock: Clock | None) -> pl.Series:
        """The smallest window of each row, null where it has no time."""
        if clock is None:
            return pl.Series([None] * len(batch), dtype=DTYPE)
        return clock.windows(self._column(batch, self._time), batch[PLACE])
