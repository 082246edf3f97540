"""What of the rows calls for somebody: a list that a scheduler or another program can read."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from entropy_sentinel.monitor.catalogue import STATISTICS
from entropy_sentinel.monitor.estimating.flags import AMBIGUOUS as AMBIGUOUS_FLAG
from entropy_sentinel.monitor.estimating.flags import OUTSIDE as OUTSIDE_FLAG
from entropy_sentinel.monitor.estimating.flags import STALE as STALE_FLAG
from entropy_sentinel.monitor.estimating.recent import pooled_words
from entropy_sentinel.monitor.settings import AMBIGUOUS, BELOW, DROP, OUTSIDE, STALE, MonitorOptions

# A drop is one that chance alone would show in fewer than this share of the alerts (false discovery rate).
FALSE_DISCOVERIES = 0.05
# Kinds that are flags of rows; that of a statistic has its flag's name.
_FLAGS = {OUTSIDE: OUTSIDE_FLAG, AMBIGUOUS: AMBIGUOUS_FLAG} | {
    one.alert: one.flag for one in STATISTICS.values() if one.flag
}


def alerts(rows: pl.DataFrame, slices: Sequence[str], rules: MonitorOptions) -> list[dict[str, Any]]:
    """The alerts in rows of slices, or of their newest windows, in their order; JSON-serialisable.

    A drop is a fall of at least `least_drop` whose q is below FALSE_DISCOVERIES. Slices with fewer than `min_responses`
    estimated responses are no alert.

    Each has `kind`, `slice` (column to value), `window` where there is one, the first of those that are pooled and
    their number, the row's numbers, and `message`.
    """
    found = []
    for row in rows.iter_rows(named=True):
        if row["n_estimated"] < rules.min_responses:
            continue
        pooled = pooled_words(row, rules.window)
        more = f" (of {row['n_estimated']:,} responses in {pooled})" if pooled else ""
        found += [_alert(row, slices, kind, message + more) for kind, message in _kinds(row, rules)]
    return found


def stale_alerts(whole: pl.DataFrame, slices: Sequence[str], rules: MonitorOptions) -> list[dict[str, Any]]:
    """Alerts about slices, rows of the whole time, of which nothing can be said any more."""
    stale = whole.filter(pl.col("flags").list.contains(STALE_FLAG)) if STALE in rules.alert_on else whole.head(0)
    return [_alert(row, slices, STALE, _reason(row, STALE_FLAG)) for row in stale.iter_rows(named=True)]


def _kinds(row: Mapping[str, Any], rules: MonitorOptions) -> Iterator[tuple[str, str]]:
    accuracy = row["estimated_accuracy"]
    if rules.fail_below is not None and accuracy < rules.fail_below:
        sure = "and the whole interval is" if row["upper"] < rules.fail_below else "the interval reaches above it"
        yield BELOW, f"estimated accuracy {accuracy:.3f} is below {rules.fail_below:g}, {sure}"
    change, q = row["change"], row["change_q"]
    if DROP in rules.alert_on and q is not None and q < FALSE_DISCOVERIES and change <= -rules.least_drop:
        yield DROP, f"estimated accuracy fell by {-change:.3f} to {accuracy:.3f} since the reference (q {q:.2g})"
    for kind, flag in _FLAGS.items():
        if kind in rules.alert_on and flag in row["flags"]:
            yield kind, _reason(row, flag)


def _reason(row: Mapping[str, Any], flag: str) -> str:
    reason: str = row["reasons"][row["flags"].index(flag)]
    return reason


def _alert(row: Mapping[str, Any], slices: Sequence[str], kind: str, message: str) -> dict[str, Any]:
    numbers = ("n_estimated", "estimated_accuracy", "lower", "upper", "level", "change", "change_p", "change_q")
    when = {}
    if "window" in row:
        when = {"window": row["window"].isoformat(), "window_from": row["window_from"].isoformat()}
        when["n_windows"] = row["n_windows"]
    return {
        "kind": kind,
        "slice": {name: row[name] for name in slices},
        **when,
        **{name: row[name] for name in numbers},
        "flags": row["flags"],
        "message": message,
    }
