"""Read logs, traces or features as frames with features, slice, window, and the reason if a row is unusable."""

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from entropy_sentinel.api.estimation import ensure_estimator
from entropy_sentinel.api.feature_frames import RESPONSE_TEXT, FeatureFrames
from entropy_sentinel.api.input_checks import coerce_table, is_table, list_paths, resolve_log_files
from entropy_sentinel.api.response_reading import coerce_features
from entropy_sentinel.core.errors import ConfigError, IncompleteFileError, InputError
from entropy_sentinel.core.object_stores import get_local_path
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.core.urls import parse_url
from entropy_sentinel.core.whole_files import check_name
from entropy_sentinel.estimators.fit_metadata import FitMetadata
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.features import hashed_tokens
from entropy_sentinel.features.feature_files import holds_features, read_feature_batches
from entropy_sentinel.features.feature_registry import FEATURE_FRAME, FEATURES
from entropy_sentinel.logs.conversation import CONVERSATION
from entropy_sentinel.logs.in_memory_logs import MemoryRecords
from entropy_sentinel.logs.log_options import FormatOptions, LogOptions, ReadOptions
from entropy_sentinel.logs.log_record import PlacedRecord
from entropy_sentinel.logs.log_stream import Logs
from entropy_sentinel.logs.log_summary import LogSummary
from entropy_sentinel.logs.model_names import SameModels, strip_prefix, strip_prefixes
from entropy_sentinel.logs.reader_base import QUESTION, REQUEST
from entropy_sentinel.logs.record_decoding import read_records
from entropy_sentinel.logs.reference_answer import REFERENCE
from entropy_sentinel.logs.response_keys import TIME_ALIASES, UNKNOWN_MODEL
from entropy_sentinel.logs.response_selection import (
    PLACE,
    ExclusionReason,
    ResponseSelection,
    coalesce_columns,
    to_text,
)
from entropy_sentinel.logs.trace_frames import LABEL_DTYPES
from entropy_sentinel.monitor.monitor_options import MODEL, TIME, Slicing
from entropy_sentinel.monitor.reading.deduplication import HASH_COLUMNS, RepeatFinder, SeenFiles, hash_ids
from entropy_sentinel.monitor.reading.dependence import CLUSTER, STRATUM, hash_texts, hash_values, make_item_texts
from entropy_sentinel.monitor.reading.exclusions import (
    CODE,
    ExclusionCounter,
    count_exclusions,
    list_unwatched_responses,
)
from entropy_sentinel.monitor.reading.problem_codes import ProblemKind
from entropy_sentinel.monitor.reading.problem_collection import Problems, TrainingDataFilter
from entropy_sentinel.monitor.reading.problem_records import identify_left_out
from entropy_sentinel.monitor.reading.time_zones import DTYPE
from entropy_sentinel.monitor.reading.window_times import Clock
from entropy_sentinel.monitor.slice_columns import READING_COLUMNS, list_source_columns
from entropy_sentinel.schemas.generation_schema import GENERATIONS, LOGPROBS
from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.schemas.signal_schema import add_reasons

LogSources = str | Path | pl.DataFrame | Sequence[str | Path]
Source = str | Path | pl.DataFrame
# Columns with texts.
TEXTS = (QUESTION, RESPONSE_TEXT, CONVERSATION, REFERENCE)
# Number of files whose columns an error lists.
_MOST_SOURCES = 3
_NO_SLICE_COLUMNS = {*FEATURE_FRAME.schema, *LOGPROBS, *hashed_tokens.SCHEMA}
# Prefix of the slice columns of a frame.
SLICE_PREFIX = "by."
# The prefix of columns with numbers of which quantiles are reported.
NUMBER_PREFIX = "number."
# The columns that statistics use: columns of feature files, columns only of traces, and other columns of a log.
_FEATURE_COLUMNS = [name for name in list_source_columns() if name in FEATURE_FRAME.schema]
_TRACE_COLUMNS = [name for name in list_source_columns() if name in GENERATIONS.schema and name not in _FEATURE_COLUMNS]
_LOG_COLUMNS = [name for name in list_source_columns() if name not in (*_FEATURE_COLUMNS, *_TRACE_COLUMNS)]


