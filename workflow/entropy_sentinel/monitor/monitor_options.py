"""The options of `monitor`, `estimate`, `sample` and `judge`: slices, windows of time, the reference, alerts."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from entropy_sentinel.core import extensions
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.json_posting import is_address
from entropy_sentinel.core.option_classes import CliOption, Columns, Options, Panel
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.core.registry_entries import is_built_in
from entropy_sentinel.core.section_base import Number, Seed, Settings, Text, Whole
from entropy_sentinel.logs.log_options import FormatOptions, ResponseOptions
from entropy_sentinel.monitor.alert_codes import REQUESTED_KINDS, AlertCode, AlertKind

# Windows by name, in Polars' notation, with weeks from Monday.
WINDOWS = {"hour": "1h", "day": "1d", "week": "1w", "month": "1mo"}
# The time column in the formats that have one.
TIME = "time"
# Times outside this range come from a clock that was never set, or from a number that is not a time: 1e9 and 1e18 are
# in 2001, long before language models were deployed.
EARLIEST, LATEST = datetime(2015, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
# In place of a verdict, for an estimator without a validation, or responses that it does not cover.
NOT_VALIDATED = "not validated"
# What the accuracy of a slice rests on if there are labels or witnesses: FROM_MEAN is the mean of the estimate and a
# witness.
FROM_ESTIMATE, FROM_LABELS, FROM_BOTH = "estimate", "labels", "both"
FROM_OPINION, FROM_JUDGE, FROM_MEAN = "opinion", "judge", "mean"
FROM_WITNESSES = (FROM_OPINION, FROM_JUDGE, FROM_MEAN)
_KINDS = tuple(kind.slug for kind in REQUESTED_KINDS)


def _describe_extension_alerts() -> dict[str, str]:
    """The kinds of alerts of extensions' statistics, each with its part of the help text."""
    if not extensions.list_declaring_modules("statistics"):
        return {}
    from entropy_sentinel.monitor.slice_columns import STATISTICS

    descriptions = dict[str, str]()
    for name, entry in STATISTICS.items():
        if entry.flag and not is_built_in("statistics", name):
            if entry.alert in (AlertKind.BELOW.slug, *_KINDS, *descriptions):
                where = extensions.get_module_name("statistics", name)
                raise ConfigError(f"{where}: the statistic '{name}' needs another flag, '{entry.flag}' is taken")
            descriptions[entry.alert] = f"; {entry.alert}, many responses that {entry.flagged}"
    return descriptions


_EXTENSION_ALERTS = _describe_extension_alerts()
ALERTS = (*_KINDS, *_EXTENSION_ALERTS)
if TYPE_CHECKING:
    Kind = str
else:
    Kind = Literal[ALERTS]
# Mismatches that users may override; every output then states the override.
MODEL, LOGPROBS = "model", "logprobs"
Level = Annotated[
    Number,
    Field(gt=0, lt=1, description="Level of the intervals."),
    CliOption(Panel.SLICES, "SHARE"),
]
# Verbs also accept labels as a frame, which has no JSON schema.
Labels = Annotated[Any, WithJsonSchema({"anyOf": [{"type": "string"}, {"items": {"type": "string"}, "type": "array"}]})]
Patterns = Annotated[
    list[Text],
    BeforeValidator(
        lambda value: [value] if isinstance(value, str) else value, json_schema_input_type=Text | list[Text]
    ),
]


# Lengths of the periods of a rate of false alarms, in days.
_DAYS = {"day": 1.0, "week": 7.0, "month": 365.2425 / 12, "year": 365.2425}
_CHECKS_PER_DAY = {"hour": 24.0, "day": 1.0}


def _check_rate(text: str) -> str:
    """A rate such as `1/month`, as it is; raises ValueError for any other text."""
    number, _, period = text.partition("/")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0 and period.strip() in _DAYS):
        raise ValueError(f"must be NUMBER/PERIOD, such as 1/month (periods: {', '.join(_DAYS)}), got '{text}'")
    return text


Rate = Annotated[Text, AfterValidator(_check_rate)]


def _list_events(events: Any) -> Any:
    """Events as texts: a list of DATE=TEXT and of files, or a mapping from dates to texts."""
    if isinstance(events, Mapping):
        return [
            f"{day.isoformat() if isinstance(day, date) else day}={text}"
            for day, texts in events.items()
            for text in (texts if isinstance(texts, list | tuple) else [texts])
        ]
    return [events] if isinstance(events, str | Path) else events


