"""The result of a monitor, its table of slices, and the sentences at the start of every output."""

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.core.printable import make_one_line
from entropy_sentinel.formatting.text_format import (
    format_count,
    format_html,
    format_list,
    format_number,
    format_rounded,
)
from entropy_sentinel.monitor.alert import Alert, AlertStatus
from entropy_sentinel.monitor.alert_codes import Flag
from entropy_sentinel.monitor.alert_history import AlertHistory
from entropy_sentinel.monitor.episodes import Episode
from entropy_sentinel.monitor.event_calendar import describe_events, name_events
from entropy_sentinel.monitor.monitor_options import (
    FROM_ESTIMATE,
    FROM_JUDGE,
    FROM_MEAN,
    FROM_OPINION,
    NOT_VALIDATED,
)
from entropy_sentinel.monitor.reading.problem_collection import Problems
from entropy_sentinel.monitor.reading.window_times import shift_window
from entropy_sentinel.monitor.slice_columns import STATISTICS
from entropy_sentinel.rendering.token_colours import Token

# Largest number of slices in a sentence or table (files contain all), and of domains in a sentence.
MOST_SLICES, MOST_NAMED = 20, 4
# A column that rows have only if labels are given.
LABEL_COLUMN = "labelled_accuracy"
Row = Mapping[str, Any]
# A column of the table: its heading, and its text for a row.
Column = tuple[str, Callable[[Row], str]]


@dataclass(frozen=True)
class LoggedResponse:
    """A response from its log; `p` is the estimator's prediction, and `tokens` are the tokens shown on the page."""

    item_id: str
    sample: int
    p: float
    place: str
    question: str | None
    text: str
    n_tokens: int
    finish_reason: str
    tokens: tuple[Token, ...]

    @property
    def left_out(self) -> int:
        """The number of tokens left out between the first and the last tokens on the page."""
        return self.n_tokens - len(self.tokens)

    @property
    def has_token_texts(self) -> bool:
        """Whether the tokens have texts."""
        return all(token.text is not None for token in self.tokens)


@dataclass(frozen=True)
class AlertResponses:
    """The least certain responses behind an alert of a slice and window; `note` says why some are missing."""

    slice: dict[str, str | None]
    window: datetime | None
    responses: tuple[LoggedResponse, ...]
    note: str

    def is_of(self, alert: Alert) -> bool:
        """Whether these are the responses behind an alert."""
        window = None if alert.window is None else alert.window.window
        return alert.has_responses and (alert.slice, window) == (self.slice, self.window)