def load_with_checksum(
    estimator: FittedEstimator | str | Path, state: str | Path | None
) -> tuple[FittedEstimator, str]:
    """The estimator and the SHA-256 of its file; the latter is empty without a file or an estimator."""
    if state is not None:
        if parse_url(state) is not None:
            raise ConfigError(f"state: must be a local file, got {parse_url(state)}; logs and outputs may be remote")
        check_name(state)
    if not isinstance(estimator, FittedEstimator):
        return ensure_estimator(estimator), hashlib.sha256(get_local_path(estimator).read_bytes()).hexdigest()
    if state is not None and estimator.has_estimates:
        raise ConfigError(
            "state: needs an estimator from a file; save the estimator, and pass the path of its file instead"
        )
    return estimator, ""


def resolve_sources(logs: LogSources) -> list[Source]:
    """A table, or the files that `logs` names."""
    return [coerce_table(logs, "features")] if is_table(logs) else [*resolve_paths(logs)]


def resolve_paths(logs: Any) -> list[Path]:
    """The files that paths, folders and patterns name, each once."""
    paths: dict[Path, Path] = {}
    for path in resolve_log_files(list_paths(logs)):
        paths.setdefault(path.absolute(), path)
    return [*paths.values()]


def exclude_states(sources: Sequence[Source], states: Sequence[Path]) -> list[Source]:
    """The sources that are neither a state of the run nor its journal."""
    # Path.resolve raises RuntimeError for a link to itself.
    excluded = {os.path.realpath(f"{state}{suffix}") for state in states for suffix in ("", "-journal")}
    return [
        source for source in sources if isinstance(source, pl.DataFrame) or os.path.realpath(source) not in excluded
    ]


def compute_table_features(sources: Sequence[Source], reading: Slicing, signals: Sequence[str]) -> list[Source]:
    """The sources, with the features of tables of responses; `signals` are those of the estimators."""
    return [
        read_table_features(source, reading, signals=signals) if isinstance(source, pl.DataFrame) else source
        for source in sources
    ]


def read_table_features(
    responses: Any, reading: Slicing, extra_columns: Sequence[str] = (), signals: Sequence[str] = ()
) -> pl.DataFrame:
    """The features in a table, computed if it has responses with log-probabilities; with the `extra_columns`.

    `signals` are the further signals of the estimator.
    """
    return coerce_features(
        responses, signals, texts=True, further=(*reading.columns, *extra_columns), **select_format_options(reading)
    )


def select_format_options(reading: Slicing) -> dict[str, Any]:
    """The options for reading a log's format, by name."""
    return {name: getattr(reading, name) for name in FormatOptions.model_fields if hasattr(reading, name)}


def check_columns(
    reading: Slicing, seen: Collection[str], sources: Sequence[str | Path | pl.DataFrame], any_responses: bool
) -> None:
    """Raise InputError if a column that `where` names was not seen.

    With `any_responses`, the columns of slices and time are checked too. The error lists the first sources' columns.
    """
    needed = [pair.partition("=")[0] for pair in reading.where]
    if any_responses:
        needed += reading.columns
    for name in needed:
        if sources and name not in seen:
            raise InputError(_describe_empty_column(name, list_columns(sources)))


def _describe_empty_column(name: str, columns: Sequence[str]) -> str:
    """The message about a column without a value, with the column that may be meant."""
    problem, hint = "is empty for every response", ""
    if name == TIME:
        times = [alias for alias in TIME_ALIASES if alias in columns]
        if times:
            hint = f"; try {format_option('time', times[0])}"
    else:
        if name not in columns:
            problem = "does not exist"
        if similar := get_close_matches(name, columns, 1):
            hint = f"; did you mean {similar[0]}?"
    return f"column '{name}' {problem}{hint}; columns: {', '.join(columns) or 'none'}"


def list_columns(sources: Sequence[str | Path | pl.DataFrame]) -> list[str]:
    """The columns of the first responses of the first sources that can define slices."""
    columns: dict[str, None] = {}
    for source in sources[:_MOST_SOURCES]:
        columns |= dict.fromkeys(_list_source_columns(source))
    return list(columns)


