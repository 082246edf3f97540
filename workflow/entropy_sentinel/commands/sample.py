"""`entropy-sentinel sample`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entropy_sentinel.commands.estimate import Estimator
from entropy_sentinel.commands.options import ResponseFiles, report, say, taking
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.monitor.settings import SampleOptions

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Where the responses to label go: .csv or .jsonl."),
]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write a page to label them in a browser, too or instead.")
]


@taking(SampleOptions, budget=...)
def command(
    estimator: Estimator, files: ResponseFiles, output: Output = None, html: Html = None, **options: Any
) -> None:
    """Choose the responses to label next.

    Large and uncertain slices get most of the budget; in a slice, responses are drawn by P(correct), most where it is
    near 1/2. Write true or false into the column `label` of the file, or label them on the page and save; give that
    back with --labels. Its column `weight`, how many responses each stands for, must stay. Labels that the file has are
    kept. The table says how wide the interval of each slice is now, with so many labels alone, and with the estimator
    too if its P(correct) is right on average.
    """
    from entropy_sentinel.frames.files import check_outputs
    from entropy_sentinel.monitor.estimating.flags import general_flags
    from entropy_sentinel.monitor.labelling.browser import write_page
    from entropy_sentinel.monitor.labelling.sampling import sample
    from entropy_sentinel.monitor.labelling.to_label import SUFFIXES, write_to_label
    from entropy_sentinel.report.terminal import show
    from entropy_sentinel.verbs.estimation import load
    from entropy_sentinel.verbs.files import log_files

    if output is None and html is None:
        raise InputError("--output: name a file for the responses to label, or --html a page to label them on")
    if output is not None and output.suffix not in SUFFIXES:
        raise InputError(f"--output: must end with {', '.join(SUFFIXES)}, was '{output}'")
    logs = log_files(files)
    check_outputs({"--output": output, "--html": html}, [estimator, *logs])
    saved = load(estimator)
    found = sample(saved, logs, **options)
    if html is not None:
        write_page(found, html)
    kept = 0 if output is None else write_to_label(found.responses, output)
    total = found.slices["n_responses"].sum()
    show([_table(found.slices, list(options["by"]), found.level)])
    chosen = f"{len(found.responses):,} of {total:,} responses to label"
    if output is not None:
        say(f"{output}: {chosen}, true or false in column 'label'")
    if kept:
        say(f"{output}: {kept:,} of them have labels there, which are kept")
    if html is not None:
        say(f"{html}: {chosen}; open it in a browser, and give what it saves to: monitor --labels FILE")
    for flag, reason in general_flags(saved, found.taken).items():
        say(f"{flag}: {reason}", err=True)
    report(found.problems)


def _table(slices: "pl.DataFrame", by: list[str], level: float) -> "Table":
    from entropy_sentinel.frames.numbers import number
    from entropy_sentinel.monitor.summing.merging import ALL, EVERYTHING
    from entropy_sentinel.report.terminal import table

    counts, shares = ("n_responses", "n_to_label"), ("estimated_accuracy",)
    widths = ("width_before", "width_labels_alone", "width_expected")
    headings = [", ".join(by) or ALL, "responses", "to label", "estimated accuracy"]
    headings += [f"{level:.0%} width now", "labels alone", "with labels"]
    rows = [
        [
            ", ".join("-" if row[name] is None else str(row[name]) for name in by) or EVERYTHING,
            *(f"{row[name]:,}" for name in counts),
            *(number(row[name]) for name in shares + widths),
        ]
        for row in slices.iter_rows(named=True)
    ]
    return table(headings, rows)
