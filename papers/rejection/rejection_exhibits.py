"""Names and titles of this analysis' tables and figures, and the measures of the curves."""

from entropy_sentinel.rendering.exhibit_declarations import ExhibitDeclaration

# The assessor that sees only the question. The other assessors are estimators, by name.
QUESTION_ONLY = "question-only"

TABLES: dict[str, ExhibitDeclaration] = {
    "best_pairs": ExhibitDeclaration(
        "Best pairs of model and assessor", "papers.rejection.rejection_tables.table_best_pairs"
    ),
    "auarc": ExhibitDeclaration(
        "Area under the accuracy-rejection curve", "papers.rejection.rejection_tables.table_auarc"
    ),
    "coverage": ExhibitDeclaration(
        "Responses that can be kept at a required accuracy", "papers.rejection.rejection_tables.table_coverage"
    ),
    "areas": ExhibitDeclaration(
        "Area and its share of a perfect one, by assessor", "papers.rejection.rejection_tables.table_areas"
    ),
}

FIGURES: dict[str, ExhibitDeclaration] = {
    "curves_by_model": ExhibitDeclaration(
        "Accuracy-rejection curves, every model", "papers.rejection.rejection_figures.figure_curves_by_model"
    ),
    # One for each model.
    "curves_by_domain": ExhibitDeclaration(
        "Accuracy-rejection curves by domain", "papers.rejection.rejection_figures.figure_curves_by_domain"
    ),
}


def threshold_measure(accuracy: float) -> str:
    """The name of the threshold for an accuracy among the measures, `threshold_0.9`."""
    return f"threshold_{accuracy:g}"


def kept_measure(accuracy: float) -> str:
    """The name of the share that the threshold for an accuracy keeps, `kept_0.9`."""
    return f"kept_{accuracy:g}"


def kept_accuracy_measure(accuracy: float) -> str:
    """The name of the accuracy of the responses that a threshold keeps, `kept_accuracy_0.9`."""
    return f"kept_accuracy_{accuracy:g}"


def coverage_measure(accuracy: float) -> str:
    """The name of the coverage at an accuracy among the measures, `coverage_0.9`."""
    return f"coverage_{accuracy:g}"