@dataclass(frozen=True, repr=False)
class Monitored:
    """The rows, the alerts, and their provenance.

    Rows have the slice columns (text, null if a response has no value) and the columns that the catalogue
    (`monitor/slice_columns.py`) explains. With windows they also have `window` (its start, null for responses without a
    time), and with labels the columns of the labelled accuracy.

    Attributes:
        by: The slice columns.
        slices: A row per slice over the whole time, sorted by rank, the most expected errors first.
        windows: A row per slice and window, sorted by window and rank; null without windows.
        alerts: The alerts; `alert["message"]` reads one by the keys of its JSON.
        provenance: Where the rows come from; JSON-serialisable.
        problems: Unusable parts of the given logs, read now or earlier.
        newest: The windows that alerts are about.
        recent: The rows that alerts are about: rows of the windows `newest`, with earlier windows pooled if responses
            are too few; null without windows. `window_from` is the first pooled window, and `n_windows` counts the
            windows from there to `window`.
        last_usable: The last window of each slice with enough responses after pooling, or null, in the order of
            `slices`.
        behind: Responses behind the alerts, if requested.
        drops: The drops of all slices after the reference, those that are over included.
        histories: The reported alerts that `record_alerts` writes, by state file.
        missing: The windows after the newest response, in which responses were expected by now.
        progress: What `record_alerts` writes about the newest responses, by state file.
    """

    by: tuple[str, ...]
    slices: pl.DataFrame
    windows: pl.DataFrame | None
    alerts: list[Alert]
    provenance: dict[str, Any]
    problems: Problems
    newest: list[datetime] = field(default_factory=list)
    recent: pl.DataFrame | None = None
    last_usable: pl.DataFrame | None = None
    behind: list[AlertResponses] = field(default_factory=list)
    drops: list[Episode] = field(default_factory=list)
    histories: dict[Path, AlertHistory] = field(default_factory=dict)
    missing: list[datetime] = field(default_factory=list)
    progress: dict[Path, list[str | int]] = field(default_factory=dict)

    @property
    def frame(self) -> pl.DataFrame:
        """The rows by slice and window; without windows, the rows by slice."""
        return self.slices if self.windows is None else self.windows

    @property
    def now(self) -> pl.DataFrame:
        """The rows of the newest window; without windows, the rows by slice."""
        return self.slices if self.recent is None else self.recent.filter(pl.col("window").is_in(self.newest[-1:]))

    @property
    def has_estimates(self) -> bool:
        """Whether an estimator was used; without one, accuracies rest on labels."""
        return bool(self.provenance["estimators"])

    @property
    def accuracy_columns(self) -> tuple[str, str, str]:
        """The columns of the accuracy and its limits that tables and pictures rank by: estimates, or labels."""
        if self.has_estimates:
            return "estimated_accuracy", "lower", "upper"
        return "use_accuracy", "use_lower", "use_upper"

    @property
    def has_no_accuracy(self) -> bool:
        """Whether no slice has an accuracy without an estimator, because no label belongs to a response."""
        return not self.has_estimates and self.slices["use_accuracy"].null_count() == len(self.slices)

    @property
    def silent(self) -> bool:
        """Whether no slice of the newest window has enough responses, or no slice has an accuracy at all."""
        if self.has_no_accuracy:
            return True
        least = max(self.provenance["min_responses"], 1)
        return not (self.now["n_estimated"] >= least).any()

    @property
    def calling(self) -> bool:
        """Whether an alert that is not over is to be told now."""
        return any(alert.to_report and not alert.is_over for alert in self.alerts)

    @property
    def incomplete(self) -> bool:
        """Whether some of the logs could not be used."""
        return bool(self.problems.counts)

    def __repr__(self) -> str:
        about, read = describe_sources(self)
        lines = [
            about,
            f"{read}; {format_count(len(self.slices), 'slice')}",
            *(list_alert_lines(self) or ["no alerts"]),
            *describe_silence(self),
        ]
        return "\n  ".join(map(make_one_line, lines))

    def _repr_html_(self) -> str:
        about, read = describe_sources(self)
        tables = []
        for title, rows in reversed(list_tables(self)):  # the alerts are about the newest window
            headings, cells = make_table(self, rows, MOST_SLICES)
            tables.append(([f"{', '.join(self.by)} ({title})", *headings], cells))
        general = self.provenance["general_flags"].values()
        return format_html(
            about, [read, *general, *(list_alert_lines(self) or ["no alerts"]), *describe_silence(self)], *tables
        )


def make_table(result: Monitored, rows: pl.DataFrame, most: int) -> tuple[list[str], list[list[str]]]:
    """The headings of a table of slices, without that of the slice; and the texts of its first `most` rows.

    A row begins with the name of the slice.
    """
    headings, formatters = zip(*_select_columns(result, rows), strict=True)
    lines = []
    for row in rows.head(most).iter_rows(named=True):
        name = name_slice(row[column] for column in result.by)
        lines.append([name, *(format_cell(row) for format_cell in formatters)])
    return list(headings), lines


