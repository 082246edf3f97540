"""The tables of the catalogue, from the files of all models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.formatting.text_format import format_number
from entropy_sentinel.rendering.exhibit_files import ExhibitInputs, save_tables
from entropy_sentinel.rendering.table_exhibit import Table, missing_notes, select_headings
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.file_sets import read_by_owner
from papers.ambiguity.ambiguity_exhibits import (
    ANSWERS,
    AUC_NOTE,
    BY_FREQUENCY,
    COMMON_NOTE,
    ESTIMATOR_TITLES,
    ESTIMATORS,
    INTERVAL_NOTE,
    PAPER_FORM,
    TABLES,
    AmbiguityExhibitSettings,
    describe_method,
    form_title,
)
from papers.ambiguity.ambiguity_frames import ALIGNED_CLASSES, AUROCS, CONCORDANCES, ESTIMATES, P_STARS, UNCERTAINTIES
from papers.ambiguity.ambiguity_measures import join_estimates
from papers.ambiguity.published_values import compare_published, compare_statistics


@dataclass(frozen=True, kw_only=True)
class AmbiguityTableInputs(ExhibitInputs):
    """The settings of the tables, the benchmarks' questions, and frames of the contracts in ambiguity_frames.py.

    `items` are as of `ambiguity_measures.join_estimates`; `aligned` has the first model's classes.
    """

    settings: AmbiguityExhibitSettings
    questions: pl.DataFrame
    aligned: pl.DataFrame
    items: pl.DataFrame
    concordances: pl.DataFrame
    aurocs: pl.DataFrame
    p_stars: pl.DataFrame


_KEY_HEADINGS = {"model": "Model", "benchmark": "Benchmark", "answers": "Answers"}


def table_2_concordance(inputs: AmbiguityTableInputs) -> Table:
    """Tabulate AUC_c of every estimator, by model, benchmark, and items with one answer and with several."""
    rows = _select_paper_rows(inputs.concordances, inputs.settings).filter(form=PAPER_FORM)
    return Table(
        "Concordance AUC_c of each estimator with the epistemic uncertainty, for questions with one right answer and "
        "with several.",
        _pivot_estimators(rows, "auc_c"),
        (AUC_NOTE, COMMON_NOTE, describe_method(inputs.settings), *_note_reasons(rows)),
        published=compare_published("2_concordance", rows, inputs.settings, "auc_c", "AUC_c"),
    )


def table_3_dirichlet(inputs: AmbiguityTableInputs) -> Table:
    """Tabulate AUC_c by the weight of the counts (gamma), for items with several answers."""
    posteriors = (pl.col("form") == PAPER_FORM) | pl.col("form").str.starts_with("dirichlet-")
    rows = _select_paper_rows(inputs.concordances, inputs.settings).filter(posteriors, answers="several")
    gamma = pl.col("form").str.replace("dirichlet-", "", literal=True)
    return Table(
        "AUC_c where p* has the posterior Dir(1 + gamma count): the epistemic uncertainty is expected over it. Items "
        "with several answers.",
        _pivot_estimators(rows, "auc_c", {"form": "p*"}, {"form": form_title}),
        (AUC_NOTE, "as in the paper: p* are the shares of the counts.", *_note_reasons(rows)),
        published=compare_published(
            "3_dirichlet", rows.with_columns(gamma=gamma), inputs.settings, "auc_c", "AUC_c", extra_keys=["gamma"]
        ),
    )


def table_4_sources(inputs: AmbiguityTableInputs) -> Table:
    """Tabulate AUC_c by the source of p*, for items with several answers."""
    rows = inputs.concordances.filter(pl.col("estimator").is_in(list(ESTIMATORS)), form=PAPER_FORM, answers="several")
    notes = [AUC_NOTE, "If a source lacks the count of an answer, it lacks the item.", *_note_reasons(rows)]
    if rows["source"].n_unique() <= 1:
        notes.insert(0, "This study has one source of p*; set analyses.ambiguity.sources for more.")
    return Table(
        "AUC_c by the source of p*, for items with several answers.",
        _pivot_estimators(rows, "auc_c", {"source": "Source"}),
        tuple(notes),
        published=compare_published("4_sources", rows, inputs.settings, "auc_c", "AUC_c", extra_keys=["source"]),
    )


def table_7_auroc(inputs: AmbiguityTableInputs) -> Table:
    """Tabulate AUROC of every estimator for items that are uncertain at each threshold."""
    rows = inputs.aurocs.filter(pl.col("estimator").is_in(list(ESTIMATORS)))
    extra_columns = {"threshold": "EU at least", "n_uncertain": "Uncertain"}
    delta = pl.format("log{}", pl.col("threshold").cast(pl.String).str.strip_suffix(".0"))
    return Table(
        "AUROC of each estimator for questions with an epistemic uncertainty of at least a threshold.",
        _pivot_estimators(rows, "auroc", extra_columns, {"threshold": "log {:g}".format}),
        ("0.5 is chance.", COMMON_NOTE, describe_method(inputs.settings), *_note_reasons(rows)),
        published=compare_published(
            "7_auroc", rows.with_columns(delta=delta), inputs.settings, "auroc", "AUROC", extra_keys=["delta"]
        ),
    )


def table_forms(inputs: AmbiguityTableInputs) -> Table:
    """Tabulate AUC_c by how the model's p is computed (the form), and how often epistemic uncertainty is below 0."""
    rows = inputs.concordances.filter(~pl.col("form").str.starts_with("dirichlet-"), source=inputs.settings["source"])
    negative_shares = (
        inputs.items.filter(source=inputs.settings["source"])
        .group_by("model", "benchmark", "answers", "form")
        .agg((pl.col("epistemic") < 0).mean().alias("EU below 0"))
    )
    rows_with_shares = rows.join(
        negative_shares, on=["model", "benchmark", "answers", "form"], how="left", maintain_order="left"
    )
    return Table(
        "AUC_c by how the model's p is computed, with the share of items whose epistemic uncertainty is below 0.",
        _pivot_estimators(rows_with_shares, "auc_c", {"form": "p", "EU below 0": "EU below 0"}, {"form": form_title}),
        (
            AUC_NOTE,
            f"{ESTIMATOR_TITLES[BY_FREQUENCY]}: semantic entropy from shares of samples, which needs no "
            "log-probabilities.",
            *_note_reasons(rows),
        ),
    )


