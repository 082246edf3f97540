"""`entropy-sentinel estimate`, `compare`, `score` and `sample`: apply an estimator to responses."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from entropy_sentinel.commands.options import (
    Json,
    ResponseFiles,
    check_table_path,
    print_json,
    report,
    say,
    show_problems,
    taking,
    working,
)
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.monitor.settings import EstimateOptions, SampleOptions, Slicing

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from entropy_sentinel.monitor.labelling.chosen import Sample

Estimator = Annotated[
    Path, typer.Argument(metavar="ESTIMATOR", help="An estimator file written by `fit` or by a study.")
]
Second = Annotated[Path, typer.Argument(metavar="ESTIMATOR", help="The estimator file of the other model.")]
Labels = Annotated[
    list[str],
    typer.Option(
        "--labels",
        "-l",
        metavar="FILE",
        help="Labels to compare with: .csv, .jsonl or .parquet with item_id and label; a log of inspect_ai has them.",
    ),
]
SlicesFile = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Also write the table: .csv, .parquet or .json.")
]
ScoresFile = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="The table to write: .csv, .parquet or .jsonl.")
]
Langfuse = Annotated[
    Literal["trace", "observation"] | None,
    typer.Option(
        "--langfuse",
        help="Send P(correct) to Langfuse, as a score of the trace or observation that has the response's id "
        "(--column item_id=COLUMN names the column of the ids). The keys are in the environment: LANGFUSE_PUBLIC_KEY, "
        "LANGFUSE_SECRET_KEY, and LANGFUSE_BASE_URL if the server is your own.",
    ),
]
OpenTelemetry = Annotated[
    bool,
    typer.Option("--open-telemetry", help="Write events of OpenTelemetry, gen_ai.evaluation.result, as JSON Lines."),
]
LangfuseQueue = Annotated[
    str | None,
    typer.Option(
        "--langfuse-queue",
        metavar="ID",
        help="Add the responses to this annotation queue of Langfuse, as for `score --langfuse trace`.",
    ),
]
_TABLES = (".csv", ".parquet", ".jsonl")
SampleFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="[ESTIMATOR] FILES",
        help="An estimator's file, if you have one; then logs, traces or features, as for the other commands.",
    ),
]
ToLabelFile = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="The file of responses to label: .csv or .jsonl."),
]
LabelPage = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="FILE", help="A page for labelling in a browser, instead of --output or in addition."
    ),
]


@taking(EstimateOptions, by=["model", "benchmark"])
def estimate(
    estimator: Estimator,
    files: ResponseFiles,
    labels: Labels = [],
    output: SlicesFile = None,
    json: Json = False,
    **options: Any,
) -> None:
    """Estimate how accurate the model is on each slice.

    Prints one row per slice: its responses, the estimated share of correct answers with its interval, how many
    responses were truncated, and flags. The verdict of the estimator's validation and the reason of each flag follow.
    The exit status is 3 if some responses could not be used.
    """
    from entropy_sentinel.core.files import check_outputs
    from entropy_sentinel.monitor.once import estimated, options_of
    from entropy_sentinel.monitor.showing.files import as_json, check_rows_path, write_rows
    from entropy_sentinel.monitor.showing.terminal import parts
    from entropy_sentinel.report.terminal import show
    from entropy_sentinel.verbs.estimation import load
    from entropy_sentinel.verbs.inputs import log_files
    from entropy_sentinel.verbs.labels import label_files, read_people_labels

    if output is not None:
        check_rows_path(output)
    logs = log_files(files)
    check_outputs({"--output": output}, [estimator, *logs, *label_files(labels)])
    known = read_people_labels(labels, options["scorer"]) if labels else None
    with working("reading the logs"):
        result = estimated(load(estimator), logs, options_of(options), known)
    if output is not None:
        write_rows(result, output)
    if json:
        print_json(as_json(result))
    else:
        show(parts(result))
    report(result.problems)


@taking(EstimateOptions)
def compare(
    first: Estimator,
    second: Second,
    files: ResponseFiles,
    output: ScoresFile = None,
    json: Json = False,
    **options: Any,
) -> None:
    """Estimate how much more accurate one model is than another on each slice.

    FILES have responses of both models, to the same questions or not. Prints one row per slice: the estimated accuracy
    of each model, and their difference with its interval. No labels of these responses are needed; if both estimators
    were fitted on labels of the same domains, intervals are narrower. The exit status is 3 if some responses could not
    be used.
    """
    import polars as pl

    from entropy_sentinel.core.files import check_outputs
    from entropy_sentinel.core.printable import one_line
    from entropy_sentinel.formatting.spreadsheet import write_table
    from entropy_sentinel.monitor.comparing import compared
    from entropy_sentinel.report.terminal import show, table
    from entropy_sentinel.verbs.inputs import log_files

    if output is not None:
        check_table_path(output, _TABLES)
    logs = log_files(files)
    check_outputs({"--output": output}, [first, second, *logs])
    with working("reading the logs"):
        result = compared(first, second, logs, EstimateOptions.of(options))
    if output is not None:
        flat = result.rows.with_columns(pl.col("flags").list.join("; "))
        write_table(flat if output.suffix == ".csv" else result.rows, output)
    if json:
        print_json({"models": result.models, "slices": result.rows.to_dicts(), "notes": result.notes})
    else:
        shown = table(*result.table())
        shown.columns[-1].justify = shown.columns[-2].justify = "left"
        show([shown, *map(one_line, result.notes)])
    report(result.problems)


@taking(Slicing)
def score(
    estimator: Estimator,
    files: ResponseFiles,
    output: ScoresFile = None,
    langfuse: Langfuse = None,
    open_telemetry: OpenTelemetry = False,
    json: Json = False,
    **options: Any,
) -> None:
    """Estimate the probability that each response is correct.

    Writes one row per response: its id and P(correct) with the verdict that covers it, or the reason why it has none.
    The verdict `usable` covers only slices that are like a labelled domain, so name the column of the slices with --by;
    otherwise it is `not judged`. With --json it prints one JSON object per line.
    """
    from entropy_sentinel.core.files import check_outputs, write_whole
    from entropy_sentinel.formatting.spreadsheet import json_lines, write_table
    from entropy_sentinel.monitor.estimating.coverage import familiarity_lines
    from entropy_sentinel.monitor.estimating.flags import general_flags
    from entropy_sentinel.monitor.reading.inputs import read_whole
    from entropy_sentinel.monitor.scoring import scored
    from entropy_sentinel.monitor.showing.langfuse import check_keys, send_scores
    from entropy_sentinel.verbs.estimation import load
    from entropy_sentinel.verbs.inputs import log_files

    if output is None and not json and langfuse is None:
        raise InputError("--output: name a file for the table, print it with --json, or send it with --langfuse")
    if output is not None:
        check_table_path(output, (".jsonl",) if open_telemetry else _TABLES)
    if langfuse is not None:
        check_keys()
    logs = log_files(files)
    check_outputs({"--output": output}, [estimator, *logs])
    loaded = load(estimator)
    slicing = Slicing.of(options)
    with working("reading the logs"):
        read = read_whole(loaded, list(map(str, logs)), slicing)
    scores = scored(loaded, read, slicing.by)
    if output is not None and open_telemetry:
        write_whole(output, _events(scores))
    elif output is not None:
        write_table(scores, output)
    if json:
        typer.echo(_events(scores) if open_telemetry else json_lines(scores), nl=False)
    elif output is not None:
        without, mean = scores["p_correct"].null_count(), scores.select("p_correct").mean().item()
        say(
            f"{output}: {len(scores):,} responses, {without:,} of them without P(correct)"
            + ("" if mean is None else f"; mean P(correct) {mean:.3f}")
        )
    for line in familiarity_lines(scores, slicing.by):
        say(line, err=True)
    for flag, reason in general_flags(loaded, read.taken).items():
        say(f"{flag}: {reason}", err=True)
    # Last, so that a server that fails costs none of the above.
    if langfuse is not None:
        try:
            say(f"Langfuse: {send_scores(scores, langfuse):,} scores sent", err=json)
        except InputError:
            show_problems(read.problems)
            raise
    report(read.problems)


def _events(scores: "pl.DataFrame") -> str:
    """Return OpenTelemetry's events of scores, one a line."""
    from json import dumps

    from entropy_sentinel.monitor.showing.open_telemetry import events

    return "".join(dumps(event) + "\n" for event in events(scores))