def _select_columns(result: Monitored, rows: pl.DataFrame) -> Iterator[Column]:
    """Yield the heading of each column after the slice's name, and a function that makes its text for a row.

    Flags of all slices are omitted.
    """
    about = result.provenance
    heading = f"{about['level']:.0%} interval" if len(rows) else "interval"
    yield "responses", partial(_format_responses, about["window"])
    if result.has_estimates:
        yield "estimated", lambda row: _bracket_unfamiliar(row, format_number(row["estimated_accuracy"]))
        yield heading, lambda row: _bracket_unfamiliar(row, _format_interval(row, "", ".3f"))
        yield "equals n labels", _format_worth
    else:
        yield "labels say (n)", _format_labels
        if about["judge"]:
            yield "judged", lambda row: f"{row['n_judged']:,}" if row["n_labelled"] else "-"
        yield "accuracy", lambda row: format_number(row["use_accuracy"])
        yield heading, lambda row: _format_interval(row, "use_", ".3f")
        if about["witness_estimates"]:
            yield "rests on", _format_basis
    yield "errors expected", lambda row: _bracket_unfamiliar(row, _format_errors(row))
    # With windows, a change is that of the newest one, so it stands in that window's table.
    if about["reference"] is not None and ("window" in rows.columns or result.windows is None):
        yield "change", lambda row: format_number(row["change"], "+.3f")
        yield "q", _format_q
    for statistic in STATISTICS.values():
        if statistic.heading:
            yield statistic.heading, partial(_format_number, statistic.name, statistic.form)
    for name in about["numbers"]:
        for percentile in ("p50", "p95"):
            yield f"{name.removeprefix('metadata.')} {percentile}", partial(_format_quantile, f"{name}_{percentile}")
    if LABEL_COLUMN in rows.columns and result.has_estimates:
        if (rows["n_labelled"] > 0).any():
            yield "labels say (n)", _format_labels
        yield "use", lambda row: _bracket_unlabelled(row, format_number(row["use_accuracy"]))
        yield "interval", lambda row: _bracket_unlabelled(row, _format_interval(row, "use_", ".3f"))
        yield "rests on", _format_basis
    if "true_accuracy" in rows.columns:
        yield "labels", lambda row: f"{row['n_labelled']:,}"
        yield "estimated on them", lambda row: format_number(row["estimated_on_labelled"])
        yield "true", lambda row: format_number(row["true_accuracy"])
        yield "error", lambda row: format_number(row["error"], "+.3f")
    slice_codes = rows["flag_codes"].list.set_difference(about["general_flag_codes"])
    if slice_codes.list.len().gt(0).any():
        yield "flags", partial(_format_flags, about["general_flag_codes"])


def _format_responses(window: str, row: Row) -> str:
    """The number of responses, and in how many windows if some are pooled, or if the newest has none."""
    pooled = f" in {row['n_windows']} {window}s" if row.get("n_windows", 1) > 1 else ""
    if row.get("window_to") is not None and row["window_to"] < row["window"]:
        form = "%Y-%m-%d %H:%M" if window == "hour" else "%Y-%m-%d"
        pooled += f" (newest {row['window_to'].strftime(form)})"
    return f"{row['n_estimated']:,}{pooled}"


def _format_worth(row: Row) -> str:
    """How many labels tell as much as the estimate, with a decimal only if they are few."""
    worth = row["estimate_worth"]
    return format_number(worth, ".0f" if worth is not None and worth >= 2 else ".1f")


def _format_q(row: Row) -> str:
    q = row["change_q"]
    return "<0.001" if q is not None and q < 0.001 else format_number(q, ".2g")


def _format_number(column: str, form: str, row: Row) -> str:
    return format_number(row[column], form)


def _format_quantile(column: str, row: Row) -> str:
    return format_rounded(row[column])


def _format_labels(row: Row) -> str:
    """The accuracy by the labels alone, with their number."""
    return f"{format_number(row['labelled_accuracy'])} ({row['n_labelled']:,})" if row["n_labelled"] else "-"


def _format_basis(row: Row) -> str:
    """What an accuracy rests on; a witness is named, with the number of responses about which it was asked."""
    if row["rests_on"] == FROM_MEAN:
        return f"mean of estimate and {row['witness']} ({row['n_asked']:,})"
    if row["rests_on"] in (FROM_OPINION, FROM_JUDGE):
        return f"{row['witness']} ({row['n_asked']:,})"
    return row["rests_on"] or "-"


