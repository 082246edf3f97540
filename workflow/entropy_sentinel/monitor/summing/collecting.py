"""Add logs to the sums of a state, without reading known files again; raise an error if nothing is usable."""

import logging
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.core.opening import STANDARD_INPUT, standard_input
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.estimators.metadata import FitMetadata
from entropy_sentinel.estimators.training import one_thread
from entropy_sentinel.logs.models import SameModels
from entropy_sentinel.monitor.catalogue import STATISTICS
from entropy_sentinel.monitor.reading.clusters import CLUSTER
from entropy_sentinel.monitor.reading.exclusions import Mismatch
from entropy_sentinel.monitor.reading.identity import NUMBERS, content
from entropy_sentinel.monitor.reading.inputs import Inputs, Source, check_columns, first_columns
from entropy_sentinel.monitor.reading.problems import Problems, nothing_fits
from entropy_sentinel.monitor.settings import Reading
from entropy_sentinel.monitor.summing.cluster_sums import ClusterAccumulator
from entropy_sentinel.monitor.summing.file_sums import FileSums
from entropy_sentinel.monitor.summing.state import CLUSTERS, EXCLUSIONS, HASHES, RESPONSES, SUMS, State
from entropy_sentinel.monitor.summing.state_file import is_state, on_disk
from entropy_sentinel.monitor.summing.sums import Accumulator, responses, sums_of

log = logging.getLogger(__name__)
# A problem: the sums of two parts contain the same responses.
_IN_TWO_PARTS = "responses that are in two parts and count twice; a single run over the files counts them once"
# A note: files were read before a statistic existed, or with an earlier definition of it.
_NOT_KNOWN = "files read by an earlier version, so '{}' is unknown for the slices; give the files again to compute it"
# A note: files have responses of models that this run counts differently.
_READ_OTHERWISE = "files read with another --same-model; give the files again to apply it to their responses"


def check_use(
    files: Collection[FileSums],
    sources: Sequence[str | Path | pl.DataFrame],
    reading: Reading,
    metadata: FitMetadata,
) -> None:
    """Raise an error if nothing in `files`, which include the current `sources`, is usable.

    Raises ProvenanceError if no response has the model and log-probabilities of the estimator (according to
    its `metadata`), and InputError for a column that is empty for every response.
    """
    n_responses, seen, rejected = 0, set[str](), Counter[Mismatch]()
    for file in files:
        n_responses += file.n_responses
        seen.update(file.seen)
        rejected.update({Mismatch(setting, value): n for setting, value, n in file.mismatches})
    check_columns(reading, seen, sources, n_responses > 0)
    if rejected and rejected.total() == n_responses:
        raise nothing_fits(rejected, metadata)


class _FileChanged(Exception):
    """A file changed while it was being read."""


