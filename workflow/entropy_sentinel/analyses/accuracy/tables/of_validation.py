"""What the verdicts rest on: every domain estimated without its labels, and every method on these domains."""

from collections.abc import Sequence

from entropy_sentinel.analyses.accuracy.showing.verdicts import LEVEL, ModelValidation
from entropy_sentinel.estimators.catalogue import title
from entropy_sentinel.report.tables import Table, number_frame
from entropy_sentinel.statistics.conformal import fewest
from entropy_sentinel.statistics.intervals import NOTES

# Of which a conformal interval can be made.
_FEWEST = fewest(LEVEL)
_LEFT_OUT_NOTE = "Each labelled domain is estimated by what was fitted on the training split of the other ones."


def table_validation(validations: Sequence[ModelValidation]) -> Table:
    """Every domain by the recommended estimator that has not seen its labels, domains without any label first."""
    rows = [
        {
            "Model": validation.model,
            "Domain": one.domain,
            "Responses": one.n,
            "Estimated": one.estimated,
            "Lower": one.lower,
            "Upper": one.upper,
            "True": one.true,
            "Error": one.error,
            "Conformal from": one.conformal_lower,
            "Conformal to": one.conformal_upper,
            "Interval": one.basis or one.reason,
        }
        for domains in ("unlabelled", "left_out")
        for validation in validations
        for one in getattr(validation, domains)
    ]
    bases = {row["Interval"] for row in rows}
    numbers = ["Responses", "Estimated", "Lower", "Upper", "True", "Error", "Conformal from", "Conformal to"]
    return Table(
        f"Accuracy of every domain as the recommended estimator sees it without its labels; intervals at {LEVEL:.0%}.",
        number_frame(rows, ["Model", "Domain"], [*numbers, "Interval"]),
        (
            f"{_LEFT_OUT_NOTE} Domains without labels come first, by what was fitted on all labelled ones.",
            "Responses: of a labelled domain those of its training split. Error: estimated minus true.",
            *(f"Lower and Upper: {note}" for basis, note in NOTES.items() if basis in bases),
            f"Conformal: beside it, the interval at {LEVEL:.0%} from the ranks of errors, whatever their shape; its "
            f"level is over all sets of domains, not given the verdict. It needs {_FEWEST} other domains.",
        ),
    )


def table_methods(validations: Sequence[ModelValidation]) -> Table:
    """AEE of every method over the labelled domains, each left out, a column for every model."""
    names = list(dict.fromkeys(method.estimator for validation in validations for method in validation.methods))
    rows = [
        {"Estimator": title(name)}
        | {validation.model: getattr(validation.of(name), "aee", None) for validation in validations}
        for name in names
    ]
    few = [
        f"{validation.model}: {method.title} could estimate {method.n_domains} of {len(validation.left_out)} domains."
        for validation in validations
        for method in validation.methods
        if method.n_domains < len(validation.left_out)
    ]
    return Table(
        "AEE of every method over the labelled domains, each estimated without its labels.",
        number_frame(rows, ["Estimator"], [validation.model for validation in validations]),
        (
            _LEFT_OUT_NOTE,
            "The recommended estimator is chosen anew for each domain, by the others' labels alone.",
            *few,
        ),
    )
