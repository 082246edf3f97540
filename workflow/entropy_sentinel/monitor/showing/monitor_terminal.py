"""Show a monitor's result on a terminal; the page repeats some of the sentences."""

import polars as pl
from rich.text import Text

from entropy_sentinel.core.printable import make_one_line
from entropy_sentinel.estimators.familiarity import NO_WORDS
from entropy_sentinel.formatting.text_format import format_count, format_list
from entropy_sentinel.monitor.alert import Alert
from entropy_sentinel.monitor.estimating.same_model import SameModelComparison
from entropy_sentinel.monitor.labelling.monitor_witnesses import LEAST_SHARE
from entropy_sentinel.monitor.labelling.witness_table import WitnessQuality
from entropy_sentinel.monitor.monitor_options import FROM_BOTH, FROM_JUDGE, FROM_LABELS, FROM_MEAN, FROM_OPINION
from entropy_sentinel.monitor.monitor_result import (
    LABEL_COLUMN,
    MOST_SLICES,
    Monitored,
    describe_silence,
    describe_sources,
    format_alert,
    list_tables,
    make_table,
    name_slice,
    name_slices,
    select_absent,
)
from entropy_sentinel.monitor.reading.window_times import list_windows
from entropy_sentinel.monitor.showing.label_basis import (
    describe_models,
    describe_unlabelled_draws,
    list_unlabelled_slices,
)
from entropy_sentinel.monitor.showing.witness_lines import describe_witnesses
from entropy_sentinel.rendering.terminal_text import Part, format_terminal_table
from entropy_sentinel.statistics.slice_intervals import NOTES, PRIOR

# Longest reason of a flag of all slices, in characters; files and the page have all of it.
LONGEST_REASON = 200

# What an accuracy with labels assumes.
_RESTS_ON = {
    FROM_BOTH: "If it rests on both, it combines estimate and labels: it assumes that the slice resembles the labelled "
    "domains as much as they resemble each other, and that the weights match how labels were drawn.",
    FROM_LABELS: "If it rests on the labels, it holds even if the estimator is wrong.",
    FROM_OPINION: "If it rests on a second opinion, it is the share of the asked answers with which that model agrees; "
    "the interval allows for its errors on labelled slices.",
    FROM_JUDGE: "If it rests on a judge, its verdicts are calibrated by the labels of other slices.",
    FROM_MEAN: "If it rests on a mean, the estimate has half of the weight, because its verdict is between usable and "
    "'do not use'.",
}


def describe_same_models(result: Monitored) -> list[str]:
    """A line about each model whose name counts as another's."""
    return [SameModelComparison.from_dict(about).describe() for about in result.provenance["same_models"]]


def intervals_from_prior(result: Monitored) -> list[str]:
    """A line about intervals that rest on an assumption, with the slices unless it is all of them."""
    rows = result.slices.filter(pl.col("basis") == PRIOR)
    if rows.is_empty():
        return []
    n_other = result.slices["basis"].drop_nulls().len() - len(rows)
    names = format_list(name_slices(result, rows), MOST_SLICES, "; ") if n_other else "all slices"
    note = NOTES[PRIOR]
    return [f"{names}: {note[0].lower()}{note[1:]}"]


def list_untested(result: Monitored) -> list[str]:
    """A line about changes without q, which raise no alert however large they are."""
    least = max(result.provenance["min_responses"], 1)
    rows = result.now.filter(
        pl.col("change").is_not_null() & pl.col("change_q").is_null() & (pl.col("n_estimated") >= least)
    )
    if rows.is_empty():
        return []
    return [
        f"changes not tested (fewer than {least} responses in or after the reference), so they raise no "
        f"alert: {format_list(name_slices(result, rows), MOST_SLICES, '; ')}"
    ]


def describe_partial_labels(result: Monitored) -> list[str]:
    """A line about labels that do not represent their slice."""
    if LABEL_COLUMN not in result.slices.columns:
        return []
    unused = result.slices.filter(pl.col("n_labelled") > 0, pl.col("improved_accuracy").is_null())
    if unused.is_empty():
        return []
    names = format_list(name_slices(result, unused), MOST_SLICES, "; ")
    if drawn := result.provenance.get("labels_drawn_by"):
        by = " ".join(f"--by {name}" for name in result.provenance["reading"]["by"])
        return [
            f"labels ignored for {names}: they were drawn by {', '.join(drawn)} and do not cover the whole slice, or "
            f"not its whole time. Draw them with `sample{f' {by}' if by else ''}`"
        ]
    if not result.has_estimates:
        return [
            f"no accuracy for {names}: the labels represent less than {LEAST_SHARE:.0%} of the responses. They are of "
            "some weeks only (label some of the others; --window shows the weeks with labels), or drawn responses "
            "have no label yet"
        ]
    return [f"labels ignored for {names}: they do not cover the whole slice"]


def describe_chosen_accuracies(result: Monitored) -> list[str]:
    """A line about what the accuracy to use rests on, and notes about slices with labels."""
    if LABEL_COLUMN not in result.now.columns or not result.has_estimates:
        return []
    kinds = result.now["rests_on"].unique().to_list()
    assumptions = [words for kind, words in _RESTS_ON.items() if kind in kinds]
    if not assumptions:
        return []
    rows = result.now.filter(pl.col("note").is_not_null()).head(MOST_SLICES)
    slices: dict[str, list[str]] = {}
    for name, note in zip(name_slices(result, rows), rows["note"], strict=True):
        slices.setdefault(note, []).append(name)
    notes = [f"{'; '.join(names)}: {note}" for note, names in slices.items()]
    return [" ".join(["the accuracy to use is in the column 'use'.", *assumptions]), *notes]


