"""Find the times in which the condition of an alert held: when each began, and whether it lasts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

import polars as pl

from entropy_sentinel.formatting.text import counted
from entropy_sentinel.monitor.alerting.drops import SliceDrop
from entropy_sentinel.monitor.catalogue import STATISTICS
from entropy_sentinel.monitor.estimating.flags import OUTSIDE_SUPPORT, SAME_MODEL
from entropy_sentinel.monitor.labelling.using import CONTRADICTED
from entropy_sentinel.monitor.settings import AMBIGUOUS, BELOW, DROP, OUTSIDE, STALE, UNFAMILIAR, MonitorOptions
from entropy_sentinel.monitor.summing.merging import pooled_words

Row = Mapping[str, Any]
# Kinds of alerts that come from flags of rows; a statistic's kind is named after its flag.
_FLAGS = {UNFAMILIAR: UNFAMILIAR, CONTRADICTED: CONTRADICTED, OUTSIDE: OUTSIDE_SUPPORT, AMBIGUOUS: AMBIGUOUS} | {
    statistic.alert: statistic.flag for statistic in STATISTICS.values() if statistic.flag
}


@dataclass(frozen=True)
class Spell:
    """A time in which the condition of an alert held for a slice.

    Attributes:
        kind: The kind of the alert.
        row: The row whose numbers the alert has.
        message: What holds, without the slice and the time.
        since: The first window; null without windows.
        told: The window that made it an alert; null without windows.
        worse: The windows that made it worse.
        until: The window that ended it; null if it lasts.
        more: Further numbers of this kind.
        subject: The code and the name of what is not watched; null for a slice.
    """

    kind: str
    row: Row
    message: str
    since: datetime | None = None
    told: datetime | None = None
    worse: tuple[datetime, ...] = ()
    until: datetime | None = None
    more: dict[str, float | str] = field(default_factory=dict)
    subject: tuple[str, str] | None = None

    def key(self, by: Sequence[str]) -> tuple[str, tuple[Any, ...]]:
        """Return the kind, and the slice or the subject."""
        return self.kind, self.subject or tuple(self.row[name] for name in by)


def spells_of_rows(
    recent: pl.DataFrame, every: pl.DataFrame | None, by: Sequence[str], rules: MonitorOptions
) -> Iterator[Spell]:
    """Yield the spells that last, or ended in one of the newest windows.

    `recent` has the rows of slices in the newest windows, with earlier windows pooled; `every` has the rows of all
    windows, or is null without windows. Rows with fewer than `min_responses` responses say nothing.
    """
    rows = recent.filter(pl.col("n_estimated") >= rules.min_responses)
    if "window" in rows.columns:
        rows = rows.sort("window", maintain_order=True)
    for _, part in rows.group_by(by, maintain_order=True):
        looks = part.to_dicts()
        messages = [dict(_conditions(row, rules)) for row in looks]
        kinds: dict[str, None] = {}  # in the order of their first look
        for conditions in messages:
            kinds |= dict.fromkeys(conditions)
        for kind in kinds:
            telling = [place for place, row in enumerate(looks) if tells(row, kind)]
            spell = _last_spell(kind, [looks[place] for place in telling], [messages[place] for place in telling])
            if every is None or spell.since is None:
                yield spell
            elif (confirmed := _confirmed(spell, every, by, rules)) is not None:
                yield confirmed


def tells(row: Row, kind: str) -> bool:
    """Return whether a row tells whether the condition of a kind holds: not if it has no accuracy to compare."""
    return kind != BELOW or UNFAMILIAR in row["flags"] or _watched_accuracy(row).accuracy is not None


def _last_spell(kind: str, looks: Sequence[Row], messages: Sequence[Mapping[str, str]]) -> Spell:
    """Return the last spell of a kind; `messages` are those of the kinds whose condition held in each of the looks."""
    last = len(looks) - 1
    while kind not in messages[last]:
        last -= 1
    first = last
    while first > 0 and kind in messages[first - 1]:
        first -= 1
    return Spell(
        kind,
        looks[last],
        messages[last][kind],
        since=looks[first].get("window_from"),
        told=looks[last].get("window"),
        until=looks[last + 1].get("window") if last + 1 < len(looks) else None,
    )


def _confirmed(spell: Spell, every: pl.DataFrame, by: Sequence[str], rules: MonitorOptions) -> Spell | None:
    """Return a spell with its real beginning, from the earlier windows; null if too few windows confirm it."""
    same = [pl.col(name).eq_missing(pl.lit(spell.row[name])) for name in by]
    earlier = every.filter(*same, pl.col("window") < spell.since, pl.col("n_estimated") >= rules.min_responses)
    windows = [spell.told]
    if spell.since != spell.told:
        windows.append(spell.since)
    for row in earlier.sort("window", descending=True).iter_rows(named=True):
        if not tells(row, spell.kind):
            continue
        if spell.kind not in dict(_conditions(row, rules)):
            break
        windows.append(row["window"])
    windows.reverse()
    if len(windows) < rules.confirm:
        return None
    return replace(spell, since=windows[0], told=windows[rules.confirm - 1])


def spells_of_drops(
    drops: Sequence[SliceDrop], rows: Mapping[tuple[Any, ...], Row], slices: pl.DataFrame
) -> Iterator[Spell]:
    """Yield the spells of drops; `rows` are the newest rows of slices, by the slices' values."""
    for drop in drops:
        if drop.until is not None:
            message = f"estimated accuracy had fallen from {drop.before:.3f}"
        else:
            message = f"estimated accuracy fell by {drop.before - drop.after:.3f} to {drop.after:.3f}"
            if drop.worse:
                message += f", further on {drop.worse[-1]:%Y-%m-%d}"
            if SAME_MODEL in rows[slices.row(drop.slice)]["flags"]:
                message += ", if its model is the same under a new name (--same-model)"
        yield Spell(
            DROP,
            rows[slices.row(drop.slice)],
            message,
            since=drop.since,
            told=drop.told,
            worse=drop.worse,
            until=drop.until,
            more={"before": drop.before, "after": drop.after},
        )


