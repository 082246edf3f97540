"""What the paper has no table of: the estimates themselves, which the tool is for, and what truncation does."""

import polars as pl

from entropy_sentinel.analyses.accuracy.showing.ambiguous import ambiguous
from entropy_sentinel.analyses.accuracy.showing.headline import ERROR
from entropy_sentinel.analyses.headings import ROLES, Groups, training_group
from entropy_sentinel.report.tables import Table, missing_notes

_AMBIGUOUS = pl.col("n_ambiguous") / pl.col("n_questions")
_HEADINGS = {
    "model": "Model",
    "benchmark": "Domain",
    "estimated_accuracy": "Estimated",
    "n_rows": "Responses",
    "n_labelled": "Labels",
    "estimated_on_labelled": "Estimated on labelled",
    "true_accuracy": "True",
    "error": "Error",
    "ambiguous": "Look ambiguous",
    "title": "Training group",
    "role": "Role",
    "estimator": "Estimator",
}


def table_estimates(estimates: pl.DataFrame, groups: Groups, domains: pl.DataFrame) -> Table:
    """Every domain by every named group's own estimator, domains without any label first.

    The share of questions that look ambiguous is shown where it is known of some domain.
    """
    named = [training_group(groups, name) for name in groups]
    titles = pl.DataFrame(
        [(one.group, one.estimator, one.title) for one in named],
        schema={"group": pl.String, "estimator": pl.String, "title": pl.String},
        orient="row",
    )
    rows = (
        estimates.join(titles, on=["group", "estimator"], maintain_order="left_right")
        .join(
            domains.select("model", "benchmark", ambiguous=_AMBIGUOUS),
            on=["model", "benchmark"],
            how="left",
            maintain_order="left",
        )
        .with_columns(error=ERROR, role=pl.col("role").replace_strict(ROLES))
        .sort(pl.col("n_labelled") > 0, maintain_order=True)
    )
    shown = {name: heading for name, heading in _HEADINGS.items() if name != "ambiguous" or rows[name].count()}
    nulls = rows.filter(pl.col("reason").is_not_null())
    cautions = rows.drop_nulls("caution").unique(["model", "title"], maintain_order=True)
    return Table(
        "Accuracy of every domain as each named training group's estimator sees it. Domains without labels come first: "
        "they have an estimate and no true accuracy.",
        rows.select(pl.col(name).alias(heading) for name, heading in shown.items()),
        (
            "Estimated: over all responses with features. Error: the estimate on the labelled responses minus the "
            "share of correct ones among them.",
            "Role: training domains by their test split, unseen ones by all their responses.",
            *(f"{one.title}: {one.benchmarks}." for one in named),
            *missing_notes(
                ("estimate", row["reason"], f"{row['model']}, {row['benchmark']}, {row['title']}")
                for row in nulls.iter_rows(named=True)
            ),
            *ambiguous(domains),
            *(f"{row['model']}, {row['title']}: caution, {row['caution']}." for row in cautions.iter_rows(named=True)),
        ),
    )


def table_cut_off(domains: pl.DataFrame) -> Table:
    """Accuracy of every domain over all labelled responses, and over those that are whole."""
    labelled = pl.col("n_truncated_correct") + pl.col("n_truncated_incorrect")
    rows = domains.filter(pl.col("accuracy").is_not_null()).select(
        pl.col("model").alias("Model"),
        pl.col("benchmark").alias("Domain"),
        pl.col("n_responses").alias("Responses"),
        (pl.col("n_truncated") / pl.col("n_responses")).alias("Share cut off"),
        pl.col("n_truncated").alias("Cut off"),
        labelled.alias("of these labelled"),
        pl.col("n_truncated_correct").alias("of these correct"),
        pl.col("accuracy").alias("Accuracy"),
        pl.col("accuracy_whole").alias("Accuracy without cut off"),
        (pl.col("accuracy_whole") - pl.col("accuracy")).alias("Difference"),
    )
    return Table(
        "Responses that were cut off keep their labels and count everywhere else. This is what the "
        "domains' accuracy is without them.",
        rows,
        (
            "Accuracy: the share of correct ones among responses with a label and features, in training and unseen "
            "domains alike over all items.",
            "A dash stands for a domain all of whose labelled responses were cut off.",
        ),
    )