def _list_source_columns(source: str | Path | pl.DataFrame) -> Sequence[str]:
    """The columns of a source's first responses that can define slices."""
    if isinstance(source, pl.DataFrame):
        return _select_slice_columns(source)
    if not Path(source).is_file():
        return []
    if holds_features(str(source)):
        return _select_slice_columns(next(read_feature_batches(source, rows=1)))
    logs = Logs([str(source)], ReadOptions())
    first = next(iter(logs), None)
    return ["model", "benchmark", *logs.summary.columns] if first is not None else []


def list_first_columns(source: str | Path | pl.DataFrame) -> Sequence[str]:
    """The columns of a source's first record that can define slices, without reading a whole batch."""
    if isinstance(source, pl.DataFrame) or not Path(source).is_file() or holds_features(str(source)):
        return _list_source_columns(source)
    first = next(read_records(str(source)), None)
    if not isinstance(first, PlacedRecord) or not isinstance(first.content, Mapping):
        return []
    logs = Logs([MemoryRecords([first.content])], ReadOptions())
    for _ in logs:
        pass
    return list(logs.summary.columns)


def _select_slice_columns(features: pl.DataFrame) -> list[str]:
    """The columns of features that can define slices: not those that this package computes."""
    return [name for name in features.columns if name in ("model", "benchmark") or name not in _NO_SLICE_COLUMNS]


def open_log(path: str, reading: Slicing, strict: bool, extra_columns: Sequence[str] = ()) -> Logs:
    """Open a log; read the columns of slices and time, the `extra_columns`, and the place of each response."""
    columns = tuple(dict.fromkeys((*reading.columns, *extra_columns)))
    logs = Logs(
        [path],
        ReadOptions.from_values(
            {**select_format_options(reading), "strict": strict, "columns": columns, "places": True}
        ),
    )
    logs.selection.same_models = SameModels.from_pairs(reading.same_model)
    return logs


def resolve_same_models(metadata: FitMetadata, pairs: Sequence[str], watched: Collection[str] = ()) -> SameModels:
    """The names that count as the estimator's, or as those of `watched`, the models of all estimators.

    Raises ConfigError for a pair whose model has no estimator.
    """
    names, model = SameModels.from_pairs(pairs, watched), strip_prefix(metadata.model or "")
    for old, new in names.patterns:
        if old not in (model, *watched):
            raise ConfigError(
                f"same_model: must be OLD=NEW, where OLD is the model of the estimator, '{model or 'unknown'}', got "
                f"'{old}={new}'"
            )
    return names


