"""`entropy-sentinel fit`."""

from pathlib import Path
from typing import Annotated

import typer

from entropy_sentinel.commands.options import ResponseFiles, TopK

Labels = Annotated[
    list[str],
    typer.Option("--labels", "-l", metavar="FILE", help="Labels: Parquet or CSV with columns item_id and label."),
]
Name = Annotated[
    str,
    typer.Option("--estimator", "-e", help="Which: recommended, atc-max, forest-10d-balanced-isotonic, ..."),
]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the estimator goes.")]


def command(
    files: ResponseFiles, labels: Labels, output: Output, estimator: Name = "recommended", top_k: TopK = None
) -> None:
    """Fit an estimator on labelled responses, and keep it.

    It learns from the responses in FILES that have a label, and goes to a file that `estimate` reads.
    """
    from entropy_sentinel.report.numbers import number
    from entropy_sentinel.verbs.estimation import fit, save
    from entropy_sentinel.verbs.reading import read_features, read_labels

    fitted = fit(read_features(files, top_k=top_k), read_labels(labels), estimator)
    save(fitted, output)
    about, chosen = fitted.about, fitted.about["chosen"] or {}
    typer.echo(
        f"{output}: {estimator}, fitted on {about['n_training_rows']:,} responses of {about['model']} to "
        f"{about['group']}, {number(about['training_accuracy'])} of them correct"
    )
    if "method" in chosen:
        errors = [f"{name} {number(error)}" for name, error in chosen.get("leave_one_out_aee", {}).items()]
        typer.echo(f"took {chosen['method']}: {chosen['reason']}" + (f" ({', '.join(errors)})" if errors else ""))
    if about["caution"]:
        typer.echo(f"caution: {about['caution']}")
