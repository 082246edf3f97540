"""`entropy-sentinel estimate`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from entropy_sentinel.commands.options import ResponseFiles, report, taking
from entropy_sentinel.monitor.settings import EstimateOptions

Estimator = Annotated[Path, typer.Argument(metavar="ESTIMATOR", help="A file that `fit` or a study has written.")]
Labels = Annotated[
    list[str],
    typer.Option("--labels", "-l", metavar="FILE", help="To compare: .csv, .jsonl or .parquet with item_id and label."),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Also write the table: .csv, .parquet or .json.")
]


@taking(EstimateOptions, by=["model", "benchmark"])
def command(
    estimator: Estimator, files: ResponseFiles, labels: Labels = [], output: Output = None, **options: Any
) -> None:
    """Estimate how accurate the model is on each slice.

    A table with a row per slice: responses, the estimated share of correct answers with its interval, how many were
    cut off, and flags. Below it stand the verdict of the estimator's validation and the reasons of the flags; files
    have them too. The exit status is 3 where some responses could not be used, which is said.
    """
    from entropy_sentinel.frames.files import check_outputs
    from entropy_sentinel.monitor.once import estimated
    from entropy_sentinel.monitor.showing.outputs import check_rows_path, write_rows
    from entropy_sentinel.monitor.showing.terminal import parts
    from entropy_sentinel.report.terminal import show
    from entropy_sentinel.verbs.estimation import load
    from entropy_sentinel.verbs.files import files as found_files
    from entropy_sentinel.verbs.files import log_files
    from entropy_sentinel.verbs.labels import read_labels

    if output is not None:
        check_rows_path(output)
    logs = log_files(files)
    check_outputs({"--output": output}, [estimator, *logs, *found_files(labels)])
    found = estimated(load(estimator), logs, read_labels(labels) if labels else None, **options)
    if output is not None:
        write_rows(found, output)
    show(parts(found))
    report(found.problems)
