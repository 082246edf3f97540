"""Names and titles of this analysis' tables and figures. A number in a name is the paper's.

`TABLE_FUNCTIONS` (`tables.py`) and `FIGURE_FUNCTIONS` (`figures.py`) map each name to its function. To add an exhibit,
write its function, and add a line there and a line here, in the order of the page.
"""

import csv
from collections.abc import Iterable
from pathlib import Path

PAPER = Path(__file__).with_name("published")

TABLES: dict[str, str] = {
    "validation": "Validation: estimated accuracy of every domain without its labels",
    "methods": "Validation: every method on domains without their labels",
    "estimates": "Estimated accuracy of every domain",
    "recommended": "The recommended estimator against the default and the best",
    "repeats": "Effect of only the seed on the errors",
    "cut_off": "Accuracy with and without truncated responses",
    "1_auroc": "What separates correct from incorrect responses",
    "2_by_model": "Errors by model",
    "3_simple_estimators": "The default against simple estimators, over models",
    "4_by_size": "Errors by the number of training benchmarks",
    "5_design_choices": "What the estimator's design choices do",
    "6_auroc_further_models": "What separates correct from incorrect responses, further models",
    "7_by_model_further_groups": "Errors by model, further training groups",
    "8_simple_estimators_by_model": "The default against simple estimators, by model",
    "9_best_and_worst_groups": "Best and worst training groups",
    "10_leave_one_out": "Trained on all benchmarks but one",
}

FIGURES: dict[str, str] = {
    "validation": "Validation: estimated against true accuracy, each domain without its labels",
    "1_accuracies": "Estimated against true accuracy, one model",
    "2_entropy_densities": "Entropy of correct and of incorrect responses",
    "3_accuracies_by_model": "Estimated against true accuracy, every model",
    "4_errors_by_group_accuracy": "Errors by the accuracy of the training group",
    "auroc_by_domain": "What separates correct from incorrect responses, in every domain",
}

# The file of `published/` that has a table's published values.
PUBLISHED_IN: dict[str, str] = {
    "1_auroc": "table_1_6_auroc",
    "2_by_model": "table_2_7_estimation",
    "3_simple_estimators": "table_3_baselines",
    "4_by_size": "table_4_group_size",
    "5_design_choices": "table_5_design",
    "6_auroc_further_models": "table_1_6_auroc",
    "7_by_model_further_groups": "table_2_7_estimation",
    "8_simple_estimators_by_model": "table_8_baselines_by_model",
    "9_best_and_worst_groups": "table_9_best_worst_groups",
    "10_leave_one_out": "table_10_leave_one_out",
}


def paper_models() -> tuple[str, ...]:
    """Return the names of the paper's nine models."""
    with (PAPER / "table_10_leave_one_out.csv").open(encoding="utf-8") as lines:
        return tuple(row["model"] for row in csv.DictReader(lines))


def compared(tables: Iterable[str], models: Iterable[str]) -> list[str]:
    """Return the `tables` that have a file of published values; empty if the study runs none of the paper's models."""
    return [name for name in tables if name in PUBLISHED_IN] if set(paper_models()) & set(models) else []


def list_paper_exhibits(names: Iterable[str]) -> list[str]:
    """Return the names of the tables and figures of the paper, which have its form (`paper_tables.FORMS`)."""
    return [name for name in names if name in PUBLISHED_IN or (name in FIGURES and name[0].isdigit())]