def _check_events(entries: tuple[str, ...]) -> tuple[str, ...]:
    if not all(entry.strip() for entry in entries):
        raise ValueError("must be DATE=TEXT, such as 2026-10-15=prompt v2, or a file with such lines, got empty")
    return entries


def is_event_file(entry: str) -> bool:
    """Whether an entry of `events` is the name of a file, because it does not begin with a date."""
    return not re.match(r"\s*\d{4}-\d\d?-\d\d?", entry)


# The events of the outputs, or the names of files that have them; `events` reads them.
Events = Annotated[
    tuple[Annotated[str, BeforeValidator(lambda entry: str(entry) if isinstance(entry, Path) else entry)], ...],
    BeforeValidator(_list_events, json_schema_input_type=str | list[str] | dict[str, str | list[str]]),
    AfterValidator(_check_events),
]


def _check_address(text: str) -> str:
    if not is_address(text):
        raise ValueError(f"must be https://HOST/PATH, got '{text}'")
    return text


def _check_zone(name: str) -> str:
    """The name of a time zone, as it is; raises ValueError if Python or Polars does not know it."""
    import polars as pl

    try:
        ZoneInfo(name)
        # Polars has its own list, without `localtime`, `Factory`, `posix/...` and `right/...`.
        pl.Series([EARLIEST]).dt.convert_time_zone(name)
    except (ZoneInfoNotFoundError, ValueError, OSError, pl.exceptions.PolarsError):
        raise ValueError(f"must be a time zone such as Europe/Berlin or UTC, got '{name}'") from None
    return name


Zone = Annotated[Text, AfterValidator(_check_zone)]


def _check_time(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"must be a time such as 2026-11-09 or 2026-11-09T02:00, got '{text}'") from None
    return text


Moment = Annotated[Text, AfterValidator(_check_time)]


class Slicing(ResponseOptions):
    """How responses are read, and which columns define slices."""

    by: Annotated[Columns, CliOption(Panel.SLICES, "COLUMN", "-b")] = Field(
        (),
        description="A column whose values define the slices, such as metadata.route; several are combined. "
        "By default all responses are one slice.",
    )

    @property
    def grain(self) -> str | None:
        """The smallest window to keep; null if time does not matter."""
        return None

    @property
    def time_column(self) -> str | None:
        """The column of the time; null if time does not matter."""
        return None

    @property
    def zone(self) -> str | None:
        """The time zone of windows and of times without one; null for UTC."""
        return None

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns with numbers of which quantiles are reported."""
        return ()

    @property
    def cluster_column(self) -> str | None:
        """The column whose values are clusters of dependent responses; null for the requests themselves."""
        return None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of slices, time, numbers and clusters."""
        time = () if self.time_column is None else (self.time_column,)
        cluster = () if self.cluster_column is None else (self.cluster_column,)
        return (*self.by, *time, *self.numbers, *cluster)


_CLUSTER = (
    "A column whose values are clusters of dependent responses, such as metadata.conversation_id or a user: intervals, "
    "changes, drops and labels count clusters. By default responses to the same request are a cluster."
)


