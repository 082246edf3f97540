"""Find the traffic that nobody watches: what kind, since when, and whether it lasts.

There are four kinds: responses that no estimator takes, because of their model or their log-probabilities; responses
without features, as in an outage of log-probabilities; windows without any response; and slice columns that were filled
before and are empty now. An old log that is read once never lacks its newest window: that needs a state, and a run that
finds no newer responses than the run before, or the option `now`.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import median
from typing import Any, NamedTuple

import polars as pl

from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.formatting.text_format import format_count, format_list
from entropy_sentinel.logs.response_keys import UNKNOWN_MODEL
from entropy_sentinel.monitor.alert import Subject
from entropy_sentinel.monitor.alert_codes import AlertKind
from entropy_sentinel.monitor.episodes import EMPTY_ROW, Episode
from entropy_sentinel.monitor.reading.exclusions import HARMLESS_CODES, ExclusionKind
from entropy_sentinel.monitor.reading.window_times import list_windows, shift_window
from entropy_sentinel.monitor.summing.sum_merging import MISSING


class UnwatchedCode(StrEnum):
    """Codes besides those of exclusions."""

    NO_RESPONSES = "no-responses"
    EMPTY_COLUMN = "empty-column"


# Other exclusions than that of a model, and empty columns, count if a window has at least this many such responses, and
# more than this share of all or of a slice.
FEWEST, SMALLEST_SHARE = 5, 0.1
# An episode is worse if the share of such responses has doubled, and has risen by this much.
_RISE = 0.1
# A run looks for newer responses if the last ones came at least this part of a window ago.
_LEAST_ELAPSED = 0.75
_WINDOW_LENGTHS = {
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
    "month": timedelta(days=28),
}
# A window with a smaller share of the usual number of responses, the median of so many windows before, counts as one
# without any: a day of another time zone has the first hour of a missing file's day.
_LEAST_USUAL, _USUAL_WINDOWS = 0.1, 14
# How many waits for newer responses a state remembers.
_MOST_WAITS = 7
# How often traffic repeats: a window is expected if one of so many such windows before it had responses.
_RHYTHMS = {"hour": ((timedelta(days=7), 4), (timedelta(days=1), 7)), "day": ((timedelta(days=7), 4),)}
# Largest numbers of windows to check, and of slices to name.
_MOST_WINDOWS, _MOST_NAMED_SLICES = 1000, 4


@dataclass(frozen=True)
class Progress:
    """What a state remembers of earlier runs, to notice that no newer responses came.

    Attributes:
        newest: The newest window with responses.
        found: When a run first found responses in that window.
        lag: The smallest number of complete windows after the newest one with responses, in any run.
        waits: After how many complete windows newer responses came, lately: 1 for a file a day, 7 for one a week.
    """

    newest: datetime
    found_at: datetime
    lag: int
    waits: tuple[int, ...] = ()

    @property
    def longest_lag(self) -> int:
        """The largest usual number of complete windows after the newest one with responses."""
        return max(self.lag, math.ceil(median(self.waits)) - 1 if self.waits else 0)

    def to_list(self) -> list[str | int]:
        """The content; JSON-serialisable."""
        return [self.newest.isoformat(), self.found_at.isoformat(), self.lag, *self.waits]

    @classmethod
    def from_list(cls, content: Sequence[Any]) -> "Progress":
        """What `to_list` returned; raises ValueError or TypeError for anything else."""
        newest, found, lag, *waits = content
        progress = cls(datetime.fromisoformat(newest), datetime.fromisoformat(found), int(lag), tuple(map(int, waits)))
        if progress.newest.tzinfo is None or progress.found_at.tzinfo is None:
            raise ValueError("a time without its zone")
        return progress


@dataclass(frozen=True)
class Traffic:
    """All responses of a run and those that are not watched; times are on the clock of the windows' zone.

    Attributes:
        windows: `window` (null without times), the number of responses `n`, and `missing.COLUMN` for each slice column.
        exclusions: `window`, `slice` (its name), `code`, `subject` and `n`; and `n_slice`, the number of responses of
            the slice in the window, null if it is not known.
        window: The length of the windows.
    """

    windows: pl.DataFrame
    exclusions: pl.DataFrame
    window: str

    @classmethod
    def join(cls, parts: Sequence["Traffic"]) -> "Traffic":
        """The traffic of several estimators, each of which has read the responses of its model."""
        windows = pl.concat([part.windows for part in parts], how="diagonal").group_by("window").sum()
        exclusions = pl.concat([part.exclusions for part in parts])
        # A response of a model without an estimator is in each of the parts, with its hash.
        hashed = pl.col("hash").is_not_null()
        exclusions = pl.concat([exclusions.filter(~hashed), exclusions.filter(hashed).unique("hash")])
        return cls(windows, exclusions, parts[0].window)

    @property
    def totals(self) -> dict[datetime | None, int]:
        """The number of responses of each window, of models without an estimator too, in the order of time."""
        unseen = self.exclusions.filter(pl.col("hash").is_not_null()).select("window", "n")
        both = pl.concat([self.windows.select("window", "n"), unseen]).group_by("window").agg(pl.col("n").sum())
        return dict(both.sort("window", nulls_last=False).iter_rows())


class _Count(NamedTuple):
    """The responses of a window that are not watched, of all; and the slices concerned."""

    n: int
    total: int
    slices: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        return self.n / self.total if self.total else 1.0


class _Occurrence(NamedTuple):
    """What a message is about: the last window's count and text, the sum over all windows, and whether it is over."""

    last_count: _Count
    window: str
    total: int
    is_over: bool


