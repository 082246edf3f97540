"""The columns of the monitor's rows, in order, with their meanings and units.

A `Statistic` is computed for each response and summed over files and windows. Rows, files, tables, metrics and states
read the catalogue. The statistics of extensions follow the share of truncated responses.
"""

import re
from collections import Counter

import polars as pl

from entropy_sentinel.core import extensions
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.registry_entries import load_entries
from entropy_sentinel.monitor.column_declaration import SliceColumn, Statistic

# Columns that reading adds for the statistics.
READING_COLUMNS = ("excluded", "overridden", "same_model")
# The last columns of rows: the words, the reason and the code of each flag, in the same order.
FLAG_COLUMNS = ("flags", "reasons", "flag_codes")
# Sums with several numbers per slice: these, the statistics' sums and the time are the columns of a state.
LISTS = ("values", "products", "histogram", "words", "numbers")
_STATISTICS = load_entries("statistics", Statistic)
# Those with a place of their own among the columns.
_BUILT_IN = (
    *("n_responses", "n_estimated", "n_overridden", "n_same_model", "cut_off_share"),
    *("n_questions", "ambiguous_share"),
)
_EXTENSION_STATISTICS = [statistic for name, statistic in _STATISTICS.items() if name not in _BUILT_IN]

_COLUMNS: tuple[SliceColumn, ...] = (
    SliceColumn("window", "Start of the window; null for responses without a time.", "time"),
    SliceColumn("window_from", "Start of the first pooled window.", "time"),
    SliceColumn("window_to", "Start of the newest window with an estimated response.", "time"),
    SliceColumn("n_windows", "Number of windows that the slice's numbers cover.", "windows", "pooled_windows"),
    _STATISTICS["n_responses"],
    _STATISTICS["n_estimated"],
    SliceColumn("n_excluded", "Responses that could not be estimated.", "responses", "excluded_responses"),
    SliceColumn(
        "n_effective",
        "Number of independent responses that tell as much as the estimated ones; fewer if questions repeat or "
        "responses depend on each other.",
        "responses",
        "effective_responses",
    ),
    _STATISTICS["n_overridden"],
    _STATISTICS["n_same_model"],
    _STATISTICS["cut_off_share"],
    *_EXTENSION_STATISTICS,
    _STATISTICS["n_questions"],
    _STATISTICS["ambiguous_share"],
    SliceColumn("ambiguous_lower", "Lower 95 % limit of ambiguous_share.", "1", "ambiguous_lower"),
    SliceColumn("ambiguous_upper", "Upper 95 % limit of ambiguous_share.", "1", "ambiguous_upper"),
    SliceColumn("estimated_accuracy", "Estimated share of correct responses.", "1", "estimated_accuracy"),
    SliceColumn("lower", "Lower limit of the interval for the accuracy.", "1", "accuracy_lower"),
    SliceColumn("upper", "Upper limit of the interval for the accuracy.", "1", "accuracy_upper"),
    SliceColumn("level", "Level of the intervals.", "1"),
    SliceColumn("basis", "Basis of the interval: predictive, assumed (--same-model) or prior.", ""),
    SliceColumn(
        "conformal_lower", "Lower limit from the validation errors only; null if the level needs more domains.", "1"
    ),
    SliceColumn(
        "conformal_upper", "Upper limit from the validation errors only; null if the level needs more domains.", "1"
    ),
    SliceColumn(
        "estimate_worth",
        "Number of labels that tell as much about the accuracy as the estimate does.",
        "labels",
        "estimate_worth_labels",
    ),
    SliceColumn("expected_errors", "Expected number of incorrect responses.", "responses", "expected_errors"),
    SliceColumn("expected_errors_lower", "Expected errors at the upper limit of the accuracy.", "responses"),
    SliceColumn("expected_errors_upper", "Expected errors at the lower limit of the accuracy.", "responses"),
    SliceColumn("change", "Change of the estimated accuracy since the reference.", "1", "change"),
    SliceColumn("change_p", "Probability of at least this change by chance.", "1"),
    SliceColumn(
        "change_q",
        "Smallest false discovery rate at which the change is significant (Benjamini-Hochberg).",
        "1",
        "change_q",
    ),
    SliceColumn("n_labelled", "Responses with a label.", "responses", "labelled_responses"),
    SliceColumn("labelled_accuracy", "Weighted accuracy from the labels only.", "1", "labelled_accuracy"),
    SliceColumn("improved_accuracy", "Accuracy from labels and predictions together.", "1"),
    SliceColumn("improved_lower", "Lower limit of improved_accuracy.", "1"),
    SliceColumn("improved_upper", "Upper limit of improved_accuracy.", "1"),
    SliceColumn("labels_worth", "Number of labels that give the same precision without predictions.", "labels"),
    SliceColumn(
        "n_judged", "Responses that a judge or another model has seen (`--judged`).", "responses", "judged_responses"
    ),
    SliceColumn("last_labelled", "Start of the newest window (day without windows) with a label.", "time"),
    SliceColumn("use_accuracy", "The accuracy to use, from what is known.", "1", "use_accuracy"),
    SliceColumn("use_lower", "Lower limit of use_accuracy.", "1", "use_accuracy_lower"),
    SliceColumn("use_upper", "Upper limit of use_accuracy.", "1", "use_accuracy_upper"),
    SliceColumn(
        "rests_on",
        "What that accuracy rests on: estimate, labels, both; opinion, another model's answers; judge, a calibrated "
        "judge; mean, of the estimate and one of these.",
        "",
    ),
    SliceColumn("note", "Note about that accuracy; null if there is none.", ""),
    SliceColumn(
        "n_asked",
        "Responses about which a second opinion or a judge was asked (`--judged`).",
        "responses",
        "asked_responses",
    ),
    SliceColumn("witness", "The model whose opinion or verdict that accuracy rests on; null if on none.", ""),
    SliceColumn("rank", "Rank by expected errors (within a window); 1 for the most.", ""),
    SliceColumn("flags", "Warnings about the numbers.", ""),
    SliceColumn("reasons", "The reason for each flag.", ""),
    SliceColumn("flag_codes", "The stable code of each flag, such as ES101; its words may change.", ""),
    SliceColumn("note_codes", "The stable codes of the note, such as ES401.", ""),
)
# Columns that `estimate` adds after `n_labelled` if it gets labels.
COMPARISON_COLUMNS: dict[str, SliceColumn] = {
    column.name: column
    for column in (
        SliceColumn("estimated_on_labelled", "Estimated accuracy of the responses with a label.", "1"),
        SliceColumn("true_accuracy", "Share of correct responses among those with a label.", "1"),
        SliceColumn("error", "estimated_on_labelled minus true_accuracy.", "1"),
    )
}