def stale_spells(whole: pl.DataFrame, times: pl.DataFrame, rules: MonitorOptions) -> Iterator[Spell]:
    """Yield the spells of stale slices; `times` has their values, `last_usable` and `stale_from`."""
    if STALE not in rules.alert_on:
        return
    by = times.columns[:-2]
    stale = whole.filter(pl.col("flags").list.contains(STALE))
    for row in stale.join(times, on=by, nulls_equal=True, maintain_order="left").iter_rows(named=True):
        yield Spell(STALE, row, _reason(row, STALE), row["last_usable"], row["stale_from"])


def _conditions(row: Row, rules: MonitorOptions) -> Iterator[tuple[str, str]]:
    """Yield the kinds of alerts whose condition a row meets, with their messages."""
    pooled = pooled_words(row, rules.window)
    more = f" (of {row['n_estimated']:,} responses in {pooled})" if pooled else ""
    if rules.fail_below is not None and UNFAMILIAR in row["flags"]:
        yield BELOW, f"its accuracy may be below {rules.fail_below:g}: it is unlike all labelled domains{more}"
    elif rules.fail_below is not None:
        words, accuracy, upper = _watched_accuracy(row)
        if accuracy is not None and accuracy < rules.fail_below:
            interval = "but the interval reaches above it"
            if upper is not None and upper < rules.fail_below:
                interval = "and so is the whole interval"
            yield BELOW, f"{words} {accuracy:.3f} is below {rules.fail_below:g}, {interval}{more}"
    for kind, flag in _FLAGS.items():
        if kind in rules.alert_on and flag in row["flags"]:
            yield kind, f"{_reason(row, flag)}{more}"


class _WatchedAccuracy(NamedTuple):
    """The accuracy that `fail_below` limits, with what it is called and its upper limit; null if it is not known."""

    words: str
    accuracy: float | None
    upper: float | None


def _watched_accuracy(row: Row) -> _WatchedAccuracy:
    """Return the estimated accuracy; without an estimate, that from labels."""
    if row["estimated_accuracy"] is None:
        words = f"with {counted(row.get('n_labelled', 0), 'label')}, accuracy"
        if row.get("witness"):
            words = f"by {row['witness']}, accuracy"
        return _WatchedAccuracy(words, row.get("use_accuracy"), row.get("use_upper"))
    return _WatchedAccuracy("estimated accuracy", row["estimated_accuracy"], row["upper"])


def _reason(row: Row, flag: str) -> str:
    reason: str = row["reasons"][row["flags"].index(flag)]
    return reason
