"""The tables and figures of this analysis: name and title; and what is read off the curves.

The function of a table is called `table_<name>` and stands in `tables_of_curves.py`; that of a figure is called
`figure_<name>` and stands in `figures_of_curves.py`.
"""

# The assessor that sees the question alone; the others are estimators, by their names.
QUESTION_ONLY = "question-only"

TABLES: dict[str, str] = {
    "best_pairs": "Best pairs of model and assessor",
    "auarc": "Area under the accuracy-rejection curve",
    "coverage": "What can be kept at a wanted accuracy",
}

FIGURES: dict[str, str] = {
    "curves_by_model": "Accuracy-rejection curves, every model",
    # One for each model.
    "curves_by_domain": "Accuracy-rejection curves by domain",
}


def coverage_measure(accuracy: float) -> str:
    """The name of the coverage at an accuracy among the measures, `coverage_0.9`."""
    return f"coverage_{accuracy:g}"