def _check_columns() -> dict[str, SliceColumn]:
    """The columns by name; raises ConfigError for a statistic with an unusable name or denominator."""
    used_names = {*LISTS, "grain"}
    for column in (*_COLUMNS, *COMPARISON_COLUMNS.values()):
        if not isinstance(column, Statistic):
            used_names.add(column.name)
    kept = Counter(statistic.kept_as for statistic in _STATISTICS.values())
    counts = [name for name, statistic in _STATISTICS.items() if not statistic.of]
    for statistic in _EXTENSION_STATISTICS:
        place = f"{extensions.describe_place('statistics', statistic.name)}: the statistic '{statistic.name}'"
        if not re.fullmatch(r"[a-z][a-z0-9_]*", statistic.name):
            raise ConfigError(f"{place} must have a name like `a_name`")
        if not isinstance(statistic.each, pl.Expr):
            raise ConfigError(f"{place}: `each` must be a Polars expression, got {statistic.each!r:.100}")
        _check_form(statistic, place)
        if statistic.name in used_names:
            raise ConfigError(f"{place} needs another name: it is another column of rows or states")
        if kept[statistic.kept_as] > 1:
            raise ConfigError(
                f"{place} needs another name: states keep its sum as '{statistic.kept_as}', and that of another "
                "statistic, too"
            )
        if statistic.of and statistic.of not in counts:
            raise ConfigError(f"{place}: `of` must be one of {', '.join(counts)}, got '{statistic.of}'")
    return {column.name: column for column in _COLUMNS}


def _check_form(statistic: Statistic, place: str) -> None:
    """Raise ConfigError if tables cannot show numbers in the format of a statistic."""
    try:
        format(1 if statistic.name.startswith("n_") and not statistic.of else 0.5, statistic.form)
    except (ValueError, TypeError):
        raise ConfigError(
            f"{place}: `form` must be a format of numbers, such as '.1%' or '.0f', got {statistic.form!r:.100}"
        ) from None


CATALOGUE = _check_columns()
STATISTICS: dict[str, Statistic] = {
    column.name: column for column in CATALOGUE.values() if isinstance(column, Statistic)
}
# The version of each definition; only sums with the same version can be added.
VERSIONS = {column.name: column.version for column in STATISTICS.values()}


def list_source_columns() -> list[str]:
    """The columns of feature files and logs that statistics use."""
    names: set[str] = set()
    for statistic in STATISTICS.values():
        names.update(statistic.each.meta.root_names())
    return sorted(names - set(READING_COLUMNS))
