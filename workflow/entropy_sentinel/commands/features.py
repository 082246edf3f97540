"""`entropy-sentinel features`."""

from pathlib import Path
from typing import Annotated

import typer

Files = Annotated[
    list[str], typer.Argument(metavar="FILES", help="Files, folders or patterns of responses, in Parquet.")
]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the features go, a Parquet file.")]


def command(files: Files, output: Output) -> None:
    """Compute the features of responses.

    One row per response; a response without features has the reason. `fit` and `estimate` read the file.
    """
    from entropy_sentinel.verbs.reading import read_features, write_features

    found = read_features(files)
    write_features(found, output)
    without = found["reason"].is_not_null().sum()
    typer.echo(f"{output}: {len(found):,} responses, {without:,} of them without features")
