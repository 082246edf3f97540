"""Stage `benchmarks`: the items of one benchmark, `benchmarks/{benchmark}.parquet`."""

import polars as pl

from entropy_sentinel.schemas.contract import Column, Contract

# Raise it by hand when items change. It replaces a hash of the code because later stages cost GPU time and money: if a
# benchmark is rebuilt, even with the same rows, its responses are generated again.
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
            "the correct answer from the benchmark; null if it has none",
            nullable=True,
        ),
        Column(
            "duplicate_of",
            pl.String,
            "item_id of the first item with the same question; its own for the first",
        ),
        Column("group", pl.String, "kind of question; null if unknown", nullable=True, added=True),
        Column(
            "answers",
            pl.List(pl.List(pl.String)),
            "(n,) the right answers, each as a list of its names, the displayed one first; null if there are none",
            nullable=True,
            added=True,
        ),
        Column(
            "counts",
            pl.List(pl.Float64),
            "(n,) how often each of the answers is seen, above 0; null if unknown",
            nullable=True,
            added=True,
        ),
    ),
)
