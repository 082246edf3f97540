"""The tables and figures of this analysis: one declaration each, in the order of the page.

A number in a name is the paper's. To add an exhibit, write its function and a declaration here.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from entropy_sentinel.rendering.exhibit_declarations import ExhibitDeclaration

PUBLISHED_FOLDER = Path(__file__).with_name("published")


@dataclass(frozen=True)
class PublishedTable:
    """The paper's values of a table: their file in `published/` (a name without .csv), and its key columns.

    Two dotted names of functions: `counterpart_function` computes this study's values, in the columns of the file, from
    the tables' inputs; `layout_function` arranges this study's table as the paper does. `tables` are the numbers to
    select in the file's column `table`, if it has several tables.
    """

    file: str
    keys: tuple[str, ...]
    counterpart_function: str
    layout_function: str
    notes: tuple[str, ...] = ()
    tables: tuple[int, ...] = ()


@dataclass(frozen=True)
class AccuracyTable(ExhibitDeclaration):
    """A table, with the paper's values if it printed any."""

    published: PublishedTable | None = None


_SCOPE = (
    "AEE and rho are over all ten domains, the training ones by their test split: the paper's text says held-out "
    "domains, but its values of rho are possible only with ten domains."
)
_LATER_CODE = (
    "The authors' later code differs from the paper's text, which is followed here: L1 logistic regression with a "
    "grid, sigmoid calibration, one 70/30 split instead of five folds, weights and over-sampling before "
    "cross-validation."
)
_ESTIMATION = (_SCOPE, _LATER_CODE)
_AUROC = "The paper's formulas of LNTP and MTP hold for its Tables 1 and 6, as everywhere here."
_FURTHER_GROUPS = "The paper does not state the feature set of these groups; here it is 10D."
_RANKS = (
    "Each row is the same training group in both, whatever its rank here. The paper does not state estimator and "
    "scope; here: the default, all domains. Its weighted accuracies do not follow from the benchmarks' item counts."
)

TABLES: dict[str, AccuracyTable] = {
    "validation": AccuracyTable(
        "Validation: estimated accuracy of every domain without its labels",
        "study.analyses.accuracy.accuracy_tables.table_validation",
    ),
    "methods": AccuracyTable(
        "Validation: every method on domains without their labels",
        "study.analyses.accuracy.accuracy_tables.table_methods",
    ),
    "estimates": AccuracyTable(
        "Estimated accuracy of every domain", "study.analyses.accuracy.accuracy_tables.table_estimates"
    ),
    "recommended": AccuracyTable(
        "The recommended estimator against the default and the best",
        "study.analyses.accuracy.accuracy_tables.table_recommended",
    ),
    "repeats": AccuracyTable(
        "Effect of only the seed on the errors", "study.analyses.accuracy.accuracy_tables.table_repeats"
    ),
    "cut_off": AccuracyTable(
        "Accuracy with and without truncated responses", "study.analyses.accuracy.accuracy_tables.table_cut_off"
    ),
    "1_auroc": AccuracyTable(
        "What separates correct from incorrect responses",
        "study.analyses.accuracy.tables_by_model.table_1_auroc",
        PublishedTable(
            file="table_1_6_auroc",
            keys=("model", "statistic"),
            counterpart_function="study.analyses.accuracy.counterparts.select_first_auroc",
            layout_function="study.analyses.accuracy.paper_tables.arrange_auroc",
            notes=(_AUROC,),
        ),
    ),
    "2_by_model": AccuracyTable(
        "Errors by model",
        "study.analyses.accuracy.tables_by_model.table_2_by_model",
        PublishedTable(
            file="table_2_7_estimation",
            keys=("model", "configuration"),
            counterpart_function="study.analyses.accuracy.counterparts.select_named_groups",
            layout_function="study.analyses.accuracy.paper_tables.arrange_main_groups",
            notes=_ESTIMATION,
            tables=(2,),
        ),
    ),
    "3_simple_estimators": AccuracyTable(
        "The default against simple estimators, over models",
        "study.analyses.accuracy.tables_of_groups.table_3_simple_estimators",
        PublishedTable(
            file="table_3_baselines",
            keys=("method",),
            counterpart_function="study.analyses.accuracy.counterparts.aggregate_methods",
            layout_function="study.analyses.accuracy.paper_tables.arrange_methods",
            notes=_ESTIMATION,
        ),
    ),
    "4_by_size": AccuracyTable(
        "Errors by the number of training benchmarks",
        "study.analyses.accuracy.tables_of_groups.table_4_by_size",
        PublishedTable(
            file="table_4_group_size",
            keys=("model", "k"),
            counterpart_function="study.analyses.accuracy.counterparts.aggregate_by_size",
            layout_function="study.analyses.accuracy.paper_tables.arrange_sizes",
            notes=_ESTIMATION,
        ),
    ),
    "5_design_choices": AccuracyTable(
        "What the estimator's design choices do",
        "study.analyses.accuracy.tables_of_groups.table_5_design_choices",
        PublishedTable(
            file="table_5_design",
            keys=("factor", "setting"),
            counterpart_function="study.analyses.accuracy.counterparts.aggregate_by_design",
            layout_function="study.analyses.accuracy.paper_tables.arrange_design",
            notes=_ESTIMATION,
        ),
    ),
    "6_auroc_further_models": AccuracyTable(
        "What separates correct from incorrect responses, further models",
        "study.analyses.accuracy.tables_by_model.table_6_auroc_further_models",
        PublishedTable(
            file="table_1_6_auroc",
            keys=("model", "statistic"),
            counterpart_function="study.analyses.accuracy.counterparts.select_other_auroc",
            layout_function="study.analyses.accuracy.paper_tables.arrange_auroc",
            notes=(_AUROC,),
        ),
    ),
    "7_by_model_further_groups": AccuracyTable(
        "Errors by model, further training groups",
        "study.analyses.accuracy.tables_by_model.table_7_by_model_further_groups",
        PublishedTable(
            file="table_2_7_estimation",
            keys=("model", "configuration"),
            counterpart_function="study.analyses.accuracy.counterparts.select_named_groups",
            layout_function="study.analyses.accuracy.paper_tables.arrange_further_groups",
            notes=(_FURTHER_GROUPS, *_ESTIMATION),
            tables=(7,),
        ),
    ),
    "8_simple_estimators_by_model": AccuracyTable(
        "The default against simple estimators, by model",
        "study.analyses.accuracy.tables_by_model.table_8_simple_estimators_by_model",
        PublishedTable(
            file="table_8_baselines_by_model",
            keys=("model", "method"),
            counterpart_function="study.analyses.accuracy.counterparts.select_methods",
            layout_function="study.analyses.accuracy.paper_tables.arrange_methods_by_model",
            notes=_ESTIMATION,
        ),
    ),
    "9_best_and_worst_groups": AccuracyTable(
        "Best and worst training groups",
        "study.analyses.accuracy.tables_of_groups.table_9_best_and_worst_groups",
        PublishedTable(
            file="table_9_best_worst_groups",
            keys=("rank", "k", "group"),
            counterpart_function="study.analyses.accuracy.counterparts.aggregate_by_group",
            layout_function="study.analyses.accuracy.paper_tables.arrange_best_and_worst",
            notes=(_RANKS, *_ESTIMATION),
        ),
    ),
    "10_leave_one_out": AccuracyTable(
        "Trained on all benchmarks but one",
        "study.analyses.accuracy.tables_of_groups.table_10_leave_one_out",
        PublishedTable(
            file="table_10_leave_one_out",
            keys=("model",),
            counterpart_function="study.analyses.accuracy.counterparts.aggregate_leave_one_out",
            layout_function="study.analyses.accuracy.paper_tables.arrange_leave_one_out",
            notes=_ESTIMATION,
        ),
    ),
}

