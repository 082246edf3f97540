"""Stage `benchmarks`: the items of one benchmark, `benchmarks/{benchmark}.parquet`."""

import polars as pl

from entropy_sentinel.frames.contract import Column, Contract

# Raised by hand when items move. In place of a hash of the code, for what follows costs GPU time and money: a benchmark
# that is made again, even with the same rows, has its responses generated again.
BENCHMARK_VERSION = 1

BENCHMARKS = Contract(
    stage="benchmarks",
    key=("item_id",),
    columns=(
        Column("item_id", pl.String, "benchmark name and row number in the source, `gsm8k-00012`"),
        Column("question", pl.String, "what the model is asked"),
        Column(
            "reference",
            pl.String,
            "the correct answer, as the benchmark gives it; null where it gives none",
            nullable=True,
        ),
        Column(
            "duplicate_of",
            pl.String,
            "item_id of the first item with the same question; its own if it is the first",
        ),
        Column("group", pl.String, "what kind of question it is; null where nobody says", nullable=True, added=True),
        Column(
            "answers",
            pl.List(pl.List(pl.String)),
            "(n,) the right answers, each with all its names, the one that is shown first; null where there are none",
            nullable=True,
            added=True,
        ),
        Column(
            "counts",
            pl.List(pl.Float64),
            "(n,) how often each of the answers is seen, above 0; null where that is not known",
            nullable=True,
            added=True,
        ),
    ),
)
