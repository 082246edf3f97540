"""How responses are read and added up: slices, windows of time, the reference, and how logs are read."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.frames.options import Columns, Panel, Shown
from entropy_sentinel.verbs.settings import ResponseOptions

# Windows by name, as Polars cuts them: in UTC, a week from Monday.
WINDOWS = {"hour": "1h", "day": "1d", "week": "1w"}
WIDTHS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
# Partial results are kept by the hour where hours are asked for, else by the day, of which weeks are made.
GRAINS = {"hour": "hour", "day": "day", "week": "day"}
# Where a log's time is, in the formats that have one.
TIME = "time"
# Other times are those of a clock that was never set, or of a number that is no time: 1e9 and 1e18 are of 2001, and no
# language model was in use then.
EARLIEST, LATEST = datetime(2015, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)


class Slicing(ResponseOptions):
    """How responses are read, and what makes slices of them."""

    by: Annotated[Columns, Shown(Panel.SLICES, "COLUMN", "-b")] = Field(
        (),
        description="A column whose values make slices, as metadata.route; several are combined. Without any, all "
        "responses are one slice.",
    )

    @property
    def grain(self) -> str | None:
        """The smallest window that is kept; null where time does not matter."""
        return None

    @property
    def time_column(self) -> str | None:
        """The column of the time, null where it does not matter."""
        return None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of slices and time."""
        return self.by if self.time_column is None else (*self.by, self.time_column)


class Reading(Slicing):
    """How responses are read and added up: partial results of one reading add up, those of two do not."""

    window: Annotated[Literal["hour", "day", "week"] | None, Shown(Panel.SLICES, short="-w")] = Field(
        None, description="Also cut the time, in UTC, weeks from Monday: there are also rows by window."
    )
    time: Annotated[str | None, Shown(Panel.SLICES, "COLUMN")] = Field(
        None,
        description="The column of the time: ISO 8601, or seconds or milliseconds since 1970. Without it "
        f"'{TIME}', which logs of servers have, or 'timestamp'.",
    )
    reference: Annotated[str | None, Shown(Panel.SLICES, "FIRST..LAST")] = Field(
        None,
        description="Days that later ones are compared with, as 2026-11-01..2026-11-07, or ..2026-11-07 for all up to "
        "then.",
    )

    @property
    def grain(self) -> str | None:
        """The smallest window that is kept; null where time does not matter."""
        return None if self.window is None and self.reference is None else GRAINS[self.window or "day"]

    @property
    def time_column(self) -> str | None:
        """The column of the time, null where it does not matter."""
        return None if self.grain is None else self.time or TIME

    @property
    def period(self) -> "Reference | None":
        """The reference."""
        return None if self.reference is None else reference(self.reference, self.grain or "day")

    def model_post_init(self, _: Any) -> None:
        """ConfigError for a reference that is none."""
        _ = self.period

    def as_dict(self) -> dict[str, Any]:
        """What partial results depend on, as JSON has it."""
        own = {"by": list(self.by), "time": self.time_column, "grain": self.grain}
        names = [name for name in Reading.model_fields if name not in (*own, "window", "reference", "strict")]
        read = {name: getattr(self, name) for name in names}
        return own | {name: list(value) if isinstance(value, tuple) else value for name, value in read.items()}


class Reference(NamedTuple):
    """A period, from `start` up to and without `end`."""

    start: datetime
    end: datetime


def reference(text: str, grain: str = "day") -> Reference:
    """The period of `2026-11-01..2026-11-07`, both days whole, or of one day; hours where these are the `grain`.

    `..2026-11-07` is all up to then. ConfigError where it is none, or does not begin and end where a grain does.
    """
    first, dots, last = (part.strip() for part in text.partition(".."))
    try:
        end = _moment(last or (first if not dots else ""))
        start = EARLIEST if dots and not first else _moment(first)
        if len(last or first) <= len("2026-11-01"):
            end += timedelta(days=1)
        found = Reference(start.astimezone(UTC), end.astimezone(UTC))
    except (ValueError, OverflowError):
        raise ConfigError(
            f"reference: must be FIRST..LAST, as 2026-11-01..2026-11-07, or ..LAST, was '{text}'"
        ) from None
    if found.end <= found.start:
        raise ConfigError(f"reference: must end after its begin, was '{text}'")
    if found.start < EARLIEST or found.end > LATEST:
        raise ConfigError(f"reference: must be between {EARLIEST:%Y} and {LATEST:%Y}, was '{text}'")
    for one in found:
        if (one.minute, one.second, one.microsecond) != (0, 0, 0) or (grain == "day" and one.hour):
            raise ConfigError(f"reference: must be of whole {grain}s in UTC, as the windows are, was '{text}'")
    return found


def shown(period: Reference) -> str:
    """A period as it was meant: its first and its last day, hours where it is not of whole days."""
    if any(one.hour for one in period):
        first, last = (f"{one:%Y-%m-%d %H:%M}" for one in period)
    else:
        first, last = f"{period.start:%Y-%m-%d}", f"{period.end - timedelta(days=1):%Y-%m-%d}"
    if period.start == EARLIEST:
        return f"up to {last}"
    return first if first == last else f"{first} to {last}"


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
