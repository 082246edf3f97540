"""`entropy-sentinel schema`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

Kind = StrEnum("Kind", ["study", "monitor"])
Which = Annotated[
    Kind, typer.Argument(metavar="WHICH", help="Config files of a study, or that of workflow/monitor.smk.")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there, do not print it.")]


def command(which: Which = Kind.study, output: Output = None) -> None:
    """Print the JSON schema of config files.

    Editors check and complete a config with it."""
    from entropy_sentinel.commands.options import BASE
    from entropy_sentinel.config.schema import study_schema
    from entropy_sentinel.frames.files import check_outputs, write_whole
    from entropy_sentinel.monitor.schema import monitor_schema

    made = study_schema() if which is Kind.study else monitor_schema()
    if output is None:
        typer.echo(made, nl=False)
        return
    check_outputs({"--output": output}, [BASE])
    write_whole(output, made)
