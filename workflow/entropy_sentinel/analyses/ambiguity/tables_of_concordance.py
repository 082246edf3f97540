"""How well estimators rank and separate items by their epistemic uncertainty, from frames CONCORDANCES and AUROCS."""

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from entropy_sentinel.analyses.ambiguity.catalogue import ANSWERS, BY_FREQUENCY, COMPARED, ESTIMATORS, KL, form_title
from entropy_sentinel.analyses.ambiguity.comparison import beside
from entropy_sentinel.analyses.ambiguity.headings import (
    AUC_NOTE,
    COMMON_NOTE,
    INTERVAL_NOTE,
    AmbiguityShown,
    made_note,
)
from entropy_sentinel.report.tables import Table, headed, missing_notes

_WHOSE = {"model": "Model", "benchmark": "Benchmark", "answers": "Answers"}


def table_2_concordance(concordances: pl.DataFrame, settings: AmbiguityShown) -> Table:
    """AUC_c of every estimator, by model, benchmark, and items with one answer and with several."""
    rows = _own(concordances, settings).filter(form=KL)
    return Table(
        "Concordance AUC_c of each estimator with the epistemic uncertainty, where questions have one right answer and "
        "where they have several.",
        _wide(rows, "auc_c", {}),
        (AUC_NOTE, COMMON_NOTE, made_note(settings), *_reasons(rows)),
        published=beside("2_concordance", rows, settings, "auc_c", [], "AUC_c"),
    )


def table_3_dirichlet(concordances: pl.DataFrame, settings: AmbiguityShown) -> Table:
    """AUC_c by how much the counts are believed, of items with several answers."""
    posteriors = (pl.col("form") == KL) | pl.col("form").str.starts_with("dirichlet-")
    rows = _own(concordances, settings).filter(posteriors, answers="several")
    gamma = pl.col("form").str.replace("dirichlet-", "", literal=True)
    return Table(
        "AUC_c where p* has the posterior Dir(1 + gamma count): the epistemic uncertainty is expected over it. Items "
        "with several answers.",
        _wide(rows, "auc_c", {"form": "p*"}, {"form": form_title}),
        (AUC_NOTE, "as in the paper: p* is the shares of the counts.", *_reasons(rows)),
        published=beside("3_dirichlet", rows.with_columns(gamma=gamma), settings, "auc_c", ["gamma"], "AUC_c"),
    )


def table_4_sources(concordances: pl.DataFrame, settings: AmbiguityShown) -> Table:
    """AUC_c by the source of p*, of items with several answers."""
    rows = concordances.filter(pl.col("estimator").is_in(list(ESTIMATORS)), form=KL, answers="several")
    only = rows["source"].n_unique() <= 1
    return Table(
        "AUC_c by where p* is from, of items with several answers.",
        _wide(rows, "auc_c", {"source": "Source"}),
        (
            *(["This study has one source of p*: analyses.ambiguity.sources names further ones."] if only else []),
            *(AUC_NOTE, "A source that has no count of an answer lacks the item.", *_reasons(rows)),
        ),
        published=beside("4_sources", rows, settings, "auc_c", ["source"], "AUC_c"),
    )


def table_7_auroc(aurocs: pl.DataFrame, settings: AmbiguityShown) -> Table:
    """AUROC of every estimator for items that are uncertain at each threshold."""
    rows = aurocs.filter(pl.col("estimator").is_in(list(ESTIMATORS)))
    further = {"threshold": "EU at least", "n_uncertain": "Uncertain"}
    delta = pl.format("log{}", pl.col("threshold").cast(pl.String).str.strip_suffix(".0"))
    return Table(
        "AUROC of each estimator for questions with an epistemic uncertainty of at least a threshold.",
        _wide(rows, "auroc", further, {"threshold": "log {:g}".format}),
        ("0.5 is chance.", COMMON_NOTE, made_note(settings), *_reasons(rows)),
        published=beside("7_auroc", rows.with_columns(delta=delta), settings, "auroc", ["delta"], "AUROC"),
    )


def table_forms(concordances: pl.DataFrame, items: pl.DataFrame, settings: AmbiguityShown) -> Table:
    """AUC_c of the semantic entropy and the others by how p is made, and how often EU is below 0."""
    rows = concordances.filter(~pl.col("form").str.starts_with("dirichlet-"), source=settings["source"])
    below = (
        items.filter(source=settings["source"])
        .with_columns(answers=pl.when(pl.col("n_answers") == 1).then(pl.lit("one")).otherwise(pl.lit("several")))
        .group_by("model", "benchmark", "answers", "form")
        .agg((pl.col("epistemic") < 0).mean().alias("EU below 0"))
    )
    found = rows.join(below, on=["model", "benchmark", "answers", "form"], how="left", maintain_order="left")
    return Table(
        "AUC_c by how the model's p is made, with the share of items whose epistemic uncertainty is below 0.",
        _wide(found, "auc_c", {"form": "p", "EU below 0": "EU below 0"}, {"form": form_title}),
        (
            AUC_NOTE,
            f"{COMPARED[BY_FREQUENCY]}: semantic entropy of the shares of the samples, which needs no log-probability.",
            *_reasons(rows),
        ),
    )


def table_intervals(concordances: pl.DataFrame, settings: AmbiguityShown) -> Table:
    """AUC_c with its interval and the share of tied pairs: everything that the other tables take one column of."""
    headings = {
        **_WHOSE,
        "source": "Source of p*",
        "form": "Form",
        "estimator": "Estimator",
        "n_items": "Items",
        "auc_c": "AUC_c",
        "lower": "from",
        "upper": "to",
        "tied": "Tied pairs",
        "alike": "Alike pairs",
    }
    words = {"answers": ANSWERS.__getitem__, "form": form_title, "estimator": COMPARED.__getitem__}
    return Table(
        "AUC_c of each estimator with its interval.",
        headed(concordances, headings, words),
        (
            AUC_NOTE,
            INTERVAL_NOTE,
            "Tied pairs: the share that is left out, for the estimator is the same; many where a model gives most "
            "questions one answer.",
            "Alike pairs: the share of the others that counts half, for the epistemic uncertainty is the same; many "
            "where a model gives no right answer to most questions.",
        ),
    )


def _own(concordances: pl.DataFrame, settings: AmbiguityShown) -> pl.DataFrame:
    """The paper's estimators, by the benchmarks' own p*."""
    return concordances.filter(pl.col("estimator").is_in(list(ESTIMATORS)), source=settings["source"])


def _wide(
    rows: pl.DataFrame, value: str, further: Mapping[str, str], words: Mapping[str, Callable[[Any], str]] | None = None
) -> pl.DataFrame:
    """A column for each estimator, a row for each model, benchmark, kind of items and `further` columns.

    `further` has their headings, and `words` what is said of their values.
    """
    index = [*_WHOSE, *further, "n_items"]
    wide = rows.pivot("estimator", index=index, values=value, maintain_order=True)
    headings = _WHOSE | dict(further) | {"n_items": "Items"} | COMPARED
    said = {"answers": ANSWERS.__getitem__, **(words or {})}
    return headed(wide, {name: headings[name] for name in wide.columns}, said).cast({pl.Null: pl.Float64})


def _reasons(rows: pl.DataFrame) -> list[str]:
    """Why there is no value, a line for each estimator and reason."""
    return missing_notes(
        (COMPARED[row["estimator"]], row["reason"], f"{row['model']}, {row['benchmark']}, {row['answers']}")
        for row in rows.drop_nulls("reason").iter_rows(named=True)
    )
