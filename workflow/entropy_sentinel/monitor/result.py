"""What a monitor has found."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import polars as pl

from entropy_sentinel.monitor.reading.problems import Problems
from entropy_sentinel.monitor.showing.behind import Behind


@dataclass(frozen=True, repr=False)
class Monitored:
    """The rows, the alerts, and where they come from.

    The columns of the rows are those of the slices (text, null where a response has no value), and those of the
    catalogue (`monitor/catalogue.py`), which says what each means: with windows also `window` (its begin, UTC; null for
    responses without a time), with labels also what these say.

    Attributes:
        by: The columns that make slices.
        slices: A row per slice over the whole time, by rank, the most expected errors first.
        windows: A row per slice and window, by rank; null where none are asked for.
        alerts: What calls for attention.
        provenance: Where the rows come from; JSON-serialisable.
        problems: What could not be used of the logs that were given, read now or before.
        newest: The windows that alerts are about.
        recent: The rows that alerts are about, null without windows: those of the windows `newest`, where thin windows
            are pooled backwards; `window_from` is the first that is pooled, `n_windows` how many from there to
            `window`.
        last_usable: A row per slice of `slices`, in their order: its last window with enough responses, those before it
            pooled, or null.
        behind: Responses behind the alerts, where they were asked for.
    """

    by: tuple[str, ...]
    slices: pl.DataFrame
    windows: pl.DataFrame | None
    alerts: list[dict[str, Any]]
    provenance: dict[str, Any]
    problems: Problems
    newest: list[datetime] = field(default_factory=list)
    recent: pl.DataFrame | None = None
    last_usable: pl.DataFrame | None = None
    behind: list[Behind] = field(default_factory=list)

    @property
    def frame(self) -> pl.DataFrame:
        """The rows by slice and window where windows were asked for, else those by slice."""
        return self.slices if self.windows is None else self.windows

    @property
    def now(self) -> pl.DataFrame:
        """The rows of what is newest: of the newest window where windows were asked for, else those by slice."""
        return self.slices if self.recent is None else self.recent.filter(pl.col("window").is_in(self.newest[-1:]))

    @property
    def silent(self) -> bool:
        """Whether nothing can be said of what is newest: no slice has enough responses."""
        least = max(self.provenance["min_responses"], 1)
        return not (self.now["n_estimated"] >= least).any()

    @property
    def incomplete(self) -> bool:
        """Whether something in the logs could not be used."""
        return bool(self.problems.counts)

    def __repr__(self) -> str:
        from entropy_sentinel.monitor.showing.terminal import as_text  # which imports this module

        return as_text(self)

    def _repr_html_(self) -> str:
        from entropy_sentinel.monitor.showing.terminal import as_html

        return as_html(self)
