"""The estimates themselves: what the tool is for, and the paper has no table of."""

import polars as pl

from entropy_sentinel.analyses.accuracy.headings import ROLES, Groups, training_group
from entropy_sentinel.analyses.accuracy.headline import ERROR
from entropy_sentinel.report.tables import Table

_HEADINGS = {
    "model": "Model",
    "benchmark": "Domain",
    "estimated_accuracy": "Estimated",
    "n_rows": "Responses",
    "n_labelled": "Labels",
    "estimated_on_labelled": "Estimated on labelled",
    "true_accuracy": "True",
    "error": "Error",
    "title": "Training group",
    "role": "Role",
    "estimator": "Estimator",
}


def table_estimates(estimates: pl.DataFrame, groups: Groups) -> Table:
    """Every domain by every named group's own estimator, domains without any label first."""
    named = [training_group(groups, name) for name in groups]
    titles = pl.DataFrame(
        [(one.group, one.estimator, one.title) for one in named],
        schema={"group": pl.String, "estimator": pl.String, "title": pl.String},
        orient="row",
    )
    rows = (
        estimates.join(titles, on=["group", "estimator"], maintain_order="left_right")
        .with_columns(error=ERROR, role=pl.col("role").replace_strict(ROLES))
        .sort(pl.col("n_labelled") > 0, maintain_order=True)
    )
    nulls = rows.filter(pl.col("reason").is_not_null())
    return Table(
        "Accuracy of every domain as each named training group's estimator sees it. Domains without labels come first: "
        "they have an estimate and no true accuracy.",
        rows.select(pl.col(name).alias(heading) for name, heading in _HEADINGS.items()),
        (
            "Estimated: over all responses with features. Error: the estimate on the labelled responses minus the "
            "share of correct ones among them.",
            "Role: training domains by their test split, unseen ones by all their responses.",
            *(f"{one.title}: {one.benchmarks}." for one in named),
            *(
                f"{row['model']}, {row['benchmark']}, {row['title']}: no estimate, {row['reason']}."
                for row in nulls.iter_rows(named=True)
            ),
        ),
    )
