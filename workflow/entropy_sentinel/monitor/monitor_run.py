"""Run the monitor: turn logs and an estimator, or an estimator for each model, into rows and alerts."""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import polars as pl

from entropy_sentinel import __version__
from entropy_sentinel.api.input_checks import coerce_table, is_table
from entropy_sentinel.api.label_reading import coerce_labels, find_sample_columns, read_sample_columns
from entropy_sentinel.api.verb_options import MonitorKeywords
from entropy_sentinel.api.witness_reading import Witness, read_witnesses
from entropy_sentinel.core.errors import ConfigError, EntropySentinelError, InputError
from entropy_sentinel.core.option_classes import document_options
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.estimators.no_estimator import NO_ESTIMATOR
from entropy_sentinel.logs.model_names import strip_prefix
from entropy_sentinel.monitor.alert import Row, SliceValues
from entropy_sentinel.monitor.alert_codes import AlertKind
from entropy_sentinel.monitor.alerting.acknowledgements import read_acknowledgements
from entropy_sentinel.monitor.alerting.alert_reporting import ReportingRules, RunAlerts, make_alerts, read_history
from entropy_sentinel.monitor.alerting.drop_alerts import count_tested_slices, find_drops
from entropy_sentinel.monitor.alerting.drop_opinions import add_opinions
from entropy_sentinel.monitor.alerting.slice_episodes import find_row_episodes, find_stale_episodes
from entropy_sentinel.monitor.episodes import Episode
from entropy_sentinel.monitor.estimating.same_model import compare_same_models
from entropy_sentinel.monitor.estimating.slice_rows import SliceRowMaker
from entropy_sentinel.monitor.event_calendar import mark_alerts, read_events
from entropy_sentinel.monitor.labelling.label_corrected_estimates import LAST_LABELLED, LabelledResponses
from entropy_sentinel.monitor.labelling.option_checks import check_labelled_options
from entropy_sentinel.monitor.labelling.witness_estimates import WitnessEstimates
from entropy_sentinel.monitor.labelling.witness_support import AskedWitness
from entropy_sentinel.monitor.labelling.witness_table import measure_label_worth
from entropy_sentinel.monitor.monitor_options import EARLIEST, MonitorOptions, Reading, format_period
from entropy_sentinel.monitor.monitor_result import AlertResponses, Monitored
from entropy_sentinel.monitor.reading.feature_stream import (
    LogSources,
    Source,
    compute_table_features,
    exclude_states,
    resolve_sources,
)
from entropy_sentinel.monitor.reading.problem_codes import ProblemKind
from entropy_sentinel.monitor.reading.problem_collection import Problems
from entropy_sentinel.monitor.reading.time_zones import DTYPE
from entropy_sentinel.monitor.reading.window_times import convert_from_clock, shift_windows
from entropy_sentinel.monitor.result_stacking import stack_results
from entropy_sentinel.monitor.showing.alert_responses import find_least_certain
from entropy_sentinel.monitor.summing.cluster_notes import note_clusters, note_conversations
from entropy_sentinel.monitor.summing.file_reading import KeptRows
from entropy_sentinel.monitor.summing.log_pass import LogPass, sum_problems
from entropy_sentinel.monitor.summing.missing_files import Collector
from entropy_sentinel.monitor.summing.monitor_state import State
from entropy_sentinel.monitor.summing.slice_sums import count_values
from entropy_sentinel.monitor.summing.state_file import PROGRESS, open_state_file
from entropy_sentinel.monitor.summing.sum_merging import (
    NEWEST_WINDOWS,
    SliceTable,
    find_newest_windows,
    merge_sums,
    pool_newest_windows,
)
from entropy_sentinel.monitor.unwatched_traffic import WatchedState, add_unwatched
from entropy_sentinel.monitor.watched_models import Estimators, Options, WatchedModels, watch_models
from entropy_sentinel.schemas.witness_schema import WitnessKind

log = logging.getLogger(__name__)


