"""What a monitor's partial results depend on, and the names that its options have."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.frames.printable import one_line

# Windows by name, as Polars cuts them: in UTC, a week from Monday.
WINDOWS = {"hour": "1h", "day": "1d", "week": "1w"}
WIDTHS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
# Windows that are pooled at most, where the newest has too few responses: two weeks of days.
POOLED = 14
# Partial results are kept by the hour where hours are asked for, else by the day, of which weeks are made.
GRAINS = {"hour": "hour", "day": "day", "week": "day"}
# Where a log's time is, in the formats that have one.
TIME = "time"

# What an alert can be about.
BELOW, DROP, OUTSIDE, CUT_OFF, STALE = "below", "drop", "support", "cut-off", "stale"
ALERTS = (DROP, OUTSIDE, CUT_OFF, STALE)

# What may be overridden, and is then said in every output.
MODEL, LOGPROBS = "model", "logprobs"

# Options of `monitor` that say how responses are read, and those that say what is asked of their sums.
READING_OPTIONS = (
    *("by", "window", "time", "reference", "top_k", "logprobs_mode", "trace_after", "model"),
    *("any_model", "any_logprobs", "strict"),
)
ASKING_OPTIONS = (
    *("level", "labels", "state", "fail_below", "alert_on", "least_drop", "min_responses", "max_slices"),
    *("pool_windows", "labels_at_random", "responses"),
)


def check_names_of_columns(option: str, names: Iterable[str]) -> None:
    """Raise ConfigError for a name that files cannot have at the head of a column: one with a line end or the like."""
    for name in names:
        if not name or one_line(name) != name:
            raise ConfigError(
                f"{option}: the name of a column must be text on one line without control characters, was {name!r}; "
                "give it another name in the logs"
            )


@dataclass(frozen=True)
class Reading:
    """How responses are read and added up: partial results of one reading add up, those of two do not.

    `by` are the columns of slices, `time` that of the time, null where there are no windows, `grain` the smallest
    window that is kept. `any_model` and `any_logprobs` take responses of another model, or with log-probabilities of
    another kind or number, as if they were what the estimator was fitted on. The others are those of `open_logs`.
    """

    by: tuple[str, ...] = ()
    time: str | None = None
    grain: str | None = None
    top_k: int | None = None
    logprobs_mode: str | None = None
    trace_after: str | None = None
    model: str | None = None
    any_model: bool = False
    any_logprobs: bool = False

    @classmethod
    def of(
        cls, by: Iterable[str], window: str | None, time: str | None, reference: str | None, **options: Any
    ) -> "Reading":
        """How responses are read for these slices and windows."""
        timed = window is not None or reference is not None
        if window is not None and window not in WINDOWS:
            raise ConfigError(f"window: unknown '{window}'; known: {', '.join(WINDOWS)}")
        by = (by,) if isinstance(by, str) else tuple(by)
        if len(set(by)) < len(by):
            raise ConfigError(f"by: every column once, was {', '.join(by)}")
        check_names_of_columns("by", by)
        return cls(by, (time or TIME) if timed else None, GRAINS[window or "day"] if timed else None, **options)

    def as_dict(self) -> dict[str, Any]:
        """The settings as JSON has them."""
        return {**asdict(self), "by": list(self.by)}
