"""Read every log once for all estimators of a run: its responses go to the estimator of their model."""

import logging
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.core.external_files import STANDARD_INPUT, get_standard_input
from entropy_sentinel.estimators.training_rows import one_thread
from entropy_sentinel.monitor.monitor_options import Reading
from entropy_sentinel.monitor.reading.deduplication import digest_content
from entropy_sentinel.monitor.reading.feature_stream import Source, SourceReader, list_first_columns
from entropy_sentinel.monitor.reading.problem_codes import ProblemKind
from entropy_sentinel.monitor.reading.problem_collection import Problems
from entropy_sentinel.monitor.slice_columns import STATISTICS
from entropy_sentinel.monitor.summing.file_reading import FileReading, KeptRows
from entropy_sentinel.monitor.summing.file_sums import FileRecord
from entropy_sentinel.monitor.summing.missing_files import Collector, check_usable
from entropy_sentinel.monitor.summing.state_file import is_state, read_file_stat

log = logging.getLogger(__name__)
_RUN_PROBLEMS = (ProblemKind.NO_ESTIMATOR, ProblemKind.UNNAMED_MODELS)


class _FileChanged(Exception):
    """A file changed while it was being read."""


class LogPass:
    """Reads all logs once, for the collectors of all estimators, which read alike except for their models.

    `reading` has the options for all, with `where` for all their models. Several collectors have `watched_models`;
    `user_named_models` says whether `where` named them.
    """

    def __init__(
        self,
        collectors: Sequence[Collector],
        sources: Sequence[Source],
        reading: Reading,
        strata: Sequence[str] = (),
        watched_models: Sequence[str] | None = None,
        user_named_models: bool = False,
        kept_rows: KeptRows | None = None,
    ) -> None:
        """Take the logs, `sources`; `strata` are the columns by which labels were drawn, `kept_rows` gets responses."""
        self.collectors, self._sources, self._reading, self._strata = collectors, list(sources), reading, strata
        self._watched_models, self._user_named_models = watched_models, user_named_models
        self._kept_rows = kept_rows
        self._lasting = collectors[0].lasting
        self._begins_with_state = False  # whether the first source is a state, which has no columns
        # For a single file without later runs, no other file can contain the same responses.
        self._compare = self._lasting or len(self._sources) > 1

    def read(self) -> None:
        """Read the files that some state does not know yet; raise InputError for an unreadable file."""
        with one_thread():
            for place, source in enumerate(self._sources):
                if isinstance(source, pl.DataFrame):
                    self._read(source, [each.number_file("features") for each in self.collectors])
                elif is_state(source):
                    self._begins_with_state |= place == 0
                    for collector in self.collectors:
                        collector.take_over(Path(source))
                elif not self._lasting:
                    # Without a lasting state no file can be known from an earlier run: all are read.
                    self._read(source, [each.number_file(str(source)) for each in self.collectors])
                elif str(source) == STANDARD_INPUT:
                    self._read_standard_input()
                else:
                    self._read_new_file(str(source))

    def check(self) -> None:
        """Call `check_usable` for each estimator; if it raises an error, remove the files that this run has added."""
        try:
            for each in self.collectors:
                check_usable(each.state.files.values(), self._sources, each.reading, each.saved.metadata)
        except EntropySentinelError:
            for each in self.collectors:
                each.drop_files()
            raise

    def columns(self) -> Sequence[str]:
        """The columns of the first record that can define slices; none if nothing was read now."""
        if not any(each.new_files for each in self.collectors):
            return []
        return [] if self._begins_with_state else list_first_columns(self._sources[0])

    def _read_new_file(self, path: str) -> None:
        """Read a file for the states that do not know it."""
        lacking = []
        for collector in self.collectors:
            if (file := collector.find_unchanged(path)) is not None:
                collector.count_known(file)
            else:
                lacking.append(collector)
        if not lacking:
            return
        self._read_content(lacking, path, path, read_file_stat(path))

    def _read_standard_input(self) -> None:
        """Read a copy of standard input: its content is hashed first, and it can be read only once."""
        with TemporaryDirectory() as folder:
            copy = Path(folder) / "standard-input.jsonl"
            with copy.open("wb") as target:
                shutil.copyfileobj(get_standard_input(), target)
            self._read_content(self.collectors, str(copy), "standard input", None)

    def _read_content(self, collectors: Sequence[Collector], path: str, name: str, file_stat: list[int] | None) -> None:
        """Read a file for the states that lack its content.

        `name` is what states call it; `file_stat`, its size and time, is null if they must not be recorded.
        """
        sizes = {file.n_bytes for each in collectors for file in each.state.files.values()}
        digests = digest_content(path, sizes)
        plans = [(each, each.plan_reading(digests, name)) for each in collectors]
        rows = {each: about for each, about in plans if about is not None}
        try:
            if rows:
                self._read(path, list(rows.values()), list(rows), file_stat)
        except _FileChanged:
            log.warning("%s: is growing, so a copy of its current content is read", path)
            self._read_copy(list(rows), path)
            return
        if file_stat is not None:
            for each in collectors:
                each.state.remember(name, file_stat, digests.key)

    def _read_copy(self, collectors: Sequence[Collector], path: str) -> None:
        """Read a copy of a file that is still growing."""
        with TemporaryDirectory() as folder:
            copy = Path(folder) / Path(path).name
            shutil.copyfile(path, copy)
            self._read_content(collectors, str(copy), path, None)

    def _read(
        self,
        source: Source,
        rows: Sequence[FileRecord],
        collectors: Sequence[Collector] | None = None,
        file_stat: list[int] | None = None,
    ) -> None:
        """Read a source once for some collectors, each with the row of the file in its state."""
        collectors = self.collectors if collectors is None else collectors
        problems = Problems(self._reading.strict)
        reader = SourceReader(
            self._reading,
            problems,
            list(dict.fromkeys(name for each in collectors for name in each.saved.signals)),
            collectors[0].names,
            compare=self._compare,
            watched_models=self._watched_models,
            user_named_models=self._user_named_models,
            strata=self._strata,
        )
        with ExitStack() as stack:
            readings = [
                stack.enter_context(FileReading.open(each, about, self._compare, self._kept_rows))
                for each, about in zip(collectors, rows, strict=True)
            ]
            for batch in reader.read_frames(source):
                if self._kept_rows is not None and not isinstance(source, pl.DataFrame):
                    self._kept_rows.add_labels(str(source), batch)
                for reading in readings:
                    reading.add_batch(batch)
            if file_stat is not None and read_file_stat(str(source)) != file_stat:
                raise _FileChanged
            for reading in readings:
                reading.finish(reader, list(problems))


