"""The columns of the monitor's rows, in order, with their meanings and units.

A `Statistic` is computed for each response and summed over files and windows. To add a statistic, add an entry here:
rows, files, tables, metrics and states read the catalogue.
"""

from dataclasses import dataclass

import polars as pl

from entropy_sentinel.statistics.ambiguity import SEVERAL

# The family `semantics` gives all responses to a question the same `stable_classes`. Only the first response counts, so
# that sums over files do not depend on which samples each file contains.
# Columns that reading adds for the statistics.
MADE = ("excluded", "overridden")
_FIRST, _STABLE = pl.col("sample") == 0, pl.col("stable_classes").cast(pl.Float64, strict=False)


@dataclass(frozen=True)
class Column:
    """A column of the rows; `metric` is its name in the metrics file, empty if the file omits it."""

    name: str
    meaning: str
    unit: str
    metric: str = ""


@dataclass(frozen=True, kw_only=True)
class Statistic(Column):
    """A sum over a slice's responses.

    Attributes:
        each: The value of a response: true, false or a number; null counts as 0. It is an expression over the columns
            of feature files (`features/catalogue.py`); `excluded`, the reason why a response is not estimated, or null;
            `overridden`, whether it is estimated although its model or log-probabilities differ; the columns of traces
            (`frames/generation.py`), null for feature files; and other columns of logs by their dotted names, as text,
            null if missing. If values may be unknown, count the known values in another
            statistic and name that statistic in `of`.
        of: The statistic that is the denominator of a share: responses that do not count there do not count here, and
            rows have the ratio of the two sums. Empty for a count or another sum; only counts (`n_...`) are integers.
        heading: The heading in tables; empty if tables omit the statistic.
        form: The format in tables.
        flag: The flag of slices where the statistic is more than 0.1; empty if it has no flag.
        flagged: The end of the flag's reason, which begins with a share: "12 % of the responses ...".
        version: Increase it when `each` changes; the sums in existing states then become unknown.
    """

    each: pl.Expr
    of: str = ""
    heading: str = ""
    form: str = ".1%"
    flag: str = ""
    flagged: str = ""
    version: int = 1

    @property
    def alert(self) -> str:
        """Return the name of the statistic's flag in `alert_on`."""
        return self.flag.replace(" ", "-")

    @property
    def kept_as(self) -> str:
        """Return the name of the statistic's sums in a state."""
        return f"n_{self.name.removesuffix('_share')}" if self.name.endswith("_share") else self.name


