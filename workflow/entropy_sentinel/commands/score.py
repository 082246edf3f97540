"""`entropy-sentinel score`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from entropy_sentinel.commands.estimate import Estimator
from entropy_sentinel.commands.options import ResponseFiles, check_table_path, say, taking, write_table
from entropy_sentinel.verbs.settings import Matching, ResponseOptions

Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="Where the table goes: .csv, .parquet or .jsonl.")
]
_SUFFIXES = (".csv", ".parquet", ".jsonl")


@taking(ResponseOptions)
def command(estimator: Estimator, files: ResponseFiles, output: Output, **options: Any) -> None:
    """Say of every response how probably it is correct.

    A table with a row per response: what identifies it, P(correct), and the reason where it has none.
    """
    from entropy_sentinel.frames.outputs import check_outputs
    from entropy_sentinel.verbs.estimation import load
    from entropy_sentinel.verbs.files import log_files
    from entropy_sentinel.verbs.reading import read_features
    from entropy_sentinel.verbs.scoring import score

    check_table_path(output, _SUFFIXES)
    check_outputs({"--output": output}, [estimator, *log_files(files)])
    loaded = load(estimator)
    matching = {name: options.pop(name) for name in Matching.model_fields}
    found = score(loaded, read_features(files, signals=loaded.signals, **options), **matching)
    write_table(found, output)
    without, mean = found["p_correct"].null_count(), found.select("p_correct").mean().item()
    say(
        f"{output}: {len(found):,} responses, {without:,} of them without P(correct)"
        + ("" if mean is None else f"; P(correct) {mean:.3f} in the mean")
    )
    if "overridden" in found.columns and len(found):
        say(f"overridden: {found['overridden'][0]}", err=True)
