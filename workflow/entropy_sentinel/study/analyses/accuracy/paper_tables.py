"""The tables in the layout of the paper: its columns, without intervals, selected from the full tables.

Errors are over all domains, as the published ones are (see published_comparison.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from entropy_sentinel.estimators.estimator_registry import BASELINES, estimator_title
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.rendering.exhibit_declarations import load_function
from entropy_sentinel.rendering.exhibit_style import Style
from entropy_sentinel.rendering.latex import (
    DOWN,
    NONE,
    RHO,
    UP,
    Block,
    Latex,
    PaperTable,
    Wrapped,
    format_share,
    format_spread,
    join_latex,
    lay_side_by_side,
    lower_qualifier,
)
from entropy_sentinel.rendering.table_exhibit import Table
from entropy_sentinel.signal_families.signal_registry import SIGNALS
from entropy_sentinel.study.analyses.accuracy.accuracy_exhibits import PublishedTable
from entropy_sentinel.study.analyses.accuracy.counterparts import LEVELS
from entropy_sentinel.study.analyses.accuracy.exhibit_inputs import AccuracyTableInputs
from entropy_sentinel.study.analyses.display_names import (
    TrainingGroup,
    find_training_group,
    list_further_groups,
    list_main_groups,
)

_SCOPE = "over all domains, those used for training by their test split"
_SPREAD = "median with the interquartile range (IQR) as subscript"
_DASH = Latex("--: undefined, or not estimated.")
# A block has the rows of one model. Blocks are one below another in up to two lanes, which are side by side; more
# models need a further float of LaTeX.
_BLOCKS_PER_LANE, _LANES = 3, 2
_DEFAULT = "Default"


@dataclass(frozen=True)
class PaperSettings:
    """What captions and headings are made from: the inputs of the full tables, and the style with displayed names."""

    inputs: AccuracyTableInputs
    style: Style

    @property
    def headline(self) -> TrainingGroup:
        """The training group that Tables 3 and 8 show."""
        return find_training_group(self.inputs.groups, self.inputs.headline_group)

    def describe(self, group: TrainingGroup) -> str:
        """A group with its benchmarks: `Extremes (GSM8K, OlympiadBench)`."""
        benchmarks = self.name_benchmarks(group.benchmarks)
        return benchmarks if group.title == group.benchmarks else f"{group.title} ({benchmarks})"

    def name_benchmarks(self, names: str) -> str:
        """The displayed names of benchmarks, `GSM8K, MATH`, for their names in the config, `gsm8k, math`."""
        return ", ".join(map(self.style.benchmark, names.split(", ")))


def _finish_caption(caption: Latex, blocks: Sequence[Block]) -> Latex:
    """A caption that explains the dashes of the table, if it has any."""
    cells = {cell for block in blocks for row in block.rows for cell in row}
    return join_latex(caption, _DASH) if NONE in cells else caption


def arrange_auroc(table: Table, settings: PaperSettings) -> list[PaperTable]:
    """Tables 1 and 6: AUROC of the features, a block for each model."""
    frame, style = table.frame, settings.style
    benchmarks = [name for name in settings.inputs.auroc_benchmarks if name in frame.columns]
    blocks = []
    for (model,), part in frame.filter(pl.col("Statistic").is_in(_FEATURE_TITLES)).group_by(
        "Model", maintain_order=True
    ):
        columns = {name: _bold_largest(part[name].to_list()) for name in benchmarks}
        rows = []
        for row_number, statistic in enumerate(part["Statistic"]):
            rows.append([_name_statistic(statistic), *(columns[name][row_number] for name in benchmarks)])
        blocks.append(Block(rows, style.model(str(model))))
    # Titles for the middle of a sentence: words begin with a small letter, abbreviations do not.
    confident = [SIGNALS[name].title.lower() if name in _WORDS else SIGNALS[name].title for name in _CONFIDENT]
    caption = Latex(
        "AUROC of each statistic of a response's entropy profile as a score for an incorrect response "
        rf"($1-\mathrm{{AUROC}}$ for {', '.join(confident[:-1])} and {confident[-1]}). "
        "Bold: the largest of a model and benchmark."
    )
    tables = []
    for first in range(0, len(blocks), _BLOCKS_PER_LANE * _LANES):
        page_blocks = blocks[first : first + _BLOCKS_PER_LANE * _LANES]
        table_part = PaperTable(
            _finish_caption(caption, page_blocks),
            ["l", *"r" * len(benchmarks)],
            ["Statistic", *map(style.benchmark, benchmarks)],
            page_blocks,
        )
        n_lanes = 1 if len(page_blocks) <= _BLOCKS_PER_LANE else _LANES
        tables.append(lay_side_by_side(table_part, n_lanes))
    return tables


_FEATURE_TITLES = [SIGNALS[name].title for name in FEATURES]
# Features that are larger for more certain responses.
_CONFIDENT = [name for name in FEATURES if SIGNALS[name].confident]
_WORDS = ("skewness", "kurtosis")


def _name_statistic(statistic: str) -> Latex:
    """A feature's title, without the second name that some have in brackets."""
    return lower_qualifier(statistic.partition(" (")[0])


