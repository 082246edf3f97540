"""Decide which files the state of an estimator lacks; raise an error if nothing is usable."""

import logging
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.estimators.fit_metadata import FitMetadata
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.monitor.monitor_options import Reading
from entropy_sentinel.monitor.reading.deduplication import ContentDigest
from entropy_sentinel.monitor.reading.exclusions import Mismatch
from entropy_sentinel.monitor.reading.feature_stream import Source, check_columns, resolve_same_models
from entropy_sentinel.monitor.reading.problem_collection import make_mismatch_error
from entropy_sentinel.monitor.summing.file_sums import FileRecord
from entropy_sentinel.monitor.summing.monitor_state import State

log = logging.getLogger(__name__)


def check_usable(
    files: Collection[FileRecord],
    sources: Sequence[Source],
    reading: Reading,
    metadata: FitMetadata,
) -> None:
    """Raise an error if nothing in `files`, which include the current `sources`, is usable.

    Raises ProvenanceError if no response has the model and log-probabilities of the estimator (according to
    its `metadata`), and InputError for a column that is empty for every response.
    """
    n_responses, seen, excluded_counts = 0, set[str](), Counter[Mismatch]()
    for file in files:
        n_responses += file.n_responses
        seen.update(file.seen)
        excluded_counts.update({Mismatch(setting, value): n for setting, value, n in file.mismatches})
    check_columns(reading, seen, sources, n_responses > 0)
    if excluded_counts and excluded_counts.total() == n_responses:
        raise make_mismatch_error(excluded_counts, metadata)


class Collector:
    """Counts the files of a run for the state of one estimator, and decides which of them are read.

    `run_files` are the files of this run, by their keys in the state. Of these, the `new_files` were read now, and
    `n_known` were read before.

    Files are identified by their content only if the state is `lasting`, which means that later runs use it. Single
    responses are kept if the state is `lasting` or with `single`, to match labels or to show the responses.
    `watched_models` are the models of all estimators of a run, null if there is one estimator, and `only_model` is the
    model of this estimator if there are several.
    """

    def __init__(
        self,
        saved: FittedEstimator,
        reading: Reading,
        state: State,
        lasting: bool,
        single: bool,
        only_model: str | None = None,
        watched_models: Collection[str] | None = None,
    ) -> None:
        """Begin a run; `watched_models` and `only_model` are set if there are several estimators."""
        self.saved, self.reading, self.state, self.only_model = saved, reading, state, only_model
        self.names = resolve_same_models(saved.metadata, reading.same_model, watched_models or ())
        self.lasting, self.keeps_responses = lasting, lasting or single
        self.run_files: dict[str, FileRecord] = {}
        self.new_files: list[FileRecord] = []
        self.n_known = 0

    def find_unchanged(self, path: str) -> FileRecord | None:
        """The file at a path if its size and time are those of a file that need not be read again."""
        file = self.state.find_unchanged(path)
        return None if file is None or file.find_changed_models(self.names) else file

    def plan_reading(self, digests: ContentDigest, name: str) -> FileRecord | None:
        """The record of a file that is to be read, which `name` is called; null if the state has its content.

        A file of which something was not recorded before is forgotten and read again.
        """
        replaces: list[str] = []
        if lacking := self.state.list_missing(digests.key):
            log.warning("%s: reading it again, because %s was not recorded before", name, ", ".join(lacking))
            replaces = self.state.files[digests.key].replaces
            self.state.forget(digests.key)
        elif (file := self.state.find_holder(digests.key)) and (models := file.find_changed_models(self.names)):
            option = format_option("same_model")
            log.info("%s: reading it again, because %s has changed for %s", name, option, ", ".join(models))
            replaces = file.replaces
            self.state.forget(file.key)
        if file := self.state.find_holder(digests.key):
            if file.path != name:
                log.info("%s: has the same content as %s; counted once", name, file.path)
            self.count_known(file)
            return None
        replaces += self.state.find_beginnings(digests)
        return FileRecord(name, digests.key, digests.n_bytes, replaces)

    def number_file(self, name: str) -> FileRecord:
        """The record of a file for a state that later runs do not use: a number is key enough."""
        return FileRecord(name, f"{len(self.new_files):06d}", 0)

    def take_over(self, path: Path) -> None:
        """Add the files of another state, that of a part of the logs, at a path."""
        before = set(self.state.files)
        for about in self.state.take_over(path):
            if about.key not in before:
                self.count_read(about)
            self.run_files[about.key] = about

    def count_read(self, about: FileRecord) -> None:
        """Count a file that was read now."""
        self.new_files.append(about)
        self.run_files[about.key] = about

    def count_known(self, about: FileRecord) -> None:
        """Count a file that was read before."""
        self.n_known += 1
        self.run_files[about.key] = about

    def drop_files(self) -> None:
        """Remove the files that this run has added."""
        for file in self.new_files:
            self.state.drop(file.key)