@document_options(MonitorOptions)
def monitor(
    estimator: FittedEstimator | str | Path | Estimators | None,
    logs: LogSources,
    by: Sequence[str] = (),
    *,
    state: str | Path | None = None,
    **options: Unpack[MonitorKeywords],
) -> Monitored:
    """Estimate the accuracy of every slice of logs, with intervals, flags, changes and alerts.

    The labels and verdicts of `labels` and `judged` may also be frames.

    Args:
        estimator: An estimator from `fit` or `load`, or its file. Several are each used for the responses of their
            model, and the column `model` is added to `by`. With None, accuracies rest on `labels` (and `judged`), and
            responses need no log-probabilities.
        logs: Logs, traces or features, as files, folders, patterns or `-` for standard input; a frame of features; or
            state files of parts of the logs.
        by: The columns whose values define slices, combined; without any, all responses are one slice.
        state: A file that keeps the sums of each log for this estimator and settings, so that each log is read once.
            With several estimators, a file for each: this name, a dot and the model's name.
        **options: The fields of `MonitorOptions`, which `help(es.monitor)` lists.

    Returns:
        The rows by slice and by window, the alerts, and their provenance.

    Raises:
        InputError: For unreadable files, missing columns, or a reference without responses.
        ProvenanceError: If no response matches the estimator's model and log-probabilities, or if `state` belongs to
            another estimator or other settings.
        ConfigError: For invalid options, such as those that need an estimator.
        DamagedFileError: For a state file that was damaged or edited.

    Examples:
        >>> import entropy_sentinel as es
        >>> features = es.features(es.read_logs(es.example().traces))
        >>> estimator = es.fit(features, es.read_labels(es.example().labels), "atc-nll_sum")
        >>> result = es.monitor(estimator, features, by=["benchmark"])
        >>> result.slices.select("n_estimated", "rank").rows()
        [(30, 1), (30, 2), (30, 3), (30, 4), (30, 5)]
    """
    settings = MonitorOptions.from_keywords("monitor", {"by": by, **options})
    return monitor_sources(estimator, resolve_sources(logs), settings, state)


def monitor_sources(
    estimator: FittedEstimator | str | Path | Estimators | None,
    sources: Sequence[Source],
    settings: MonitorOptions,
    state: str | Path | None = None,
    test_all_windows: bool = True,
    kept_rows: KeptRows | None = None,
) -> Monitored:
    """The result of `monitor` for `resolve_sources` of logs.

    Without `test_all_windows`, changes are tested only in the newest windows; only files have those of all windows, and
    for a year of many slices the tests take most of the time. `kept_rows` gets the responses that are read.
    """
    if estimator is None:
        check_labelled_options(settings)
    watched = watch_models(NO_ESTIMATOR if estimator is None else estimator, settings, state)
    # Whether single responses are needed besides their sums: to match labels, or to show them.
    single = settings.labels is not None or settings.judged is not None or settings.responses > 0
    events = read_events(settings)
    with _collect_sums(watched, sources, single, find_label_strata(settings), kept_rows) as (log_pass, runs):
        log_pass.check()
        problems = sum_problems(log_pass.collectors)
        states = [WatchedState(run.state, run.path, run.sum_slices()) for run in runs]
        for run in runs:
            note_clusters(problems, run.state.files.values(), run.settings)
        if settings.cluster is None:
            note_conversations(problems, log_pass.columns())
        summed = [(run, state.merged) for run, state in zip(runs, states, strict=True) if state.merged is not None]
        if not summed:
            raise _make_empty_error(problems)
        if silent := [f"'{run.model}'" for run, state in zip(runs, states, strict=True) if state.merged is None]:
            problems.add(ProblemKind.SILENT_MODEL, silent)
        ends: set[datetime] = set()
        n_tested = 0
        for _, merged in summed:
            ends.update(find_newest_windows(merged.windows, settings.window, settings))
            n_tested += count_tested_slices(merged, settings.min_responses)
        newest = sorted(ends)[-NEWEST_WINDOWS:]
        results: list[Monitored] = []
        unmatched: list[frozenset[int]] = []
        for run, merged in summed:
            labelled = run.match_labels(merged)
            if labelled is not None:
                unmatched.append(frozenset(labelled.unmatched))
            results.append(run.make_result(merged, labelled, problems, n_tested, newest, test_all_windows))
        if unmatched and (lost := frozenset.intersection(*unmatched)):
            problems.add(ProblemKind.LABEL_UNMATCHED, count=len(lost))
        result = results[0] if watched.names is None else stack_results(results, settings)
        result.provenance.update(problems.provenance())
        models = runs[0].models if watched.names is None else watched.names
        add_unwatched(result, states, models, summed[0][0].settings, watched.user_named)
        mark_alerts(result.alerts, events, settings)
        return result


