"""Which responses are not estimated, and why: of another model, of other log-probabilities, without features."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import polars as pl

from entropy_sentinel.frames.generation import LOGPROBS, REFUSED
from entropy_sentinel.monitor.reading.problems import Problems
from entropy_sentinel.monitor.reading.settings import Reading
from entropy_sentinel.sources.logs.reading import PLACE

# Reasons for which a response has no features that are no fault of the log.
HARMLESS = ("empty response", "no token after the thinking", REFUSED)


class Excluding:
    """Holds responses against what an estimator was fitted on, `about` it.

    `rejected` counts responses by what they are of and the estimator is not, `taken` those that were taken all the
    same.
    """

    def __init__(self, about: Mapping[str, Any], reading: Reading, problems: Problems) -> None:
        self._model, self._logprobs = about.get("model"), about["logprobs"]
        self._reading, self._problems = reading, problems
        self.rejected, self.taken = Counter[str](), Counter[str]()

    def of(self, batch: pl.DataFrame) -> pl.Series:
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

    def count(self, frame: pl.DataFrame) -> None:
        """Count the rows that are not estimated, by why, the column `excluded`."""
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
