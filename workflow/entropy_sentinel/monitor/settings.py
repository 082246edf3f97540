"""What a monitor's partial results depend on, and the names that its options have."""

from dataclasses import asdict, dataclass
from typing import Any

# Windows by name, as Polars cuts them: in UTC, a week from Monday.
WINDOWS = {"hour": "1h", "day": "1d", "week": "1w"}
# Partial results are kept by the hour where hours are asked for, else by the day, of which weeks are made.
GRAINS = {"hour": "hour", "day": "day", "week": "day"}
# Where a log's time is, in the formats that have one.
TIME = "time"

# What an alert can be about.
BELOW, DROP, OUTSIDE, CUT_OFF = "below", "drop", "support", "cut-off"
ALERTS = (DROP, OUTSIDE, CUT_OFF)

# What may be overridden, and is then said in every output.
MODEL, SIGNAL = "model", "signal"


@dataclass(frozen=True)
class Reading:
    """How responses are read and added up: partial results of one reading add up, those of two do not.

    `by` are the columns of slices, `time` that of the time, null where there are no windows, `grain` the smallest
    window that is kept. `any_model` and `any_signal` take responses of another model, or with log-probabilities of
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
    any_signal: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The settings as JSON has them."""
        return {**asdict(self), "by": list(self.by)}