def _make_empty_error(problems: Problems) -> InputError:
    """The error for logs without a usable response, with the problems of reading."""
    return InputError("; ".join(["the logs contain no usable response", *problems.lines()]))


def collect(
    estimator: str | Path | None, logs: LogSources, state: str | Path, by: Sequence[str] = (), **options: Any
) -> Problems:
    """Sum a part of the logs in the file `state`, without estimating; return the counts of unusable parts.

    `monitor` reads such files instead of logs. The options are the fields of `Reading`; errors are as for `monitor`.
    """
    reading = Reading.from_values({"by": by, **options})
    watched = watch_models(NO_ESTIMATOR if estimator is None else estimator, reading, state)
    with _collect_sums(watched, resolve_sources(logs), single=False) as (log_pass, _):
        return sum_problems(log_pass.collectors)


@contextmanager
def _collect_sums(
    watched: WatchedModels[Options],
    sources: Sequence[Source],
    single: bool,
    strata: Sequence[str] = (),
    kept_rows: KeptRows | None = None,
) -> Iterator[tuple[LogPass, list["_EstimatorRun"]]]:
    """Read all logs once into the states of the models; yield the pass over the logs, and a run for each estimator.

    The states are open during the block. With `single`, they also keep each response. `strata` are the columns by which
    labels were drawn, and `kept_rows` gets the responses that are read.
    """
    signals = list(dict.fromkeys(name for each in watched.models for name in each.saved.signals))
    features = compute_table_features(exclude_states(sources, watched.states), watched.reading, signals)
    collectors: list[Collector] = []
    runs: list[_EstimatorRun] = []
    with ExitStack() as stack:
        for each in watched.models:
            identity = {
                "estimator": each.saved.estimator.name,
                "checksum": each.checksum,
                "reading": each.options.to_dict(),
            }
            state = stack.enter_context(State.open(each.state, identity, count_values(each.saved.estimator)))
            state.strata = list(strata)
            lasting = each.state is not None
            collector = Collector(
                each.saved,
                reading=each.options,
                state=state,
                lasting=lasting,
                single=single,
                only_model=each.model,
                watched_models=watched.names,
            )
            collectors.append(collector)
            runs.append(
                _EstimatorRun(
                    each.saved, each.checksum, collector, state, each.file, path=each.state, options=each.options
                )
            )
        log_pass = LogPass(
            collectors,
            sources=features,
            reading=watched.reading,
            strata=strata,
            watched_models=watched.names,
            user_named_models=watched.user_named,
            kept_rows=kept_rows,
        )
        log_pass.read()
        yield log_pass, runs