@taking(SampleOptions, budget=...)
def sample(
    files: SampleFiles,
    output: ToLabelFile = None,
    html: LabelPage = None,
    langfuse_queue: LangfuseQueue = None,
    json: Json = False,
    **options: Any,
) -> None:
    """Choose responses to label, before the first `fit` or after it.

    Without an estimator, the labels are for a first `fit`: 20 to 40 per value of --by, spread over time and entropies,
    for so many of the largest values that the verdict `usable` is most probable. It names the values left out. The
    table shows this probability for other numbers of values and labels.

    With an estimator, large and uncertain slices get most of the budget. Within a slice, responses are drawn by
    P(correct), most often near 1/2. The table shows each slice's interval width: now, with only these labels, with
    labels and estimator together if its P(correct) is right on average, and with the verdicts of a judge, too.

    Write true or false into the column `label`, or label on the page and save; then pass the file with --labels. Keep
    the column `weight`: it says how many responses each one represents. Existing labels in the file are kept.
    """
    from entropy_sentinel.core.files import check_outputs
    from entropy_sentinel.estimators.saved import is_estimator
    from entropy_sentinel.monitor.estimating.flags import general_flags
    from entropy_sentinel.monitor.labelling.sampling import sampled
    from entropy_sentinel.monitor.labelling.to_label import SUFFIXES, write_page, write_to_label
    from entropy_sentinel.monitor.showing.langfuse import check_keys, send_to_queue
    from entropy_sentinel.verbs.estimation import load
    from entropy_sentinel.verbs.inputs import log_files

    if output is None and html is None and langfuse_queue is None and not json:
        raise InputError("--output: name a file for the responses to label, or a page with --html")
    if output is not None:
        check_table_path(output, SUFFIXES)
    if langfuse_queue is not None:
        check_keys()
    given = is_estimator(files[0])
    logs = log_files(files[given:])
    check_outputs({"--output": output, "--html": html}, [*files[:given], *logs])
    saved = load(files[0]) if given else None
    with working("reading the logs"):
        chosen = sampled(saved, logs, SampleOptions.of(options))
    if html is not None:
        write_page(chosen, html)
    kept = 0 if output is None else write_to_label(chosen.responses, output)
    if json:
        prospects = None if chosen.prospects is None else chosen.prospects.to_dicts()
        parts = {"slices": chosen.slices.to_dicts(), "prospects": prospects, "notes": list(chosen.notes)}
        print_json({**parts, "responses": chosen.responses.to_dicts()})
    else:
        _say_chosen(chosen, options["by"], output, html, kept)
    for flag, reason in general_flags(saved, chosen.taken).items() if saved else ():
        say(f"{flag}: {reason}", err=True)
    if langfuse_queue is not None:
        try:
            n_added = send_to_queue(chosen.responses, "trace", langfuse_queue)
        except InputError:
            show_problems(chosen.problems)
            raise
        say(f"Langfuse: {n_added:,} responses added", err=json)
    report(chosen.problems)


