"""The items that can be selected, with what the strategies go by; read from the files of a study."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from entropy_sentinel.analyses.selection.frames import CANDIDATES
from entropy_sentinel.frames.benchmark import BENCHMARKS
from entropy_sentinel.frames.errors import ConfigError, InputError
from entropy_sentinel.frames.generation import GENERATIONS
from entropy_sentinel.frames.label import LABELS
from entropy_sentinel.frames.response import SAMPLE
from entropy_sentinel.signals.forced_answer import FORCED_ANSWERS

NO_TRIES, NO_PASS = "no pass rate is asked for", "no entropy area is asked for"
NO_ANSWER, NO_NUMBER = "the pass has no row of the response", "the entropy area is no finite number"


@dataclass(frozen=True)
class CandidateFiles:
    """The files of a model on one benchmark: without `labels` no item has a pass rate, without `asked` no EAS."""

    items: str | Path
    generations: str | Path
    labels: str | Path | None = None
    asked: str | Path | None = None


def read_candidates(model: str, files: Iterable[CandidateFiles], tries: int, answer: str) -> pl.DataFrame:
    """A frame CANDIDATES: the items of all benchmarks that have a reference and a response, each question once.

    `tries` is the number of responses that a pass rate is over, `answer` what the area is of: `own` or `reference`.
    Raises InputError where no item can be trained on, and ConfigError where the pass has not put in that answer.
    """
    found = pl.concat(_of_benchmark(one, tries, answer) for one in files).with_columns(model=pl.lit(model))
    if found.is_empty():
        raise InputError(f"{model}: no item has a reference, and only such items can be trained on")
    return found.select(CANDIDATES.schema.names()).unique("question", keep="first", maintain_order=True)


def _of_benchmark(files: CandidateFiles, tries: int, answer: str) -> pl.DataFrame:
    items = BENCHMARKS.read(files.items, ["item_id", "question", "reference"]).drop_nulls("reference")
    benchmark = Path(files.items).stem
    responses = GENERATIONS.read(files.generations, [*SAMPLE, "n_tokens"]).sort(SAMPLE)
    first = responses.group_by("item_id", maintain_order=True).first()
    return (
        items.join(first, on="item_id", how="inner", maintain_order="left")
        .join(_pass_rates(files, tries), on="item_id", how="left", maintain_order="left")
        .join(_areas(files.asked, benchmark, answer), on=SAMPLE, how="left", maintain_order="left")
        .with_columns(
            pl.coalesce("pass_rate_reason", _missing("pass_rate", NO_TRIES)),
            pl.coalesce("eas_reason", _missing("eas", NO_ANSWER if files.asked else NO_PASS)),
            benchmark=pl.lit(benchmark),
        )
    )


def _missing(column: str, reason: str) -> pl.Expr:
    return pl.when(pl.col(column).is_null()).then(pl.lit(reason))


def _pass_rates(files: CandidateFiles, tries: int) -> pl.DataFrame:
    """Of each item the label of its first response, and how many of its tries are correct."""
    schema = {"label": pl.Boolean, "passes": pl.UInt16, "pass_rate": pl.Float64, "pass_rate_reason": pl.String}
    if files.labels is None:
        return pl.DataFrame(schema={"item_id": pl.String, **schema})
    labels = LABELS.read(files.labels, [*SAMPLE, "label"]).sort(SAMPLE)
    known = pl.col("label").head(tries)
    short = pl.format("{} of {} tries", pl.col("tried"), pl.lit(tries))
    unsure = pl.format("{} of {} tries have no label", pl.col("tried") - pl.col("labelled"), pl.lit(tries))
    return (
        labels.group_by("item_id", maintain_order=True)
        .agg(
            pl.col("label").first(),
            tried=known.len(),
            labelled=known.count(),
            passes=known.sum().cast(pl.UInt16),
        )
        .with_columns(
            pass_rate_reason=pl.when(pl.col("tried") < tries).then(short).when(pl.col("labelled") < tries).then(unsure)
        )
        .with_columns(passes=pl.when(pl.col("pass_rate_reason").is_null()).then("passes"))
        .with_columns(pass_rate=pl.col("passes") / tries)
        .select("item_id", *schema)
    )


def _areas(path: str | Path | None, benchmark: str, answer: str) -> pl.DataFrame:
    """Of each response its EAS, or the reason why it has none."""
    schema = {"item_id": pl.String, "sample": pl.UInt16, "eas": pl.Float64, "eas_reason": pl.String}
    if path is None:
        return pl.DataFrame(schema=schema)
    rows = FORCED_ANSWERS.read(path, [*SAMPLE, "answer", "eas", "reason"])
    own = rows.filter(answer=answer)
    if own.is_empty() and not rows.is_empty():
        there = ", ".join(rows["answer"].unique(maintain_order=True))
        raise ConfigError(
            f"{path}: has areas of the answers {there}, and none of '{answer}'; set signals.forced_answer.answers: "
            f"[{answer}], or select by another answer"
        )
    finite = pl.col("eas").is_finite()
    no_number = pl.when(~finite).then(pl.lit(NO_NUMBER))
    return own.select(*SAMPLE, eas=pl.when(finite).then("eas"), eas_reason=pl.coalesce("reason", no_number))
