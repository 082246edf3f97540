"""Find the times in which the condition of an alert held: when each began, and whether it lasts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import polars as pl

from entropy_sentinel.monitor.alerting.drops import SliceDrop
from entropy_sentinel.monitor.catalogue import STATISTICS
from entropy_sentinel.monitor.estimating.flags import OUTSIDE_SUPPORT
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
    """

    kind: str
    row: Row
    message: str
    since: datetime | None = None
    told: datetime | None = None
    worse: tuple[datetime, ...] = ()
    until: datetime | None = None
    more: dict[str, float] = field(default_factory=dict)


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
        held = [dict(_conditions(row, rules)) for row in looks]
        for kind in dict.fromkeys(kind for here in held for kind in here):
            spell = _spell(kind, looks, held)
            if every is None or spell.since is None:
                yield spell
            elif (told := _told(spell, every, by, rules)) is not None:
                yield told


def _spell(kind: str, looks: Sequence[Row], held: Sequence[dict[str, str]]) -> Spell:
    """Return the spell of a kind that held in some of the `looks`, the last one if there are several."""
    last = max(number for number, here in enumerate(held) if kind in here)
    first = last
    while first > 0 and kind in held[first - 1]:
        first -= 1
    until = looks[last + 1].get("window") if last + 1 < len(looks) else None
    since = looks[first].get("window_from")
    return Spell(kind, looks[last], held[last][kind], since, looks[last].get("window"), until=until)


def _told(spell: Spell, every: pl.DataFrame, by: Sequence[str], rules: MonitorOptions) -> Spell | None:
    """Return a spell with its real beginning, from the earlier windows; null if too few windows confirm it."""
    same = pl.all_horizontal(pl.col(name).eq_missing(pl.lit(spell.row[name])) for name in by)
    earlier = every.filter(same, pl.col("window") < spell.since, pl.col("n_estimated") >= rules.min_responses)
    windows = [spell.told, *([spell.since] if spell.since != spell.told else [])]
    for row in earlier.sort("window", descending=True).iter_rows(named=True):
        if spell.kind not in dict(_conditions(row, rules)):
            break
        windows.append(row["window"])
    windows.reverse()
    if len(windows) < rules.confirm:
        return None
    return Spell(spell.kind, spell.row, spell.message, windows[0], windows[rules.confirm - 1], spell.worse, spell.until)


def spells_of_drops(
    drops: Sequence[SliceDrop], rows: Mapping[tuple[Any, ...], Row], slices: pl.DataFrame
) -> Iterator[Spell]:
    """Yield the spells of drops; `rows` are the newest rows of slices, by the slices' values."""
    for drop in drops:
        row = rows[slices.row(drop.slice)]
        more = {"before": drop.before, "after": drop.after}
        yield Spell(DROP, row, _fall(drop), drop.since, drop.told, drop.worse, drop.until, more)


def _fall(drop: SliceDrop) -> str:
    fell = f"estimated accuracy fell by {drop.before - drop.after:.3f} to {drop.after:.3f}"
    if drop.until is not None:
        fell = f"estimated accuracy had fallen from {drop.before:.3f}"
    return fell + (f", further on {drop.worse[-1]:%Y-%m-%d}" if drop.worse and drop.until is None else "")


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
    accuracy, unfamiliar = row["estimated_accuracy"], UNFAMILIAR in row["flags"]
    if rules.fail_below is not None and unfamiliar:
        yield BELOW, f"its accuracy may be below {rules.fail_below:g}: it is unlike all labelled domains{more}"
    elif rules.fail_below is not None and accuracy < rules.fail_below:
        sure = (
            "and so is the whole interval" if row["upper"] < rules.fail_below else "but the interval reaches above it"
        )
        yield BELOW, f"estimated accuracy {accuracy:.3f} is below {rules.fail_below:g}, {sure}{more}"
    for kind, flag in _FLAGS.items():
        if kind in rules.alert_on and flag in row["flags"]:
            yield kind, f"{_reason(row, flag)}{more}"


def _reason(row: Row, flag: str) -> str:
    reason: str = row["reasons"][row["flags"].index(flag)]
    return reason