@dataclass(frozen=True)
class _Condition:
    """A kind of unwatched traffic, and the windows in which it was found."""

    code: str
    subject: str
    message: Callable[["_Occurrence"], str]
    counts: Mapping[datetime | None, _Count] = field(default_factory=dict)


def find_unwatched(
    traffic: Traffic, old_models: Sequence[str], remedy_of: Callable[[str], str | None]
) -> Iterator[Episode]:
    """Yield the last episode of each kind of unwatched traffic.

    `old_models` are models with an estimator, of which others may be new names; `remedy_of` says what to do about a
    reason for which responses have no estimate.
    """
    totals = traffic.totals
    for condition in (*_find_exclusions(traffic, totals, old_models, remedy_of), *_find_empty_columns(traffic)):
        episode = _find_last_episode(condition, [*totals], traffic.window)
        if episode is not None:
            yield episode


def _find_exclusions(
    traffic: Traffic,
    totals: Mapping[datetime | None, int],
    old_models: Sequence[str],
    remedy_of: Callable[[str], str | None],
) -> Iterator[_Condition]:
    """Yield a condition for each model without an estimator, and for each other code of exclusions.

    `totals` are the numbers of all responses by the start of the window, None without times. `old_models` are models
    with an estimator, of which others may be new names; `remedy_of` says what to do about a reason.
    """
    rows = traffic.exclusions.filter(~pl.col("code").is_in([str(code) for code in HARMLESS_CODES]))
    by_code = pl.when(pl.col("code") == ExclusionKind.OTHER_MODEL).then("subject").otherwise("code")
    rows = rows.with_columns(name=by_code)
    for (code, name), part in rows.group_by("code", "name", maintain_order=True):
        counts_by_subject = (
            part.group_by("subject").agg(pl.col("n").sum()).sort("n", "subject", descending=[True, False])
        )
        subject = str(counts_by_subject["subject"][0])
        is_model = code == ExclusionKind.OTHER_MODEL
        counts = _count_windows(part, totals, is_always_enough=is_model)
        if is_model:
            message = _make_model_message(subject, old_models)
        else:
            message = _make_reason_message(str(code), subject, remedy_of(subject))
        if counts:
            yield _Condition(str(code), str(name), message, counts)


