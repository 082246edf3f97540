"""Read logs, traces or features as frames with features, slice, window, and the reason if a row is unusable."""

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from entropy_sentinel.api.estimation import saved_estimator
from entropy_sentinel.api.inputs import is_table, log_files, named
from entropy_sentinel.api.reading import feature_frames, features_from, open_logs
from entropy_sentinel.core.errors import ConfigError, IncompleteFileError, InputError
from entropy_sentinel.core.files import check_name
from entropy_sentinel.core.remote import local
from entropy_sentinel.core.urls import url_of
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.estimators.metadata import FitMetadata
from entropy_sentinel.features import buckets
from entropy_sentinel.features.catalogue import FEATURE_FRAME, FEATURES
from entropy_sentinel.features.files import feature_batches, holds_features
from entropy_sentinel.logs.conversation import CONVERSATION
from entropy_sentinel.logs.memory import MemoryRecords
from entropy_sentinel.logs.models import SameModels, bare, without_provider
from entropy_sentinel.logs.numbers import TIME_ALIASES, UNNAMED
from entropy_sentinel.logs.reader import QUESTION, REQUEST
from entropy_sentinel.logs.reading import Logs
from entropy_sentinel.logs.record import PlacedRecord
from entropy_sentinel.logs.records import records
from entropy_sentinel.logs.selection import PLACE, ResponseSelection, as_text, first_of
from entropy_sentinel.logs.settings import FormatOptions, ReadOptions
from entropy_sentinel.logs.summary import LogSummary
from entropy_sentinel.monitor.catalogue import MADE, made_of
from entropy_sentinel.monitor.reading.clusters import CLUSTER, STRATUM, hash_texts, hash_values, item_texts
from entropy_sentinel.monitor.reading.exclusions import CODE, ExclusionCounter, count_exclusions, count_left_out
from entropy_sentinel.monitor.reading.identity import NUMBERS, OtherFiles, SeenFiles, hash_ids
from entropy_sentinel.monitor.reading.problems import Problems, TrainingDataFilter
from entropy_sentinel.monitor.reading.times import Clock
from entropy_sentinel.monitor.reading.zones import DTYPE
from entropy_sentinel.monitor.settings import MODEL, TIME, Slicing
from entropy_sentinel.schemas.generation import GENERATIONS, LOGPROBS
from entropy_sentinel.schemas.response import RESPONSE
from entropy_sentinel.schemas.signals import with_reasons

Given = str | Path | pl.DataFrame | Sequence[str | Path]
Source = str | Path | pl.DataFrame
# Number of files whose columns an error lists.
_LOOKED_AT = 3
_NO_SLICES = {*FEATURE_FRAME.schema, *LOGPROBS, *buckets.SCHEMA}
# Number of feature rows to read at a time.
FEATURES_AT_A_TIME = 20_000
# The problem of records that are no responses.
_BAD = "records that cannot be read"
# Prefix of the slice columns of a frame.
BY = "by."
# The prefix of columns with numbers of which quantiles are reported.
NUMBER = "number."
# The columns that statistics use: columns of feature files, columns only of traces, and other columns of a log.
_OF_FEATURES = [name for name in made_of() if name in FEATURE_FRAME.schema]
_OF_TRACES = [name for name in made_of() if name in GENERATIONS.schema and name not in _OF_FEATURES]
_OF_LOGS = [name for name in made_of() if name not in (*_OF_FEATURES, *_OF_TRACES)]


def loaded(estimator: FittedEstimator | str | Path, state: str | Path | None) -> tuple[FittedEstimator, str]:
    """Return the estimator and the SHA-256 of its file; the latter is empty without a file or an estimator."""
    if state is not None:
        if url_of(state) is not None:
            raise ConfigError(f"state: must be a local file, was {url_of(state)}; logs and outputs may be remote")
        check_name(state)
    if not isinstance(estimator, FittedEstimator):
        return saved_estimator(estimator), hashlib.sha256(local(estimator).read_bytes()).hexdigest()
    if state is not None and estimator.has_estimates:
        raise ConfigError(
            "state: needs an estimator from a file; save the estimator, and pass the path of its file instead"
        )
    return estimator, ""


