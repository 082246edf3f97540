"""The tables of this analysis: one declaration each, in the order of the page."""

from entropy_sentinel.rendering.exhibit_declarations import ExhibitDeclaration

TABLES: dict[str, ExhibitDeclaration] = {
    "agreement": ExhibitDeclaration(
        "Agreement of the judges", "study.analyses.agreement.agreement_tables.table_agreement"
    ),
    "errors": ExhibitDeclaration(
        "Errors of the estimates under each judge", "study.analyses.agreement.agreement_tables.table_errors"
    ),
    "accuracies": ExhibitDeclaration(
        "True and estimated accuracy under each judge", "study.analyses.agreement.agreement_tables.table_accuracies"
    ),
}
