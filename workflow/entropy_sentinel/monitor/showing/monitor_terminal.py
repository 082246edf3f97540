"""Show a monitor's result on a terminal; the page repeats some of the sentences."""

import polars as pl
from rich.text import Text

from entropy_sentinel.core.printable import make_one_line
from entropy_sentinel.estimators.familiarity import NO_WORDS
from entropy_sentinel.formatting.text_format import counted, listed
from entropy_sentinel.monitor.alert import Alert
from entropy_sentinel.monitor.estimating.same_model import SameModelComparison
from entropy_sentinel.monitor.labelling.monitor_witnesses import LEAST_SHARE
from entropy_sentinel.monitor.labelling.witness_table import WitnessQuality
from entropy_sentinel.monitor.monitor_options import FROM_BOTH, FROM_JUDGE, FROM_LABELS, FROM_MEAN, FROM_OPINION
from entropy_sentinel.monitor.monitor_result import (
    LABELLED,
    SHOWN,
    Monitored,
    alert_line,
    names_of,
    shown_rows,
    silence,
    slice_name,
    table_of,
    whose,
    without_row,
)
from entropy_sentinel.monitor.reading.window_times import list_windows
from entropy_sentinel.monitor.showing.label_basis import model_mixture, unlabelled_draws, unlabelled_slices
from entropy_sentinel.monitor.showing.witness_lines import describe_witnesses
from entropy_sentinel.rendering.terminal_text import Part, table
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


def same_models(result: Monitored) -> list[str]:
    """A line about each model whose name counts as another's."""
    return [SameModelComparison.from_dict(about).describe() for about in result.provenance["same_models"]]


def intervals_from_prior(result: Monitored) -> list[str]:
    """A line about intervals that rest on an assumption, with the slices unless it is all of them."""
    rows = result.slices.filter(pl.col("basis") == PRIOR)
    if rows.is_empty():
        return []
    n_other = result.slices["basis"].drop_nulls().len() - len(rows)
    names = listed(names_of(result, rows), SHOWN, "; ") if n_other else "all slices"
    note = NOTES[PRIOR]
    return [f"{names}: {note[0].lower()}{note[1:]}"]


def untested(result: Monitored) -> list[str]:
    """A line about changes without q, which raise no alert however large they are."""
    least = max(result.provenance["min_responses"], 1)
    rows = result.now.filter(
        pl.col("change").is_not_null() & pl.col("change_q").is_null() & (pl.col("n_estimated") >= least)
    )
    if rows.is_empty():
        return []
    return [
        f"changes not tested (fewer than {least} responses in or after the reference), so they raise no "
        f"alert: {listed(names_of(result, rows), SHOWN, '; ')}"
    ]


def labels_of_a_part(result: Monitored) -> list[str]:
    """A line about labels that do not represent their slice."""
    if LABELLED not in result.slices.columns:
        return []
    unused = result.slices.filter(pl.col("n_labelled") > 0, pl.col("improved_accuracy").is_null())
    if unused.is_empty():
        return []
    names = listed(names_of(result, unused), SHOWN, "; ")
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


def labels_and_estimates(result: Monitored) -> list[str]:
    """A line about what the accuracy to use rests on, and notes about slices with labels."""
    if LABELLED not in result.now.columns or not result.has_estimates:
        return []
    kinds = result.now["rests_on"].unique().to_list()
    assumptions = [words for kind, words in _RESTS_ON.items() if kind in kinds]
    if not assumptions:
        return []
    rows = result.now.filter(pl.col("note").is_not_null()).head(SHOWN)
    slices: dict[str, list[str]] = {}
    for name, note in zip(names_of(result, rows), rows["note"], strict=True):
        slices.setdefault(note, []).append(name)
    notes = [f"{'; '.join(names)}: {note}" for note, names in slices.items()]
    return [" ".join(["the accuracy to use is in the column 'use'.", *assumptions]), *notes]


def witness_lines(result: Monitored) -> list[str]:
    """A line about how good each witness is by the labels, and one about what a label is worth with them."""
    lines = [WitnessQuality.from_dict(kept).line() for kept in result.provenance["judge"]]
    worth = result.provenance["label_worth"]
    if worth is not None and any(kept["used"] for kept in result.provenance["judge"]):
        others = "P(correct) and these witnesses" if result.has_estimates else "these witnesses"
        lines.append(f"with {others}, one label counts as {worth:.1f}")
    return lines