def sum_problems(collectors: Sequence[Collector]) -> Problems:
    """The problems of the files read now, and those of the files that were read earlier, of all estimators.

    Only the former are problems: otherwise, an outage of one day would hide every later problem. Problems that depend
    on no estimator count once for each file.
    """
    problems, counted = Problems(), set[str]()
    # The collector, the file, and whether it was read now.
    files = [
        (each, about, about.key in {file.key for file in each.new_files})
        for each in collectors
        for about in each.run_files.values()
        if about.key in each.state.files
    ]
    for _, about, is_new in sorted(files, key=lambda entry: not entry[2]):
        file_problems = [problem for problem in about.problems if problem.model is not None or about.key not in counted]
        counted.add(about.key)
        if is_new:
            problems.add_all(file_problems)
        else:
            # Which models have an estimator is a fact of this run; alerts tell of traffic that is not watched.
            file_problems = [problem for problem in file_problems if problem.kind not in _RUN_PROBLEMS]
            problems.earlier.add_file(about.key, file_problems, about.times.first, about.times.last)
    n_twice = sum(
        each.state.hash_index.count_repeats()
        for each in collectors
        if any(about.of_part for about in each.run_files.values())
    )
    if n_twice:
        problems.add(ProblemKind.IN_TWO_PARTS, count=n_twice)
    for kind, subject, paths in _list_outdated_files(collectors):
        if paths:
            problems.add(kind, list(paths), subject=subject)
    return problems


def _list_outdated_files(collectors: Sequence[Collector]) -> list[tuple[ProblemKind, str | None, dict[str, None]]]:
    """The files of which earlier versions or other options did not record something.

    A list of the kind of problem, its subject, and the paths (the keys of a dict, so each once), which may be none.
    """
    changed_models, repeats_unknown = dict[str, None](), dict[str, None]()
    unknown: dict[str, dict[str, None]] = {name: {} for name in STATISTICS}
    for each in collectors:
        read_now = {file.key for file in each.new_files}
        for about in each.state.files.values():
            if about.n_responses and about.key not in read_now and about.find_changed_models(each.names):
                changed_models[about.path] = None
            if about.n_responses and about.n_clustered is None:
                repeats_unknown[about.path] = None
            for name in about.unknown_statistics if about.n_responses else ():
                unknown[name][about.path] = None
    return [
        (ProblemKind.OTHER_SAME_MODEL, None, changed_models),
        *((ProblemKind.STATISTIC_UNKNOWN, name, paths) for name, paths in unknown.items()),
        (ProblemKind.REPEATS_UNKNOWN, None, repeats_unknown),
    ]