CATALOGUE: dict[str, Column] = {
    column.name: column
    for column in (
        Column("window", "Start of the window; null for responses without a time.", "time"),
        Column("window_from", "Start of the first pooled window.", "time"),
        Column("n_windows", "Number of windows that the slice's numbers cover.", "windows", "pooled_windows"),
        Statistic("n_responses", "Responses.", "responses", "responses", each=pl.lit(True)),
        Statistic(
            name="n_estimated",
            meaning="Responses with an estimate.",
            unit="responses",
            metric="estimated_responses",
            each=pl.col("excluded").is_null(),
        ),
        Column("n_excluded", "Responses that could not be estimated.", "responses", "excluded_responses"),
        Statistic(
            name="n_overridden",
            meaning="Responses with an estimate that differ from the training data.",
            unit="responses",
            each=pl.col("overridden"),
        ),
        Statistic(
            name="cut_off_share",
            meaning="Share of the estimated responses that were truncated.",
            unit="1",
            metric="cut_off_share",
            each=pl.col("cut_off"),
            of="n_estimated",
            heading="truncated",
            form=".0%",
            flag="truncated",
            flagged="were truncated",
        ),
        Statistic(
            name="n_questions",
            meaning="Questions with a known number of stable answer classes.",
            unit="questions",
            metric="questions",
            each=_FIRST & _STABLE.is_not_null(),
        ),
        Statistic(
            name="ambiguous_share",
            meaning="Share of these questions with several stable classes.",
            unit="1",
            metric="ambiguous_share",
            each=_STABLE >= SEVERAL,
            of="n_questions",
        ),
        Column("ambiguous_lower", "Lower 95 % limit of ambiguous_share.", "1", "ambiguous_lower"),
        Column("ambiguous_upper", "Upper 95 % limit of ambiguous_share.", "1", "ambiguous_upper"),
        Column("estimated_accuracy", "Estimated share of correct responses.", "1", "estimated_accuracy"),
        Column("lower", "Lower limit of the interval for the accuracy.", "1", "accuracy_lower"),
        Column("upper", "Upper limit of the interval for the accuracy.", "1", "accuracy_upper"),
        Column("level", "Level of the intervals.", "1"),
        Column("basis", "Basis of the interval: predictive or prior.", ""),
        Column(
            "conformal_lower", "Lower limit from the validation errors only; null if the level needs more domains.", "1"
        ),
        Column(
            "conformal_upper", "Upper limit from the validation errors only; null if the level needs more domains.", "1"
        ),
        Column(
            "estimate_worth",
            "Number of labels that tell as much about the accuracy as the estimate does.",
            "labels",
            "estimate_worth_labels",
        ),
        Column("expected_errors", "Expected number of incorrect responses.", "responses", "expected_errors"),
        Column("expected_errors_lower", "Expected errors at the upper limit of the accuracy.", "responses"),
        Column("expected_errors_upper", "Expected errors at the lower limit of the accuracy.", "responses"),
        Column("change", "Change of the estimated accuracy since the reference.", "1", "change"),
        Column("change_p", "Probability of at least this change by chance.", "1"),
        Column(
            "change_q",
            "Smallest false discovery rate at which the change is significant (Benjamini-Hochberg).",
            "1",
            "change_q",
        ),
        Column("n_labelled", "Responses with a label.", "responses"),
        Column("labelled_accuracy", "Weighted accuracy from the labels only.", "1"),
        Column("improved_accuracy", "Accuracy from labels and predictions together.", "1"),
        Column("improved_lower", "Lower limit of improved_accuracy.", "1"),
        Column("improved_upper", "Upper limit of improved_accuracy.", "1"),
        Column("labels_worth", "Number of labels that give the same precision without predictions.", "labels"),
        Column("n_judged", "Responses with a verdict of the judge (`--judged`).", "responses"),
        Column("last_labelled", "Start of the newest window (day without windows) with a label.", "time"),
        Column("use_accuracy", "The accuracy to use, from what is known.", "1", "use_accuracy"),
        Column("use_lower", "Lower limit of use_accuracy.", "1", "use_accuracy_lower"),
        Column("use_upper", "Upper limit of use_accuracy.", "1", "use_accuracy_upper"),
        Column("rests_on", "What that accuracy rests on: estimate, labels, or both.", ""),
        Column("note", "Note about that accuracy; null if there is none.", ""),
        Column("rank", "Rank by expected errors (within a window); 1 for the most.", ""),
        Column("flags", "Warnings about the numbers.", ""),
        Column("reasons", "The reason for each flag.", ""),
    )
}
# Columns that `estimate` adds after `n_labelled` if it gets labels.
COMPARED: dict[str, Column] = {
    column.name: column
    for column in (
        Column("estimated_on_labelled", "Estimated accuracy of the responses with a label.", "1"),
        Column("true_accuracy", "Share of correct responses among those with a label.", "1"),
        Column("error", "estimated_on_labelled minus true_accuracy.", "1"),
    )
}
STATISTICS: dict[str, Statistic] = {
    column.name: column for column in CATALOGUE.values() if isinstance(column, Statistic)
}
# The version of each definition; only sums with the same version can be added.
VERSIONS = {column.name: column.version for column in STATISTICS.values()}


def made_of() -> list[str]:
    """Return the columns of feature files and logs that statistics use."""
    return sorted({name for statistic in STATISTICS.values() for name in statistic.each.meta.root_names()} - {*MADE})