def _count_windows(
    part: pl.DataFrame, totals: Mapping[datetime | None, int], *, is_always_enough: bool
) -> dict[datetime | None, _Count]:
    """The count of each window that has enough such responses: see FEWEST, or any with `is_always_enough`."""
    counts: dict[datetime | None, _Count] = {}
    for (window,), window_rows in part.group_by("window", maintain_order=True):
        begin = window if isinstance(window, datetime) else None
        count = _count_unwatched(window_rows, totals.get(begin, 0))
        if is_always_enough or (count.n >= FEWEST and (count.share > SMALLEST_SHARE or count.slices)):
            counts[begin] = count
    return counts


def _count_unwatched(rows: pl.DataFrame, total: int) -> _Count:
    """The count of a window's rows of exclusions, and the slices with many such responses, with their numbers.

    `total` is the number of all responses of the window.
    """
    slices = rows.group_by("slice", maintain_order=True).agg(pl.col("n").sum(), pl.col("n_slice").max())
    large_slices = slices.filter((pl.col("n") >= FEWEST) & (pl.col("n") > SMALLEST_SHARE * pl.col("n_slice")))
    # Without slice columns, the only slice has no name, and its counts are those of the window.
    large_slices = large_slices.filter(pl.col("slice") != "").sort("slice")
    names = [f"{name} ({n:,} of {n_slice:,})" for name, n, n_slice in large_slices.iter_rows()]
    return _Count(int(rows["n"].sum()), total, tuple(names))


def _find_empty_columns(traffic: Traffic) -> Iterator[_Condition]:
    """Yield a condition for each slice column that was filled in earlier windows and is empty in later ones."""
    windows = traffic.windows.drop_nulls("window").sort("window")
    for column in [name for name in windows.columns if name.startswith(MISSING)]:
        counts: dict[datetime | None, _Count] = {}
        was_filled = False
        for window, n, missing in windows.select("window", "n", pl.col(column).fill_null(0)).iter_rows():
            if missing > SMALLEST_SHARE * n:
                if was_filled and missing >= FEWEST:
                    counts[window] = _Count(missing, n)
            elif n >= FEWEST:
                was_filled = True
        if counts:
            name = column.removeprefix(MISSING)
            yield _Condition(UnwatchedCode.EMPTY_COLUMN, name, _make_column_message(name), counts)


def _make_model_message(model: str, old_models: Sequence[str]) -> Callable[[_Occurrence], str]:
    """A function that makes the message about a model without an estimator; it may be a new name of an old model."""
    old = old_models[0] if len(old_models) == 1 else "OLD"
    model_text, reason = f"of {model}", "no estimator for this model"
    remedy = f"Fit one, or continue with {format_option('same_model', f'{old}={model}')}"
    if model == UNKNOWN_MODEL:
        name_model = f"Name their model with {format_option('model')}"
        model_text, reason, remedy = "without a model name", "no estimator is for them", name_model

    def message(occurrence: _Occurrence) -> str:
        n, total, when = occurrence.last_count.n, occurrence.total, occurrence.window
        newest = f", {n:,} of them in {when}" if when and n < total else ""
        what = f"{format_count(total, 'response')} {model_text}{newest} ({reason})"
        return what if occurrence.is_over else f"{what}. {remedy}"

    return message


def _make_reason_message(code: str, reason: str, remedy: str | None) -> Callable[[_Occurrence], str]:
    """A function that makes the message about responses without an estimate for this reason."""
    if code == ExclusionKind.OTHER_LOGPROBS:
        name, _, value = reason.partition("=")
        reason_text = f"have {name} {value}, unlike the estimator's training data"
    else:
        reason_text = f"have no estimate: {reason}"

    def message(occurrence: _Occurrence) -> str:
        what = f"{_format_share(occurrence)} {reason_text}"
        if occurrence.is_over:
            return what
        advice = f" ({remedy})" if remedy else ""
        slices = occurrence.last_count.slices
        slices_text = f"; {format_list(slices, _MOST_NAMED_SLICES, '; ')}" if slices else ""
        return f"{what}{advice}{slices_text}"

    return message