def _format_flags(general: Container[str], row: Row) -> str:
    """The words of a row's flags, without the `general` codes, which all slices have."""
    pairs = zip(row["flags"], row["flag_codes"], strict=True)
    return ", ".join(flag for flag, code in pairs if code not in general)


def _format_interval(row: Row, prefix: str, form: str) -> str:
    """The interval in the columns PREFIXlower and PREFIXupper, each limit in the format `form`."""
    lower, upper = row[f"{prefix}lower"], row[f"{prefix}upper"]
    return "-" if lower is None else f"{lower:{form}}-{upper:{form}}"


def is_unfamiliar(row: Row) -> bool:
    """Whether a row's slice is unlike all labelled domains, so that its estimate says little."""
    return Flag.UNFAMILIAR in row["flag_codes"]


def _bracket_unfamiliar(row: Row, text: str) -> str:
    """A number of a slice in brackets if the slice is unlike all labelled domains."""
    return f"({text})" if is_unfamiliar(row) and text != "-" else text


def _bracket_unlabelled(row: Row, text: str) -> str:
    """A number of the accuracy to use in brackets if it is an unfamiliar slice's estimate, without labels."""
    return _bracket_unfamiliar(row, text) if row["rests_on"] == FROM_ESTIMATE else text


def _format_errors(row: Row) -> str:
    if row["expected_errors"] is None:
        return "-"
    return f"{row['expected_errors']:,.0f} ({_format_interval(row, 'expected_errors_', ',.0f')})"


def name_slice(values: Iterable[Any]) -> str:
    """A slice's name: its values, with - for a missing value.

    A value that could be mistaken for another is in quotes, as in JSON: an empty one, a dash, one with white space at
    an end, and the quoted form of such a value.
    """
    return ", ".join("-" if value is None else _quote_value(str(value)) for value in values)


def _quote_value(value: str) -> str:
    """A value of a slice column as one line, in quotes if it could be mistaken for another."""
    return make_one_line(json.dumps(value, ensure_ascii=False) if _needs_quotes(value) else value)


def _needs_quotes(value: str) -> bool:
    """Whether a value could be mistaken for another: see `name_slice`."""
    if value in ("", "-") or value != value.strip():
        return True
    try:
        unquoted = json.loads(value) if value.startswith('"') else None  # the quoted form of another value?
    except ValueError:
        return False
    return isinstance(unquoted, str) and _needs_quotes(unquoted)


def list_tables(result: Monitored) -> list[tuple[str, pl.DataFrame]]:
    """The tables to show, with their titles: the whole time, and the newest window."""
    if not result.newest:
        return [("all responses" if result.windows is None else "the whole time", result.slices)]
    window, zone = result.provenance["window"], result.provenance["timezone"]
    newest = (
        f"{window} from {result.newest[-1]:%Y-%m-%d %H:%M} {zone}{describe_window_events(result, result.newest[-1])}"
    )
    return [("the whole time", result.slices), (f"{newest}{describe_missing_windows(result)}", result.now)]


def describe_window_events(result: Monitored, window: datetime) -> str:
    """A note that names the events in a window, if there are any."""
    about = result.provenance
    texts = name_events(about.get("events", ()), window, shift_window(window, 1, about["window"]))
    return f", event: {format_list(texts, MOST_NAMED)}" if texts else ""


def describe_missing_windows(result: Monitored) -> str:
    """A note if the newest window, or later ones, lack responses, so that its numbers are old; else nothing."""
    later = [window for window in result.missing if window > result.newest[-1]]
    if later:
        return f"; NO RESPONSES in {format_count(len(later), result.provenance['window'])} since"
    return "; HARDLY ANY RESPONSES" if result.missing else ""


