"""What a row of the monitor says of a slice: its columns in their order, each with meaning and unit.

A `Statistic` is made of each response and adds up over files and windows. A new one is one entry: the columns of rows,
files and tables, the metrics, and what a state must know of a file are read from here.
"""

from dataclasses import dataclass

import polars as pl

from entropy_sentinel.statistics.ambiguity import SEVERAL

# Of a log's column `stable_classes`, the number that the family `semantics` gives to all responses to a question: the
# first response speaks for its question, so that files add up whatever samples they hold.
_FIRST, _STABLE = pl.col("sample") == 0, pl.col("stable_classes").cast(pl.Float64, strict=False)


@dataclass(frozen=True)
class Column:
    """A column of the rows; `metric` is its name in the metrics file, empty where it has none."""

    name: str
    meaning: str
    unit: str
    metric: str = ""


@dataclass(frozen=True, kw_only=True)
class Statistic(Column):
    """A number of a slice's responses that adds up.

    Attributes:
        each: True or false, or a number, of each response, null for 0: an expression over the columns of feature files
            (`features/catalogue.py`), `excluded`, why a response is not estimated, or null, those of traces
            (`frames/generation.py`), null for responses of feature files, and other columns of logs by their dotted
            names, as text, null where a log has none of the name. Its sum is kept. What may not be known is counted
            where it is by a statistic of its own, which is then `of`.
        of: The statistic that it is a share of: only responses that count there count here, and rows have the sum
            divided by that one's. Empty for a count: rows have the sum.
        heading: What stands above it in tables; empty where it is in files alone.
        form: How tables show it.
        flag: The flag of a slice of which it is more than a tenth; empty for none.
        flagged: What is said then: so many per cent "of the responses ...".
        version: To be raised where `each` changes: what states hold of the one before is then not known any more.
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
        """What `alert_on` calls its flag."""
        return self.flag.replace(" ", "-")

    @property
    def kept_as(self) -> str:
        """The name of its sums in a state."""
        return f"n_{self.name.removesuffix('_share')}" if self.name.endswith("_share") else self.name


CATALOGUE: dict[str, Column] = {
    column.name: column
    for column in (
        Column("window", "Begin of the window, or null for responses without a time.", "UTC"),
        Column("window_from", "Begin of the first window that is pooled.", "UTC"),
        Column("n_windows", "Windows that the slice's numbers are of.", "windows", "pooled_windows"),
        Statistic("n_responses", "Responses.", "responses", "responses", each=pl.lit(True)),
        Statistic(
            *("n_estimated", "Responses that the estimate is over.", "responses", "estimated_responses"),
            each=pl.col("excluded").is_null(),
        ),
        Column("n_excluded", "Responses that could not be estimated.", "responses", "excluded_responses"),
        Statistic(
            *("cut_off_share", "Share of the estimated responses that were cut off.", "1", "cut_off_share"),
            each=pl.col("cut_off"),
            of="n_estimated",
            heading="cut off",
            form=".0%",
            flag="cut off",
            flagged="were cut off",
        ),
        Statistic(
            *("n_questions", "Questions with their number of stable classes of answers.", "questions", "questions"),
            each=_FIRST & _STABLE.is_not_null(),
        ),
        Statistic(
            *("ambiguous_share", "Share of these questions with several such classes.", "1", "ambiguous_share"),
            each=_STABLE >= SEVERAL,
            of="n_questions",
        ),
        Column("ambiguous_lower", "Lower 95 % limit of that share.", "1", "ambiguous_lower"),
        Column("ambiguous_upper", "Upper 95 % limit of that share.", "1", "ambiguous_upper"),
        Column("estimated_accuracy", "Estimated share of correct responses.", "1", "estimated_accuracy"),
        Column("lower", "Lower limit of the interval for the accuracy.", "1", "accuracy_lower"),
        Column("upper", "Upper limit of the interval for the accuracy.", "1", "accuracy_upper"),
        Column("level", "Level of the intervals.", "1"),
        Column("basis", "What the interval rests on: predictive or prior.", ""),
        Column("conformal_lower", "Lower limit by errors alone; null where the level needs more domains.", "1"),
        Column("conformal_upper", "Upper limit by errors alone; null where the level needs more domains.", "1"),
        Column("expected_errors", "Expected number of incorrect responses.", "responses", "expected_errors"),
        Column("expected_errors_lower", "The same by the upper limit of the accuracy.", "responses"),
        Column("expected_errors_upper", "The same by the lower limit of the accuracy.", "responses"),
        Column("change", "Change of the estimated accuracy since the reference.", "1", "change"),
        Column("change_p", "How often chance alone would show as large a change.", "1"),
        Column("change_q", "False discovery rate at which the change counts (Benjamini-Hochberg).", "1", "change_q"),
        Column("n_labelled", "Responses with a label.", "responses"),
        Column("labelled_accuracy", "What the labels alone say, by their weights.", "1"),
        Column("improved_accuracy", "What labels and predictions say together.", "1"),
        Column("improved_lower", "Lower limit of the interval for that.", "1"),
        Column("improved_upper", "Upper limit of the interval for that.", "1"),
        Column("labels_worth", "As many labels alone would be as exact.", "labels"),
        Column("read", "Which of the two to read: 'with labels' or 'estimated'.", ""),
        Column("read_because", "What to know of that.", ""),
        Column("rank", "1 for the most expected errors (of a window).", ""),
        Column("flags", "What speaks against the numbers.", ""),
        Column("reasons", "Why, a sentence for each flag.", ""),
    )
}
# What rows of `estimate` have beside where labels are given, after `n_labelled`.
COMPARED: dict[str, Column] = {
    column.name: column
    for column in (
        Column("estimated_on_labelled", "Estimated share of correct ones among the responses with a label.", "1"),
        Column("true_accuracy", "Share of these that is correct, by the labels.", "1"),
        Column("error", "The former less the latter.", "1"),
    )
}
STATISTICS: dict[str, Statistic] = {
    column.name: column for column in CATALOGUE.values() if isinstance(column, Statistic)
}
# By which definitions sums are made: those of two add up where they agree.
VERSIONS = {column.name: column.version for column in STATISTICS.values()}


def made_of() -> list[str]:
    """Columns of feature files and logs that statistics are made of."""
    return sorted(
        {name for statistic in STATISTICS.values() for name in statistic.each.meta.root_names()} - {"excluded"}
    )