def _make_column_message(column: str) -> Callable[[_Occurrence], str]:
    """A function that makes the message about a slice column that is empty."""

    def message(occurrence: _Occurrence) -> str:
        what = f"{_format_share(occurrence)} have no value in '{column}', which was filled before"
        return what if occurrence.is_over else f"{what}. Check what writes it, or change {format_option('by')}"

    return message


def _format_share(occurrence: _Occurrence) -> str:
    """The number of unwatched responses of all, in the last window if there are windows."""
    what = f"{occurrence.last_count.n:,} of {format_count(occurrence.last_count.total, 'response')}"
    return f"{what} in {occurrence.window}" if occurrence.window else what


def _find_last_episode(condition: _Condition, windows: Sequence[datetime | None], window: str) -> Episode | None:
    """The episode of the last windows in a row with a condition, among all `windows` with responses.

    `window` is their length. Null if no window has the condition. Responses without times are one window, None.
    """
    has_only_untimed = None in condition.counts and len(condition.counts) == 1
    if windows == [None] or has_only_untimed:
        counts = condition.counts.get(None)
        return None if counts is None else _make_episode(condition, _Occurrence(counts, "", counts.n, is_over=False))
    times = [each for each in windows if each is not None]
    affected = [each for each in times if each in condition.counts]
    if not affected:
        return None
    last = times.index(affected[-1])
    first = last
    while first > 0 and times[first - 1] in condition.counts:
        first -= 1
    episode_windows = times[first : last + 1]
    episode_counts = [condition.counts[each] for each in episode_windows]
    until = times[last + 1] if last + 1 < len(times) else None
    total = sum(count.n for count in episode_counts)
    newest = _format_window(episode_windows[-1], window)
    episode = _make_episode(condition, _Occurrence(episode_counts[-1], newest, total, until is not None))
    begin, worse = episode_windows[0], tuple(_find_worse_windows(episode_windows, episode_counts))
    return replace(episode, since=begin, detected=begin, worse_windows=worse, until=until)


def _make_episode(condition: _Condition, occurrence: _Occurrence) -> Episode:
    """The episode of a condition, without times."""
    return Episode(
        AlertKind.UNWATCHED,
        {},
        EMPTY_ROW,
        condition.message(occurrence),
        details={"n_unwatched": occurrence.total},
        subject=Subject(condition.code, condition.subject),
    )


def _find_worse_windows(windows: Sequence[datetime], counts: Sequence[_Count]) -> Iterator[datetime]:
    """Yield the windows in which the share of unwatched responses is twice that of the last worse window or more."""
    level = counts[0].share
    for window, count in zip(windows, counts, strict=True):
        if count.share >= 2 * level and count.share >= level + _RISE:
            level = count.share
            yield window


def _format_window(begin: datetime, window: str) -> str:
    return f"the {window} from {begin:%Y-%m-%d %H:%M}" if window == "hour" else f"the {window} from {begin:%Y-%m-%d}"


def confirm_episode(episode: Episode, windows: Sequence[datetime], n: int) -> Episode | None:
    """The episode with the `n`-th of its `windows` as the one that makes it an alert; null if it has fewer."""
    if episode.since is None or n == 1:
        return episode
    times = [each for each in windows if each >= episode.since and (episode.until is None or each < episode.until)]
    return replace(episode, detected=times[n - 1]) if len(times) >= n else None


def find_usual_windows(counts: Mapping[datetime, int]) -> list[datetime]:
    """The windows that have a usual number of responses: not far fewer than the median of those before.

    `counts` are numbers of responses by window, in the order of time.
    """
    windows, earlier_counts = [], list[int]()
    for window, n in counts.items():
        if not earlier_counts or n >= _LEAST_USUAL * median(earlier_counts[-_USUAL_WINDOWS:]):
            windows.append(window)
        earlier_counts.append(n)
    return windows