def table_intervals(inputs: AmbiguityTableInputs) -> Table:
    """Tabulate AUC_c with its interval and the share of tied pairs: the source of the other tables' columns."""
    headings = {
        **_KEY_HEADINGS,
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
    formats = {"answers": ANSWERS.__getitem__, "form": form_title, "estimator": ESTIMATOR_TITLES.__getitem__}
    return Table(
        "AUC_c of each estimator with its interval.",
        select_headings(inputs.concordances, headings, formats),
        (
            AUC_NOTE,
            INTERVAL_NOTE,
            "Tied pairs: the share that is left out because the estimator is equal; large if a model gives most "
            "questions only one answer.",
            "Alike pairs: the share of the others that counts half because the epistemic uncertainty is equal; large "
            "if a model gives no right answer to most questions.",
        ),
    )


def _select_paper_rows(concordances: pl.DataFrame, settings: AmbiguityExhibitSettings) -> pl.DataFrame:
    """The rows for the paper's estimators with the benchmarks' own p*."""
    return concordances.filter(pl.col("estimator").is_in(list(ESTIMATORS)), source=settings["source"])


def _pivot_estimators(
    rows: pl.DataFrame,
    value_column: str,
    extra_columns: Mapping[str, str] | None = None,
    formats: Mapping[str, Callable[[Any], str]] | None = None,
) -> pl.DataFrame:
    """Pivot to a column per estimator and a row per model, benchmark, number of right answers and `extra_columns`.

    `rows` are of CONCORDANCES or AUROCS, `value_column` is the column to show. `extra_columns` has headings by column,
    `formats` functions that format their values.
    """
    extra_headings = dict(extra_columns or {})
    index = [*_KEY_HEADINGS, *extra_headings, "n_items"]
    wide = rows.pivot("estimator", index=index, values=value_column, maintain_order=True)
    headings = _KEY_HEADINGS | extra_headings | {"n_items": "Items"} | ESTIMATOR_TITLES
    texts = {"answers": ANSWERS.__getitem__, **(formats or {})}
    return select_headings(wide, {name: headings[name] for name in wide.columns}, texts).cast({pl.Null: pl.Float64})


def _note_reasons(rows: pl.DataFrame) -> list[str]:
    """A line for each estimator and reason for missing values, from rows of CONCORDANCES or AUROCS."""
    missing = []
    for row in rows.drop_nulls("reason").iter_rows(named=True):
        owner = f"{row['model']}, {row['benchmark']}, {row['answers']}"
        missing.append((ESTIMATOR_TITLES[row["estimator"]], row["reason"], owner))
    return missing_notes(missing)


_UNIFORM_NOTE = "If a benchmark has no counts, its answers are assumed to be equally likely."


def table_1_examples(inputs: AmbiguityTableInputs) -> Table:
    """Tabulate the question of median H(p*) in each benchmark, with its answers, counts, p* and the first model's p."""
    benchmark_rows = inputs.p_stars.filter(source=inputs.settings["source"])
    rows = []
    for (benchmark,), items in benchmark_rows.group_by("benchmark", maintain_order=True):
        item = items.sort("entropy", "item_id").row((len(items) - 1) // 2, named=True)
        right = inputs.aligned.filter(pl.col("right"), source=inputs.settings["source"], item_id=item["item_id"])
        rows.append(
            {
                "Benchmark": benchmark,
                "Question": inputs.questions.filter(item_id=item["item_id"])["question"][0],
                "Answers": ", ".join(right["name"]),
                "Counts": _join_numbers(item["counts"] or [None], "g"),
                "p*": _join_numbers(right["p_star"], ".2f"),
                "Model's p": _join_numbers(right["p"], ".2f"),
                "H(p*), nats": item["entropy"],
            }
        )
    model = inputs.aligned["model"][0] if len(inputs.aligned) else "no model"
    return Table(
        "One question of each benchmark: the one with the median H(p*).",
        pl.DataFrame(rows, schema_overrides={"H(p*), nats": pl.Float64}),
        (f"Model's p: {model}; -: an answer that no sample gave, or an unknown count.", _UNIFORM_NOTE),
        decimals=2,
    )


def table_8_p_star(inputs: AmbiguityTableInputs) -> Table:
    """Tabulate items, counts of an answer, and entropy of p*, by benchmark and source."""
    by_benchmark = summarise_p_stars(inputs.p_stars)
    headings = {
        "benchmark": "Benchmark",
        "source": "Source",
        "n": "Items",
        "n_answers": "Answers",
        "count_mean": "Count",
        "count_sd": "SD",
        "entropy_mean": "H(p*)",
        "entropy_sd": "SD of H",
        "divergence": "JS",
    }
    return Table(
        "Statistics of p*: items, mean number of answers, mean count of an answer and entropy in nats, with standard "
        "deviations.",
        by_benchmark.rename(headings),
        (
            "JS: mean Jensen-Shannon divergence in nats from the benchmark's own p*; log 2 = 0.69 is the largest.",
            "Count: mean over all answers of all items. The paper does not define its mean.",
            _UNIFORM_NOTE,
        ),
        decimals=2,
        published=compare_statistics(by_benchmark, inputs.settings),
    )


def summarise_p_stars(p_stars: pl.DataFrame) -> pl.DataFrame:
    """Statistics of a frame P_STARS by benchmark and source: n (items), means and standard deviations (sd).

    Columns n_answers, entropy_mean, entropy_sd and divergence (means over items), and count_mean and count_sd over the
    counts of all their answers.
    """
    rows = []
    for (benchmark, source), group in p_stars.group_by("benchmark", "source", maintain_order=True):
        counts = group["counts"].drop_nulls().explode().to_numpy()
        rows.append(
            {
                "benchmark": benchmark,
                "source": source,
                "n": len(group),
                "n_answers": group["n_answers"].mean(),
                "count_mean": float(np.mean(counts)) if len(counts) else None,
                "count_sd": float(np.std(counts, ddof=1)) if len(counts) > 1 else None,
                "entropy_mean": group["entropy"].mean(),
                "entropy_sd": group["entropy"].std(),
                "divergence": group["divergence"].mean(),
            }
        )
    names = ("n_answers", "count_mean", "count_sd", "entropy_mean", "entropy_sd", "divergence")
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(names, pl.Float64))


def _join_numbers(values: Sequence[float | None] | pl.Series, form: str) -> str:
    """Numbers as text, such as `0.67, 0.33`."""
    return ", ".join(format_number(value, form) for value in values)


def write_tables(
    benchmarks: Sequence[str],
    aligned: Sequence[str],
    uncertainties: Sequence[str],
    estimates: Sequence[str],
    concordances: str,
    aurocs: str,
    p_stars: str,
    settings: AmbiguityExhibitSettings,
    tables: Sequence[str],
    folder: str,
) -> None:
    """Write the tables of these names to `folder`, from this analysis' files (ambiguity_frames.py).

    `benchmarks` are files BENCHMARKS; `aligned` has only the first model's classes.
    """
    expected = {"model": settings["models"]}
    inputs = AmbiguityTableInputs(
        label=settings["label"],
        settings=settings,
        questions=pl.concat(BENCHMARKS.read(path, ["item_id", "question"]) for path in benchmarks),
        aligned=pl.concat(map(ALIGNED_CLASSES.read, aligned)),
        items=join_estimates(
            read_by_owner(UNCERTAINTIES, uncertainties, expected), read_by_owner(ESTIMATES, estimates, expected)
        ),
        concordances=CONCORDANCES.read(concordances),
        aurocs=AUROCS.read(aurocs),
        p_stars=P_STARS.read(p_stars),
    )
    save_tables(TABLES, tables, inputs, folder)