def _say_chosen(chosen: "Sample", by: list[str], output: Path | None, html: Path | None, kept: int) -> None:
    """Print the table of slices, where the responses to label are, and how many already have labels."""
    from entropy_sentinel.monitor.labelling.prospects import ASSUMES, VERDICTS
    from entropy_sentinel.monitor.labelling.sampling import JUDGE_QUALITY, VERDICTS_A_LABEL
    from entropy_sentinel.report.terminal import show

    show([_table(chosen.slices, list(by), chosen.level)])
    if chosen.prospects is None:
        say(
            f"and a judge: with verdicts on {VERDICTS_A_LABEL} times as many responses, of a judge who is right about "
            f"{JUDGE_QUALITY:.0%} of correct and of incorrect ones (`entropy-sentinel judge`)"
        )
    else:
        typer.echo(
            "Probability of the verdict `usable`, by mean error on new domains (first row: these labels); in brackets "
            f"with a judge's verdicts, {VERDICTS} per domain:"
        )
        show([_prospects(chosen.prospects)])
        say(ASSUMES)
    for note in chosen.notes:
        say(note)
    words = f"{len(chosen.responses):,} of {chosen.n_responses:,} responses to label"
    if output is not None:
        say(f"{output}: {words}, true or false in column 'label'")
    if kept:
        say(f"{output}: kept the labels of {kept:,} of them")
    if html is not None:
        say(f"{html}: {words}; open it in a browser, and pass the file that it saves to `{chosen.next_step} --labels`")


def _in_brackets(text: str, name: str, row: dict[str, Any]) -> str:
    """Return the estimate of an unfamiliar slice in brackets, and any other number as it is."""
    return f"({text})" if name in ("estimated_accuracy", "width_before") and row.get("unfamiliar") else text


def _prospects(prospects: "pl.DataFrame") -> "Table":
    from entropy_sentinel.report.terminal import table

    errors = prospects["error"].unique().sort()
    headings = ["domains", "labels each"] + [f"off by {error:.2f}" for error in errors]
    rows = []
    for (n_domains, n_labels), cells in prospects.group_by("domains", "labels", maintain_order=True):
        chances = cells.sort("error").select("usable", "usable_with_judge").rows()
        rows.append([str(n_domains), str(n_labels)] + [f"{alone:.0%} ({judged:.0%})" for alone, judged in chances])
    return table(headings, rows)


def _table(slices: "pl.DataFrame", by: list[str], level: float) -> "Table":
    from entropy_sentinel.formatting.text import number
    from entropy_sentinel.monitor.summing.merging import ALL, EVERYTHING
    from entropy_sentinel.report.terminal import table

    counts = {"n_responses": "responses", "n_to_label": "to label"}
    shares = {
        "estimated_accuracy": "estimated accuracy",
        "width_before": f"{level:.0%} width now",
        "width_labels_alone": "labels alone",
        "width_expected": "with labels",
        "width_with_judge": "and a judge",
    }
    shares = {name: heading for name, heading in shares.items() if name in slices.columns}
    headings = [", ".join(by) or ALL, *counts.values(), *shares.values()]
    rows = []
    for row in slices.iter_rows(named=True):
        values = ["-" if row[name] is None else str(row[name]) for name in by]
        cells = [", ".join(values) or EVERYTHING]
        cells += [f"{row[name]:,}" for name in counts]
        cells += [_in_brackets(number(row[name]), name, row) for name in shares]
        rows.append(cells)
    return table(headings, rows)
