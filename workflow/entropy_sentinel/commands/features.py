"""`entropy-sentinel features`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from entropy_sentinel.commands.options import LogFiles, Strict, TopK, say
from entropy_sentinel.sources.logs.catalogue import FORMATS, LONGEST_MB

if TYPE_CHECKING:
    from entropy_sentinel.sources.logs.summary import Summary

# Exit status where the features are written, and some records could not be read.
INCOMPLETE = 3

Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the features go, a Parquet file.")]
Format = Annotated[
    str | None, typer.Option("--format", "-f", help=f"Instead of looking at each record: {', '.join(FORMATS)}.")
]
Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="A,B", help="Columns to keep, as metadata.route; else the usual ones."),
]
Mode = Annotated[
    str | None,
    typer.Option("--logprobs-mode", help="What the log-probabilities are: raw_logprobs (assumed), processed_logprobs."),
]
After = Annotated[
    str | None, typer.Option("--trace-after", metavar="TOKEN", help="The token that ends the thinking, as </think>.")
]
Model = Annotated[str | None, typer.Option("--model", metavar="NAME", help="The model, where the log does not say it.")]
Vocabulary = Annotated[
    int | None,
    typer.Option("--vocabulary", min=2, help="How many tokens the model chooses from: bounds what the entropies lack."),
]
Longest = Annotated[
    float,
    typer.Option("--max-record-mb", metavar="MB", help="A record that is longer is left out, for it takes memory."),
]
Signals = Annotated[
    str | None,
    typer.Option("--signals", metavar="A,B", help="Signals beside the features, as an estimator needs them."),
]
Split = Annotated[bool, typer.Option("--split", help="Write a file for each number of alternatives to a token.")]


def command(
    files: LogFiles,
    output: Output,
    format: Format = None,
    columns: Columns = None,
    logprobs_mode: Mode = None,
    top_k: TopK = None,
    trace_after: After = None,
    model: Model = None,
    vocabulary: Vocabulary = None,
    signals: Signals = None,
    split: Split = False,
    strict: Strict = False,
    max_record_mb: Longest = LONGEST_MB,
) -> None:
    """Compute the features of responses, from logs or traces.

    One row per response; a response without features has the reason. `fit` and `estimate` read the file. What was
    understood of the logs is said on standard error. The exit status is 3 where some records could not be read.
    """
    from entropy_sentinel.frames.outputs import check_outputs
    from entropy_sentinel.verbs.files import log_files
    from entropy_sentinel.verbs.reading import features_of, open_logs, write_features

    inputs = log_files(files)
    check_outputs({"--output": output}, inputs)
    names = [name.strip() for name in (signals or "").split(",") if name.strip()]
    logs = open_logs(
        files,
        format=format,
        columns=None if columns is None else [name.strip() for name in columns.split(",") if name.strip()],
        logprobs_mode=logprobs_mode,
        top_k=top_k,
        trace_after=trace_after,
        model=model,
        strict=strict,
        max_record_mb=max_record_mb,
        signals=names,
    )
    found = features_of(logs, vocabulary, signals=names)
    _show(logs.summary)
    written = write_features(found, output, {"log": dict(logs.summary.rows())}, split, inputs)
    without = found["reason"].is_not_null().sum()
    names = ", ".join(map(str, written))
    say(f"{names}: {len(found):,} responses, {without:,} of them without features")
    if logs.summary.n_bad:
        raise typer.Exit(INCOMPLETE)


def _show(summary: "Summary") -> None:
    from rich.table import Table

    from entropy_sentinel.frames.printable import one_line
    from entropy_sentinel.report.terminal import show

    shown = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for row in summary.rows():
        shown.add_row(*map(one_line, row))
    show([shown, *map(one_line, summary.lines())], sys.stderr)
