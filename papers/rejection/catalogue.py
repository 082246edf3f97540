"""Names and titles of this analysis' tables and figures, and the measures of the curves.

`TABLE_FUNCTIONS` (`tables.py`) and `FIGURE_FUNCTIONS` (`figures.py`) map each name to its function.
"""

# The assessor that sees only the question. The other assessors are estimators, by name.
QUESTION_ONLY = "question-only"

TABLES: dict[str, str] = {
    "best_pairs": "Best pairs of model and assessor",
    "auarc": "Area under the accuracy-rejection curve",
    "coverage": "Responses that can be kept at a required accuracy",
    "areas": "Area and its share of a perfect one, by assessor",
}

FIGURES: dict[str, str] = {
    "curves_by_model": "Accuracy-rejection curves, every model",
    # One for each model.
    "curves_by_domain": "Accuracy-rejection curves by domain",
}


def threshold_measure(accuracy: float) -> str:
    """Return the name of the threshold for an accuracy among the measures, `threshold_0.9`."""
    return f"threshold_{accuracy:g}"


def kept_measure(accuracy: float) -> str:
    """Return the name of the share that the threshold for an accuracy keeps, `kept_0.9`."""
    return f"kept_{accuracy:g}"


def kept_accuracy_measure(accuracy: float) -> str:
    """Return the name of the accuracy of the responses that a threshold keeps, `kept_accuracy_0.9`."""
    return f"kept_accuracy_{accuracy:g}"


def coverage_measure(accuracy: float) -> str:
    """Return the name of the coverage at an accuracy among the measures, `coverage_0.9`."""
    return f"coverage_{accuracy:g}"
