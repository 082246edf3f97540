"""`entropy-sentinel score`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from entropy_sentinel.commands.estimate import Estimator
from entropy_sentinel.commands.options import ResponseFiles, check_table_path, report, say, taking, write_table
from entropy_sentinel.verbs.settings import ResponseOptions

Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="Where the table goes: .csv, .parquet or .jsonl.")
]
_SUFFIXES = (".csv", ".parquet", ".jsonl")


@taking(ResponseOptions)
def command(estimator: Estimator, files: ResponseFiles, output: Output, **options: Any) -> None:
    """Say of every response how probably it is correct.

    A table with a row per response: what identifies it, P(correct), and the reason where it has none.
    """
    from entropy_sentinel.frames.files import check_outputs
    from entropy_sentinel.monitor.estimating.flags import general_flags
    from entropy_sentinel.monitor.reading.settings import Slicing
    from entropy_sentinel.monitor.reading.whole import read_whole
    from entropy_sentinel.monitor.scored import scored
    from entropy_sentinel.verbs.estimation import load
    from entropy_sentinel.verbs.files import log_files

    check_table_path(output, _SUFFIXES)
    logs = log_files(files)
    check_outputs({"--output": output}, [estimator, *logs])
    loaded = load(estimator)
    read = read_whole(loaded, list(map(str, logs)), Slicing.of(options))
    found = scored(loaded, read)
    write_table(found, output)
    without, mean = found["p_correct"].null_count(), found.select("p_correct").mean().item()
    say(
        f"{output}: {len(found):,} responses, {without:,} of them without P(correct)"
        + ("" if mean is None else f"; P(correct) {mean:.3f} in the mean")
    )
    for flag, reason in general_flags(loaded, read.taken).items():
        say(f"{flag}: {reason}", err=True)
    report(read.problems)