class Reading(Slicing):
    """How responses are read and summed. Only results of the same reading can be added."""

    window: Annotated[Literal["hour", "day", "week", "month"] | None, CliOption(Panel.SLICES, short="-w")] = Field(
        None,
        description="Add rows by window of time. Weeks begin on Monday, months on the first.",
    )
    timezone: Annotated[Zone | None, CliOption(Panel.SLICES, "ZONE")] = Field(
        None,
        description="The time zone of the windows, and of times without one, such as Europe/Berlin; by default UTC.",
    )
    time: Annotated[str | None, CliOption(Panel.SLICES, "COLUMN")] = Field(
        None,
        description="The column of the time: ISO 8601, or seconds or milliseconds since 1970. By default "
        f"'{TIME}', which server logs have, or 'timestamp'.",
    )
    number: Annotated[Columns, CliOption(Panel.SLICES, "COLUMN")] = Field(
        (),
        description="A column with a number, such as metadata.latency_ms: also report its median and its 95th "
        "percentile in each slice.",
    )
    reference: Annotated[str | None, CliOption(Panel.SLICES, "FIRST..LAST")] = Field(
        None,
        description="Days to compare later days with, such as 2026-11-01..2026-11-07; 2026-11-02 for that day only, or "
        "..2026-11-07 for everything until then.",
    )

    cluster: Annotated[str | None, CliOption(Panel.SLICES, "COLUMN")] = Field(None, description=_CLUSTER)

    @property
    def grain(self) -> str | None:
        """The windows whose sums are kept: `hour`, or `day` for longer windows; null if time does not matter."""
        if self.window is None and self.reference is None:
            return None
        return "hour" if self.window == "hour" else "day"

    @property
    def time_column(self) -> str | None:
        """The column of the time; null if time does not matter."""
        return None if self.grain is None else self.time or TIME

    @property
    def zone(self) -> str | None:
        """The time zone of windows and of times without one; null for UTC."""
        return self.timezone

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns with numbers of which quantiles are reported."""
        return self.number

    @property
    def cluster_column(self) -> str | None:
        """The column whose values are clusters of dependent responses; null for the requests themselves."""
        return self.cluster

    @property
    def period(self) -> "Reference | None":
        """The reference period, or null."""
        return None if self.reference is None else parse_reference(self.reference, self.grain or "day")

    def model_post_init(self, _: Any) -> None:
        """Raise ConfigError for an invalid reference."""
        _ = self.period

    def to_dict(self) -> dict[str, Any]:
        """The settings that partial results depend on; JSON-serialisable.

        `same_model` is recorded with each file: only files with responses of its models are read again.
        """
        settings: dict[str, Any] = {"by": list(self.by), "time": self.time_column, "grain": self.grain}
        # The sums are by `grain`, so other windows and references can be made of them.
        left_out = {*settings, "window", "reference", "strict", "scorer", "same_model"}
        if not self.number:  # a state of an earlier version has no numbers
            left_out.add("number")
        if self.cluster is None:
            left_out.add("cluster")
        for name in Reading.model_fields:
            if name not in left_out:
                value = getattr(self, name)
                settings[name] = list(value) if isinstance(value, tuple) else value
        return settings


class Reference(NamedTuple):
    """A period from `start` up to, but excluding, `end`."""

    start: datetime
    end: datetime


def parse_reference(text: str, grain: str = "day") -> Reference:
    """The period of a text such as `2026-11-01..2026-11-07`, which includes both days, or of a single day.

    `..2026-11-07` is everything up to that day. Times of day are allowed if `grain` is `hour`. Raises ConfigError for
    any other text, and for a period that does not consist of whole grains.
    """
    first, dots, last = (part.strip() for part in text.partition(".."))
    if not dots:
        last = first
    try:
        end = _parse_moment(last)
        start = EARLIEST if dots and not first else _parse_moment(first)
        is_date = len(last) <= len("2026-11-01")
        if is_date:  # the period ends with this day
            end += timedelta(days=1)
        period = Reference(start.astimezone(UTC), end.astimezone(UTC))
    except (ValueError, OverflowError):
        raise ConfigError(
            f"reference: must be FIRST..LAST, such as 2026-11-01..2026-11-07, a day, or ..LAST, got '{text}'"
        ) from None
    if period.end <= period.start:
        raise ConfigError(f"reference: must end after it begins, got '{text}'")
    if period.start < EARLIEST or period.end > LATEST:
        raise ConfigError(f"reference: must be between {EARLIEST:%Y} and {LATEST:%Y}, got '{text}'")
    for moment in period:
        if (moment.minute, moment.second, moment.microsecond) != (0, 0, 0) or (grain == "day" and moment.hour):
            raise ConfigError(f"reference: must consist of whole {grain}s, like the windows, got '{text}'")
    return period


def format_period(period: Reference) -> str:
    """A period as text: its first and last day, with hours unless it consists of whole days."""
    if period.start.hour or period.end.hour:
        first, last = f"{period.start:%Y-%m-%d %H:%M}", f"{period.end:%Y-%m-%d %H:%M}"
    else:
        first, last = f"{period.start:%Y-%m-%d}", f"{period.end - timedelta(days=1):%Y-%m-%d}"
    if period.start == EARLIEST:
        return f"up to {last}"
    return first if first == last else f"{first} to {last}"


def _parse_moment(text: str) -> datetime:
    """The time in a text, or the beginning of a day, of UTC if it states no zone; raises ValueError."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class EstimateOptions(Slicing):
    """The options of the command and the verb `estimate`."""

    level: Level = 0.9
    min_responses: Annotated[Whole, CliOption(Panel.SLICES, "N")] = Field(
        30, ge=1, description="Flag slices with fewer responses."
    )
    cluster: Annotated[str | None, CliOption(Panel.SLICES, "COLUMN")] = Field(None, description=_CLUSTER)

    @property
    def cluster_column(self) -> str | None:
        """The column whose values are clusters of dependent responses; null for the requests themselves."""
        return self.cluster