def sources(
    logs: Given, reading: Slicing, state: str | Path | None = None, signals: Sequence[str] = ()
) -> list[Source]:
    """Return the frames, states of parts and logs to read: each path once, without the run's `state` and journal.

    `signals` are the further signals of the estimator, to compute for responses in memory.
    """
    if is_table(logs):
        return [features_in(logs, reading, signals=signals)]
    return [*paths_of(logs, state)]


def paths_of(logs: Any, state: str | Path | None = None) -> list[str | Path]:
    """Return the files that `logs` names, each once, without the run's `state` and its journal."""
    # Path.resolve raises RuntimeError for a link to itself.
    of_state = set() if state is None else {os.path.realpath(state), os.path.realpath(f"{state}-journal")}
    paths: dict[Path, str | Path] = {}
    for path in log_files(named(logs)):
        if os.path.realpath(path) not in of_state:
            paths.setdefault(path.absolute(), path)
    return list(paths.values())


def features_in(given: Any, reading: Slicing, more: Sequence[str] = (), signals: Sequence[str] = ()) -> pl.DataFrame:
    """Return the features in a table, or compute those of its responses if it is a log; keep the columns `more` too.

    `signals` are the further signals of the estimator.
    """
    return features_from(given, signals, texts=True, further=(*reading.columns, *more), **format_of(reading))


def format_of(reading: Slicing) -> dict[str, Any]:
    """Return the options for reading a log's format, by name."""
    return {name: getattr(reading, name) for name in FormatOptions.model_fields if hasattr(reading, name)}


def check_columns(
    reading: Slicing, seen: Collection[str], sources: Sequence[str | Path | pl.DataFrame], any_responses: bool
) -> None:
    """Raise InputError if a column that `where` names was not `seen`.

    With `any_responses`, the columns of slices and time are checked too. The error lists the first sources' columns.
    """
    needed = [pair.partition("=")[0] for pair in reading.where]
    if any_responses:
        needed += reading.columns
    for name in needed:
        if sources and name not in seen:
            raise InputError(_empty(name, columns_of(sources)))


def _empty(name: str, columns: Sequence[str]) -> str:
    """Return the message about a column without a value, with the column that may be meant."""
    problem, hint = "is empty for every response", ""
    if name == TIME:
        times = [other for other in TIME_ALIASES if other in columns]
        if times:
            hint = f"; try --time {times[0]}"
    else:
        if name not in columns:
            problem = "does not exist"
        if similar := get_close_matches(name, columns, 1):
            hint = f"; did you mean {similar[0]}?"
    return f"column '{name}' {problem}{hint}; columns: {', '.join(columns) or 'none'}"


def columns_of(sources: Sequence[str | Path | pl.DataFrame]) -> list[str]:
    """Return the columns of the first responses of the first sources that can define slices."""
    columns: dict[str, None] = {}
    for source in sources[:_LOOKED_AT]:
        columns |= dict.fromkeys(_columns_of(source))
    return list(columns)


def _columns_of(source: str | Path | pl.DataFrame) -> Sequence[str]:
    """Return the columns of a source's first responses that can define slices."""
    if isinstance(source, pl.DataFrame):
        return _slice_columns(source)
    if not Path(source).is_file():
        return []
    if holds_features(str(source)):
        return _slice_columns(next(feature_batches(source, rows=1)))
    logs = open_logs(source)
    first = next(iter(logs), None)
    return ["model", "benchmark", *logs.summary.columns] if first is not None else []


def first_columns(source: str | Path | pl.DataFrame) -> Sequence[str]:
    """Return the columns of a source's first record that can define slices, without reading a whole batch."""
    if isinstance(source, pl.DataFrame) or not Path(source).is_file() or holds_features(str(source)):
        return _columns_of(source)
    first = next(records(str(source)), None)
    if not isinstance(first, PlacedRecord) or not isinstance(first.content, Mapping):
        return []
    logs = Logs([MemoryRecords([first.content])], ReadOptions())
    for _ in logs:
        pass
    return list(logs.summary.columns)


