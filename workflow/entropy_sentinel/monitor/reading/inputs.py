"""A file of logs, traces or features as frames of bounded size: features, slice, window, and why a row is no use."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.features.catalogue import FEATURES
from entropy_sentinel.features.compute import compute_features
from entropy_sentinel.features.feature_frame import FEATURE_FRAME
from entropy_sentinel.frames.batches import read_batches
from entropy_sentinel.frames.contract import PROVENANCE_KEY, given, read_provenance
from entropy_sentinel.frames.errors import CutOffError, InputError
from entropy_sentinel.frames.generation import LOGPROBS, REFUSED
from entropy_sentinel.monitor.reading.identity import NUMBERS, Others
from entropy_sentinel.monitor.reading.problems import Problems
from entropy_sentinel.monitor.reading.times import DTYPE, EARLIEST, LATEST, moments, plausible, starts
from entropy_sentinel.monitor.settings import TIME, Reading
from entropy_sentinel.sources.logs.reading import PLACE, Logs
from entropy_sentinel.sources.logs.summary import Summary
from entropy_sentinel.verbs.reading import KEY, open_logs

# Rows of a file of features that are held at a time.
FEATURES_AT_A_TIME = 20_000
IMPLAUSIBLE = f"responses whose time is before {EARLIEST.year} or after {LATEST.year - 1}"
# Columns of a frame, before the name of the log's own column.
BY = "by."
# A clock that is set right, or servers whose logs were laid behind each other; replies of a minute are no jump.
JUMP_S = 3600
# The model of a response whose log does not name it.
UNNAMED = "(not named)"
# Reasons for which a response has no features that are no fault of the log.
HARMLESS = ("empty response", "no token after the thinking", REFUSED)


class Inputs:
    """Files, or frames of features, read for an estimator of `model` and `logprobs`; what was seen is counted.

    `rejected` counts responses by what they are of and the estimator is not, `taken` those that were taken all the
    same. `seen` are the columns of slices and time that had a value.
    """

    def __init__(
        self, about: dict[str, Any], reading: Reading, problems: Problems, others: Others | None = None
    ) -> None:
        """With `others`, responses that these have are left out, and frames have the columns NUMBERS."""
        self._model, self._logprobs = about.get("model"), about["logprobs"]
        self._reading, self._problems, self._others = reading, problems, others
        self.seen: set[str] = set()
        self.rejected, self.taken = Counter[str](), Counter[str]()
        self._last = None

    def frames(self, source: str | pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Rows of FEATURES, KEY, `cut_off`, `excluded` (why, or null), `grain` and `by.COLUMN` as text.

        What cannot be used is counted, the rest of a file too that is damaged somewhere; if strict it is an InputError.
        """
        self._last = None
        try:
            for batch in self._features(source):
                if self._others is not None:
                    batch = self._others.new(batch, self._time)
                if len(batch):
                    yield self._prepared(batch)
        except CutOffError as error:
            if self._problems.strict:
                raise
            self._problems.add("files that cannot be read to their end", [str(error)])

    @property
    def _time(self) -> str:
        return self._reading.time or TIME

    def _features(self, source: str | pl.DataFrame) -> Iterator[pl.DataFrame]:
        if isinstance(source, pl.DataFrame):
            yield from _placed(source.iter_slices(FEATURES_AT_A_TIME), "features")
        elif holds_features(source):
            with given(source):
                logprobs = {name: pl.lit(read_provenance(source).get(name)) for name in LOGPROBS}
                FEATURE_FRAME.scan(source)
                batches = read_batches(source, rows=FEATURES_AT_A_TIME)
                yield from _placed((batch.with_columns(**logprobs) for batch in batches), source)
        else:
            yield from self._logs(source)

    def _logs(self, path: str) -> Iterator[pl.DataFrame]:
        # What tells responses of two files apart has the time in it.
        more = (self._time,) if self._others is not None else ()
        logs = opened_log(path, self._reading, self._problems.strict, more)
        try:
            for frame in logs:
                yield compute_features(frame)
        finally:
            self._count_records(logs.summary)

    def _count_records(self, summary: Summary) -> None:
        if summary.n_bad:
            places = [f"{bad.where} ({bad.problem})" for bad in summary.bad]
            self._problems.add("records that cannot be read", places, summary.n_bad)
        for kind, count in summary.ignored.items():
            self._problems.note(f"records passed over: {kind}", [], count)

    def _prepared(self, batch: pl.DataFrame) -> pl.DataFrame:
        reading = self._reading
        if unnamed := batch.filter(pl.col("model") == UNNAMED)[PLACE].to_list():
            self._problems.note(f"responses whose log names no model: taken for '{self._model}'", unnamed)
            batch = batch.with_columns(pl.col("model").replace(UNNAMED, self._model))
        keys = {f"{BY}{name}": _text(self._column(batch, name)) for name in reading.by}
        frame = batch.with_columns(excluded=self._excluded(batch), grain=self._grain(batch), **keys)
        self._count_excluded(frame)
        numbers = [] if self._others is None else NUMBERS
        return frame.select(*FEATURES, *KEY, "cut_off", "excluded", "grain", *numbers, *keys)

    def _column(self, batch: pl.DataFrame, name: str) -> pl.Series:
        """A column of the log; nulls where this frame has none of the name."""
        # A log's column with the name of one that every frame has goes by `log_NAME`.
        there = next((one for one in (f"log_{name}", name) if one in batch.columns), None)
        column = pl.Series(name, [None] * len(batch), dtype=pl.String) if there is None else batch[there]
        if column.null_count() < len(column):
            self.seen.add(name)
        return column

    def _excluded(self, batch: pl.DataFrame) -> pl.Series:
        """Why a row is not estimated: of another model or log-probabilities, or without features; null where it is."""
        others = batch.select("reason", model=self._other_model(), logprobs=self._other_logprobs(batch))
        with_features = others.filter(pl.col("reason").is_null())
        for name, taken in {"model": self._reading.any_model, "logprobs": self._reading.any_logprobs}.items():
            if taken:
                self.taken.update(with_features[name].drop_nulls().to_list())
                others = others.with_columns(pl.lit(None, pl.String).alias(name))
        return others.select(pl.coalesce("model", "reason", "logprobs")).to_series()

    def _other_model(self) -> pl.Expr:
        """What a row is of where that is another model; null where it is the estimator's."""
        other = pl.col("model").ne_missing(self._model) & pl.lit(self._model is not None)
        return pl.when(other).then(pl.format("of model '{}'", pl.col("model").fill_null("unknown")))

    def _other_logprobs(self, batch: pl.DataFrame) -> pl.Expr:
        """What a row with features is of where its log-probabilities are others."""
        found = []
        for name in LOGPROBS:
            if name in batch.columns and (wanted := self._logprobs.get(name)) is not None:
                said = pl.format(f"of {name} {{}}, not {wanted}", pl.col(name).cast(pl.String).fill_null("unknown"))
                found.append(pl.when(pl.col(name).ne_missing(wanted)).then(said))
        return pl.coalesce(*found) if found else pl.lit(None, pl.String)

    def _count_excluded(self, frame: pl.DataFrame) -> None:
        excluded = frame.filter(pl.col("excluded").is_not_null())
        if excluded.is_empty():
            return
        counted = excluded.group_by("excluded", maintain_order=True).agg(pl.len(), pl.col(PLACE).head(3))
        for kind, count, places in counted.iter_rows():
            if kind.startswith(REFUSED):
                self._problems.note("responses that the server refused", places, count)
            elif kind.startswith(HARMLESS):
                self._problems.note(f"responses without features: {kind}", places, count)
            elif kind.startswith("of "):
                self.rejected[kind] += count
                self._problems.add(f"responses {kind}", places, count)
            else:
                self._problems.add(f"responses without features: {kind}", places, count)

    def _grain(self, batch: pl.DataFrame) -> pl.Series:
        """The smallest window of each row, null where it has no time, which is counted."""
        reading = self._reading
        if reading.grain is None:
            return pl.Series([None] * len(batch), dtype=DTYPE)
        raw = self._column(batch, reading.time)
        times = pl.DataFrame({"raw": raw, "time": moments(raw), "place": batch[PLACE]})
        times = times.with_columns(good=pl.col("time").is_not_null() & plausible(pl.col("time")))
        for kind, which in {
            "responses without a time": pl.col("raw").is_null(),
            "responses whose time cannot be read": pl.col("raw").is_not_null() & pl.col("time").is_null(),
            f"responses whose time is before {EARLIEST.year} or after {LATEST.year - 1}": pl.col("time").is_not_null()
            & ~pl.col("good"),
        }.items():
            if places := times.filter(which)["place"].to_list():
                self._problems.add(kind, places)
        self._count_jumps(times.filter("good"))
        return times.select(pl.when("good").then(starts(pl.col("time"), reading.grain))).to_series()

    def _count_jumps(self, times: pl.DataFrame) -> None:
        if times.is_empty():
            return
        before = times["time"].shift(1, fill_value=self._last or times["time"][0])
        jumps = times.filter((before - times["time"]).dt.total_seconds() > JUMP_S)["place"].to_list()
        if jumps:
            self._problems.note("times more than an hour before the one above", jumps)
        self._last = times["time"][-1]