def _bold_largest(values: Sequence[float | None]) -> list[Latex]:
    """AUROCs with four decimals as in the paper; all that equal the largest one after rounding are bold."""
    cells = [format_share(value, 4) for value in values]
    largest = max((value for value in values if value is not None), default=None)
    top = format_share(largest, 4)
    if top == NONE:
        return cells
    return [Latex(rf"\textbf{{{cell.strip('$')}}}") if cell == top else cell for cell in cells]


def arrange_main_groups(table: Table, settings: PaperSettings) -> list[PaperTable]:
    """Table 2: AEE and rho by model, for the main groups."""
    return _arrange_groups(table, settings, list_main_groups(settings.inputs.groups, settings.inputs.main_groups))


def arrange_further_groups(table: Table, settings: PaperSettings) -> list[PaperTable]:
    """Table 7: AEE and rho by model, for the named groups other than the main ones."""
    return _arrange_groups(table, settings, list_further_groups(settings.inputs.groups, settings.inputs.main_groups))


def _arrange_groups(table: Table, settings: PaperSettings, chosen: Sequence[TrainingGroup]) -> list[PaperTable]:
    """One table: a row for each model, with AEE and rho over all domains for each of the `chosen` training groups."""
    rows = []
    for row in table.frame.iter_rows(named=True):
        cells: list[str] = [settings.style.model(row["Model"])]
        for group in chosen:
            cells += [format_share(row[f"{group.title}: {measure}, all"]) for measure in ("AEE", "rho")]
        rows.append(cells)
    described = [f"{settings.describe(group)}: {_name_estimator(group.estimator)}" for group in chosen]
    caption = join_latex(
        "Accuracy estimation error (AEE) and Spearman correlation", Latex(rf"({RHO})"), "of estimated and true",
        f"accuracy {_SCOPE}. Training groups: {'; '.join(described)}.",
    )  # fmt: skip
    return [
        PaperTable(
            _finish_caption(caption, [Block(rows)]),
            ["l", *"rr" * len(chosen)],
            ["Model", *["AEE", RHO] * len(chosen)],
            [Block(rows)],
            [("", 1), *((group.title, 2) for group in chosen)],
        )
    ]


def _name_estimator(name: str) -> str:
    """An estimator's title for the middle of a sentence."""
    title = estimator_title(name)
    begins_with_abbreviation = title[:2].isupper()  # such as MLP
    return title if begins_with_abbreviation else title[0].lower() + title[1:]


def arrange_methods(table: Table, settings: PaperSettings) -> list[PaperTable]:
    """Table 3: the default estimator and the baselines, medians over models."""
    default: list[Sequence[str]] = []
    baselines: list[Sequence[str]] = []
    methods = _filter_methods(table.frame, "Estimator").sort("Median AEE, all", nulls_last=True, maintain_order=True)
    for row in methods.iter_rows(named=True):
        cells = [lower_qualifier(row["Estimator"]), _format_spread(row, "rho, all"), _format_spread(row, "AEE, all")]
        block_rows = default if row["Estimator"] == _DEFAULT else baselines
        block_rows.append(cells)
    blocks = [Block(rows) for rows in (default, baselines) if rows]
    caption = join_latex(
        f"The default estimator ({_name_estimator(settings.headline.estimator)}) against single-metric baselines, "
        f"trained on {settings.describe(settings.headline)}: {_SPREAD}, over models, of Spearman correlation",
        Latex(rf"({RHO})"),
        f"and accuracy estimation error (AEE) {_SCOPE}.",
    )
    headings = ["Method", join_latex("Spearman", RHO, UP), join_latex("AEE", DOWN)]
    return [PaperTable(_finish_caption(caption, blocks), ["l", "r", "r"], headings, blocks)]


