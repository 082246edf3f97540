"""Which measure of a response goes with what repeated samples say, from a frame CORRELATIONS."""

from collections.abc import Mapping, Sequence

import polars as pl

from entropy_sentinel.analyses.entropy_area.catalogue import PUBLISHED, TARGETS, compared, measure_title
from entropy_sentinel.analyses.entropy_area.headings import ENTROPY_NOTE, FIRST_NOTE, INTERVAL_NOTE, answer_note
from entropy_sentinel.report.tables import Table, headed, missing_notes

_HEADINGS = {
    **{"model": "Model", "benchmark": "Benchmark", "target": "Against", "measure": "Measure", "n_items": "Items"},
    **{"r": "r", "lower": "from", "upper": "to", "p": "p", "rho": "rho", "rho_p": "p of rho"},
}


def table_2_correlation(
    correlations: pl.DataFrame, answers: Sequence[str], models: Sequence[str], sets: Mapping[str, Sequence[str]]
) -> Table:
    """Pearson's r and Spearman's rho of every measure with every entropy, by model and benchmark."""
    rows = correlations.sort(*_order(correlations), maintain_order=True)
    lacking = rows.drop_nulls("reason").select("model", "benchmark", "measure", "target", "reason")
    reasons = missing_notes(
        (f"r of {measure_title(measure)} with {TARGETS[target]}", reason, f"{model}, {benchmark}")
        for model, benchmark, measure, target, reason in lacking.iter_rows()
    )
    return Table(
        "Pearson's r, and Spearman's rho, of measures of one response with entropies over the samples of its item.",
        headed(rows, _HEADINGS, {"target": TARGETS.__getitem__, "measure": measure_title}),
        (
            FIRST_NOTE,
            ENTROPY_NOTE,
            f"{INTERVAL_NOTE} p: two-sided, of no correlation; 0.00 is less than 0.005, the CSV has all digits.",
            "All measures are compared on the same items: those whose first response has them all.",
            answer_note(answers),
            *reasons,
        ),
        decimals=2,  # with 10,000 bootstrap samples of 40 items another seed moves an end by up to 0.015
        published=_published(correlations) if compared("2_correlation", models, sets, answers) else None,
    )


def _order(correlations: pl.DataFrame) -> list[pl.Expr]:
    """By model and benchmark as they are, then by what is compared with."""
    return [
        pl.col(name).cast(pl.Enum(correlations[name].unique(maintain_order=True))) for name in ("model", "benchmark")
    ] + [pl.col("target").cast(pl.Enum(list(TARGETS)))]


def _published(correlations: pl.DataFrame) -> Table:
    """The paper's Table 2 beside ours, of the models and benchmarks that the study has under the same names."""
    theirs = pl.read_csv(PUBLISHED / "table_2_correlation.csv")
    ours = correlations.filter(measure="eas_reference", target="answer_entropy")
    joined = theirs.join(ours, on=["model", "benchmark"], how="inner", maintain_order="left")
    headings = {
        **{"model": "Model", "benchmark": "Benchmark", "r": "r", "lower": "from", "upper": "to"},
        **{"pearson_r": "r: paper", "difference": "r: difference"},
    }
    shown = headed(joined.with_columns(difference=pl.col("r") - pl.col("pearson_r")), headings)
    note = "The paper states p < 5e-5 of all four, and neither temperature nor which response EAS is of."
    return Table(
        "Pearson's r of EAS (reference) with the answer entropy, here and as the paper printed it.", shown, (note,)
    )