class SourceReader:
    """Reads a file or table once, for all estimators of a run: selected responses with features, and their places.

    Attributes:
        seen_columns: The requested columns that had a value.
        exclusions: The responses of models that no estimator is for.
    """

    def __init__(
        self,
        reading: Slicing,
        problems: Problems,
        signals: Sequence[str],
        names: SameModels,
        *,
        compare: bool = False,
        texts: bool = False,
        watched_models: Collection[str] | None = None,
        user_named_models: bool = False,
        strata: Sequence[str] = (),
    ) -> None:
        """Prepare to read sources.

        `problems` are those that do not depend on an estimator; `signals` are those of all estimators. With `compare`,
        responses will be compared with those of other files, for which their times are read. With `texts`, add the
        columns TEXTS, which are null without texts. `watched_models` are the models of several estimators: responses of
        other models that `where` leaves out are exclusions, and a problem unless `user_named_models`. `strata` are the
        columns by which labels were drawn.
        """
        self._reading, self._problems, self._names = reading, problems, names
        self._signals = [name for name in signals if name not in FEATURES]
        self._texts = TEXTS if texts else ()
        self._watched_models, self.exclusions = watched_models, ExclusionCounter()
        self._unwatched_is_problem = watched_models is not None and not user_named_models
        log_columns = [reading.time_column or TIME] if compare else []
        log_columns += [*self._signals, *_LOG_COLUMNS, *([REQUEST] if reading.cluster_column is None else [])]
        log_columns += [*(name for name in self._texts if name != RESPONSE_TEXT), *strata]
        columns = tuple(dict.fromkeys((*reading.columns, *log_columns)))
        self._options = ReadOptions.from_values(
            select_format_options(reading) | {"strict": problems.strict, "columns": columns, "places": True}
        )
        self.seen_columns: set[str] = set()

    def read_frames(self, source: Source) -> Iterator[pl.DataFrame]:
        """Yield the responses of a source; unusable records and a damaged end are counted, or raise InputError."""
        try:
            frames = self._open(source)
            try:
                yield from frames
            finally:
                self.seen_columns |= frames.logs.selection.seen
                self._count_records(frames.logs.summary)
        except IncompleteFileError as error:
            if self._problems.strict:
                raise
            self._problems.add(ProblemKind.DAMAGED_FILE, [str(error)])

    def _open(self, source: Source) -> FeatureFrames:
        """The frames of features of one source, without responses of models that have no estimator."""
        frames = FeatureFrames(
            [source],
            self._options,
            signals=self._signals,
            texts=self._texts,
            trace_columns=_TRACE_COLUMNS,
            required=(*FEATURES, *self._signals, *RESPONSE, *_FEATURE_COLUMNS, "reason"),
        )
        frames.logs.selection.same_models = self._names
        if self._watched_models is not None:
            frames.logs.selection.on_excluded = self._exclude_unwatched
        return frames

    def _exclude_unwatched(self, column: str, frame: pl.DataFrame) -> None:
        """Count the responses of models that no estimator is for, among those that `where` leaves out by a `column`."""
        if column != MODEL or frame.is_empty():
            return
        names = strip_prefixes(pl.col(MODEL).cast(pl.String).fill_null(UNKNOWN_MODEL))
        keys = {f"{SLICE_PREFIX}{name}": to_text(coalesce_columns(frame, [name])) for name in self._reading.by}
        grains, hashes = find_grains(frame, self._reading, None), hash_ids(frame, self._reading.time_column or TIME)
        rows = frame.select(names.alias("subject"), grain=grains, hash=hashes, **keys)
        self.exclusions.add(list_unwatched_responses(rows, [*keys]))

    def _count_records(self, summary: LogSummary) -> None:
        """Add a log's unreadable, repeated, skipped and left-out records to the problems."""
        if summary.n_bad:
            places, causes = [], set()
            for bad in summary.bad:
                places.append(bad.where if bad.problem in causes else f"{bad.where} ({bad.problem})")
                causes.add(bad.problem)
            self._problems.add(ProblemKind.UNREADABLE_RECORD, places, count=summary.n_bad)
        for kind, count in (
            (ProblemKind.REPLACED_ATTEMPT, summary.replaced),
            (ProblemKind.LOGGED_TWICE, summary.twice),
            (ProblemKind.EQUAL_RESPONSE, summary.equal),
        ):
            if count:
                self._problems.add(kind, count=count)
        for reason, count in summary.ignored.items():
            self._problems.add(ProblemKind.SKIPPED_RECORD, count=count, subject=reason)
        for left_out, count in summary.left_out.items():
            self._note_left_out(left_out, count)

    def _note_left_out(self, left_out: ExclusionReason, count: int) -> None:
        """Count responses that `where` excludes for a reason, or that no estimator is for."""
        kind, subject, value = identify_left_out(left_out)
        if left_out.column == MODEL and self._unwatched_is_problem:
            if value is None:
                self._problems.add(ProblemKind.UNNAMED_MODELS, count=count)
            else:
                self._problems.add(ProblemKind.NO_ESTIMATOR, count=count, subject=value)
        else:
            self._problems.add(kind, count=count, subject=subject, value=value)