def pooled(result: Monitored) -> list[str]:
    """A line about pooling if any slice pools windows, else nothing."""
    if not (result.now["n_windows"] > 1).any():
        return []
    about = result.provenance
    return [
        f"if a slice has fewer than {about['min_responses']} responses in the newest {about['window']}, up to "
        f"{about['pool_windows']} {about['window']}s are pooled"
    ]


def without_traffic(result: Monitored) -> list[str]:
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
        f"{counted(len(missing), window)} without responses ({result.provenance['timezone']}): {listed(missing, SHOWN)}"
    ]


def absent(result: Monitored) -> list[str]:
    """A line with the slices that have no row for the newest window, because they have no responses in it."""
    if not result.newest:
        return []
    rest = without_row(result, result.now)
    if rest.is_empty():
        return []
    when = f"{result.provenance['window']} from {result.newest[-1]:%Y-%m-%d %H:%M}"
    return [f"no responses in the {when}: {listed(names_of(result, rest), SHOWN, '; ')}"]


def reasons(result: Monitored) -> dict[str, str]:
    """The reasons for each flag of the slices shown; slices with the same reason are named together."""
    slices: dict[tuple[str, str], list[str]] = {}  # by flag and reason
    for row in result.slices.head(SHOWN).iter_rows(named=True):
        name = slice_name(row[column] for column in result.by)
        for flag, reason, code in zip(row["flags"], row["reasons"], row["flag_codes"], strict=True):
            if code not in result.provenance["general_flag_codes"]:
                slices.setdefault((flag, reason), []).append(name)
    texts: dict[str, list[str]] = {}
    for (flag, reason), names in slices.items():
        texts.setdefault(flag, []).append(f"{', '.join(names)}: {reason}")
    return {flag: "; ".join(parts) for flag, parts in texts.items()}


def _beginning(reason: str) -> str:
    """The first parts of a long reason, such as those of a verdict, which is the same every night."""
    if len(reason) <= LONGEST_REASON:
        return reason
    beginning = reason[:LONGEST_REASON]
    whole_parts = beginning.rpartition("; ")[0]
    return f"{whole_parts or beginning}; ... (all reasons: --json, --page)"


def parts(result: Monitored) -> list[Part]:
    """The parts to print: estimator and input, slices, newest window, reasons for the flags, alerts."""
    shown: list[Part] = [*whose(result), *model_mixture(result)]
    for title, rows in shown_rows(result):
        shown += _table(result, rows, title)
    shown += [*without_traffic(result), *absent(result)]
    if result.newest:
        shown += pooled(result)
    for flag, reason in result.provenance["general_flags"].items():
        shown.append(f"{flag}: {_beginning(reason)}")
    if result.has_estimates and not result.provenance["recognises_unfamiliar"]:
        shown.append(NO_WORDS)
    shown += same_models(result)
    shown.extend(intervals_from_prior(result))
    shown += [*unlabelled_slices(result), *labels_of_a_part(result), *unlabelled_draws(result)]
    shown += labels_and_estimates(result)
    shown += [*witness_lines(result), *describe_witnesses(result)]
    shown += [f"{flag}: {reason}" for flag, reason in reasons(result).items()]
    shown += [*untested(result), *map(_coloured, result.alerts), *silence(result)]
    return [make_one_line(part) if isinstance(part, str) else part for part in shown]


def _coloured(alert: Alert) -> Text:
    """The line of an alert: red if it is to be reported, green if it is over."""
    style = "bold red" if alert.to_report else ""
    if alert.is_over:
        style = "green"
    return Text(make_one_line(alert_line(alert)), style=style)


def _table(result: Monitored, rows: pl.DataFrame, title: str) -> list[Part]:
    """A table of slices, and a line about those that it leaves out."""
    headings, lines = table_of(result, rows, SHOWN)
    slices = table([f"{', '.join(result.by)} ({title})", *headings], lines)
    if headings[-1] == "flags":
        slices.columns[-1].justify = "left"
    n_more = len(rows) - len(lines)
    return [slices, f"... and {counted(n_more, 'more slice')}: use --output to get all"] if n_more else [slices]
