"""`entropy-sentinel schema`."""

from pathlib import Path
from typing import Annotated

import typer

Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there, do not print it.")]


def command(output: Output = None) -> None:
    """Print the JSON schema of config files.

    Editors check and complete a config with it."""
    from entropy_sentinel.commands.options import BASE
    from entropy_sentinel.config.schema import json_schema
    from entropy_sentinel.frames.files import whole_file
    from entropy_sentinel.frames.outputs import check_outputs

    if output is None:
        typer.echo(json_schema(), nl=False)
        return
    check_outputs({"--output": output}, [BASE])
    with whole_file(output) as partial:
        partial.write_text(json_schema(), encoding="utf-8")
