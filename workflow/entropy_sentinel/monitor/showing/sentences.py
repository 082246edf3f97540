"""What is said of a monitor's findings, in sentences: at a terminal, in a notebook and on the page."""

from datetime import datetime
from typing import Any

import polars as pl

from entropy_sentinel.frames.numbers import counted
from entropy_sentinel.monitor.labelling.labelled import ESTIMATED, LABELS
from entropy_sentinel.monitor.reading.settings import WINDOWS
from entropy_sentinel.monitor.result import Monitored
from entropy_sentinel.monitor.showing.columns import LABELLED, slice_name
from entropy_sentinel.statistics.intervals import NOTES, PRIOR

# Slices that are named in a sentence or shown in a table; files have all. And domains that are named.
SHOWN, NAMED = 20, 4


def whose(found: Monitored) -> tuple[str, str]:
    """Whose numbers these are, and how much was read."""
    about, files = found.provenance["estimator"], found.provenance["files"]
    domains = (about["group"] or "?").split("+")
    named = ", ".join(domains) if len(domains) <= NAMED else f"{len(domains)} domains"
    responses = found.provenance["responses"]
    return (
        f"{about['name']} of {about['model']}, fitted on {named}",
        f"{counted(responses['in_all'], 'response')} in {counted(files['in_all'], 'file')}"
        + (f"; read now: {files['read_now']:,}" if files["read_now"] != files["in_all"] else ""),
    )


def silence(found: Monitored) -> list[str]:
    """What to say where nothing can be said of what is newest."""
    if not found.silent:
        return []
    about = found.provenance
    where = f" in the last {about['pool_windows']} {about['window']}s" if found.newest else ""
    if where and about["reference"] and found.newest[-1] >= datetime.fromisoformat(about["reference"][1]):
        where += " that are not of the reference"
    return [f"nothing can be said: no slice has {about['min_responses']} estimated responses{where}"]


def untested(found: Monitored) -> list[str]:
    """What to say of changes that have no q, so that they are no alert however large they are."""
    least = max(found.provenance["min_responses"], 1)
    rows = found.now.filter(
        pl.col("change").is_not_null() & pl.col("change_q").is_null() & (pl.col("n_estimated") >= least)
    )
    if rows.is_empty():
        return []
    names = [slice_name(row) for row in rows.select(found.by).iter_rows()]
    more = f"; and {len(names) - SHOWN:,} more slices" if len(names) > SHOWN else ""
    return [
        f"changes that are not tested, and are no alert, for there are fewer than {least} responses in the reference "
        f"or after it: {'; '.join(names[:SHOWN])}{more}"
    ]


def alerts(found: Monitored) -> list[str]:
    """A line for each alert."""
    return [f"ALERT {slice_name(one['slice'].values())}{_when(one)}: {one['message']}" for one in found.alerts]


def bases(found: Monitored) -> list[str]:
    """What to say of intervals that rest on an assumption alone."""
    if PRIOR not in found.slices["basis"].to_list():
        return []
    return [NOTES[PRIOR]]


def labels_of_a_part(found: Monitored) -> list[str]:
    """What to say where labels do not stand for their slice."""
    if LABELLED not in found.slices.columns:
        return []
    unused = found.slices.filter(pl.col("n_labelled") > 0, pl.col("improved_accuracy").is_null())
    names = [slice_name(row) for row in unused.select(found.by).iter_rows()]
    if not names:
        return []
    return [f"labels: drawn from a part of the slice, they do not improve its estimate: {'; '.join(names[:SHOWN])}"]


def labels_and_estimates(found: Monitored) -> list[str]:
    """Which of the two numbers to read, and what to know of the slices whose number with labels it is."""
    if LABELLED not in found.now.columns or not (found.now["read"] == LABELS).any():
        return []
    rows = found.now.filter(pl.col("read_because").is_not_null()).head(SHOWN)
    return [
        f"read '{LABELS}' where it is there: it is right if the labels were drawn as their weights say, whatever the "
        f"estimator does; '{ESTIMATED}' assumes that the slice is to the labelled domains as they are to each other. "
        "The two rest on different assumptions, and their intervals are not combined",
        *(f"{slice_name(row[name] for name in found.by)}: {row['read_because']}" for row in rows.iter_rows(named=True)),
    ]


def pooled(found: Monitored) -> list[str]:
    """What to say of slices whose newest window is thin."""
    if not (found.now["n_windows"] > 1).any():
        return []
    about = found.provenance
    return [
        f"with fewer than {about['min_responses']} responses in the newest {about['window']}, a slice's "
        f"{about['window']}s before it count too, at most {about['pool_windows']}"
    ]


def without_traffic(found: Monitored) -> list[str]:
    """The windows between the first and the newest in which there was no response."""
    if found.windows is None or not found.newest:
        return []
    there = found.windows["window"].drop_nulls().unique().sort()
    window, form = found.provenance["window"], "%Y-%m-%d %H:%M" if found.provenance["window"] == "hour" else "%Y-%m-%d"
    every = pl.datetime_range(there[0], found.newest[-1], WINDOWS[window], eager=True, time_unit="us", time_zone="UTC")
    missing = [f"{one:{form}}" for one in every.filter(~every.is_in(there.implode()))]
    if not missing:
        return []
    named = ", ".join(missing[:SHOWN]) + (f" and {len(missing) - SHOWN:,} more" if len(missing) > SHOWN else "")
    return [f"{counted(len(missing), window)} without a response (UTC): {named}"]


def reasons(found: Monitored) -> dict[str, str]:
    """Why the slices that are shown have each flag; slices with the same reason are named together."""
    said: dict[str, dict[str, list[str]]] = {}
    for row in found.slices.head(SHOWN).iter_rows(named=True):
        for flag, reason in zip(row["flags"], row["reasons"], strict=True):
            if flag not in found.provenance["general_flags"]:
                said.setdefault(flag, {}).setdefault(reason, []).append(slice_name(row[name] for name in found.by))
    return {
        flag: "; ".join(f"{', '.join(names)}: {reason}" for reason, names in of.items()) for flag, of in said.items()
    }


def _when(alert: dict[str, Any]) -> str:
    return f" (from {alert['window'][:16].replace('T', ' ')})" if "window" in alert else ""