class EstimatorInputs:
    """Prepares responses for an estimator, and counts those that it cannot use.

    `data_filter` counts responses that do not match the estimator, and `exclusions` all that are not estimated;
    `seen_columns` are the requested columns that had a value.
    """

    def __init__(
        self,
        metadata: FitMetadata,
        reading: Slicing,
        problems: Problems,
        repeat_finder: RepeatFinder | None = None,
        texts: bool = False,
        strata: Sequence[str] = (),
        only_model: str | None = None,
        labels: bool = False,
    ) -> None:
        """Prepare responses for the estimator with this `metadata`.

        With a `repeat_finder`, drop responses that are in other files, and add the columns HASH_COLUMNS to frames. With
        `only_model`, take only the responses of this model. `strata` are the columns by which labels were drawn, for
        the column STRATUM. With `labels`, add the columns LABEL_DTYPES, for logs that bring labels.
        """
        self._labels = LABEL_DTYPES if labels else {}
        self._model_selection = None
        if only_model is not None:
            self._model_selection = ResponseSelection(LogOptions(where=(f"{MODEL}={only_model}",)))
        self._strata, self._texts, self.exclusions = strata, TEXTS if texts else (), ExclusionCounter()
        self._model = metadata.model
        self._signals = [name for name in metadata.signals or () if name not in FEATURES]
        self._reading, self._problems = reading, problems
        self.seen_columns: set[str] = set()
        self.data_filter = TrainingDataFilter(metadata, reading, problems)
        self.start_file(repeat_finder)

    def start_file(self, repeat_finder: RepeatFinder | None = None) -> None:
        """Begin with the responses of another file; the `repeat_finder` compares them with those of all other files."""
        self._repeat_finder, self._clock = repeat_finder, None
        if self._reading.grain is not None:
            self._clock = Clock(self._reading.grain, self._problems, self._reading.zone)

    def prepare(self, batch: pl.DataFrame) -> pl.DataFrame | None:
        """The responses of a batch that count, ready to be summed; null if no response is left.

        They have the signals, RESPONSE, the columns of statistics, READING_COLUMNS, `grain` (the start of the smallest
        window), and `by.COLUMN` as text. `excluded` is the reason why a row is not estimated, or null.
        """
        if self._model_selection is not None:
            batch = self._model_selection.select(batch)
        batch = add_reasons(batch, self._signals)
        if self._repeat_finder is not None:
            batch = self._repeat_finder.select_new(batch, self._reading.time_column or TIME)
        return self._prepare(batch) if len(batch) else None

    def _prepare(self, batch: pl.DataFrame) -> pl.DataFrame:
        """A batch with READING_COLUMNS and with the columns of slices, numbers, clusters and labels; it is counted."""
        unnamed = batch.filter(pl.col("model") == UNKNOWN_MODEL)[PLACE].to_list()
        if unnamed and self._model is not None:
            self._problems.add(ProblemKind.UNNAMED_MODEL, unnamed, subject=str(self._model))
            batch = batch.with_columns(pl.col("model").replace(UNKNOWN_MODEL, self._model))
        frame = batch.with_columns(*self.data_filter.classify(batch), grain=self._find_row_grains(batch))
        keys = [f"{SLICE_PREFIX}{name}" for name in self._reading.by]
        for name, key in zip(self._reading.by, keys, strict=True):
            frame = frame.with_columns(to_text(self._read_column(batch, name)).alias(key))
        for name in _LOG_COLUMNS:
            if name not in self._signals:
                frame = frame.with_columns(to_text(self._read_column(batch, name)).alias(name))
        for name, dtype in hashed_tokens.SCHEMA.items():
            words = pl.col(name).cast(dtype) if name in batch.columns else pl.lit(None, dtype).alias(name)
            frame = frame.with_columns(words)
        measures = [f"{NUMBER_PREFIX}{name}" for name in self._reading.numbers]
        for name, measure in zip(self._reading.numbers, measures, strict=True):
            frame = frame.with_columns(self._read_column(batch, name).cast(pl.Float64, strict=False).alias(measure))
        strata = pl.Series(STRATUM, [None] * len(batch), dtype=pl.UInt64)
        if self._strata:
            strata = hash_values([to_text(coalesce_columns(batch, [name])) for name in self._strata])
        frame = frame.with_columns(self._find_clusters(batch), strata)
        for label, label_dtype in self._labels.items():
            if frame.schema.get(label) != label_dtype:
                frame = frame.with_columns(pl.lit(None, label_dtype).alias(label))
        self.data_filter.count(frame)
        self.exclusions.add(count_exclusions(frame, keys))
        hashes = [] if self._repeat_finder is None else HASH_COLUMNS
        columns = dict.fromkeys((*FEATURES, *self._signals, *RESPONSE, *list_source_columns(), *hashed_tokens.SCHEMA))
        return frame.select(
            *columns,
            *READING_COLUMNS,
            CODE,
            "grain",
            CLUSTER,
            STRATUM,
            *hashes,
            *keys,
            *measures,
            *self._texts,
            *self._labels,
        )

    def _read_column(self, batch: pl.DataFrame, name: str) -> pl.Series:
        """A column of the log; null if the frame lacks it."""
        column = coalesce_columns(batch, [name])
        if column.null_count() < len(column):
            self.seen_columns.add(name)
        return column

    def _find_clusters(self, batch: pl.DataFrame) -> pl.Series:
        """The cluster of each row, null if it is its own: by the column, or else by the request or the item."""
        if (name := self._reading.cluster_column) is not None:
            return hash_texts(to_text(self._read_column(batch, name)))
        texts = to_text(coalesce_columns(batch, [REQUEST, QUESTION])).fill_null(make_item_texts(batch))
        return hash_texts(texts)

    def _find_row_grains(self, batch: pl.DataFrame) -> pl.Series:
        """The smallest window of each row, null without a time."""
        if self._clock is not None:
            self._read_column(batch, self._reading.time_column or TIME)
        return find_grains(batch, self._reading, self._clock)