def describe_sources(result: Monitored) -> tuple[str, str]:
    """Two lines: which estimators were used, or that accuracies rest on labels; and how much was read."""
    files, responses = result.provenance["files"], result.provenance["responses"]
    read = f"{format_count(responses['in_all'], 'response')} in {format_count(files['in_all'], 'file')}"
    if files["read_now"] != files["in_all"]:
        read += f"; read now: {files['read_now']:,}"
    return "; ".join(map(_describe_estimator, result.provenance["estimators"])) or describe_label_basis(result), read


def describe_label_basis(result: Monitored) -> str:
    """What accuracies rest on without an estimator."""
    basis = []
    if n_labelled := int(result.slices["n_labelled"].sum()):
        basis.append(format_count(n_labelled, "label"))
    for kept in result.provenance["judge"]:
        if kept["used"]:
            basis.append(f"{kept['name']} ({format_count(kept['n_seen'], 'response')}), corrected by labels")
    for name, n in result.slices["witness"].drop_nulls().value_counts(sort=True).iter_rows():
        basis.append(f"{name}, for {format_count(n, 'slice')} with hardly any labels")
    return f"no estimator: accuracies rest on {'; '.join(basis) or 'nothing yet'}"


def _describe_estimator(about: Mapping[str, Any]) -> str:
    """An estimator of the provenance: its name, model, domains and verdicts."""
    domains = about["domains"] or ["?"]
    names = ", ".join(domains) if len(domains) <= MOST_NAMED else f"{len(domains)} domains"
    return f"{about['name']} of {about['model']}, fitted on {names}: {format_verdicts(about)}"


def format_verdicts(estimator: Mapping[str, Any]) -> str:
    """The verdicts on an estimator of `Monitored.provenance`."""
    return "; ".join(estimator["verdicts"]) or NOT_VALIDATED


def select_absent(result: Monitored, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of the slices that have no row in `rows`, such as those of a window."""
    by = list(result.by)
    return result.slices.join(rows.select(by), on=by, how="anti", nulls_equal=True, maintain_order="left")


def name_slices(result: Monitored, rows: pl.DataFrame) -> list[str]:
    """The names of the slices of rows."""
    return [name_slice(row) for row in rows.select(result.by).iter_rows()]


def describe_silence(result: Monitored) -> list[str]:
    """A line that says so if no slice has enough responses, else nothing."""
    if not result.silent:
        return []
    if result.has_no_accuracy:
        return ["no slice has an accuracy: the labels do not represent any"]
    about = result.provenance
    where = f" in the last {about['pool_windows']} {about['window']}s" if result.newest else ""
    if where and about["reference"] and result.newest[-1] >= datetime.fromisoformat(about["reference"][1]):
        where += " after the reference"
    least = f"at least {about['min_responses']}{' with an estimate' if result.has_estimates else ''}"
    return [f"no slice has enough responses ({least}){where}"]


def list_alert_lines(result: Monitored) -> list[str]:
    """A line for each alert."""
    return [format_alert(alert) for alert in result.alerts]


def format_alert(alert: Alert) -> str:
    """An alert as a line."""
    if alert.subject is not None:
        word = f"OVER {alert.subject.name}" if alert.is_over else "NOT WATCHED"
        return f"{word}: {describe_alert(alert)}"
    return f"{'OVER' if alert.is_over else 'ALERT'} {name_slice(alert.slice.values())}: {describe_alert(alert)}"


def describe_alert(alert: Alert) -> str:
    """The message of an alert with its status and the events that it began with."""
    began = describe_events(alert)
    return f"{alert.message}{format_status(alert)}{'; ' if began else ''}{began}"


def format_status(alert: Alert) -> str:
    """The status of an alert in brackets, with its dates; empty for a new alert without windows."""
    words = [] if alert.is_over else [str(alert.status)]
    for name, when in (("since", alert.since), ("until", alert.until)):
        if when is not None:
            form = "%Y-%m-%d" if (when.hour, when.minute) == (0, 0) else "%Y-%m-%d %H:%M"
            words.append(f"{name} {when:{form}}")
    if alert.acknowledged:
        words.append("acknowledged")
    return "" if words == [AlertStatus.NEW] else f" ({', '.join(words)})"
