"""`entropy-sentinel fit`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entropy_sentinel.commands.options import ResponseFiles, say, taking
from entropy_sentinel.sources.logs.settings import LogOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

Labels = Annotated[
    list[str],
    typer.Option("--labels", "-l", metavar="FILE", help="Labels: .csv, .jsonl or .parquet with item_id and label."),
]
Name = Annotated[
    str,
    typer.Option("--estimator", "-e", help="Which: recommended, atc-max, forest-10d-balanced-isotonic, ..."),
]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the estimator goes.")]
Domain = Annotated[
    str,
    typer.Option(
        "--domain",
        "-d",
        metavar="COLUMN",
        help="Whose values are the domains that the validation leaves out one at a time, as metadata.route of a log.",
    ),
]


@taking(LogOptions)
def command(
    files: ResponseFiles,
    labels: Labels,
    output: Output,
    estimator: Name = "recommended",
    domain: Domain = "benchmark",
    **options: Any,
) -> None:
    """Fit an estimator on labelled responses, and keep it.

    It learns from the responses in FILES that have a label, and goes to a file that `estimate` and `monitor` read. Its
    validation says how far it can be trusted: each labelled domain is estimated by what is fitted on
    the others.
    """
    from entropy_sentinel.estimators.catalogue import further_signals
    from entropy_sentinel.frames.files import check_outputs
    from entropy_sentinel.frames.numbers import number
    from entropy_sentinel.verbs.estimation import fit, save
    from entropy_sentinel.verbs.files import files as found_files
    from entropy_sentinel.verbs.files import log_files
    from entropy_sentinel.verbs.labels import read_labels
    from entropy_sentinel.verbs.reading import read_features

    check_outputs({"--output": output}, [*log_files(files), *found_files(labels)])
    features = read_features(files, signals=further_signals(estimator), **options)
    fitted = fit(features, read_labels(labels), estimator, domain=domain)
    save(fitted, output)
    about, chosen = fitted.about, fitted.about["chosen"] or {}
    say(
        f"{output}: {estimator}, fitted on {about['n_training_rows']:,} responses of {about['model']} to "
        f"{about['group']}, {number(about['training_accuracy'])} of them correct"
    )
    if "method" in chosen:
        errors = [f"{name} {number(error)}" for name, error in chosen.get("leave_one_out_aee", {}).items()]
        say(f"took {chosen['method']}: {chosen['reason']}" + (f" ({', '.join(errors)})" if errors else ""))
    if about["caution"]:
        say(f"caution: {about['caution']}")
    _show_validation(about["validation"])


def _show_validation(validation: "Mapping[str, Any]") -> None:
    """The validation: what was estimated for each labelled domain without it, and what follows."""
    from entropy_sentinel.frames.numbers import number
    from entropy_sentinel.report.terminal import show, table

    if validation["domains"]:
        rows = []
        for one in validation["domains"]:
            error = None if one["estimated"] is None else one["estimated"] - one["true"]
            numbers = [number(one["estimated"]), number(one["true"]), number(error, "+.3f")]
            rows.append([one["domain"], f"{one['n']:,}", *numbers])
        typer.echo("\nEach domain estimated by what is fitted on the others:")
        show([table(["domain", "labels", "estimated", "true", "error"], rows)])
    for one in validation["coverage"]:
        say(f"{one['level']:.0%} intervals hold the truth of {one['covered']} of {one['n']} domains ({one['basis']})")
    say(f"verdict: {validation['verdict']}")
    for reason in validation["reasons"]:
        say(f"  {reason}")
