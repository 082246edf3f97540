"""Draw a stratified sample of responses for people to label, keep it as a file, and read what people see.

A stratum is a model, a benchmark and a verdict of the judge: correct, incorrect, or null.
"""

import hashlib
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TypedDict, cast

import numpy as np
import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.contract import Column, Contract, check_user_file, read_provenance
from entropy_sentinel.schemas.generation_schema import CUT_OFF, GENERATIONS
from entropy_sentinel.schemas.label_schema import LABELS
from entropy_sentinel.schemas.response_schema import RESPONSE, RESPONSE_COLUMNS, SAMPLE
from entropy_sentinel.statistics.monitoring.allocation import apportion_labels
from entropy_sentinel.study.config.study_config import Config

STRATUM = ("model", "benchmark", "verdict")

AUDIT_SAMPLE = Contract(
    stage="audit_sample",
    key=RESPONSE,
    columns=(
        *RESPONSE_COLUMNS,
        Column("verdict", pl.String, "the judge's verdict: `correct`, `incorrect` or `null`"),
        Column("response_hash", pl.String, "first 16 hex digits of the SHA-256 of the response"),
    ),
)


class Stratum(TypedDict):
    """A stratum, with its number of responses, `n`, and how many are `drawn`."""

    model: str
    benchmark: str
    verdict: str
    n: int
    drawn: int


class SampleOrigin(TypedDict):
    """The study and judge of a sample, and how it was drawn."""

    study: str
    judge: str
    size: int
    seed: int


class SampleProvenance(SampleOrigin):
    """The provenance of a sample."""

    strata: list[Stratum]


@dataclass(frozen=True)
class AuditSample:
    """Rows of AUDIT_SAMPLE in the order of labelling, and their provenance."""

    rows: pl.DataFrame
    provenance: SampleProvenance


def get_audit_folder(study: str, judge: str) -> Path:
    """The folder of an audit; it is outside `results`, because people's work cannot be rebuilt."""
    return Path("audits") / study / judge


def get_sample_path(study: str, judge: str) -> Path:
    """The file of an audit's sample."""
    return get_audit_folder(study, judge) / "sample.parquet"


def draw_strata(population: pl.DataFrame, size: int, seed: int) -> tuple[pl.DataFrame, list[Stratum]]:
    """Draw `size` rows of `population` (columns of AUDIT_SAMPLE) at random; give them and the strata.

    Each stratum gets one row if `size` is enough, else only the largest do; the rest is in proportion to the sizes of
    the strata. The order is random, so that an audit that stops early has labelled a random part.
    """
    random = np.random.default_rng(seed)
    strata = population.sort(*STRATUM, *RESPONSE).partition_by(STRATUM, maintain_order=True)
    sizes = [len(part) for part in strata]
    counts = apportion_labels(shares=sizes, least=[0] * len(sizes), most=sizes, total=size).tolist()
    chosen, drawn_strata = [], []
    for part, n in zip(strata, counts, strict=True):
        chosen.append(part[np.sort(random.permutation(len(part))[:n])])
        model, benchmark, verdict = part.select(STRATUM).row(0)
        drawn_strata.append(Stratum(model=model, benchmark=benchmark, verdict=verdict, n=len(part), drawn=n))
    rows = pl.concat(chosen)
    return rows[random.permutation(len(rows))], drawn_strata


def draw_sample(population: pl.DataFrame, study: str, judge: str, size: int, seed: int) -> AuditSample:
    """Draw the sample of an audit from `population` and write its file."""
    rows, strata = draw_strata(population, size, seed)
    provenance = SampleProvenance(study=study, judge=judge, size=size, seed=seed, strata=strata)
    AUDIT_SAMPLE.write(rows, get_sample_path(study, judge), provenance)
    return AuditSample(rows, provenance)


def read_sample(study: str, judge: str) -> AuditSample:
    """Read the sample of an audit; raise IncompleteFileError if it cannot be read."""
    path = get_sample_path(study, judge)
    # It must not be drawn again, because people's answers belong to this sample.
    with check_user_file(path):
        return AuditSample(AUDIT_SAMPLE.read(path), cast(SampleProvenance, read_provenance(path)))


