"""Stage `aligned`: the classes of a model's answers to the items of a benchmark, beside the right answers."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from entropy_sentinel.analyses.ambiguity.aligning import Classes, matched
from entropy_sentinel.analyses.ambiguity.catalogue import ESTIMATORS
from entropy_sentinel.analyses.ambiguity.frames import ALIGNED
from entropy_sentinel.analyses.ambiguity.sources import PStar, of_file, of_items
from entropy_sentinel.frames.contract import read_provenance, readable
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.frames.signals import contract_of
from entropy_sentinel.grouping.backend import Backend, Question, make_backend
from entropy_sentinel.grouping.settings import GroupingSettings
from entropy_sentinel.signals.catalogue import FAMILIES

log = logging.getLogger(__name__)

SEMANTICS = contract_of(FAMILIES[ESTIMATORS["se"].family])


def write_aligned(
    benchmark: str,
    semantics: str,
    sources: Mapping[str, str],
    source: str,
    settings: GroupingSettings,
    output: str,
) -> None:
    """Align the answers in `semantics`, of one model, with those in `benchmark`, and in the files of further sources.

    `source` is what the benchmark's own counts are called.
    """
    origin = read_provenance(semantics)
    whose = {name: origin[name] for name in ("model", "benchmark")}
    backend = make_backend(settings)
    groups = class_frame(semantics)
    known = {source: of_items(benchmark)} | {name: of_file(path, benchmark) for name, path in sources.items()}
    rows = [
        {**whose, "source": name} | row for name, p_stars in known.items() for row in aligned(groups, p_stars, backend)
    ]
    ALIGNED.write(ALIGNED.frame(rows), output, {**whose, "grouping": backend.provenance})


def class_frame(semantics: str) -> pl.DataFrame:
    """A row for each class of each item: its texts, probability, share of the samples, and their number."""
    with readable(semantics, SEMANTICS.stage):
        columns = (*RESPONSE, "answer", "answer_class", "class_probability")
        rows = SEMANTICS.scan(semantics).select(columns).drop_nulls("answer_class").sort("item_id", "sample").collect()
    rows = rows.with_columns(n_samples=pl.len().over("item_id"))
    return (
        rows.group_by("item_id", "answer_class", maintain_order=True)
        .agg(
            texts=pl.col("answer").unique(maintain_order=True),
            p=pl.col("class_probability").first(),
            frequency=pl.len() / pl.col("n_samples").first(),
            n_samples=pl.col("n_samples").first(),
        )
        .sort("item_id", "answer_class")
    )


def aligned(groups: pl.DataFrame, p_stars: Mapping[str, PStar], backend: Backend) -> list[dict[str, Any]]:
    """Rows of ALIGNED, without model, benchmark and source, of the items that have answers and p*."""
    items = {str(item): own for (item,), own in groups.group_by("item_id", maintain_order=True) if item in p_stars}
    if without := len(p_stars) - len(items):
        log.warning("%d items have right answers, but no answer of the model: they are left out", without)
    asked = [
        Classes(Question(p_stars[item].question, p_stars[item].answers), own["texts"].to_list())
        for item, own in items.items()
    ]
    found = matched(asked, backend)
    return [
        {"item_id": item} | row
        for (item, own), numbers in zip(items.items(), found, strict=True)
        for row in _rows(p_stars[item], own, numbers)
    ]


def _rows(known: PStar, own: pl.DataFrame, numbers: Sequence[int | None]) -> list[dict[str, Any]]:
    """The right answers with what the model gives them, then its other classes."""
    groups = own.with_columns(number=pl.Series(numbers, dtype=pl.Int64))
    given = {
        number: (p, frequency)
        for number, p, frequency in groups.group_by("number").agg(pl.col("p", "frequency").sum()).iter_rows()
    }
    counts = known.counts or [None] * len(known.answers)
    rows = [
        {"name": names[0], "right": True, "count": count, "p_star": share}
        | dict(zip(("p", "frequency"), given.get(number, (None, None)), strict=True))
        for number, (names, count, share) in enumerate(zip(known.answers, counts, known.probabilities, strict=True))
    ]
    for texts, p, frequency in groups.filter(pl.col("number").is_null()).select("texts", "p", "frequency").iter_rows():
        name = {"name": texts[0], "right": False, "count": None, "p_star": 0.0}
        rows.append(name | {"p": p, "frequency": frequency})
    return [{"class": place, "n_samples": own["n_samples"][0]} | row for place, row in enumerate(rows)]
