"""Domains many of whose questions get several answers again and again, where several samples tell."""

from collections.abc import Iterator

import polars as pl

from entropy_sentinel.statistics.ambiguity import why_ambiguous


def ambiguous(domains: pl.DataFrame) -> Iterator[str]:
    """What to say of these, in sentences; `domains` is a frame DOMAINS."""
    known = domains.drop_nulls("n_ambiguous").select("model", "benchmark", "n_ambiguous", "n_questions")
    for model, benchmark, *counts in known.iter_rows():
        if why := why_ambiguous(*counts):
            yield f"{model}, {benchmark}: ambiguous, {why}."
