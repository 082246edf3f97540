"""Add the responses of one file to the state of an estimator, frame by frame; the file counts once it is complete."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import polars as pl

from entropy_sentinel.monitor.reading.deduplication import HASH_COLUMNS
from entropy_sentinel.monitor.reading.dependence import CLUSTER
from entropy_sentinel.monitor.reading.feature_stream import EstimatorInputs, SourceReader
from entropy_sentinel.monitor.reading.problem_collection import Problems
from entropy_sentinel.monitor.reading.problem_records import Problem
from entropy_sentinel.monitor.summing.cluster_sums import ClusterAccumulator
from entropy_sentinel.monitor.summing.file_sums import FileRecord
from entropy_sentinel.monitor.summing.missing_files import Collector
from entropy_sentinel.monitor.summing.monitor_state import CLUSTERS, EXCLUSIONS, HASHES, RESPONSES, SUMS
from entropy_sentinel.monitor.summing.slice_sums import SumsAccumulator, select_responses, sum_frame
from entropy_sentinel.monitor.summing.state_file import Writer
from entropy_sentinel.schemas.response_schema import RESPONSE


@dataclass
class KeptRows:
    """Responses to keep besides their sums.

    Attributes:
        select: Returns the rows and columns to keep of a frame of `EstimatorInputs.prepare`.
        frames: What was kept of the responses that count.
        labels: The labels that logs bring, by path, also those of responses that count in another file.
    """

    select: Callable[[pl.DataFrame], pl.DataFrame]
    frames: list[pl.DataFrame] = field(default_factory=list)
    labels: dict[str, list[pl.DataFrame]] = field(default_factory=dict)

    def add_labels(self, path: str, batch: pl.DataFrame) -> None:
        """Add the labels of responses that a file brings, if it does."""
        if batch.schema.get("label") == pl.Boolean:
            self.labels.setdefault(path, []).append(batch.select(*RESPONSE, "label"))


class FileReading:
    """Adds up the responses of a file for an estimator, and writes them to its state."""

    def __init__(
        self, collector: Collector, about: FileRecord, writer: Writer, compare: bool, kept: KeptRows | None
    ) -> None:
        """Prepare to read the file of the record `about` for the estimator of a collector.

        With `compare`, its responses are compared with those of other files; `kept` gets rows to keep.
        """
        self._kept_rows, self._kept_frames = kept, list[pl.DataFrame]()
        self._collector, self._about, self._writer = collector, about, writer
        saved, strict = collector.saved, collector.reading.strict
        self._support, self._familiarity = saved.metadata.support, saved.metadata.familiarity
        self._repeat_finder = collector.state.make_finder(about) if compare else None
        about.strata = list(collector.state.strata)
        model = str(saved.metadata.model or "")
        self._problems = Problems(strict, model)
        self._inputs = EstimatorInputs(
            saved.metadata,
            collector.reading,
            self._problems,
            self._repeat_finder,
            strata=about.strata,
            only_model=collector.only_model,
            labels=kept is not None,
        )
        self._sums, self._clusters = SumsAccumulator(), ClusterAccumulator()

    @classmethod
    @contextmanager
    def open(
        cls, collector: Collector, about: FileRecord, compare: bool, kept: KeptRows | None = None
    ) -> Iterator["FileReading"]:
        """Yield the reading of a file; the file counts once the block has ended."""
        with collector.state.writing(about) as writer:
            yield cls(collector, about, writer, compare, kept)
        collector.count_read(about)

    def add_batch(self, batch: pl.DataFrame) -> None:
        """Add responses with features, of which the estimator takes those of its model."""
        frame = self._inputs.prepare(batch)
        if frame is None:
            return
        about, writer, saved = self._about, self._writer, self._collector.saved
        if self._kept_rows is not None:
            self._kept_frames.append(self._kept_rows.select(frame))
        about.n_responses += len(frame)
        about.add_times(frame["grain"])
        if self._repeat_finder is not None:
            writer.add_frame(HASHES, frame.select(*HASH_COLUMNS))
        if self._collector.keeps_responses:
            writer.add_frame(RESPONSES, select_responses(frame, saved))
        frame_sums = sum_frame(frame, saved.estimator, self._support, self._familiarity)
        if full := self._sums.add_frame(frame_sums.slices):
            writer.add_frame(SUMS, full.to_frame())
        if (full_clusters := self._clusters.add_frame(frame_sums.clusters)) is not None:
            writer.add_frame(CLUSTERS, full_clusters)
        about.n_clustered = (about.n_clustered or 0) + frame[CLUSTER].count()

    def finish(self, reader: SourceReader, problems: Sequence[Problem]) -> None:
        """Write the rest; `problems` are those of reading that depend on no estimator."""
        about, writer, inputs = self._about, self._writer, self._inputs
        if rest := self._sums.rest():
            writer.add_frame(SUMS, rest.to_frame())
        if (rest_of_clusters := self._clusters.rest()) is not None:
            writer.add_frame(CLUSTERS, rest_of_clusters)
        about.seen = sorted(reader.seen_columns | inputs.seen_columns)
        about.n_clustered = about.n_clustered or 0  # nothing is unknown of a file without a response
        inputs.exclusions.add_all(reader.exclusions)
        if (exclusions := inputs.exclusions.make_frame()) is not None:
            writer.add_frame(EXCLUSIONS, exclusions)
        about.mismatches = [(*mismatch, n) for mismatch, n in inputs.data_filter.excluded_counts.items()]
        about.taken = dict(inputs.data_filter.override_counts)
        about.other_models, about.same_models = inputs.exclusions.models, dict(inputs.data_filter.same_models)
        if self._repeat_finder is not None:
            self._repeat_finder.add_problems(self._problems, about.path)
            if self._repeat_finder.all_repeated:
                writer.discard()
                self._kept_frames.clear()
                about.n_responses, about.mismatches, about.taken = 0, [], {}
                about.other_models, about.same_models = [], {}
                about.n_clustered = 0
        about.problems = [*problems, *self._problems]
        if self._kept_rows is not None:
            self._kept_rows.frames += self._kept_frames
