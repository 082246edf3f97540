"""`entropy-sentinel estimate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entropy_sentinel.commands.options import ResponseFiles, check_table_path, say, taking, write_table
from entropy_sentinel.verbs.settings import Matching, ResponseOptions

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

Estimator = Annotated[Path, typer.Argument(metavar="ESTIMATOR", help="A file that `fit` or a study has written.")]
By = Annotated[
    list[str],
    typer.Option("--by", "-b", metavar="COLUMN", help="A column whose values make slices. Repeat it to combine."),
]
Labels = Annotated[
    list[str],
    typer.Option("--labels", "-l", metavar="FILE", help="To compare: .csv, .jsonl or .parquet with item_id and label."),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Also write the table: .csv, .parquet or .json.")
]
_SUFFIXES = (".csv", ".parquet", ".json")


@taking(ResponseOptions)
def command(
    estimator: Estimator,
    files: ResponseFiles,
    by: By = ["model", "benchmark"],
    labels: Labels = [],
    output: Output = None,
    **options: Any,
) -> None:
    """Estimate how accurate the model is on each slice.

    A table with a row per slice: responses, those without features, and the estimated share of correct answers.
    """
    from entropy_sentinel.frames.outputs import check_outputs
    from entropy_sentinel.report.terminal import show
    from entropy_sentinel.verbs.estimation import estimate, load
    from entropy_sentinel.verbs.files import files as found_files
    from entropy_sentinel.verbs.files import log_files
    from entropy_sentinel.verbs.labels import read_labels
    from entropy_sentinel.verbs.reading import read_features

    if output is not None:
        check_table_path(output, _SUFFIXES)
    check_outputs({"--output": output}, [estimator, *log_files(files), *found_files(labels)])
    loaded = load(estimator)
    matching = {name: options.pop(name) for name in Matching.model_fields}
    features = read_features(files, signals=loaded.signals, **options)
    found = estimate(loaded, features, by, read_labels(labels) if labels else None, **matching)
    if output is not None:
        write_table(found, output)
    show([_table(found.drop("overridden", strict=False), list(by))])
    if "overridden" in found.columns and len(found):
        say(f"overridden: {found['overridden'][0]}", err=True)
    if caution := loaded.about.get("caution"):
        say(f"caution: {caution}", err=True)


def _table(found: "pl.DataFrame", by: list[str]) -> "Table":
    """The slices under one heading, then the numbers."""
    from entropy_sentinel.report.numbers import number
    from entropy_sentinel.report.terminal import table

    numbers = [name for name in found.columns if name not in by]
    rows = []
    for row in found.iter_rows(named=True):
        cells = [number(row[name]) if isinstance(row[name], float | None) else f"{row[name]:,}" for name in numbers]
        rows.append([", ".join("-" if row[name] is None else str(row[name]) for name in by), *cells])
    return table([", ".join(by), *(name.replace("_", " ") for name in numbers)], rows)