FIGURES: dict[str, ExhibitDeclaration] = {
    "validation": ExhibitDeclaration(
        "Validation: estimated against true accuracy, each domain without its labels",
        "study.analyses.accuracy.scatter_panels.figure_validation",
    ),
    "1_accuracies": ExhibitDeclaration(
        "Estimated against true accuracy, one model", "study.analyses.accuracy.scatter_panels.figure_1_accuracies"
    ),
    "2_entropy_densities": ExhibitDeclaration(
        "Entropy of correct and of incorrect responses",
        "study.analyses.accuracy.accuracy_figures.figure_2_entropy_densities",
    ),
    "3_accuracies_by_model": ExhibitDeclaration(
        "Estimated against true accuracy, every model",
        "study.analyses.accuracy.scatter_panels.figure_3_accuracies_by_model",
    ),
    "4_errors_by_group_accuracy": ExhibitDeclaration(
        "Errors by the accuracy of the training group",
        "study.analyses.accuracy.accuracy_figures.figure_4_errors_by_group_accuracy",
    ),
    "auroc_by_domain": ExhibitDeclaration(
        "What separates correct from incorrect responses, in every domain",
        "study.analyses.accuracy.accuracy_figures.figure_auroc_by_domain",
    ),
}


def list_paper_models() -> tuple[str, ...]:
    """The names of the paper's nine models."""
    with (PUBLISHED_FOLDER / "table_10_leave_one_out.csv").open(encoding="utf-8") as lines:
        return tuple(row["model"] for row in csv.DictReader(lines))


def list_compared_tables(tables: Iterable[str], models: Iterable[str]) -> list[str]:
    """The names in `tables` with published values; empty if none of the study's `models` is one of the paper's."""
    if not set(list_paper_models()) & set(models):
        return []
    return [name for name in tables if TABLES[name].published]


def list_paper_tables(tables: Iterable[str]) -> list[str]:
    """The names in `tables` of tables that the paper printed; these can also be written in its layout."""
    return [name for name in tables if TABLES[name].published]


def list_paper_figures(figures: Iterable[str]) -> list[str]:
    """The names in `figures` of figures that the paper printed: they begin with its number, as in `1_accuracies`."""
    return [name for name in figures if name[0].isdigit()]