@dataclass(frozen=True)
class _EstimatorRun:
    """One estimator of a run, and what was read for it.

    `checksum` is that of its file, and `file` the name of that. The `collector` has counted the files of the logs, and
    the `state` has their sums; `path` is the state's file, null if the state is temporary. `options` are those for its
    responses.
    """

    saved: FittedEstimator
    checksum: str
    collector: Collector
    state: State
    file: str
    path: Path | None
    options: Reading

    @property
    def settings(self) -> MonitorOptions:
        """The options for the responses of this estimator."""
        assert isinstance(self.options, MonitorOptions)  # only `collect` has fewer
        return self.options

    @property
    def model(self) -> str:
        """The estimator's model; an empty text if its file does not name it."""
        return strip_prefix(str(self.saved.metadata.model or ""))

    @property
    def models(self) -> list[str]:
        """The estimator's model, if its file names it."""
        return [self.model] if self.model else []

    def _count_same_models(self) -> Counter[str]:
        """The responses whose model counts as the estimator's, by its name in the logs."""
        total = Counter[str]()
        for about in self.state.files.values():
            total.update(about.same_models)
        return total

    def _count_models(self) -> dict[str, int]:
        """The models of the responses that count, without providers, with their numbers of responses."""
        total = Counter[str]()
        for part in self.state.all_responses():
            for name, n in part["model"].drop_nulls().value_counts().iter_rows():
                total[strip_prefix(name)] += n
        return dict(total.most_common())

    def sum_slices(self) -> SliceTable | None:
        """The sums of slices, null without responses; raises InputError for a reference without responses."""
        settings = self.settings
        merged = merge_sums(self.state, settings.by, settings.window, settings.period, settings.max_slices)
        if merged is not None and settings.period is not None and not merged.before.n_estimated.any():
            raise InputError(self._describe_empty_reference(settings))
        return merged

    def match_labels(self, merged: SliceTable) -> LabelledResponses | None:
        """The labelled responses, if the settings name labels or what witnesses (judges or second models) say."""
        settings = self.settings
        if settings.labels is None and settings.judged is None:
            return None
        labels = _read_labels(settings)
        witnesses: list[Witness] = []
        if settings.judged is not None:
            witnesses = read_witnesses(settings.judged, settings.scorer, labels)
        at_random, has_strata = settings.labels_at_random, bool(self.state.strata)
        return LabelledResponses(self.state, labels, merged, settings.window, at_random, witnesses, has_strata)

    def estimate_witnesses(
        self, settings: MonitorOptions, merged: SliceTable, labelled: LabelledResponses | None
    ) -> WitnessEstimates | None:
        """What witnesses (judges or second models) say of slices with hardly any labels; null without witnesses."""
        if settings.judged is None or labelled is None:
            return None
        witnesses = labelled.witnesses
        if settings.labels is None and all(witness.kind == WitnessKind.VERDICT for witness in witnesses):
            labels = format_option("labels")
            raise ConfigError(f"judged: needs {labels} of some of the same responses, which correct the judge's errors")
        at_random = settings.labels_at_random
        return WitnessEstimates(
            self.state, witnesses, labels=labelled.people, merged=merged, window=settings.window, at_random=at_random
        )

    def make_result(
        self,
        merged: SliceTable,
        labelled: LabelledResponses | None,
        problems: Problems,
        n_tested: int,
        newest: Sequence[datetime],
        test_all_windows: bool = True,
    ) -> Monitored:
        """The result for this estimator.

        `n_tested` is the number of slices among which the false alarms are shared, and `newest` are the windows of the
        alerts. Without `test_all_windows`, changes are tested only there.
        """
        settings = self.settings
        if labelled is not None and self.saved.has_estimates:
            labelled.note_training(problems, self.saved.training is not None)
        override_counts = Counter[str]()
        for about in self.state.files.values():
            override_counts.update(about.taken)
        top_override_counts = dict(override_counts.most_common(5))
        by_column, numbers = settings.cluster is not None, settings.numbers
        row_maker = SliceRowMaker(
            self.saved,
            settings.level,
            settings.min_responses,
            override_counts=top_override_counts,
            numbers=numbers,
            has_cluster_column=by_column,
        )
        witnesses = self.estimate_witnesses(settings, merged, labelled)
        rows = _make_rows(
            row_maker, merged, settings, labelled, ends=newest, test_all_windows=test_all_windows, witnesses=witnesses
        )
        newest_rows = _map_newest_rows(rows, settings)
        drops = find_drops(
            self.saved.estimator, merged, settings, n_tested, _map_slices(rows.slices, rows.by) | newest_rows
        )
        opinions = [] if witnesses is None else witnesses.opinions
        episodes = self._find_episodes(rows, drops, merged, settings, opinions)
        alerts = self._make_alerts(episodes, rows, merged, settings, newest_rows)
        responses: list[AlertResponses] = []
        if settings.responses and self.saved.has_estimates:
            responses = find_least_certain(alerts.alerts, settings.window, self.state, settings, settings.responses)
        provenance = self._make_provenance(settings, row_maker, merged, override_counts)
        provenance["labels_drawn_by"] = self.state.strata
        provenance["labels_drawn"] = labelled.count_drawn() if labelled else None
        qualities = labelled.measure_witnesses(settings.level) if labelled and settings.labels is not None else []
        provenance["judge"] = [quality.to_dict() for quality in qualities]
        provenance["label_worth"] = measure_label_worth(rows.slices) if qualities else None
        provenance["witness_estimates"] = row_maker.describe_witnesses(merged, witnesses) if witnesses else []
        return Monitored(
            by=rows.by,
            slices=rows.slices,
            windows=None if rows.windows is None else rows.windows.drop("window_from"),
            newest=list(rows.newest),
            recent=rows.recent,
            last_usable=rows.last_usable,
            alerts=alerts.alerts,
            behind=responses,
            provenance=provenance,
            problems=problems,
            drops=drops,
            histories={} if self.path is None else {self.path: alerts.history},
        )

    def _find_episodes(
        self,
        rows: "_ResultRows",
        drops: Sequence[Episode],
        merged: SliceTable,
        settings: MonitorOptions,
        opinions: Sequence[AskedWitness],
    ) -> Iterator[Episode]:
        """Yield the episodes that need an alert: drops, conditions that rows meet, and slices that became stale.

        `drops` are those of all slices, and `opinions` the second opinions that may confirm one.
        """
        if settings.has_kind(AlertKind.DROP):
            yield from add_opinions(drops, opinions, merged.slices, settings.zone, settings.level)
        yield from find_row_episodes(rows.newest_rows, rows.windows, rows.by, settings)
        if rows.last_usable is not None:
            usable = rows.last_usable
            ends = shift_windows(usable["last_usable"], settings.pool_windows, settings.window or "day")
            yield from find_stale_episodes(rows.slices, usable.with_columns(stale_from=ends), settings)

    def _make_alerts(
        self,
        episodes: Iterator[Episode],
        rows: "_ResultRows",
        merged: SliceTable,
        settings: MonitorOptions,
        newest_rows: Mapping[SliceValues, Row],
    ) -> RunAlerts:
        """Alerts of episodes, new or known from the state's history, with the newest rows of their slices."""
        newest: Sequence[datetime] = rows.newest
        if not newest:  # with a reference but no window, the newest of the smallest windows
            base_windows = find_newest_windows(merged.base_windows, settings.grain, settings)
            newest = _convert_windows(base_windows, settings.zone)
        history = None if self.path is None else read_history(self.state).select_slices()
        rules = ReportingRules(newest, history, read_acknowledgements(settings.acknowledged), settings.remind)
        return make_alerts(episodes, rows.by, rules, newest_rows)

    def _list_grains(self) -> list[datetime]:
        """The starts of the smallest windows with responses."""
        grains = pl.concat([part.keys.select("grain").unique() for part in self.state.all_sums()])
        return grains["grain"].drop_nulls().to_list()

    def _describe_empty_reference(self, settings: MonitorOptions) -> str:
        """The message for a reference without responses, which names the period of the logs."""
        grains = self._list_grains()
        zone = settings.zone or "UTC"
        period = f"from {min(grains):%Y-%m-%d} to {max(grains):%Y-%m-%d}" if grains else "without a time"
        return (
            f"reference: {settings.period and format_period(settings.period)} ({zone}) has no response with an "
            "estimate "
            f"to compare with; the logs have responses {period}"
        )

    def _find_reference_bounds(self, settings: MonitorOptions) -> list[str] | None:
        """The start and end of the reference; a reference without a start begins with the logs."""
        if settings.period is None:
            return None
        start = min(self._list_grains()) if settings.period.start == EARLIEST else settings.period.start
        return [start.isoformat(), settings.period.end.isoformat()]

    def _make_provenance(
        self,
        settings: MonitorOptions,
        row_maker: SliceRowMaker,
        merged: SliceTable,
        override_counts: Counter[str],
    ) -> dict[str, Any]:
        """What the result rests on: estimator, settings, and numbers of files and responses; JSON-serialisable."""
        metadata, read, files = self.saved.metadata, self.collector.new_files, self.state.files
        answers = self.saved.validation.answers if self.saved.validation else ()
        estimator = {
            "name": self.saved.estimator.name,
            "sha256": self.checksum or None,
            "model": metadata.model,
            "group": metadata.group,
            "domains": metadata.domains,
            "logprobs": metadata.logprobs.to_dict(),
            "training_accuracy": metadata.training_accuracy,
            "verdicts": [f"{answer.verdict}{answer.scope}" for answer in answers],
        }
        same_models = compare_same_models(self.saved, merged, self._count_same_models(), settings)
        has_estimates, general = self.saved.has_estimates, row_maker.general_flags(merged.total)
        name = " ".join(filter(None, (str(metadata.model or ""), self.file)))
        return {
            "version": __version__,
            "monitor": settings.name or name or self.saved.estimator.name,
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "estimators": [estimator] if has_estimates else [],
            "models": {} if has_estimates else self._count_models(),
            "recognises_unfamiliar": metadata.familiarity is not None,
            "general_flags": {flag.words: reason for flag, reason in general.items()},
            "general_flag_codes": [flag.number for flag in general],
            "overridden": dict(override_counts),
            "same_models": [] if same_models is None else [same_models.to_dict()],
            "reading": settings.to_dict(),
            "numbers": list(settings.numbers),
            "window": settings.window,
            "timezone": settings.zone or "UTC",
            "reference": self._find_reference_bounds(settings),
            "level": settings.level,
            "alert_on": list(settings.alert_on),
            "fail_below": settings.fail_below,
            "events": [event.to_dict() for event in read_events(settings)],
            "page_url": settings.page_url,
            "min_responses": settings.min_responses,
            "pool_windows": settings.pool_windows,
            "false_alarms": settings.false_alarms,
            "files": {"read_now": len(read), "known": self.collector.n_known, "in_all": len(files)},
            "responses": {
                "read_now": sum(file.n_responses for file in read),
                "in_all": int(merged.total.n_responses.sum()),
            },
            "pooled_slices": merged.n_pooled,
        }


