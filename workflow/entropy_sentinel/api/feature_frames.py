"""Features of responses as frames of bounded size, from anything that has them or from which they can be computed.

This is the only way from logs to features: the functions of a notebook, the commands and the monitor read it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.features.feature_computation import compute_features
from entropy_sentinel.features.feature_files import holds_features, read_feature_batches
from entropy_sentinel.logs.in_memory_logs import MemoryRecords
from entropy_sentinel.logs.log_options import ReadOptions
from entropy_sentinel.logs.log_stream import Logs
from entropy_sentinel.logs.response_selection import PLACE, coalesce_columns
from entropy_sentinel.schemas.generation_schema import GENERATIONS
from entropy_sentinel.signal_families.signal_computation import add_signals

# The column with the text of a response.
RESPONSE_TEXT = "response"
# Number of feature rows to read at a time.
FEATURES_AT_A_TIME = 20_000

Source = str | Path | MemoryRecords | pl.DataFrame


class FeatureFrames:
    """The features of responses, to iterate over once: stored features first, then those computed from logs.

    Attributes:
        feature_files: The files with stored features.
        logs: The logs from which features are computed; its `selection` and `summary` are of all responses.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        options: ReadOptions,
        *,
        signals: Sequence[str] = (),
        texts: Sequence[str] = (),
        trace_columns: Sequence[str] = (),
        required: Sequence[str] = (),
        vocabulary: int | None = None,
    ) -> None:
        """Prepare to read tables of features, files, or replies in memory.

        `signals` are further signals to read or compute. `texts` are columns with texts, RESPONSE_TEXT among them; they
        are null where stored features lack them. `trace_columns` are columns of traces, always null for stored
        features. Stored features must have the columns `required`. `vocabulary` is the number of tokens that the model
        chooses from, if known.
        """
        self._tables = [source for source in sources if isinstance(source, pl.DataFrame)]
        paths = [source for source in sources if not isinstance(source, pl.DataFrame)]
        self.feature_files = [path for path in paths if not isinstance(path, MemoryRecords) and holds_features(path)]
        self.logs = Logs([path for path in paths if path not in self.feature_files], options)
        self._options, self._signals, self._texts = options, signals, texts
        self._trace_columns, self._required, self._vocabulary = trace_columns, required, vocabulary

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """Yield frames of the selected responses; a frame may be empty."""
        for table in self._tables:
            yield from self._select(table.iter_slices(FEATURES_AT_A_TIME), "features")
        for path in self.feature_files:
            yield from self._select(read_feature_batches(path, FEATURES_AT_A_TIME), str(path))
        for frame in self.logs:
            yield self._compute(frame)

    def _select(self, batches: Iterator[pl.DataFrame], name: str) -> Iterator[pl.DataFrame]:
        """Yield the selected responses of stored features, and count them in the summary.

        `name` is that of the file. With the option `places`, PLACE says in which of its rows a response is.
        """
        self.logs.summary.files += 1
        start = 0
        for batch in batches:
            for column in self._required:
                if column not in batch.columns:
                    raise InputError(f"{name}: column '{column}' is missing; columns: {', '.join(batch.columns)}")
            rows = batch
            if self._options.places:
                place = pl.format("{}: row {}", pl.lit(name), start + pl.int_range(pl.len()))
                rows = rows.with_columns(place.alias(PLACE))
            if self._required:
                rows = rows.with_columns(pl.col(self._signals).cast(pl.Float64, strict=False))
            for column in self._trace_columns:
                # Stored features lack the columns of traces, so a column with such a name means something else.
                rows = rows.with_columns(pl.lit(None, GENERATIONS.schema[column]).alias(column))
            for column in self._texts:
                if column not in rows.columns:
                    rows = rows.with_columns(pl.lit(None, pl.String).alias(column))
            chosen = self.logs.selection.select(rows)
            self.logs.summary.add_features(chosen)
            if len(chosen):
                yield chosen
            start += len(batch)

    def _compute(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The features of a frame of traces, with the requested signals, texts and columns of traces."""
        texts = [coalesce_columns(frame, [name]).cast(pl.String) for name in self._texts if name != RESPONSE_TEXT]
        if RESPONSE_TEXT in self._texts:
            frame = frame.with_columns(pl.col("text").alias(RESPONSE_TEXT))
        features = add_signals(compute_features(frame, self._vocabulary), frame, self._signals)
        return features.with_columns(*frame.select(self._trace_columns).iter_columns(), *texts)
