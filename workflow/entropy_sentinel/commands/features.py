"""`entropy-sentinel features`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entropy_sentinel.commands.options import INCOMPLETE, LogFiles, say, taking
from entropy_sentinel.sources.logs.settings import FormatOptions

if TYPE_CHECKING:
    from entropy_sentinel.sources.logs.summary import Summary

Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the features go, a Parquet file.")]
Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="A,B", help="Columns to keep, as metadata.route; else the usual ones."),
]
Vocabulary = Annotated[
    int | None,
    typer.Option("--vocabulary", min=2, help="How many tokens the model chooses from: bounds what the entropies lack."),
]
Signals = Annotated[
    str | None,
    typer.Option("--signals", metavar="A,B", help="Signals beside the features, as an estimator needs them."),
]
Split = Annotated[bool, typer.Option("--split", help="Write a file for each number of alternatives to a token.")]


@taking(FormatOptions)
def command(
    files: LogFiles,
    output: Output,
    columns: Columns = None,
    vocabulary: Vocabulary = None,
    signals: Signals = None,
    split: Split = False,
    **options: Any,
) -> None:
    """Compute the features of responses, from logs or traces.

    One row per response; a response without features has the reason. `fit` and `estimate` read the file. What was
    understood of the logs is said on standard error. The exit status is 3 where some records could not be read.
    """
    from entropy_sentinel.frames.files import check_outputs
    from entropy_sentinel.verbs.files import log_files
    from entropy_sentinel.verbs.reading import features_of, open_logs
    from entropy_sentinel.verbs.writing import write_features

    inputs = log_files(files)
    check_outputs({"--output": output}, inputs)
    further = _names(signals) or []
    logs = open_logs(inputs, columns=_names(columns), further=further, **options)
    found = features_of(logs, vocabulary, signals=further)
    _show(logs.summary)
    written = write_features(found, output, {"log": dict(logs.summary.rows())}, split, inputs)
    without = found["reason"].is_not_null().sum()
    names = ", ".join(map(str, written))
    say(f"{names}: {len(found):,} responses, {without:,} of them without features")
    if logs.summary.n_bad:
        raise typer.Exit(INCOMPLETE)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _show(summary: "Summary") -> None:
    from rich.table import Table

    from entropy_sentinel.frames.printable import one_line
    from entropy_sentinel.report.terminal import show

    shown = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for row in summary.rows():
        shown.add_row(*map(one_line, row))
    show([shown, *map(one_line, summary.lines())], sys.stderr)