def _read_labels(settings: MonitorOptions) -> pl.DataFrame:
    """The labels by people in a table or files; none if the settings name none."""
    labels = settings.labels
    if labels is None:
        return pl.DataFrame(schema={"item_id": pl.String, "label": pl.Boolean})
    return coerce_labels(labels, settings.scorer)


def find_label_strata(settings: MonitorOptions) -> list[str]:
    """The columns by which the labels were drawn, if they are not those of the slices."""
    labels = settings.labels
    if labels is None or settings.labels_at_random:
        return []
    names = (
        find_sample_columns(coerce_table(labels, "labels").columns) if is_table(labels) else read_sample_columns(labels)
    )
    return [] if set(names) == set(settings.by) else names


def _map_slices(rows: pl.DataFrame, by: Sequence[str]) -> dict[SliceValues, Row]:
    """The last row of each slice, by the slice's values (of the columns `by`)."""
    by_slice: dict[SliceValues, Row] = {}
    for row in rows.iter_rows(named=True):
        by_slice[tuple(row[name] for name in by)] = row
    return by_slice


def _convert_windows(windows: Sequence[datetime], zone: str | None) -> list[datetime]:
    """The real times of windows that are on the clock of a zone."""
    return convert_from_clock(pl.Series(windows, dtype=DTYPE), zone).to_list()


