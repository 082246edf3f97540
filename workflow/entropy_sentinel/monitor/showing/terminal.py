"""A monitor's findings for a person at a terminal, or in a notebook."""

import polars as pl

from entropy_sentinel.frames.notebook import html
from entropy_sentinel.frames.numbers import counted
from entropy_sentinel.frames.printable import one_line
from entropy_sentinel.monitor.result import Monitored
from entropy_sentinel.monitor.showing import sentences
from entropy_sentinel.monitor.showing.columns import table_of
from entropy_sentinel.monitor.showing.sentences import SHOWN
from entropy_sentinel.report.terminal import Part, table


def parts(found: Monitored) -> list[Part]:
    """What is shown: whose numbers these are, the slices, the newest window, what the flags mean, the alerts."""
    shown: list[Part] = [*sentences.whose(found)]
    for of, rows in _shown_rows(found):
        shown += _rows(found, rows, of)
    shown += sentences.without_traffic(found)
    shown += sentences.pooled(found) if found.newest else []
    shown += [f"{flag}: {reason}" for flag, reason in found.provenance["general_flags"].items()]
    shown += sentences.bases(found)
    shown += [*sentences.labels_of_a_part(found), *sentences.labels_and_estimates(found)]
    shown += [f"{flag}: {reason}" for flag, reason in sentences.reasons(found).items()]
    shown += [*sentences.untested(found), *sentences.alerts(found), *sentences.silence(found)]
    return [one_line(part) if isinstance(part, str) else part for part in shown]


def as_text(found: Monitored) -> str:
    """In a few lines: whose numbers these are, how much was read, the alerts."""
    about, read = sentences.whose(found)
    lines = [
        about,
        f"{read}; {counted(len(found.slices), 'slice')}",
        *(sentences.alerts(found) or ["no alerts"]),
        *sentences.silence(found),
    ]
    return "\n  ".join(map(one_line, lines))


def as_html(found: Monitored) -> str:
    """The same with the slices, and those of the newest window."""
    about, read = sentences.whose(found)
    made = []
    for of, rows in _shown_rows(found):
        head, cells = table_of(found, rows, SHOWN)
        made.append(([f"{', '.join(found.by)} ({of})", *head], cells))
    said = [
        *found.provenance["general_flags"].values(),
        *(sentences.alerts(found) or ["no alerts"]),
        *sentences.silence(found),
    ]
    return html(about, [read, *said], *made)


def _shown_rows(found: Monitored) -> list[tuple[str, pl.DataFrame]]:
    """What is shown of slices: all the time, and the newest window."""
    shown = [("all responses" if found.windows is None else "the whole time", found.slices)]
    if found.newest:
        shown.append((f"{found.provenance['window']} from {found.newest[-1]:%Y-%m-%d %H:%M} UTC", found.now))
    return shown


def _rows(found: Monitored, rows: pl.DataFrame, of: str) -> list[Part]:
    head, lines = table_of(found, rows, SHOWN)
    more = len(rows) - len(lines)
    made = table([f"{', '.join(found.by)} ({of})", *head], lines)
    made.columns[-1].justify = "left"  # the flags
    return [made, *([f"... and {counted(more, 'more slice')}: --output has them all"] if more else [])]