class MonitorOptions(Reading):
    """The options of the command, the verb and the workflow `monitor`. To add an option, add a field here."""

    level: Level = 0.9
    min_responses: Annotated[Whole, CliOption(Panel.SLICES, "N")] = Field(
        30,
        ge=1,
        description="Slices with fewer responses are flagged and raise no alert, and earlier windows are pooled with "
        "their newest window.",
    )
    pool_windows: Annotated[Whole, CliOption(Panel.SLICES, "N")] = Field(
        14,
        ge=1,
        le=10_000,
        description="Largest number of windows to pool if the newest has too few responses; 1 disables pooling.",
    )
    max_slices: Annotated[Whole, CliOption(Panel.SLICES, "N")] = Field(
        1000, ge=1, description='Largest number of slices; smaller ones are pooled as "(others)".'
    )
    fail_below: Annotated[Number | None, CliOption(Panel.ALERTS, "ACCURACY")] = Field(
        None, gt=0, le=1, description="Alert if an estimated accuracy is below this."
    )
    alert_on: Annotated[tuple[Kind, ...], CliOption(Panel.ALERTS)] = Field(
        (),
        description="Also alert on: drop, a fall after the reference; unfamiliar, a slice unlike all labelled "
        "domains; contradicted, an estimate that --labels contradict; support, a slice outside the estimator's "
        "support; truncated, many truncated responses; stale, a slice that no longer has enough responses; ambiguous, "
        "many questions that repeatedly get several answers; unwatched, traffic that is not watched, such as responses "
        "of a model without an estimator, also on with any other kind and with --fail-below"
        f"{''.join(_EXTENSION_ALERTS.values())}.",
    )
    min_drop: Annotated[Number, CliOption(Panel.ALERTS, "SHARE")] = Field(
        0.02, ge=0, le=1, description="Ignore smaller drops."
    )
    false_alarms: Annotated[Rate, CliOption(Panel.ALERTS, "NUMBER/PERIOD")] = Field(
        "1/month",
        description="How many false alarms about drops to accept, over all slices and windows together, such as "
        "1/month or 2/week.",
    )
    confirm: Annotated[Whole, CliOption(Panel.ALERTS, "N")] = Field(
        1, ge=1, le=1000, description="Alert only after this many windows with the same condition."
    )
    acknowledged: Annotated[Path | None, CliOption(Panel.ALERTS, "FILE")] = Field(
        None,
        description="Known alerts, which are reported again only if they become worse: a text file with lines such as "
        "'drop homework 2026-11-09', the kind, the slice, and the last day on which a known alert began.",
    )
    now: Annotated[Moment | None, CliOption(Panel.ALERTS, "TIME")] = Field(
        None,
        description="The time until which the logs should be complete, such as 2026-11-09T02:00, to repeat an earlier "
        "night or to check logs without --state; by default the current time, and only with --state.",
    )
    events: Annotated[Events, CliOption(Panel.ALERTS, "DATE=TEXT", singular="event")] = Field(
        (),
        description="A known event on a day, such as '2026-10-15=prompt v2', or at a time (2026-10-15T14:00); or a "
        "file with such lines. Charts over time show it, and alerts that began with it name it.",
    )
    remind: Annotated[bool, CliOption(Panel.ALERTS)] = Field(
        False, description="Report alerts that continue again in every run, not only new ones."
    )
    responses: Annotated[Whole, CliOption(Panel.FILES, "N")] = Field(
        0,
        ge=0,
        le=10_000,
        description="Number of least certain responses to show on the page for each slice with an alert, read again "
        "from their logs; 0 for none.",
    )
    name: Annotated[Text | None, CliOption(Panel.FILES)] = Field(
        None,
        description="Name of the monitor in metrics, alerts and pages, to tell several apart; by default the "
        "estimator's model and file.",
    )
    page_url: Annotated[Annotated[Text, AfterValidator(_check_address)] | None, CliOption(Panel.FILES, "URL")] = Field(
        None,
        description="The address at which readers find the page, for the posts about alerts and the JSON; it is not "
        "kept secret.",
    )
    labels: Annotated[Labels | None, CliOption(Panel.READING, "FILE", "-l", repeatable=True)] = Field(
        None,
        description="Labels of some responses, in the format of `sample`: .csv, .jsonl or .parquet with item_id, label "
        "and weight (the number of responses that each label represents).",
    )
    judged: Annotated[Labels | None, CliOption(Panel.READING, "FILE", repeatable=True)] = Field(
        None,
        description="Verdicts of a judge, such as a language model, or second opinions of a stronger one, on more "
        "responses than --labels has, in the same format. The labels correct their errors. Slices with hardly any "
        "labels and without a usable estimate get one from second opinions, also without --labels.",
    )
    labels_at_random: Annotated[bool, CliOption(Panel.READING)] = Field(
        False, description="All responses were equally likely to be labelled (and judged), so labels need no weight."
    )

    def model_post_init(self, context: Any) -> None:
        """Raise ValueError for options that contradict each other."""
        super().model_post_init(context)
        if self.has_kind(AlertKind.DROP) and self.reference is None:
            raise ValueError(
                "alert_on: a drop needs a reference to compare with; add one "
                f"({format_option('reference', '2026-11-01..2026-11-07')})"
            )

    def has_kind(self, kind: AlertCode) -> bool:
        """Whether `alert_on` names a kind of alert."""
        return kind.slug in self.alert_on

    @property
    def alerts_on_unwatched(self) -> bool:
        """Whether traffic that is not watched is an alert: whenever any alert is requested."""
        return bool(self.alert_on) or self.fail_below is not None

    @property
    def false_alarms_per_check(self) -> float:
        """The accepted number of false alarms in each of the smallest windows."""
        number, _, period = self.false_alarms.partition("/")
        return float(number) / _DAYS[period.strip()] / _CHECKS_PER_DAY[self.grain or "day"]