def list_later_windows(windows: Sequence[datetime], window: str, now: datetime) -> list[datetime]:
    """The windows after the newest of `windows` (at least one) that are complete at `now`; at most _MOST_WINDOWS.

    `window` is the length of the windows.
    """
    begin = shift_window(max(windows), 1, window)
    if shift_window(begin, 1, window) > now:
        return []
    # The last of these has begun, but not ended.
    return list_windows(begin, now, window).to_list()[:-1][-_MOST_WINDOWS:]


def find_missing_windows(windows: Sequence[datetime], later_windows: Sequence[datetime], window: str) -> list[datetime]:
    """The later windows in which responses were expected by the rhythm of `windows`, those with responses."""
    first, present = min(windows), set(windows)
    return [each for each in later_windows if _is_expected(each, first, present, window)]


def _is_expected(begin: datetime, first: datetime, present: set[datetime], window: str) -> bool:
    """Whether responses are expected in the window that begins at `begin`.

    They are if one of the windows at the same time of earlier weeks or days had responses (`present`); and if there is
    no such window since the `first` one of the logs.
    """
    for period, n in _RHYTHMS.get(window, ()):
        earlier_windows = [begin - period * number for number in range(1, n + 1)]
        logged_windows = [each for each in earlier_windows if each >= first]
        if logged_windows:
            return any(each in present for each in logged_windows)
    return True


def is_late(lag: int, newest: datetime, window: str, now: datetime, progress: Progress | None) -> bool:
    """Whether newer responses should have come since the earlier runs, whose `progress` is null if there are none.

    `lag` is the number of complete windows after the newest one with responses. It does not grow while an old log is
    read, and a state that is used again within the hour expects nothing new.
    """
    if progress is None or lag <= progress.longest_lag:
        return False
    return newest > progress.newest or now - progress.found_at >= _LEAST_ELAPSED * _WINDOW_LENGTHS[window]


def update_progress(lag: int, newest: datetime, window: str, now: datetime, progress: Progress | None) -> Progress:
    """What the next run is to know; the arguments are those of `is_late`."""
    if progress is None:
        return Progress(newest, now, lag)
    if newest <= progress.newest:
        return replace(progress, lag=min(lag, progress.lag))
    # The complete windows since the newest one of the earlier run.
    wait = lag + len(list_windows(progress.newest, newest, window)) - 1
    return Progress(newest, now, min(lag, progress.lag), (*progress.waits, wait)[-_MOST_WAITS:])


def describe_absence(missing: Sequence[datetime], n_responses: int, newest: datetime, window: str) -> Episode:
    """The episode of the windows `missing` at the end of the logs, without the usual number of responses.

    `n_responses` is the number that they have in all, and `newest` the last window before them.
    """
    what = _format_window(missing[0], window)
    if len(missing) > 1:
        what = f"{len(missing):,} {window}s from {missing[0]:%Y-%m-%d %H:%M}".removesuffix(" 00:00")
    few = f"hardly any responses ({n_responses:,})" if n_responses else "no responses"
    then = "" if n_responses else f"; the newest are of {_format_window(newest, window)}"
    message = f"{few} in {what}{then}. Check that all logs arrive"
    # Worse after two, four, eight ... windows.
    worse = tuple(each for number, each in enumerate(missing, start=1) if number > 1 and _is_power_of_two(number))
    subject = Subject(UnwatchedCode.NO_RESPONSES, UnwatchedCode.NO_RESPONSES)
    return Episode(
        kind=AlertKind.UNWATCHED,
        slice={},
        row=EMPTY_ROW,
        message=message,
        since=missing[0],
        detected=missing[0],
        worse_windows=worse,
        subject=subject,
    )


def _is_power_of_two(number: int) -> bool:
    """Whether a number above 0 is a power of two, which has a single bit."""
    return number & (number - 1) == 0
