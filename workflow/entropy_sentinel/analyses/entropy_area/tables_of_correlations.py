"""Which measure of a response goes with what repeated samples say, from a frame CORRELATIONS."""

from collections.abc import Mapping, Sequence

import polars as pl

from entropy_sentinel.analyses.entropy_area.catalogue import PUBLISHED, TARGETS, compared, measure_title
from entropy_sentinel.analyses.entropy_area.headings import ENTROPY_NOTE, FIRST_NOTE, INTERVAL_NOTE, answer_note
from entropy_sentinel.report.tables import Table, number_frame

_NUMBERS = {"n_items": "Items", "r": "r", "lower": "from", "upper": "to", "p": "p", "rho": "rho", "rho_p": "p of rho"}


def table_2_correlation(
    correlations: pl.DataFrame, answers: Sequence[str], models: Sequence[str], sets: Mapping[str, Sequence[str]]
) -> Table:
    """Pearson's r and Spearman's rho of every measure with every entropy, by model and benchmark."""
    keys = ["Model", "Benchmark", "Against", "Measure"]
    rows, reasons = [], dict[str, None]()
    for row in correlations.sort(*_order(correlations), maintain_order=True).iter_rows(named=True):
        of = (row["model"], row["benchmark"], TARGETS[row["target"]], measure_title(row["measure"]))
        rows.append(dict(zip(keys, of, strict=True)) | {title: row[name] for name, title in _NUMBERS.items()})
        if row["reason"]:
            reasons[f"{row['model']}, {row['benchmark']}: no r of {of[3]} with {of[2]}: {row['reason']}."] = None
    return Table(
        "Pearson's r, and Spearman's rho, of measures of one response with entropies over the samples of its item.",
        number_frame(rows, keys, _NUMBERS.values()),
        (
            FIRST_NOTE,
            ENTROPY_NOTE,
            f"{INTERVAL_NOTE} p: two-sided, of no correlation; 0.000 is less than 0.0005, the CSV has all digits.",
            "All measures are compared on the same items: those whose first response has them all.",
            answer_note(answers),
            *reasons,
        ),
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
    shown = joined.select(
        pl.col("model").alias("Model"),
        pl.col("benchmark").alias("Benchmark"),
        pl.col("r"),
        pl.col("lower").alias("from"),
        pl.col("upper").alias("to"),
        pl.col("pearson_r").alias("r: paper"),
        (pl.col("r") - pl.col("pearson_r")).alias("r: difference"),
    )
    note = "The paper states p < 5e-5 of all four, and neither temperature nor which response EAS is of."
    return Table(
        "Pearson's r of EAS (reference) with the answer entropy, here and as the paper printed it.", shown, (note,)
    )
