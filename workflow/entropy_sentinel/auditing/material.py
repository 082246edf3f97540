"""The responses that an audit is of, and what a person is shown of those in its sample."""

import hashlib

import polars as pl

from entropy_sentinel.auditing.sample import AUDIT_SAMPLE, Sample, sample_file
from entropy_sentinel.config.layout import Layout
from entropy_sentinel.config.sections import Config
from entropy_sentinel.frames.benchmark import BENCHMARKS
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.generation import CUT_OFF, GENERATIONS
from entropy_sentinel.frames.label import LABELS
from entropy_sentinel.frames.response import RESPONSE, SAMPLE


def population(config: Config, judge: str) -> pl.DataFrame:
    """Every response that the judge has labelled or could not label, as rows of AUDIT_SAMPLE.

    Without those to items without a reference, unless labelled: a person could not tell either.
    Raises DamagedFileError for a file that is not there.
    """
    parts = [_of(config, judge, model, name) for model in config.run.models for name in config.run.benchmarks]
    found = pl.concat(parts)
    if found.is_empty():
        raise InputError(f"judge '{judge}' has no response with a label or a reference in study '{config.study}'")
    return found


def _of(config: Config, judge: str, model: str, benchmark: str) -> pl.DataFrame:
    names = {"judge": judge, "model": model, "benchmark": benchmark}
    labels = LABELS.read(Layout(config.study).labels.format(**names), ["item_id", "sample", "label"])
    rows = labels.join(material_of(config, model, benchmark), on=SAMPLE, how="inner")
    verdict = pl.when("label").then(pl.lit("correct")).otherwise(pl.lit("incorrect"))
    hashes = [response_hash(text) for text in rows["response"]]
    return (
        rows.with_columns(
            model=pl.lit(model),
            benchmark=pl.lit(benchmark),
            verdict=pl.when(pl.col("label").is_null()).then(pl.lit("null")).otherwise(verdict),
            response_hash=pl.Series(hashes, dtype=pl.String),
        )
        .filter((pl.col("verdict") != "null") | pl.col("reference").is_not_null())
        .select(AUDIT_SAMPLE.schema.names())
    )


def material_of(config: Config, model: str, benchmark: str) -> pl.DataFrame:
    """What a person is shown: columns item_id, sample, question, reference (or null), response, cut_off."""
    layout, names = Layout(config.study), {"model": model, "benchmark": benchmark}
    responses = GENERATIONS.read(layout.generations.format(**names), ["item_id", "sample", "text", "finish_reason"])
    responses = responses.with_columns(cut_off=CUT_OFF).drop("finish_reason")
    items = BENCHMARKS.read(layout.items.format(**names), ["item_id", "question", "reference"])
    return responses.rename({"text": "response"}).join(items, on="item_id", how="inner", maintain_order="left")


def _cautions(config: Config, judge: str, model: str, benchmark: str) -> pl.DataFrame:
    path = Layout(config.study).labels.format(judge=judge, model=model, benchmark=benchmark)
    return LABELS.read(path, ["item_id", "sample", "caution"])


def material(config: Config, sample: Sample) -> pl.DataFrame:
    """The sample with what a person is shown, also a label's `caution`, and without the judge's verdicts.

    Raises InputError where a response is another than when the sample was drawn.
    """
    pairs = sample.rows.select("model", "benchmark").unique(maintain_order=True).rows()
    texts = pl.concat(
        material_of(config, model, benchmark)
        .join(_cautions(config, sample.about["judge"], model, benchmark), on=SAMPLE, how="left", maintain_order="left")
        .with_columns(model=pl.lit(model), benchmark=pl.lit(benchmark))
        for model, benchmark in pairs
    )
    shown = sample.rows.drop("verdict").join(texts, on=RESPONSE, how="left", maintain_order="left")
    for row in shown.iter_rows(named=True):
        if row["response"] is None or response_hash(row["response"]) != row["response_hash"]:
            path = sample_file(sample.about["study"], sample.about["judge"])
            raise InputError(
                f"{path}: the response of {row['model']} to {row['item_id']} has changed since the sample was drawn; "
                "draw again with --new: answers on what has not changed are kept"
            )
    return shown


def response_hash(text: str) -> str:
    """What tells a response from another."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