def read_population(config: Config, judge: str) -> pl.DataFrame:
    """Every response that the judge has labelled or could not label, as rows of AUDIT_SAMPLE.

    Unlabelled responses to items without a reference are omitted, because people could not label them either. Raises
    DamagedFileError for a missing file.
    """
    domains = product(config.run.models, config.run.benchmarks)
    rows = pl.concat(_read_auditable_responses(config, judge, model, benchmark) for model, benchmark in domains)
    if rows.is_empty():
        raise InputError(f"judge '{judge}' has no response with a label or a reference in study '{config.study}'")
    return rows


def _read_auditable_responses(config: Config, judge: str, model: str, benchmark: str) -> pl.DataFrame:
    """The responses of a model to one benchmark that people can judge, as rows of AUDIT_SAMPLE."""
    names = {"judge": judge, "model": model, "benchmark": benchmark}
    labels = LABELS.read(config.layout.labels.format(**names), ["item_id", "sample", "label"])
    rows = labels.join(read_material(config, model, benchmark), on=SAMPLE, how="inner")
    verdict = pl.when("label").then(pl.lit("correct")).otherwise(pl.lit("incorrect"))
    verdict = pl.when(pl.col("label").is_null()).then(pl.lit("null")).otherwise(verdict)
    hashes = [hash_response(text) for text in rows["response"]]
    return (
        rows.with_columns(
            model=pl.lit(model),
            benchmark=pl.lit(benchmark),
            verdict=verdict,
            response_hash=pl.Series(hashes, dtype=pl.String),
        )
        # Without the judge's label and without a reference, people could not label a response either.
        .filter((pl.col("verdict") != "null") | pl.col("reference").is_not_null())
        .select(AUDIT_SAMPLE.schema.names())
    )


def read_material(config: Config, model: str, benchmark: str) -> pl.DataFrame:
    """What people see when they label: item_id, sample, question, reference (or null), response and `cut_off`.

    `cut_off` says whether the response was truncated.
    """
    layout = config.layout
    names = {"model": model, "benchmark": benchmark}
    responses = GENERATIONS.read(layout.generations.format(**names), ["item_id", "sample", "text", "finish_reason"])
    responses = responses.with_columns(cut_off=CUT_OFF).drop("finish_reason")
    items = BENCHMARKS.read(layout.items.format(**names), ["item_id", "question", "reference"])
    return responses.rename({"text": "response"}).join(items, on="item_id", how="inner", maintain_order="left")


def collect_material(config: Config, sample: AuditSample) -> pl.DataFrame:
    """The sampled rows with all that people see when they label them, without the judge's verdicts.

    These are question, reference, response, `cut_off`, and the warning `caution` if the response addresses the judge.
    Raises InputError if a response has changed since the sample was drawn.
    """
    layout = config.layout
    judge = sample.provenance["judge"]
    parts = []
    for model, benchmark in sample.rows.select("model", "benchmark").unique(maintain_order=True).rows():
        path = layout.labels.format(judge=judge, model=model, benchmark=benchmark)
        cautions = LABELS.read(path, ["item_id", "sample", "caution"])
        part = read_material(config, model, benchmark).join(cautions, on=SAMPLE, how="left", maintain_order="left")
        parts.append(part.with_columns(model=pl.lit(model), benchmark=pl.lit(benchmark)))
    rows = sample.rows.drop("verdict").join(pl.concat(parts), on=RESPONSE, how="left", maintain_order="left")
    for row in rows.iter_rows(named=True):
        if row["response"] is None or hash_response(row["response"]) != row["response_hash"]:
            file = get_sample_path(sample.provenance["study"], judge)
            raise InputError(
                f"{file}: the response of {row['model']} to {row['item_id']} has changed since the sample was drawn; "
                "draw again with --new; answers for unchanged responses are kept"
            )
    return rows


def hash_response(text: str) -> str:
    """The first 16 hex digits of the SHA-256 of a response's text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
