"""Find the episodes that rows of slices show: when each began, and whether it lasts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.monitor.alert import Row
from entropy_sentinel.monitor.alert_codes import AlertCode, AlertKind, Flag, FlagCode
from entropy_sentinel.monitor.episodes import Episode
from entropy_sentinel.monitor.monitor_options import MonitorOptions
from entropy_sentinel.monitor.slice_columns import STATISTICS
from entropy_sentinel.monitor.summing.sum_merging import describe_pooling

# Kinds of alerts that come from flags of rows.
_FLAGS: dict[AlertCode, FlagCode] = {
    AlertKind.UNFAMILIAR: Flag.UNFAMILIAR,
    AlertKind.CONTRADICTED: Flag.CONTRADICTED,
    AlertKind.OUTSIDE_SUPPORT: Flag.OUTSIDE_SUPPORT,
    AlertKind.AMBIGUOUS: Flag.AMBIGUOUS,
    **{statistic.alert_code: statistic.flag_code for statistic in STATISTICS.values() if statistic.flag},
}


def find_row_episodes(
    recent_rows: pl.DataFrame, window_rows: pl.DataFrame | None, by: Sequence[str], rules: MonitorOptions
) -> Iterator[Episode]:
    """Yield the episodes that last, or ended in one of the newest windows.

    `recent_rows` are those of slices in the newest windows, with earlier windows pooled; `window_rows` has the rows of
    all windows, or is null without windows. Rows with fewer than `min_responses` responses say nothing.
    """
    rows = recent_rows.filter(pl.col("n_estimated") >= rules.min_responses)
    if "window" in rows.columns:
        rows = rows.sort("window", maintain_order=True)
    for values, part in rows.group_by(by, maintain_order=True):
        slice_ = dict(zip(by, values, strict=True))
        slice_rows = part.to_dicts()
        messages = [dict(_find_conditions(row, rules)) for row in slice_rows]
        kinds: dict[AlertCode, None] = {}  # in the order of their first row
        for conditions in messages:
            kinds |= dict.fromkeys(conditions)
        for kind in kinds:
            evaluated = [place for place, row in enumerate(slice_rows) if can_evaluate(row, kind)]
            rows_of_kind = [slice_rows[place] for place in evaluated]
            episode = _find_last_episode(kind, slice_, rows_of_kind, [messages[place] for place in evaluated])
            if window_rows is None or episode.since is None:
                yield episode
            elif (confirmed := _confirm_episode(episode, window_rows, rules)) is not None:
                yield confirmed


def can_evaluate(row: Row, kind: AlertCode) -> bool:
    """Whether a row tells whether the condition of a kind holds: not if it has no accuracy to compare."""
    if kind != AlertKind.BELOW or Flag.UNFAMILIAR in row["flag_codes"]:
        return True
    return _select_watched_accuracy(row).accuracy is not None


def _find_last_episode(
    kind: AlertCode, slice_: Mapping[str, str | None], rows: Sequence[Row], messages: Sequence[Mapping[AlertCode, str]]
) -> Episode:
    """The last rows in sequence that meet the condition of a kind, at least one.

    `rows` are those of a slice in the order of time; `messages` has for each row, by kind, those of the conditions met.
    """
    last = len(rows) - 1
    while kind not in messages[last]:
        last -= 1
    first = last
    while first > 0 and kind in messages[first - 1]:
        first -= 1
    return Episode(
        kind,
        slice_,
        rows[last],
        messages[last][kind],
        since=rows[first].get("window_from"),
        detected=rows[last].get("window"),
        until=rows[last + 1].get("window") if last + 1 < len(rows) else None,
    )


def _confirm_episode(episode: Episode, window_rows: pl.DataFrame, rules: MonitorOptions) -> Episode | None:
    """An episode with its real beginning, from the earlier windows; null if fewer than `confirm` windows have it.

    `window_rows` are the rows of all slices and windows; earlier ones extend the episode as long as they have it too.
    """
    is_slice = [pl.col(name).eq_missing(pl.lit(value)) for name, value in episode.slice.items()]
    earlier = window_rows.filter(
        *is_slice, pl.col("window") < episode.since, pl.col("n_estimated") >= rules.min_responses
    )
    windows = [episode.detected]
    if episode.since != episode.detected:
        windows.append(episode.since)
    for row in earlier.sort("window", descending=True).iter_rows(named=True):
        if not can_evaluate(row, episode.kind):
            continue
        if episode.kind not in dict(_find_conditions(row, rules)):
            break
        windows.append(row["window"])
    windows.reverse()
    if len(windows) < rules.confirm:
        return None
    return replace(episode, since=windows[0], detected=windows[rules.confirm - 1])


def find_stale_episodes(slice_rows: pl.DataFrame, times: pl.DataFrame, rules: MonitorOptions) -> Iterator[Episode]:
    """Yield the episodes of stale slices, which no longer have enough responses.

    `times` has the slice columns, then the last window with enough, `last_usable`, and the first without, `stale_from`.
    """
    if not rules.has_kind(AlertKind.STALE):
        return
    by = times.columns[:-2]
    stale = slice_rows.filter(pl.col("flag_codes").list.contains(Flag.STALE))
    for row in stale.join(times, on=by, nulls_equal=True, maintain_order="left").iter_rows(named=True):
        slice_ = {name: row[name] for name in by}
        yield Episode(
            AlertKind.STALE, slice_, row, _find_reason(row, Flag.STALE), row["last_usable"], row["stale_from"]
        )


def _find_conditions(row: Row, rules: MonitorOptions) -> Iterator[tuple[AlertCode, str]]:
    """Yield the kinds of alerts whose condition a row meets, with their messages."""
    pooled = describe_pooling(row, rules.window)
    pooled_note = f" (of {row['n_estimated']:,} responses in {pooled})" if pooled else ""
    if rules.fail_below is not None and Flag.UNFAMILIAR in row["flag_codes"]:
        yield (
            AlertKind.BELOW,
            f"its accuracy may be below {rules.fail_below:g}: it is unlike all labelled domains{pooled_note}",
        )
    elif rules.fail_below is not None:
        words, accuracy, upper = _select_watched_accuracy(row)
        if accuracy is not None and accuracy < rules.fail_below:
            interval = "but the interval reaches above it"
            if upper is not None and upper < rules.fail_below:
                interval = "and so is the whole interval"
            yield AlertKind.BELOW, f"{words} {accuracy:.3f} is below {rules.fail_below:g}, {interval}{pooled_note}"
    for kind, flag in _FLAGS.items():
        if rules.has_kind(kind) and flag in row["flag_codes"]:
            yield kind, f"{_find_reason(row, flag)}{pooled_note}"


class _WatchedAccuracy(NamedTuple):
    """The accuracy that `fail_below` limits, with what it is called and its upper limit; null if it is not known."""

    words: str
    accuracy: float | None
    upper: float | None


def _select_watched_accuracy(row: Row) -> _WatchedAccuracy:
    """The estimated accuracy; without an estimate, that from labels."""
    if row["estimated_accuracy"] is None:
        words = f"with {format_count(row.get('n_labelled', 0), 'label')}, accuracy"
        if row.get("witness"):
            words = f"by {row['witness']}, accuracy"
        return _WatchedAccuracy(words, row.get("use_accuracy"), row.get("use_upper"))
    return _WatchedAccuracy("estimated accuracy", row["estimated_accuracy"], row["upper"])


def _find_reason(row: Row, flag: FlagCode) -> str:
    """The reason of a row's flag; `reasons` are in the order of `flag_codes`."""
    reason: str = row["reasons"][row["flag_codes"].index(flag)]
    return reason