class SampleOptions(FormatOptions, Slicing):
    """The options of the command and the verb `sample`."""

    budget: Annotated[Whole, CliOption(Panel.SLICES, "N", "-n")] = Field(
        100, ge=1, le=10**9, description="Total number of responses to label."
    )
    per_slice: Annotated[Whole | None, CliOption(Panel.SLICES, "N")] = Field(
        None,
        ge=0,
        le=10**9,
        description="Minimum number of labels per slice: by default 5. Without an estimator, a number below 20 means "
        "that no slice is left out for the sake of a first `fit`.",
    )
    max_per_slice: Annotated[Whole | None, CliOption(Panel.SLICES, "N")] = Field(
        None,
        ge=1,
        le=10**9,
        description="Maximum number of labels per slice, also if the budget allows more.",
    )
    judge_usd: Annotated[Number | None, CliOption(Panel.JUDGE, "USD")] = Field(
        None,
        ge=0,
        description="What the verdicts of a judge may cost, in US dollars: also choose the responses for `judge`.",
    )
    judge_model: Annotated[Text | None, CliOption(Panel.JUDGE, "NAME")] = Field(
        None,
        description="LiteLLM's name of the judge, such as openai/gpt-4o-mini; its prices are then those of LiteLLM's "
        "own table, if it is installed.",
    )
    usd_per_million_input_tokens: Annotated[Number | None, CliOption(Panel.JUDGE, "USD")] = Field(
        None, ge=0, description="The judge's price of prompts, from the provider's list."
    )
    usd_per_million_output_tokens: Annotated[Number | None, CliOption(Panel.JUDGE, "USD")] = Field(
        None, ge=0, description="The judge's price of replies."
    )
    judge_reply_tokens: Annotated[Whole, CliOption(Panel.JUDGE, "N")] = Field(
        300,
        ge=1,
        le=2**20,
        description="Mean tokens of a judge's reply, for its costs; models that reason write more.",
    )
    judge_sensitivity: Annotated[Number, CliOption(Panel.JUDGE, "SHARE")] = Field(
        0.9,
        gt=0.5,
        le=1,
        description="The share of correct responses that your judge calls correct, for the expected widths and "
        "chances; `monitor --judged` prints it.",
    )
    judge_specificity: Annotated[Number, CliOption(Panel.JUDGE, "SHARE")] = Field(
        0.85, gt=0.5, le=1, description="Likewise, the share of incorrect responses that it calls incorrect."
    )
    slices: Annotated[Path | None, CliOption(Panel.SLICES, "FILE")] = Field(
        None,
        description="Choose only from the slices in this CSV file, which has the columns of --by, such as that of "
        "`monitor --ask`.",
    )
    seed: Annotated[Seed, CliOption(Panel.SLICES, "N")] = Field(
        42, description="A different seed chooses other responses."
    )
    level: Level = 0.9

    def model_post_init(self, _: Any) -> None:
        """Raise ValueError for limits of labels per slice or prices that contradict each other."""
        if self.per_slice is not None and self.max_per_slice is not None and self.per_slice > self.max_per_slice:
            raise ValueError(f"max_per_slice: must be at least per_slice, {self.per_slice}, got {self.max_per_slice}")
        if (self.usd_per_million_input_tokens is None) != (self.usd_per_million_output_tokens is None):
            raise ValueError("set both of usd_per_million_input_tokens and usd_per_million_output_tokens, or neither")
        if self.judge_usd is None and (self.judge_model or self.usd_per_million_input_tokens is not None):
            raise ValueError("judge_usd: must be set for a judge with prices: what its verdicts may cost")