def _filter_methods(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """The rows whose `column` names the default or one of the paper's baselines; all rows if no baseline was run."""
    baselines = list(map(estimator_title, BASELINES))
    if not set(baselines) & set(frame[column]):
        return frame
    return frame.filter(pl.col(column).is_in([_DEFAULT, *baselines]))


def _format_spread(row: Mapping[str, Any], measure: str, decimals: int = 2) -> Latex:
    """The median of a measure with its interquartile range; `measure` is such as `AEE, all` in the full table."""
    return format_spread(row[f"Median {measure}"], row[f"IQR of {measure}"], decimals)


def arrange_sizes(table: Table, settings: PaperSettings) -> list[PaperTable]:
    """Table 4: AEE by model and number of training benchmarks, over all configurations if they were run."""
    frame = table.frame
    # The first rows are over all 48 configurations if any group ran these, else by the default estimator.
    source = next(iter(frame["Estimators"]), "")
    sizes = [column.split(":")[0].removeprefix("k = ") for column in frame.columns if column.endswith(": IQR")]
    rows: list[list[str]] = []
    for row in frame.filter(pl.col("Estimators") == source, pl.col("Domains") == "all").iter_rows(named=True):
        cells = [format_spread(row[f"k = {k}: median AEE"], row[f"k = {k}: IQR"]) for k in sizes]
        rows.append([settings.style.model(row["Model"]), *cells])
    estimators_text = (
        f"the estimator {_name_estimator(settings.inputs.default)}" if source == _DEFAULT else "all 48 configurations"
    )
    caption = join_latex(
        Latex("AEE by the number $k$ of training benchmarks:"),
        f"{_SPREAD}, over all training groups of that size and {estimators_text}; {_SCOPE}.",
    )
    spans = [("", 1), (join_latex("Training benchmarks", Latex("($k$)")), len(sizes))]
    blocks = [Block(rows)]
    return [
        PaperTable(
            _finish_caption(caption, blocks),
            ["l", *"r" * len(sizes)],
            ["Model", *sizes],
            blocks,
            spans if sizes else (),
        )
    ]


def arrange_design(table: Table, settings: PaperSettings) -> list[PaperTable]:
    """Table 5: main effects; a choice between two settings has one row, as in the paper."""
    blocks = []
    frame = table.frame
    if frame["Median AEE, all"].is_null().all():
        frame = frame.clear()
    for (factor,), part in frame.group_by("Factor", maintain_order=True):
        rows = []
        for row in part.iter_rows(named=True):
            setting = LEVELS.get(row["Setting"], row["Setting"])
            symbol = {"yes": "Y", "no": "N"}.get(setting, setting.upper())
            rows.append([symbol, _format_spread(row, "AEE, all"), _format_spread(row, "rho, all")])
        if len(rows) == 2:
            # One row with cells such as `Y / N`.
            rows = [[join_latex(*cells, separator=" / ") for cells in zip(*rows, strict=True)]]
        # Only the first row of a block names the factor.
        factor_cells = [str(factor), *[""] * (len(rows) - 1)]
        blocks.append(Block([[cell, *row] for cell, row in zip(factor_cells, rows, strict=True)]))
    caption = join_latex(
        f"Main effects of the estimator's design: {_SPREAD}, over all models and training groups, of AEE and Spearman",
        Latex(RHO),
        f"{_SCOPE}. RF: random forest, LR: logistic regression, MLP: multi-layer perceptron; calibration: isotonic.",
    )
    headings = ["Factor", "Setting", "AEE", RHO]
    return [PaperTable(_finish_caption(caption, blocks), ["l", "l", "r", "r"], headings, blocks)]


def arrange_methods_by_model(table: Table, settings: PaperSettings) -> list[PaperTable]:
    """Table 8: the default estimator and the baselines by model, rho above AEE, in the paper's order."""
    frame = table.frame
    names = [_DEFAULT, *map(estimator_title, BASELINES)]
    paper_methods = [name for name in names if name in frame.columns]
    # Without any of the paper's baselines, all estimators; the first two columns are the model and the measure.
    methods = paper_methods if len(paper_methods) > 1 else frame.columns[2:]
    blocks = []
    for (model,), part in frame.group_by("Model", maintain_order=True):
        rows: list[list[str]] = []
        for measure, symbol in (("rho", RHO), ("AEE", "AEE")):
            (row,) = part.filter(pl.col("Measure") == f"{measure}, all").iter_rows(named=True)
            cells = [format_share(row[name]) for name in methods]
            rows.append(["" if rows else settings.style.model(str(model)), symbol, *cells])
        blocks.append(Block(rows))
    caption = join_latex(
        "Spearman", Latex(RHO), "(higher is better) and AEE (lower is better) of the default estimator",
        f"({_name_estimator(settings.headline.estimator)}) and single-metric baselines by model, trained on "
        f"{settings.describe(settings.headline)}; {_SCOPE}.",
    )  # fmt: skip
    headings = ["Model", "", *map(lower_qualifier, methods)]
    return [PaperTable(_finish_caption(caption, blocks), ["l", "l", *"r" * len(methods)], headings, blocks)]


_RANKS = {"best": "Best performing", "worst": "Worst performing", "only one": "The only one of its size"}


def arrange_best_and_worst(table: Table, settings: PaperSettings) -> list[PaperTable]:
    """Table 9: the best and the worst training group of each size."""
    blocks = []
    for (rank,), part in table.frame.group_by("Rank", maintain_order=True):
        rows = []
        for row in part.iter_rows(named=True):
            spread = format_spread(row["Median AEE, all"], row["IQR, all"], 3)
            accuracy = format_spread(row["Weighted accuracy"], None, 3)
            rows.append([str(row["k"]), settings.name_benchmarks(row["Training group"]), spread, accuracy])
        blocks.append(Block(rows, _RANKS[str(rank)]))
    caption = join_latex(
        Latex("Best and worst training group of each size $k$, by the AEE"),
        f"of the default estimator ({_name_estimator(settings.inputs.default)}) {_SCOPE}: {_SPREAD}, over models. "
        "Acc.: the group's accuracy over models, weighted by its benchmarks' numbers of responses.",
    )
    columns: list[str | Wrapped] = ["l", Wrapped(1.8), "r", "r"]
    return [PaperTable(_finish_caption(caption, blocks), columns, [Latex("$k$"), "Benchmarks", "AEE", "Acc."], blocks)]


def arrange_leave_one_out(table: Table, settings: PaperSettings) -> list[PaperTable]:
    """Table 10: trained on all benchmarks but one, by model."""
    rows: list[list[str]] = []
    for row in table.frame.iter_rows(named=True):
        cells = [_format_spread(row, measure) for measure in ("AEE, all", "AEE, left out", "rho, all")]
        rows.append([settings.style.model(row["Model"]), *cells])
    caption = join_latex(
        f"The default estimator ({_name_estimator(settings.inputs.default)}), trained on all benchmarks but one: "
        f"{_SPREAD}, over the benchmarks left out. AEE and",
        Latex(RHO),
        f"are {_SCOPE}; held-out AEE is on the benchmark left out.",
    )
    headings = ["Model", "AEE", "Held-out AEE", RHO]
    return [PaperTable(_finish_caption(caption, [Block(rows)]), ["l", "r", "r", "r"], headings, [Block(rows)])]


def arrange_as_published(published: PublishedTable, table: Table, settings: PaperSettings) -> list[PaperTable]:
    """A full table in the paper's layout, in one or several parts; empty if it has no rows."""
    if table.frame.is_empty():
        return []
    arrange = load_function(published.layout_function)
    parts: list[PaperTable] = arrange(table, settings)
    return parts