def columns_of(path: str) -> Sequence[str]:
    """The columns of a file's first responses that can make slices, for an error that names them."""
    if holds_features(path):
        return pl.read_parquet_schema(path).names()
    logs = open_logs(path)
    first = next(iter(logs), None)
    return ["model", "benchmark", *logs.summary.columns] if first is not None else []


def holds_features(path: str) -> bool:
    if Path(path).suffix != ".parquet":
        return False
    with given(path):
        own = PROVENANCE_KEY in pl.read_parquet_metadata(path)
        return own and read_provenance(path)["stage"] == FEATURE_FRAME.stage


def opened_log(path: str, reading: Reading, strict: bool, more: Sequence[str] = ()) -> Logs:
    """The responses of a log, with the columns of slices and time and those in `more`, each with its place."""
    return open_logs(
        path,
        columns=_wanted(path, [*reading.by, *([reading.time] if reading.time else []), *more]),
        logprobs_mode=reading.logprobs_mode,
        top_k=reading.top_k,
        trace_after=reading.trace_after,
        model=reading.model or UNNAMED,
        strict=strict,
        places=True,
    )


def _wanted(path: str, names: Sequence[str]) -> list[str]:
    """The columns to keep of a log; of a Parquet file those that it has, for a look into each row takes its time."""
    names = list(dict.fromkeys(names))
    if Path(path).suffix == ".parquet":
        with given(path):
            there = pl.read_parquet_schema(path)
        names = [name for name in names if name in there or name.split(".")[0] in there]
    return names


def _placed(batches: Iterator[pl.DataFrame], name: str) -> Iterator[pl.DataFrame]:
    start = 0
    for batch in batches:
        place = pl.format("{}: row {}", pl.lit(name), start + pl.int_range(pl.len()))
        yield _checked(batch, name).with_columns(place.alias(PLACE))
        start += len(batch)


def _checked(batch: pl.DataFrame, name: str) -> pl.DataFrame:
    for column in (*FEATURES, *KEY, "cut_off", "reason"):
        if column not in batch.columns:
            raise InputError(f"{name}: column '{column}' is missing; columns there: {', '.join(batch.columns)}")
    return batch


def _text(column: pl.Series) -> pl.Series:
    """A slice's value as text, so that 7 and "7" of two files are one slice."""
    if isinstance(column.dtype, pl.Datetime):
        return column.dt.strftime("%Y-%m-%dT%H:%M:%S")
    return column.cast(pl.String, strict=False)