class JudgeOptions(Options):
    """The options of the command and the verb `judge`, by the names of the config's section `judges`."""

    model: Annotated[Text | None, CliOption(Panel.JUDGE, "NAME", "-m")] = Field(
        None,
        description="LiteLLM's name of the judge, such as openai/gpt-4o-mini or hosted_vllm/NAME; its key is in the "
        "environment.",
    )
    second_opinion: Annotated[Text | None, CliOption(Panel.JUDGE, "NAME")] = Field(
        None,
        description="LiteLLM's name of a second, stronger model, instead of a judge. It is asked the logged question "
        "once, with system prompt and earlier turns, and the label is whether its answer agrees with the logged one.",
    )
    base_url: Annotated[Text | None, CliOption(Panel.JUDGE, "URL")] = Field(
        None, description="The address of the server; by default the provider's own."
    )
    prompt: Annotated[Path | None, CliOption(Panel.JUDGE, "FILE")] = Field(
        None,
        description="A text file with your own prompt, which has {question} and {response} and asks for a reply that "
        'ends with {"success": true} or {"success": false}.',
    )
    budget_usd: Annotated[Number | None, CliOption(Panel.JUDGE, "USD")] = Field(
        None,
        ge=0,
        description="The most that this run may cost, in US dollars; a request that might cost more is not sent. It "
        "needs both prices.",
    )
    usd_per_million_input_tokens: Annotated[Number | None, CliOption(Panel.JUDGE, "USD")] = Field(
        None, ge=0, description="The price of the prompts, from the provider's list."
    )
    usd_per_million_output_tokens: Annotated[Number | None, CliOption(Panel.JUDGE, "USD")] = Field(
        None, ge=0, description="The price of the replies."
    )
    max_tokens: Annotated[Whole, CliOption(Panel.JUDGE, "N")] = Field(
        4096, ge=1, le=2**20, description="Most tokens of a reply, reasoning included."
    )
    temperature: Annotated[Number | None, CliOption(Panel.JUDGE, "T")] = Field(
        None,
        ge=0,
        le=100,
        description="The model's temperature; by default the server's for a judge, and 0 for a second opinion.",
    )
    logprobs: Annotated[Literal["auto", "on", "off"], CliOption(Panel.JUDGE)] = Field(
        "auto",
        description="Ask the judge for log-probabilities, for the probability of its verdict: auto (if its server "
        "gives them), on, off.",
    )
    concurrency: Annotated[Whole, CliOption(Panel.JUDGE, "N")] = Field(
        16, ge=1, le=1024, description="Requests at a time."
    )
    requests_per_minute: Annotated[Number | None, CliOption(Panel.JUDGE, "N")] = Field(
        None, gt=0, description="Most requests per minute; by default without a limit."
    )
    total_timeout_s: Annotated[Number, CliOption(Panel.JUDGE, "SECONDS")] = Field(
        600, gt=0, le=604_800, description="Longest wait for a reply, over all tries of a request, in seconds."
    )


class MonitorFile(Settings):
    """The config of `workflow/monitor.smk`."""

    estimator: Text | None = Field(
        None,
        description="a file written by `fit` or by a study; without one, accuracies rest on the labels in `options`",
    )
    logs: Patterns = Field(description="files and patterns of logs; each file is a part")
    folder: Text = Field(description="folder for all outputs")
    extensions: list[Text] = Field(
        [], description="your own log formats, statistics and outputs: folders, or names of installed modules"
    )
    options: MonitorOptions = Field(MonitorOptions(), description="options of the verb `monitor`")