def _convert_row_times(rows: pl.DataFrame, zone: str | None) -> pl.DataFrame:
    """Rows with the real times of their windows and newest labels, as far as they have them."""
    for name in ("window", "window_from", "window_to", LAST_LABELLED):
        if name in rows.columns:
            rows = rows.with_columns(convert_from_clock(rows[name], zone))
    return rows


class _ResultRows(NamedTuple):
    """The fields of `Monitored` that contain rows or windows; `windows` still has `window_from`."""

    by: tuple[str, ...]
    slices: pl.DataFrame
    windows: pl.DataFrame | None = None
    newest: Sequence[datetime] = ()
    recent: pl.DataFrame | None = None
    last_usable: pl.DataFrame | None = None

    @property
    def newest_rows(self) -> pl.DataFrame:
        """The rows that alerts are about: those of the newest windows, or of slices."""
        return self.slices if self.recent is None else self.recent


def _map_newest_rows(rows: _ResultRows, settings: MonitorOptions) -> dict[SliceValues, Row]:
    """The newest row with enough responses of each slice."""
    enough = rows.newest_rows.filter(pl.col("n_estimated") >= settings.min_responses)
    return _map_slices(enough if rows.recent is None else enough.sort("window"), rows.by)


def _make_rows(
    row_maker: SliceRowMaker,
    merged: SliceTable,
    settings: MonitorOptions,
    labelled: LabelledResponses | None,
    ends: Sequence[datetime],
    test_all_windows: bool,
    witnesses: WitnessEstimates | None,
) -> _ResultRows:
    """The rows of a result for the slices, and for each slice in each window if there are windows."""
    columns, windows = tuple(merged.slices.columns), merged.windows
    reference, zone = settings.period, settings.zone
    if settings.window is None or windows is None:
        slices = row_maker.make_slice_rows(merged, labelled, witnesses=witnesses)
        return _ResultRows(columns, _convert_row_times(slices, zone))
    n_slices, window = len(merged.slices), settings.window
    recent_windows = pool_newest_windows(
        windows,
        n_slices,
        window,
        least=settings.min_responses,
        most_windows=settings.pool_windows,
        reference=reference,
        newest=ends,
    )
    slices = _convert_row_times(row_maker.make_slice_rows(merged, labelled, recent_windows, witnesses), zone)
    recent_rows = row_maker.make_window_rows(
        merged, recent_windows.rows, recent_windows.sums, reference, labelled, witnesses=witnesses
    )
    single_windows = windows.rows.with_columns(window_from="window")
    every_window = row_maker.make_window_rows(
        merged, single_windows, windows.sums, reference, labelled, test_all_windows, witnesses
    )
    usable = merged.slices.with_columns(last_usable=pl.Series(recent_windows.last_usable, dtype=DTYPE))
    usable = usable.with_columns(convert_from_clock(usable["last_usable"], zone))
    return _ResultRows(
        by=columns,
        slices=slices,
        windows=_convert_row_times(every_window, zone),
        newest=_convert_windows(recent_windows.newest, zone),
        recent=_convert_row_times(recent_rows, zone),
        last_usable=slices.select(columns).join(usable, on=columns, how="left", nulls_equal=True),
    )


def record_alerts(result: Monitored) -> None:
    """Record in the states that the alerts of a result were reported, so that the next run reports only new ones."""
    for path in {**result.histories, **result.progress}:
        try:
            with open_state_file(path) as file:
                if path in result.histories:
                    file.put_alerts(result.histories[path].to_rows())
                if path in result.progress:
                    file.put_record(PROGRESS, result.progress[path])
        except EntropySentinelError as error:
            log.warning("the next run will report the same alerts again: %s", error)
