"""`entropy-sentinel sample`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from entropy_sentinel.commands.estimate import AnyLogprobs, AnyModel, Estimator
from entropy_sentinel.commands.options import ResponseFiles, Strict, TopK, say
from entropy_sentinel.frames.errors import InputError

if TYPE_CHECKING:
    import polars as pl

By = Annotated[
    list[str],
    typer.Option(
        "--by",
        "-b",
        metavar="COLUMN",
        help="A column whose values make slices, as metadata.route. Repeat it to combine. Default: all responses are "
        "one slice.",
    ),
]
Budget = Annotated[int, typer.Option("--budget", "-n", min=1, metavar="N", help="How many responses to label in all.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Where the responses to label go: .csv or .jsonl."),
]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write a page to label them in a browser, too or instead.")
]
PerSlice = Annotated[
    int, typer.Option("--per-slice", min=0, metavar="N", help="Labels that every slice gets, however small.")
]
Seed = Annotated[int, typer.Option("--seed", help="Another one chooses other responses.")]
Level = Annotated[
    float, typer.Option("--level", min=0.01, max=0.999, help="Level of the intervals whose width to expect.")
]


def command(
    estimator: Estimator,
    files: ResponseFiles,
    budget: Budget,
    output: Output = None,
    html: Html = None,
    by: By = (),
    per_slice: PerSlice = 5,
    seed: Seed = 42,
    level: Level = 0.9,
    top_k: TopK = None,
    any_model: AnyModel = False,
    any_logprobs: AnyLogprobs = False,
    strict: Strict = False,
) -> None:
    """Choose the responses to label next.

    Large and uncertain slices get most of the budget; in a slice, responses are drawn by P(correct), most where it is
    near 1/2. Write true or false into the column `label` of the file, or label them on the page and save; give that
    back with --labels. Its column `weight`, how many responses each stands for, must stay. Labels that the file has are
    kept. The table says how wide the interval of each slice is now, with so many labels alone, and with the estimator
    too if its P(correct) is right on average.
    """
    from entropy_sentinel.frames.outputs import check_outputs
    from entropy_sentinel.monitor.labelling.browser import write_page
    from entropy_sentinel.monitor.labelling.sampling import sample
    from entropy_sentinel.monitor.labelling.to_label import SUFFIXES, write_to_label
    from entropy_sentinel.report.terminal import show
    from entropy_sentinel.verbs.files import log_files

    if output is None and html is None:
        raise InputError("--output: name a file for the responses to label, or --html a page to label them on")
    if output is not None and output.suffix not in SUFFIXES:
        raise InputError(f"--output: must end with {', '.join(SUFFIXES)}, was '{output}'")
    check_outputs({"--output": output, "--html": html}, [estimator, *log_files(files)])
    options = {"any_model": any_model, "any_logprobs": any_logprobs, "top_k": top_k, "strict": strict}
    found = sample(estimator, files, by, budget, per_slice=per_slice, seed=seed, level=level, **options)
    if html is not None:
        write_page(found, html)
    kept = 0 if output is None else write_to_label(found.responses, output)
    total = found.slices["n_responses"].sum()
    show([_table(found.slices, list(by), level)])
    chosen = f"{len(found.responses):,} of {total:,} responses to label"
    if output is not None:
        say(f"{output}: {chosen}, true or false in column 'label'")
    if kept:
        say(f"{output}: {kept:,} of them have labels there, which are kept")
    if html is not None:
        say(f"{html}: {chosen}; open it in a browser, and give what it saves to: monitor --labels FILE")
    for difference in found.overridden:
        say(f"overridden: {difference}", err=True)


def _table(slices: "pl.DataFrame", by: list[str], level: float) -> object:
    from entropy_sentinel.monitor.summing.merging import ALL, EVERYTHING
    from entropy_sentinel.report.numbers import number
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
