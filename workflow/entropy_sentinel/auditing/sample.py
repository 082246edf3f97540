"""The responses that a person is to label: drawn once per stratum, kept as a file.

A stratum is a model, a benchmark and a verdict of the judge: correct, incorrect, or null.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, cast

import numpy as np
import polars as pl

from entropy_sentinel.frames.contract import Column, Contract, given, read_provenance
from entropy_sentinel.frames.response import RESPONSE, RESPONSE_COLUMNS
from entropy_sentinel.statistics.allocation import apportion

STRATUM = ("model", "benchmark", "verdict")

AUDIT_SAMPLE = Contract(
    stage="audit_sample",
    key=RESPONSE,
    columns=(
        *RESPONSE_COLUMNS,
        Column("verdict", pl.String, "what the judge said: `correct`, `incorrect` or `null`"),
        Column("response_hash", pl.String, "first 16 hex digits of the SHA-256 of the response"),
    ),
)


class Stratum(TypedDict):
    """A stratum, its `n` responses and how many of them are `drawn`."""

    model: str
    benchmark: str
    verdict: str
    n: int
    drawn: int


class Drawn(TypedDict):
    """Whose labels a sample is of, and how it was drawn."""

    study: str
    judge: str
    size: int
    seed: int


class About(Drawn):
    """What the provenance of a sample says."""

    strata: list[Stratum]


@dataclass(frozen=True)
class Sample:
    """Rows of AUDIT_SAMPLE in the order in which they are shown, and about them."""

    rows: pl.DataFrame
    about: About


def folder_of(study: str, judge: str) -> Path:
    """Where an audit is kept: outside `results`, for a person's work cannot be made again."""
    return Path("audits") / study / judge


def sample_file(study: str, judge: str) -> Path:
    """The file of an audit's sample."""
    return folder_of(study, judge) / "sample.parquet"


def draw(population: pl.DataFrame, size: int, seed: int) -> tuple[pl.DataFrame, list[Stratum]]:
    """Rows of `population` (columns of AUDIT_SAMPLE) at random, and the strata.

    One of each stratum, where `size` is enough, else of the largest; the rest goes by the sizes of the strata.
    The rows come in random order, so that an audit that stops early has labelled a random part.
    """
    random = np.random.default_rng(seed)
    strata = population.sort(*STRATUM, *RESPONSE).partition_by(STRATUM, maintain_order=True)
    sizes = [len(part) for part in strata]
    counts = apportion(sizes, [0] * len(sizes), sizes, size).tolist()
    chosen = [part[np.sort(random.permutation(len(part))[:n])] for part, n in zip(strata, counts, strict=True)]
    about = [
        Stratum(model=model, benchmark=benchmark, verdict=verdict, n=len(part), drawn=n)
        for part, n in zip(strata, counts, strict=True)
        for model, benchmark, verdict in part.select(STRATUM).head(1).rows()
    ]
    rows = pl.concat(chosen)
    return rows[random.permutation(len(rows))], about


def draw_sample(population: pl.DataFrame, study: str, judge: str, size: int, seed: int) -> Sample:
    """Draw the sample of an audit from `population` (`auditing.material`) and write its file."""
    rows, strata = draw(population, size, seed)
    about = About(study=study, judge=judge, size=size, seed=seed, strata=strata)
    AUDIT_SAMPLE.write(rows, sample_file(study, judge), about)
    return Sample(rows, about)


def read_sample(study: str, judge: str) -> Sample:
    """The sample of an audit; IncompleteFileError where there is none that can be read."""
    path = sample_file(study, judge)
    # Drawn again it would be another sample, and the answers of people go with this one.
    with given(path):
        return Sample(AUDIT_SAMPLE.read(path), cast(About, read_provenance(path)))