def describe_witness_quality(result: Monitored) -> list[str]:
    """A line about how good each witness (judge or second model) is by the labels, and one about all together."""
    lines = [WitnessQuality.from_dict(kept).line() for kept in result.provenance["judge"]]
    worth = result.provenance["label_worth"]
    if worth is not None and any(kept["used"] for kept in result.provenance["judge"]):
        alternatives = "P(correct) and these witnesses" if result.has_estimates else "these witnesses"
        lines.append(f"with {alternatives}, one label counts as {worth:.1f}")
    return lines


def describe_pooled_windows(result: Monitored) -> list[str]:
    """A line about pooling if any slice pools windows, else nothing."""
    if not (result.now["n_windows"] > 1).any():
        return []
    about = result.provenance
    return [
        f"if a slice has fewer than {about['min_responses']} responses in the newest {about['window']}, up to "
        f"{about['pool_windows']} {about['window']}s are pooled"
    ]


def list_empty_windows(result: Monitored) -> list[str]:
    """A line that lists the windows without responses between the first and the newest window."""
    if result.windows is None or not result.newest:
        return []
    window = result.provenance["window"]
    form = "%Y-%m-%d %H:%M" if window == "hour" else "%Y-%m-%d"
    with_responses = result.windows["window"].drop_nulls().unique().sort()
    every = list_windows(with_responses[0], result.newest[-1], window)
    without = every.filter(~every.is_in(with_responses.implode()))
    missing = without.dt.strftime(form).to_list()
    if not missing:
        return []
    return [
        f"{format_count(len(missing), window)} without responses ({result.provenance['timezone']}): "
        f"{format_list(missing, MOST_SLICES)}"
    ]


def list_absent_slices(result: Monitored) -> list[str]:
    """A line with the slices that have no row for the newest window, because they have no responses in it."""
    if not result.newest:
        return []
    rest = select_absent(result, result.now)
    if rest.is_empty():
        return []
    when = f"{result.provenance['window']} from {result.newest[-1]:%Y-%m-%d %H:%M}"
    return [f"no responses in the {when}: {format_list(name_slices(result, rest), MOST_SLICES, '; ')}"]


def collect_reasons(result: Monitored) -> dict[str, str]:
    """The reasons for each flag of the slices shown; slices with the same reason are named together."""
    slices: dict[tuple[str, str], list[str]] = {}  # by flag and reason
    for row in result.slices.head(MOST_SLICES).iter_rows(named=True):
        name = name_slice(row[column] for column in result.by)
        for flag, reason, code in zip(row["flags"], row["reasons"], row["flag_codes"], strict=True):
            if code not in result.provenance["general_flag_codes"]:
                slices.setdefault((flag, reason), []).append(name)
    texts: dict[str, list[str]] = {}
    for (flag, reason), names in slices.items():
        texts.setdefault(flag, []).append(f"{', '.join(names)}: {reason}")
    return {flag: "; ".join(parts) for flag, parts in texts.items()}


def _shorten_reason(reason: str) -> str:
    """The first parts of a long reason, such as those of a verdict, which is the same every night."""
    if len(reason) <= LONGEST_REASON:
        return reason
    beginning = reason[:LONGEST_REASON]
    whole_parts = beginning.rpartition("; ")[0]
    return f"{whole_parts or beginning}; ... (all reasons: --json, --page)"


def make_parts(result: Monitored) -> list[Part]:
    """The parts to print: estimator and input, slices, newest window, reasons for the flags, alerts."""
    printed: list[Part] = [*describe_sources(result), *describe_models(result)]
    for title, rows in list_tables(result):
        printed += _make_table(result, rows, title)
    printed += [*list_empty_windows(result), *list_absent_slices(result)]
    if result.newest:
        printed += describe_pooled_windows(result)
    for flag, reason in result.provenance["general_flags"].items():
        printed.append(f"{flag}: {_shorten_reason(reason)}")
    if result.has_estimates and not result.provenance["recognises_unfamiliar"]:
        printed.append(NO_WORDS)
    printed += describe_same_models(result)
    printed.extend(intervals_from_prior(result))
    printed += [*list_unlabelled_slices(result), *describe_partial_labels(result), *describe_unlabelled_draws(result)]
    printed += describe_chosen_accuracies(result)
    printed += [*describe_witness_quality(result), *describe_witnesses(result)]
    printed += [f"{flag}: {reason}" for flag, reason in collect_reasons(result).items()]
    printed += [*list_untested(result), *map(_colour_alert, result.alerts), *describe_silence(result)]
    return [make_one_line(part) if isinstance(part, str) else part for part in printed]


def _colour_alert(alert: Alert) -> Text:
    """The line of an alert: red if it is to be reported, green if it is over."""
    style = "bold red" if alert.to_report else ""
    if alert.is_over:
        style = "green"
    return Text(make_one_line(format_alert(alert)), style=style)


def _make_table(result: Monitored, rows: pl.DataFrame, title: str) -> list[Part]:
    """A table of slices, and a line about those that it leaves out."""
    headings, lines = make_table(result, rows, MOST_SLICES)
    slices = format_terminal_table([f"{', '.join(result.by)} ({title})", *headings], lines)
    if headings[-1] == "flags":
        slices.columns[-1].justify = "left"
    n_more = len(rows) - len(lines)
    return [slices, f"... and {format_count(n_more, 'more slice')}: use --output to get all"] if n_more else [slices]