def _slice_columns(features: pl.DataFrame) -> list[str]:
    return [name for name in features.columns if name in ("model", "benchmark") or name not in _NO_SLICES]


def opened_log(path: str, reading: Slicing, strict: bool, more: Sequence[str] = ()) -> Logs:
    """Open a log; read the columns of slices and time, the columns `more`, and the place of each response."""
    columns = tuple(dict.fromkeys((*reading.columns, *more)))
    logs = open_logs(path, **{**format_of(reading), "strict": strict, "columns": columns, "places": True})
    logs.selection.same_models = SameModels.of_pairs(reading.same_model)
    return logs


def same_models(metadata: FitMetadata, pairs: Sequence[str], watched: Collection[str] = ()) -> SameModels:
    """Return the names that count as the estimator's, or as those of `watched`, the models of all estimators.

    Raises ConfigError for a pair whose model has no estimator.
    """
    names, model = SameModels.of_pairs(pairs, watched), bare(metadata.model or "")
    for old, new in names.patterns:
        if old not in (model, *watched):
            raise ConfigError(
                f"same_model: must be OLD=NEW, where OLD is the model of the estimator, '{model or 'unknown'}', was "
                f"'{old}={new}'"
            )
    return names


class Inputs:
    """Reads files or frames of features for an estimator, and counts the unusable parts.

    `excluding` counts responses that do not match the estimator, and `exclusions` all that are not estimated; `seen`
    are the requested columns that had a value.
    """

    def __init__(
        self,
        metadata: FitMetadata,
        reading: Slicing,
        problems: Problems,
        others: OtherFiles | None = None,
        texts: bool = False,
        watched_models: Collection[str] | None = None,
        strata: Sequence[str] = (),
    ) -> None:
        """With `others`, drop responses that are in other files, and add the columns NUMBERS to frames.

        With `texts`, add the columns QUESTION, `response` and CONVERSATION, which are null without texts. With
        `watched_models`, those of all estimators, responses of other models that `where` leaves out are exclusions.
        `strata` are the columns by which labels were drawn, for the column STRATUM.
        """
        self._strata = strata
        self._watched_models, self.exclusions = watched_models, ExclusionCounter()
        self._same_models = same_models(metadata, reading.same_model, watched_models or ())
        self._texts = (QUESTION, "response", CONVERSATION) if texts else ()
        self._model = metadata.model
        self._signals = [name for name in metadata.signals or () if name not in FEATURES]
        self._reading, self._problems, self._others = reading, problems, others
        self.seen: set[str] = set()
        self.excluding = TrainingDataFilter(metadata, reading, problems)

    def frames(self, source: str | pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Yield frames of signals, RESPONSE, the columns of statistics, MADE, `grain`, and `by.COLUMN` as text.

        `excluded` is the reason why a row is not estimated, or null. Unusable records and damaged files are counted,
        or raise InputError if strict.
        """
        clock = None if self._reading.grain is None else Clock(self._reading.grain, self._problems, self._reading.zone)
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
            self._problems.record("files that are damaged and were read only in part", [str(error)])

    def compared_frames(self, source: str | pl.DataFrame, files: SeenFiles) -> list[pl.DataFrame]:
        """Return the frames of a file as `frames`, without responses that are also in earlier `files`; add the file."""
        self._others = others = files.others()
        frames = list(self.frames(source))
        others.note(self._problems, source if isinstance(source, str) else "features")
        if others.all_same:
            return []
        for frame in frames:
            files.add(frame)
        return [frame.drop(NUMBERS) for frame in frames]

    @property
    def _time(self) -> str:
        return self._reading.time_column or TIME

    def _features(self, source: str | pl.DataFrame) -> Iterator[pl.DataFrame]:
        if isinstance(source, pl.DataFrame):
            yield from self._placed(source.iter_slices(FEATURES_AT_A_TIME), "features")
        elif holds_features(source):
            yield from self._placed(feature_batches(source), source)
        else:
            yield from self._logs(source)

    def _placed(self, batches: Iterator[pl.DataFrame], name: str) -> Iterator[pl.DataFrame]:
        start, selection = 0, self._observed(ResponseSelection(self._reading))
        for batch in batches:
            for column in (*FEATURES, *self._signals, *RESPONSE, *_OF_FEATURES, "reason"):
                if column not in batch.columns:
                    raise InputError(f"{name}: column '{column}' is missing; columns: {', '.join(batch.columns)}")
            place = pl.format("{}: row {}", pl.lit(name), start + pl.int_range(pl.len()))
            rows = batch.with_columns(pl.col(self._signals).cast(pl.Float64, strict=False), place.alias(PLACE))
            for column in _OF_TRACES:
                # Feature files lack the columns of traces, so a column with such a name means something else.
                rows = rows.with_columns(pl.lit(None, GENERATIONS.schema[column]).alias(column))
            for column in self._texts:
                if column not in rows.columns:
                    rows = rows.with_columns(pl.lit(None, pl.String).alias(column))
            yield selection.of(rows)
            start += len(batch)
        self._count_left_out(selection)

    def _logs(self, path: str) -> Iterator[pl.DataFrame]:
        # The comparison of responses in two files also uses their times.
        more = [self._time] if self._others is not None else []
        asked = (QUESTION, CONVERSATION) if self._texts else ()
        asked = (REQUEST, *asked) if self._reading.cluster_column is None else asked
        more += [*self._signals, *_OF_LOGS, *asked, *self._strata]
        logs = opened_log(path, self._reading, self._problems.strict, more)
        self._observed(logs.selection)
        try:
            for frame in feature_frames(logs, None, bool(self._texts), self._signals, _OF_TRACES):
                texts = [first_of(frame, [name]).cast(pl.String) for name in (QUESTION, CONVERSATION) if self._texts]
                yield frame.with_columns(texts)
        finally:
            self._count_records(logs.summary)
            self._count_left_out(logs.selection)

    def _observed(self, selection: ResponseSelection) -> ResponseSelection:
        selection.same_models = self._same_models
        if self._watched_models is not None:
            selection.on_left_out = self._count_left_out_models
        return selection

    def _count_left_out_models(self, column: str, frame: pl.DataFrame) -> None:
        """Count the responses of models that no estimator is for, which `where` leaves out for every estimator."""
        if column != MODEL or frame.is_empty():
            return
        names = without_provider(pl.col(MODEL).cast(pl.String).fill_null(UNNAMED))
        others = frame.filter(~names.is_in([*(self._watched_models or ())]))
        if others.is_empty():
            return
        keys = {f"{BY}{name}": as_text(first_of(others, [name])) for name in self._reading.by}
        quiet = None if self._reading.grain is None else Clock(self._reading.grain, Problems(), self._reading.zone)
        grain, hashes = self._grain(others, quiet), hash_ids(others, self._time)
        rows = others.select(names.alias("subject"), grain=grain, hash=hashes, **keys)
        self.exclusions.add(count_left_out(rows, [*keys]))

    def _count_records(self, summary: LogSummary) -> None:
        if summary.n_bad:
            places, told = [], set()
            for bad in summary.bad:
                places.append(bad.where if bad.problem in told else f"{bad.where} ({bad.problem})")
                told.add(bad.problem)
            self._problems.record(_BAD, places, summary.n_bad)
        notes = dict(summary.notes())
        for kind, count in summary.ignored.items():
            notes[f"records skipped: {kind}"] = count
        for kind, count in notes.items():
            self._problems.note(kind, [], count)
        self._problems.of_logs |= {_BAD, *notes}

    def _count_left_out(self, selection: ResponseSelection) -> None:
        self.seen |= selection.seen
        self._problems.left_out.update(selection.left_out)

    def _prepared(self, batch: pl.DataFrame, clock: Clock | None) -> pl.DataFrame:
        unnamed = batch.filter(pl.col("model") == UNNAMED)[PLACE].to_list()
        if unnamed and self._model is not None:
            self._problems.note(f"responses without a model name, assumed to be from '{self._model}'", unnamed)
            batch = batch.with_columns(pl.col("model").replace(UNNAMED, self._model))
        frame = batch.with_columns(*self.excluding.of(batch), grain=self._grain(batch, clock))
        keys = [f"{BY}{name}" for name in self._reading.by]
        for name, key in zip(self._reading.by, keys, strict=True):
            frame = frame.with_columns(as_text(self._column(batch, name)).alias(key))
        for name in _OF_LOGS:
            if name not in self._signals:
                frame = frame.with_columns(as_text(self._column(batch, name)).alias(name))
        for name, dtype in buckets.SCHEMA.items():
            words = pl.col(name).cast(dtype) if name in batch.columns else pl.lit(None, dtype).alias(name)
            frame = frame.with_columns(words)
        measures = [f"{NUMBER}{name}" for name in self._reading.numbers]
        for name, measure in zip(self._reading.numbers, measures, strict=True):
            frame = frame.with_columns(self._column(batch, name).cast(pl.Float64, strict=False).alias(measure))
        strata = pl.Series(STRATUM, [None] * len(batch), dtype=pl.UInt64)
        if self._strata:
            strata = hash_values([as_text(first_of(batch, [name])) for name in self._strata])
        frame = frame.with_columns(self._clusters(batch), strata)
        self.excluding.count(frame)
        self.exclusions.add(count_exclusions(frame, keys))
        hashes = [] if self._others is None else NUMBERS
        columns = dict.fromkeys((*FEATURES, *self._signals, *RESPONSE, *made_of(), *buckets.SCHEMA))
        return frame.select(*columns, *MADE, CODE, "grain", CLUSTER, STRATUM, *hashes, *keys, *measures, *self._texts)

    def _column(self, batch: pl.DataFrame, name: str) -> pl.Series:
        """Return a column of the log; null if the frame lacks it."""
        column = first_of(batch, [name])
        if column.null_count() < len(column):
            self.seen.add(name)
        return column

    def _clusters(self, batch: pl.DataFrame) -> pl.Series:
        """Return the cluster of each row, null if it is its own: by the column, or else by the request or the item."""
        if (name := self._reading.cluster_column) is not None:
            return hash_texts(as_text(self._column(batch, name)))
        texts = as_text(first_of(batch, [REQUEST, QUESTION])).fill_null(item_texts(batch))
        return hash_texts(texts)

    def _grain(self, batch: pl.DataFrame, clock: Clock | None) -> pl.Series:
        """Return the smallest window of each row, null without a time."""
        if clock is None:
            return pl.Series([None] * len(batch), dtype=DTYPE)
        return clock.windows(self._column(batch, self._time), batch[PLACE])


class ReadingResult(NamedTuple):
    """Rows of `Inputs.frames`, the problems, and counts of the responses `taken` that do not match the estimator."""

    rows: pl.DataFrame
    problems: Problems
    taken: Mapping[str, int]


def read_whole(
    saved: FittedEstimator, sources: Sequence[Source], options: Slicing, texts: bool = False, must_match: bool = True
) -> ReadingResult:
    """Read all responses of files and frames of features for an estimator.

    Raises InputError if there are no responses or a requested column is empty. With `must_match`, raises
    ProvenanceError if all responses have another model or kind of log-probabilities.
    """
    problems = Problems(options.strict)
    inputs = Inputs(saved.metadata, options, problems, texts=texts)
    frames: list[pl.DataFrame] = []
    files = SeenFiles() if len(sources) > 1 else None
    for source in sources:
        name = source if isinstance(source, pl.DataFrame) else str(source)
        frames += inputs.frames(name) if files is None else inputs.compared_frames(name, files)
    check_columns(options, inputs.seen, sources, bool(frames))
    if not frames:
        raise InputError("; ".join(["the logs contain no usable response", *problems.lines()]))
    rows = pl.concat(frames)
    if must_match:
        inputs.excluding.check(len(rows))
    # The validation covers no model under another name either.
    renamed = {f"of model '{name}'": n for name, n in inputs.excluding.same_models.items()}
    return ReadingResult(rows, problems, inputs.excluding.taken + Counter(renamed))
