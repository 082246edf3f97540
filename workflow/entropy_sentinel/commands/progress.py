"""`entropy-sentinel progress`."""

import time
from typing import Annotated

import typer

from entropy_sentinel.commands.options import ConfigFiles, load_study

Watch = Annotated[float | None, typer.Option(metavar="SECONDS", min=1, help="Repeat until all is done.")]


def command(configfile: ConfigFiles = [], watch: Watch = None) -> None:
    """Show how far a study is.

    Files made per stage, responses, speed and time left. It looks at files alone and takes no lock, so it can run
    beside Snakemake. A file is still to be made if it is missing and something waits for it, if what it is made from is
    newer and of another content than it was made from, if it lacks a model, benchmark or group of the config, or if it
    cannot be read. Changed settings are seen by `snakemake --dry-run --quiet rules` only.
    """
    from entropy_sentinel.planning.files import study_files
    from entropy_sentinel.planning.pace import progress
    from entropy_sentinel.report.terminal import show

    config = load_study(configfile)
    while True:
        files = study_files(config)
        show(progress(config, files, time.time()))
        if watch is None or not files.to_make:
            return
        time.sleep(watch)