def find_grains(batch: pl.DataFrame, reading: Slicing, clock: Clock | None) -> pl.Series:
    """The smallest window of each row, null without a time; without a `clock`, wrong times are not counted."""
    if reading.grain is None:
        return pl.Series([None] * len(batch), dtype=DTYPE)
    clock = clock or Clock(reading.grain, Problems(), reading.zone)
    return clock.assign_windows(coalesce_columns(batch, [reading.time_column or TIME]), batch[PLACE])


class ReadingResult(NamedTuple):
    """Rows of `EstimatorInputs.prepare`, problems, and counts of responses that are used but do not match."""

    rows: pl.DataFrame
    problems: Problems
    override_counts: Mapping[str, int]


def read_all_responses(
    saved: FittedEstimator, sources: Sequence[Source], options: Slicing, texts: bool = False, must_match: bool = True
) -> ReadingResult:
    """Read all responses of files and frames of features for an estimator.

    Raises InputError if there are no responses or a requested column is empty. With `must_match`, raises
    ProvenanceError if all responses have another model or kind of log-probabilities.
    """
    problems = Problems(options.strict)
    names = resolve_same_models(saved.metadata, options.same_model)
    reader = SourceReader(options, problems, saved.signals, names, compare=len(sources) > 1, texts=texts)
    inputs = EstimatorInputs(saved.metadata, options, problems, texts=texts)
    frames: list[pl.DataFrame] = []
    seen_files = SeenFiles() if len(sources) > 1 else None
    for source in sources:
        repeat_finder = None if seen_files is None else seen_files.make_finder()
        inputs.start_file(repeat_finder)
        file_frames = [frame for batch in reader.read_frames(source) if (frame := inputs.prepare(batch)) is not None]
        if seen_files is not None and repeat_finder is not None:
            repeat_finder.add_problems(problems, "features" if isinstance(source, pl.DataFrame) else str(source))
            if repeat_finder.all_repeated:
                continue
            for frame in file_frames:
                seen_files.add(frame)
            file_frames = [frame.drop(HASH_COLUMNS) for frame in file_frames]
        frames += file_frames
    check_columns(options, reader.seen_columns | inputs.seen_columns, sources, bool(frames))
    if not frames:
        raise InputError("; ".join(["the logs contain no usable response", *problems.lines()]))
    rows = pl.concat(frames)
    if must_match:
        inputs.data_filter.check(len(rows))
    # The validation covers no model under another name either.
    renamed = {f"of model '{name}'": n for name, n in inputs.data_filter.same_models.items()}
    return ReadingResult(rows, problems, inputs.data_filter.override_counts + Counter(renamed))