class Collector:
    """Adds files to a state.

    `given` are the files of this run, by their keys in the state. Of these, the files in `read` were read now, and
    `n_known` were read before.

    Files are identified by their content only if the state is `lasting`, which means that later runs use it. Single
    responses are kept if the state is `lasting` or with `single`, to match labels or to show the responses.
    `watched_models` are the models of all estimators of a run, null if there is one estimator.
    """

    def __init__(
        self,
        saved: FittedEstimator,
        reading: Reading,
        state: State,
        lasting: bool,
        single: bool,
        watched_models: Collection[str] | None = None,
    ) -> None:
        self._watched_models = watched_models
        self._names = SameModels.of_pairs(reading.same_model, watched_models or ())
        self._saved, self._reading, self._state = saved, reading, state
        self._lasting, self._keep_responses = lasting, lasting or single
        self._support, self._familiarity, self._compare = saved.metadata.support, saved.metadata.familiarity, lasting
        self.given: dict[str, FileSums] = {}
        self.read: list[FileSums] = []
        self._sources: list[Source] = []
        self.n_known = 0

    def read_files(self, sources: Iterable[Source]) -> None:
        """Read the files that the state does not know yet; raise InputError for an unreadable file."""
        self._sources = sources = list(sources)
        # For a single file without later runs, no other file can contain the same responses.
        self._compare = self._lasting or len(sources) > 1
        with one_thread():
            for source in sources:
                if isinstance(source, pl.DataFrame):
                    self._read(source, FileSums("features", self._number(), 0))
                elif is_state(source):
                    self._take_over(Path(source))
                elif str(source) == STANDARD_INPUT and self._lasting:
                    self._add_standard_input()
                else:
                    self._add_file(str(source))

    def problems(self) -> Problems:
        """Return the counts of unusable parts of the files read now, and those of the files that were read earlier.

        Only the former are problems: otherwise, an outage of one day would hide every later problem.
        """
        given = [about for key, about in self.given.items() if key in self._state.files]
        read_now = {about.key for about in self.read}
        problems = Problems.total(about.problems for about in given if about.key in read_now)
        for about in given:
            if about.key not in read_now:
                problems.earlier.add_file(about.problems["problems"], about.times.first, about.times.last)
                problems.of_logs |= {*about.problems.get("of_logs", ())}
        if any(about.of_part for about in given):
            n_twice = self._state.overlap.n_twice()
            if n_twice:
                problems.record(_IN_TWO_PARTS, [], n_twice)
        files = [about for about in self._state.files.values() if about.n_responses]
        outdated = [about.path for about in files if about.key not in read_now and about.reads_otherwise(self._names)]
        if outdated:
            problems.note(_READ_OTHERWISE, outdated)
        for name in STATISTICS:
            paths = [about.path for about in files if name in about.unknown]
            if paths:
                problems.note(_NOT_KNOWN.format(name), paths)
        return problems

    def columns(self) -> Sequence[str]:
        """Return the columns of the first record that can define slices; none if nothing was read now."""
        if not self.read:
            return []
        first = self._sources[0]
        return [] if not isinstance(first, pl.DataFrame) and is_state(first) else first_columns(first)

    def check(self) -> None:
        """Call `check_use`; if it raises an error, remove the files that this run has added."""
        try:
            check_use(self._state.files.values(), self._sources, self._reading, self._saved.metadata)
        except EntropySentinelError:
            for file in self.read:
                self._state.drop(file.key)
            raise

    def _number(self) -> str:
        return f"{len(self.read):06d}"

    def _add_file(self, path: str) -> None:
        if not self._lasting:
            self._read(path, FileSums(path, self._number(), 0))
        elif (known := self._state.known(path)) and not known.reads_otherwise(self._names):
            self._count_known(known)
        else:
            look = on_disk(path)
            try:
                self._add_content(path, path, look)
            except _FileChanged:
                log.warning("%s: is growing, so a copy of its current content is read", path)
                self._add_copy(path)

    def _add_copy(self, path: str) -> None:
        with TemporaryDirectory() as folder:
            copy = Path(folder) / Path(path).name
            shutil.copyfile(path, copy)
            self._add_content(str(copy), path, None)

    def _add_standard_input(self) -> None:
        with TemporaryDirectory() as folder:
            copy = Path(folder) / "standard-input.jsonl"
            with copy.open("wb") as target:
                shutil.copyfileobj(standard_input(), target)
            self._add_content(str(copy), "standard input", None)

    def _add_content(self, path: str, name: str, look: list[int] | None) -> None:
        """Read a file unless its content is known; `look` has its size and time, null if they must not be recorded."""
        digests = content(path, {file.n_bytes for file in self._state.files.values()})
        replaces: list[str] = []
        if lacking := self._state.lacking(digests.key):
            log.warning("%s: reading it again, because %s was not recorded before", name, ", ".join(lacking))
            replaces = self._state.files[digests.key].replaces
            self._state.forget(digests.key)
        elif (known := self._state.holder(digests.key)) and (models := known.reads_otherwise(self._names)):
            log.info("%s: reading it again, because --same-model has changed for %s", name, ", ".join(models))
            replaces = known.replaces
            self._state.forget(known.key)
        if known := self._state.holder(digests.key):
            if known.path != name:
                log.info("%s: has the same content as %s; counted once", name, known.path)
            self._count_known(known)
        else:
            replaces += self._state.begun_by(digests)
            self._read(path, FileSums(name, digests.key, digests.n_bytes, replaces), look)
        if look is not None:
            self._state.remember(name, look, digests.key)

    def _read(self, source: str | pl.DataFrame, about: FileSums, look: list[int] | None = None) -> None:
        problems, sums, clusters = Problems(self._reading.strict), Accumulator(), ClusterAccumulator()
        others = self._state.others(about) if self._compare else None
        watched = self._watched_models
        about.strata = list(self._state.strata)
        metadata, strata = self._saved.metadata, about.strata
        inputs = Inputs(metadata, self._reading, problems, others, watched_models=watched, strata=strata)
        with self._state.writing(about) as writer:
            for frame in inputs.frames(source):
                about.n_responses += len(frame)
                about.add_times(frame["grain"])
                if others is not None:
                    writer.add_frame(HASHES, frame.select(*NUMBERS))
                if self._keep_responses:
                    writer.add_frame(RESPONSES, responses(frame, self._saved))
                of_frame = sums_of(frame, self._saved.estimator, self._support, self._familiarity)
                if full := sums.add_frame(of_frame.slices):
                    writer.add_frame(SUMS, full.frame())
                if (full_clusters := clusters.add_frame(of_frame.clusters)) is not None:
                    writer.add_frame(CLUSTERS, full_clusters)
                about.n_clustered = (about.n_clustered or 0) + frame[CLUSTER].count()
            if rest := sums.rest():
                writer.add_frame(SUMS, rest.frame())
            if (rest_of_clusters := clusters.rest()) is not None:
                writer.add_frame(CLUSTERS, rest_of_clusters)
            if look is not None and on_disk(str(source)) != look:
                raise _FileChanged
            about.seen = sorted(inputs.seen)
            if (exclusions := inputs.exclusions.frame()) is not None:
                writer.add_frame(EXCLUSIONS, exclusions)
            about.mismatches = [(*mismatch, n) for mismatch, n in inputs.excluding.rejected.items()]
            about.taken = dict(inputs.excluding.taken)
            about.other_models, about.same_models = inputs.exclusions.models, dict(inputs.excluding.same_models)
            if others is not None:
                others.note(problems, about.path)
                if others.all_same:
                    writer.discard()
                    about.n_responses, about.mismatches, about.taken = 0, [], {}
                    about.other_models, about.same_models = [], {}
                    about.n_clustered = 0
            about.problems = problems.as_dict()
        self._count_read(about)

    def _take_over(self, path: Path) -> None:
        before = set(self._state.files)
        for about in self._state.take_over(path):
            if about.key not in before:
                self._count_read(about)
            self.given[about.key] = about

    def _count_read(self, about: FileSums) -> None:
        self.read.append(about)
        self.given[about.key] = about

    def _count_known(self, about: FileSums) -> None:
        self.n_known += 1
        self.given[about.key] = about
