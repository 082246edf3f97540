"""The tables of the catalogue, from the files of all models."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from entropy_sentinel.rendering.exhibit_files import ExhibitInputs, save_tables
from entropy_sentinel.rendering.table_exhibit import Table, missing_notes, number_frame, select_headings
from entropy_sentinel.schemas.file_sets import read_by_owner
from papers.entropy_area.area_exhibits import (
    ALL_BENCHMARKS,
    ANSWERS,
    ENTROPY_NOTE,
    FIRST_NOTE,
    INTERVAL_NOTE,
    PUBLISHED_FOLDER,
    TABLES,
    TARGETS,
    AreaExhibitSettings,
    answer_note,
    has_published_values,
    measure_title,
)
from papers.entropy_area.area_frames import CORRELATIONS, ITEMS, SPREAD, TRUNCATION
from papers.entropy_area.area_measures import RANGES, select_benchmarks

_STATISTICS = {"mean": "mean", "q90": "90th percentile", "q95": "95th percentile", "q99": "99th percentile"}


@dataclass(frozen=True, kw_only=True)
class AreaTableInputs(ExhibitInputs):
    """The settings of the tables, the study's models, and frames of the contracts in area_frames.py."""

    settings: AreaExhibitSettings
    models: Sequence[str]
    items: pl.DataFrame
    truncation: pl.DataFrame
    correlations: pl.DataFrame
    spread: pl.DataFrame


def table_1_truncation(inputs: AreaTableInputs) -> Table:
    """Tabulate the mass of the 20 most likely tokens and the bound of the entropy, over all positions and responses."""
    headings = {
        "model": "Model",
        "benchmark": "Benchmark",
        "answer": "Answer",
        "statistic": "Statistic",
        "n_positions": "Positions",
        "top_20_mass": "Top-20 mass",
        "bound_bits": "Bound, bits",
        "entropy": "H(t), bits",
    }
    words = {
        "benchmark": lambda name: "all" if name == ALL_BENCHMARKS else name,
        "answer": ANSWERS.__getitem__,
        "statistic": _STATISTICS.__getitem__,
    }
    return Table(
        "Probability of the 20 most likely tokens, and the largest error of H(t) from omitting the others, over "
        "all positions of all responses.",
        select_headings(inputs.truncation, headings, words),
        (
            "The percentiles are those of the worst positions: 10, 5 and 1 % of them have less mass, or a larger "
            "bound.",
            "Bound: eps log2((V - 20) / eps), eps the mass left out and V the model's vocabulary. H(t) beside it: its "
            "own mean and percentiles.",
            answer_note(inputs.settings["answers"]),
        ),
        decimals=4,
        published=_compare_truncation(
            inputs.truncation, inputs.settings["answers"], inputs.models, inputs.settings["sets"]
        ),
    )


def _compare_truncation(
    truncation: pl.DataFrame, answers: Sequence[str], models: Sequence[str], sets: Iterable[str]
) -> Table | None:
    """The paper's Table 1 with ours; None if the study has not the paper's model, benchmark and inserted answer."""
    if not has_published_values("1_truncation", models, sets, answers):
        return None
    (model,), (benchmark,) = TABLES["1_truncation"].models, TABLES["1_truncation"].benchmarks
    study_rows = truncation.filter(model=model, benchmark=benchmark, answer="reference")
    paper_rows = pl.read_csv(PUBLISHED_FOLDER / "table_1_truncation.csv")
    joined = paper_rows.join(study_rows, on="statistic", how="left", suffix=": ours", maintain_order="left")
    headings = {
        "statistic": "Statistic",
        "top_20_mass: ours": "Top-20 mass",
        "top_20_mass": "Top-20 mass: paper",
        "bound_bits: ours": "Bound, bits",
        "bound_bits": "Bound, bits: paper",
    }
    frame = select_headings(joined, headings, {"statistic": _STATISTICS.__getitem__})
    note = (
        f"The paper names no model and benchmark here; its section says {model} and {benchmark}. It writes "
        "`percentile average`, which we take for the percentile over positions."
    )
    return Table("This study's values and the paper's.", frame, (note,), decimals=4)


def table_ranges(inputs: AreaTableInputs) -> Table:
    """Tabulate the number of items with low, medium and high answer entropy, and means over their first responses."""
    keys = ["Model", "Benchmark", "Answer entropy"]
    numbers = ["Items", "Never correct", "Accuracy", "EAS", "Mean EAS", "Length"]
    rows = []
    for model in inputs.models:
        for name, benchmarks in inputs.settings["sets"].items():
            model_items = select_benchmarks(inputs.items, model, benchmarks)
            for title, in_range in RANGES.values():
                range_items = model_items.filter(in_range)
                row = {
                    "Model": model,
                    "Benchmark": name,
                    "Answer entropy": title,
                    "Items": len(range_items),
                    "Never correct": len(range_items.filter(accuracy=0)),
                    "Accuracy": range_items["accuracy"].mean(),
                    "EAS": range_items[f"eas_{inputs.settings['answer']}"].mean(),
                    "Mean EAS": range_items[f"mean_eas_{inputs.settings['answer']}"].mean(),
                    "Length": range_items["n_tokens"].mean(),
                }
                rows.append(row)
    return Table(
        f"Items by their answer entropy in bits, and means over them: accuracy of all samples; EAS "
        f"({ANSWERS[inputs.settings['answer']]}), mean EAS and length of the first.",
        number_frame(rows, keys, numbers),
        (ENTROPY_NOTE, FIRST_NOTE, "Never correct: no sample is correct, as when a wrong answer repeats."),
    )


