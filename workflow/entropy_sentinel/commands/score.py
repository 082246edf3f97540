"""`entropy-sentinel score`."""

from pathlib import Path
from typing import Annotated

import typer

from entropy_sentinel.commands.estimate import AnyModel, AnySignal, Estimator
from entropy_sentinel.commands.options import ResponseFiles, Strict, TopK
from entropy_sentinel.frames.errors import InputError

Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="Where the table goes: .csv, .parquet or .jsonl.")
]
_WRITERS = {".csv": "write_csv", ".parquet": "write_parquet", ".jsonl": "write_ndjson"}


def command(
    estimator: Estimator,
    files: ResponseFiles,
    output: Output,
    top_k: TopK = None,
    any_model: AnyModel = False,
    any_signal: AnySignal = False,
    strict: Strict = False,
) -> None:
    """Say of every response how probably it is correct.

    A table with a row per response: what identifies it, P(correct), and the reason where it has none.
    """
    from entropy_sentinel.frames.files import whole_file
    from entropy_sentinel.verbs.estimation import load
    from entropy_sentinel.verbs.reading import read_features
    from entropy_sentinel.verbs.scoring import score

    if output.suffix not in _WRITERS:
        raise InputError(f"--output: must end with {', '.join(_WRITERS)}, was '{output}'")
    found = score(load(estimator), read_features(files, top_k=top_k, strict=strict), any_model, any_signal)
    with whole_file(output) as partial:
        getattr(found, _WRITERS[output.suffix])(partial)
    without = found["p_correct"].null_count()
    mean = found["p_correct"].mean()
    typer.echo(
        f"{output}: {len(found):,} responses, {without:,} of them without P(correct)"
        + ("" if mean is None else f"; P(correct) {mean:.3f} in the mean")
    )
    if "overridden" in found.columns and len(found):
        typer.echo(f"overridden: {found['overridden'][0]}", err=True)
