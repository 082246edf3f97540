"""`entropy-sentinel score`."""

from pathlib import Path
from typing import Annotated

import typer

from entropy_sentinel.commands.estimate import AnyLogprobs, AnyModel, Estimator
from entropy_sentinel.commands.options import ResponseFiles, Strict, TopK, check_table_path, say, write_table

Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="Where the table goes: .csv, .parquet or .jsonl.")
]
_SUFFIXES = (".csv", ".parquet", ".jsonl")


def command(
    estimator: Estimator,
    files: ResponseFiles,
    output: Output,
    top_k: TopK = None,
    any_model: AnyModel = False,
    any_logprobs: AnyLogprobs = False,
    strict: Strict = False,
) -> None:
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
    found = score(load(estimator), read_features(files, top_k=top_k, strict=strict), any_model, any_logprobs)
    write_table(found, output)
    without, mean = found["p_correct"].null_count(), found["p_correct"].mean()
    say(
        f"{output}: {len(found):,} responses, {without:,} of them without P(correct)"
        + ("" if mean is None else f"; P(correct) {mean:.3f} in the mean")
    )
    if "overridden" in found.columns and len(found):
        say(f"overridden: {found['overridden'][0]}", err=True)