def table_spread(inputs: AreaTableInputs) -> Table:
    """Tabulate the differences in EAS between an item's samples, and their effect on the correlation."""
    headings = {
        "model": "Model",
        "benchmark": "Benchmark",
        "answer": "Answer",
        "n_items": "Items",
        "n_scores": "Scores",
        "within_sd": "SD within items",
        "between_sd": "SD between items",
        "r_first": "r, first sample",
        "r_lowest": "lowest",
        "r_highest": "highest",
        "r_mean": "r, mean of samples",
    }
    return Table(
        "Comparison of the EAS of an item's samples: standard deviations in bits, and Pearson's r with the answer "
        "entropy, by the sample that represents the item.",
        select_headings(inputs.spread, headings, {"answer": ANSWERS.__getitem__}),
        (
            "SD between items: of the items' means. lowest, highest: over sample numbers. Only items with two "
            "scored samples.",
        ),
    )


_HEADINGS = {
    "model": "Model",
    "benchmark": "Benchmark",
    "target": "Against",
    "measure": "Measure",
    "n_items": "Items",
    "r": "r",
    "lower": "from",
    "upper": "to",
    "p": "p",
    "rho": "rho",
    "rho_p": "p of rho",
}


def table_2_correlation(inputs: AreaTableInputs) -> Table:
    """Tabulate Pearson's r and Spearman's rho of every measure with every entropy, by model and benchmark."""
    rows = inputs.correlations.sort(*_list_sort_keys(inputs.correlations), maintain_order=True)
    published = None
    if has_published_values("2_correlation", inputs.models, inputs.settings["sets"], inputs.settings["answers"]):
        published = _compare_correlations(inputs.correlations)
    missing = []
    for row in rows.drop_nulls("reason").iter_rows(named=True):
        value = f"r of {measure_title(row['measure'])} with {TARGETS[row['target']]}"
        missing.append((value, row["reason"], f"{row['model']}, {row['benchmark']}"))
    return Table(
        "Pearson's r, and Spearman's rho, of measures of one response with entropies over the samples of its item.",
        select_headings(rows, _HEADINGS, {"target": TARGETS.__getitem__, "measure": measure_title}),
        (
            FIRST_NOTE,
            ENTROPY_NOTE,
            f"{INTERVAL_NOTE} p: two-sided, of no correlation; 0.00 is less than 0.005, the CSV has all digits.",
            "All measures are compared on the same items: those whose first response has them all.",
            answer_note(inputs.settings["answers"]),
            *missing_notes(missing),
        ),
        decimals=2,  # with 10,000 bootstrap samples of 40 items, another seed moves a limit by up to 0.015
        published=published,
    )


def _list_sort_keys(correlations: pl.DataFrame) -> list[pl.Expr]:
    """Expressions that sort by model and benchmark, then by the compared entropy."""
    models = pl.Enum(correlations["model"].unique(maintain_order=True))
    benchmarks = pl.Enum(correlations["benchmark"].unique(maintain_order=True))
    targets = pl.Enum(list(TARGETS))
    return [pl.col("model").cast(models), pl.col("benchmark").cast(benchmarks), pl.col("target").cast(targets)]


def _compare_correlations(correlations: pl.DataFrame) -> Table:
    """The paper's Table 2 with ours, for models and benchmarks that the study has under the same names."""
    paper_rows = pl.read_csv(PUBLISHED_FOLDER / "table_2_correlation.csv")
    study_rows = correlations.filter(measure="eas_reference", target="answer_entropy")
    joined = paper_rows.join(study_rows, on=["model", "benchmark"], how="inner", maintain_order="left")
    headings = {
        "model": "Model",
        "benchmark": "Benchmark",
        "r": "r",
        "lower": "from",
        "upper": "to",
        "pearson_r": "r: paper",
        "difference": "r: difference",
    }
    frame = select_headings(joined.with_columns(difference=pl.col("r") - pl.col("pearson_r")), headings)
    note = "The paper states p < 5e-5 for all four, but neither the temperature nor which response EAS uses."
    return Table("Pearson's r of EAS (reference) with the answer entropy, here and in the paper.", frame, (note,))


def write_tables(
    by_item: Sequence[str],
    truncation: Sequence[str],
    correlations: str,
    spread: str,
    settings: AreaExhibitSettings,
    tables: Sequence[str],
    models: Sequence[str],
    folder: str,
) -> None:
    """Write the tables of these names to `folder`, from this analysis' files (area_frames.py)."""
    inputs = AreaTableInputs(
        label=settings["label"],
        settings=settings,
        models=models,
        items=read_by_owner(ITEMS, by_item, {"model": models}),
        truncation=pl.concat(map(TRUNCATION.read, truncation)),
        correlations=CORRELATIONS.read(correlations),
        spread=SPREAD.read(spread),
    )
    save_tables(TABLES, tables, inputs, folder)
