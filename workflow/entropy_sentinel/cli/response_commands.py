"""`entropy-sentinel estimate`, `compare`, `score` and `sample`: apply an estimator to responses."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from entropy_sentinel.cli.shared_arguments import (
    Json,
    ResponseFiles,
    announce_work,
    check_table_path,
    exit_with_problems,
    print_json,
    print_line,
    show_problems,
    take_options,
)
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.monitor.monitor_options import EstimateOptions, SampleOptions, Slicing

if TYPE_CHECKING:
    import polars as pl

    from entropy_sentinel.monitor.labelling.sample_plan import Sample

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
ToJudgeFile = Annotated[
    Path | None,
    typer.Option(
        "--to-judge",
        metavar="FILE",
        help="With --judge-usd: the file of responses to judge, those to label among them: .csv or .jsonl.",
    ),
]
LabelPage = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="FILE", help="A page for labelling in a browser, instead of --output or in addition."
    ),
]


@take_options(EstimateOptions, by=["model", "benchmark"])
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
    from entropy_sentinel.api.estimation import load
    from entropy_sentinel.api.input_checks import resolve_log_files
    from entropy_sentinel.api.label_reading import read_people_labels, resolve_label_files
    from entropy_sentinel.core.whole_files import check_outputs
    from entropy_sentinel.monitor.batch import estimate_slices, options_of
    from entropy_sentinel.monitor.showing.monitor_terminal import make_parts
    from entropy_sentinel.monitor.showing.result_files import check_rows_path, make_json, write_rows
    from entropy_sentinel.rendering.terminal_text import print_parts

    if output is not None:
        check_rows_path(output)
    logs = resolve_log_files(files)
    check_outputs({"--output": output}, [estimator, *logs, *resolve_label_files(labels)])
    people_labels = read_people_labels(labels, options["scorer"]) if labels else None
    with announce_work("reading the logs"):
        result = estimate_slices(load(estimator), logs, options_of(options), people_labels)
    if output is not None:
        write_rows(result, output)
    if json:
        print_json(make_json(result))
    else:
        print_parts(make_parts(result))
    exit_with_problems(result.problems)


@take_options(EstimateOptions)
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

    from entropy_sentinel.api.input_checks import resolve_log_files
    from entropy_sentinel.core.printable import make_one_line
    from entropy_sentinel.core.whole_files import check_outputs
    from entropy_sentinel.formatting.spreadsheet import write_table
    from entropy_sentinel.monitor.model_comparison import compare_models
    from entropy_sentinel.rendering.terminal_text import format_terminal_table, print_parts

    if output is not None:
        check_table_path(output, _TABLES)
    logs = resolve_log_files(files)
    check_outputs({"--output": output}, [first, second, *logs])
    with announce_work("reading the logs"):
        result = compare_models(first, second, logs, EstimateOptions.from_values(options))
    if output is not None:
        flat = result.rows.with_columns(pl.col("flags", "flag_codes").list.join("; "))
        write_table(flat if output.suffix == ".csv" else result.rows, output)
    if json:
        print_json({"models": result.models, "slices": result.rows.to_dicts(), "notes": result.notes})
    else:
        slice_table = format_terminal_table(*result.table())
        slice_table.columns[-1].justify = slice_table.columns[-2].justify = "left"
        print_parts([slice_table, *map(make_one_line, result.notes)])
    exit_with_problems(result.problems)


@take_options(Slicing)
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
    from entropy_sentinel.api.estimation import load
    from entropy_sentinel.api.input_checks import resolve_log_files
    from entropy_sentinel.core.whole_files import check_outputs, write_whole
    from entropy_sentinel.formatting.spreadsheet import format_json_lines, write_table
    from entropy_sentinel.monitor.estimating.flags import find_general_flags
    from entropy_sentinel.monitor.estimating.verdict_coverage import describe_familiarity
    from entropy_sentinel.monitor.reading.feature_stream import read_all_responses
    from entropy_sentinel.monitor.response_scores import score_rows
    from entropy_sentinel.monitor.showing.langfuse import check_keys, send_scores

    if output is None and not json and langfuse is None:
        raise InputError("--output: name a file for the table, print it with --json, or send it with --langfuse")
    if output is not None:
        check_table_path(output, (".jsonl",) if open_telemetry else _TABLES)
    if langfuse is not None:
        check_keys()
    logs = resolve_log_files(files)
    check_outputs({"--output": output}, [estimator, *logs])
    loaded = load(estimator)
    slicing = Slicing.from_values(options)
    with announce_work("reading the logs"):
        read = read_all_responses(loaded, list(map(str, logs)), slicing)
    scores = score_rows(loaded, read, slicing.by)
    if output is not None and open_telemetry:
        write_whole(output, _format_events(scores))
    elif output is not None:
        write_table(scores, output)
    if json:
        typer.echo(_format_events(scores) if open_telemetry else format_json_lines(scores), nl=False)
    elif output is not None:
        without, mean = scores["p_correct"].null_count(), scores.select("p_correct").mean().item()
        print_line(
            f"{output}: {len(scores):,} responses, {without:,} of them without P(correct)"
            + ("" if mean is None else f"; mean P(correct) {mean:.3f}")
        )
    for line in describe_familiarity(scores, slicing.by):
        print_line(line, err=True)
    for flag, reason in find_general_flags(loaded, read.override_counts).items():
        print_line(f"{flag.words}: {reason}", err=True)
    # Last, so that a server that fails costs none of the above.
    if langfuse is not None:
        try:
            print_line(f"Langfuse: {send_scores(scores, langfuse):,} scores sent", err=json)
        except InputError:
            show_problems(read.problems)
            raise
    exit_with_problems(read.problems)


def _format_events(scores: "pl.DataFrame") -> str:
    """OpenTelemetry's events of scores, one a line."""
    from json import dumps

    from entropy_sentinel.monitor.showing.open_telemetry import make_events

    return "".join(dumps(event) + "\n" for event in make_events(scores))


@take_options(SampleOptions, budget=...)
def sample(
    files: SampleFiles,
    output: ToLabelFile = None,
    to_judge: ToJudgeFile = None,
    html: LabelPage = None,
    langfuse_queue: LangfuseQueue = None,
    json: Json = False,
    **options: Any,
) -> None:
    """Plan a budget: choose responses to label and to judge, and show what they will tell.

    Name the column that will be watched with --by. The table shows the widths of the intervals to expect for each
    slice, before anybody labels: from labels alone, with a judge, with an estimator.

    Without an estimator, each slice gets equally many labels, at least 5, spread over time and entropies. If the
    verdict `usable` of a first `fit` is likely enough, the labels are for that: 20 to 40 for so many of the largest
    values that it is most probable. The output says which of the two the budget is better spent on, and names the
    values left out.

    With an estimator, large and uncertain slices get most of the budget. Within a slice, responses are drawn by
    P(correct), most often near 1/2.

    Write true or false into the column `label`, or label on the page and save; then pass the file with --labels. Keep
    the column `weight`: it says how many responses each one represents. Existing labels in the file are kept.

    \b
    A hundred labels by people and two dollars for a judge:
      entropy-sentinel sample app/logs --by metadata.route --budget 100 --judge-usd 2 \\
          --judge-model openai/gpt-4o-mini --output to_label.csv --to-judge to_judge.csv
    """
    from entropy_sentinel.api.estimation import load
    from entropy_sentinel.api.input_checks import resolve_log_files
    from entropy_sentinel.core.whole_files import check_outputs
    from entropy_sentinel.estimators.estimator_file import is_estimator
    from entropy_sentinel.monitor.estimating.flags import find_general_flags
    from entropy_sentinel.monitor.labelling.label_sheet import SUFFIXES, write_label_sheet, write_page
    from entropy_sentinel.monitor.labelling.neyman_sampling import draw_sample
    from entropy_sentinel.monitor.showing.langfuse import check_keys, send_to_queue

    if output is None and html is None and langfuse_queue is None and not json:
        raise InputError("--output: name a file for the responses to label, or a page with --html")
    for path in filter(None, (output, to_judge)):
        check_table_path(path, SUFFIXES)
    settings = SampleOptions.from_values(options)
    if (settings.judge_usd is None) != (to_judge is None) and not (json and to_judge is None):
        raise InputError(
            "--to-judge: name the file of responses to judge together with --judge-usd, what they may cost"
        )
    if langfuse_queue is not None:
        check_keys()
    has_estimator = is_estimator(files[0])
    logs = resolve_log_files(files[has_estimator:])
    check_outputs({"--output": output, "--to-judge": to_judge, "--html": html}, [*files[:has_estimator], *logs])
    saved = load(files[0]) if has_estimator else None
    with announce_work("reading the logs"):
        chosen = draw_sample(saved, logs, settings)
    if html is not None:
        write_page(chosen, html)
    kept = 0 if output is None else write_label_sheet(chosen.responses, output)
    if to_judge is not None and chosen.to_judge is not None:
        write_label_sheet(chosen.to_judge, to_judge)
    if json:
        print_json(_make_json(chosen))
    else:
        _print_sample(chosen, by=list(settings.by), output=output, to_judge=to_judge, html=html, kept=kept)
    for flag, reason in find_general_flags(saved, chosen.taken).items() if saved else ():
        print_line(f"{flag.words}: {reason}", err=True)
    if langfuse_queue is not None:
        try:
            n_added = send_to_queue(chosen.responses, "trace", langfuse_queue)
        except InputError:
            show_problems(chosen.problems)
            raise
        print_line(f"Langfuse: {n_added:,} responses added", err=json)
    exit_with_problems(chosen.problems)


def _make_json(chosen: "Sample") -> dict[str, Any]:
    """What `sample --json` prints: tables as lists of rows, None where there is none."""
    from dataclasses import asdict

    def rows(frame: "pl.DataFrame | None") -> list[dict[str, Any]] | None:
        return None if frame is None else frame.to_dicts()

    return {
        "purpose": chosen.purpose,
        "slices": rows(chosen.slices),
        "prospects": rows(chosen.prospects),
        "judge": None if chosen.judge_budget is None else asdict(chosen.judge_budget),
        "notes": list(chosen.notes),
        "responses": rows(chosen.responses),
        "to_judge": rows(chosen.to_judge),
    }


def _print_sample(
    chosen: "Sample", by: list[str], output: Path | None, to_judge: Path | None, html: Path | None, kept: int
) -> None:
    """Print the tables, what they assume, where the responses are, and the commands that follow.

    `kept` is the number of labels that `output` already had.
    """
    from entropy_sentinel.monitor.labelling.sample_plan import (
        explain_sample,
        make_prospect_table,
        make_slice_table,
        title_prospects,
    )
    from entropy_sentinel.rendering.terminal_text import format_terminal_table, print_parts

    print_parts([format_terminal_table(*make_slice_table(chosen))])
    if chosen.prospects is not None:
        typer.echo(title_prospects(chosen.prospects))
        print_parts([format_terminal_table(*make_prospect_table(chosen.prospects))])
    for line in explain_sample(chosen):
        print_line(line)
    words = f"{len(chosen.responses):,} of {chosen.n_responses:,} responses to label"
    if output is not None:
        print_line(f"{output}: {words}, true or false in column 'label'")
    if kept:
        print_line(f"{output}: kept the labels of {kept:,} of them")
    if html is not None:
        print_line(
            f"{html}: {words}; open it in a browser, and pass the file that it saves to `{chosen.next_step} --labels`"
        )
    if to_judge is not None and chosen.to_judge is not None:
        print_line(f"{to_judge}: {len(chosen.to_judge):,} responses to judge, those to label among them; next:")
        for command in _list_next_commands(chosen, by, output, to_judge):
            typer.echo(f"  {command}")


def _list_next_commands(chosen: "Sample", by: list[str], output: Path | None, to_judge: Path) -> list[str]:
    """The two commands that follow: one that has the judge answer, and one that uses its verdicts with the labels."""
    from shlex import quote

    budget = chosen.judge_budget
    assert budget is not None  # there are responses to judge
    prices = (
        f"--budget-usd {budget.usd:g} --usd-per-million-input-tokens {budget.prices[0]:g} "
        f"--usd-per-million-output-tokens {budget.prices[1]:g}"
    )
    labels = "LABELLED" if output is None else quote(str(output))
    step = chosen.next_step
    if chosen.purpose is None:  # with an estimator
        step = " ".join(["monitor ESTIMATOR LOGS", *(f"--by {quote(name)}" for name in by)])
    return [
        f"entropy-sentinel judge {quote(str(to_judge))} --model {quote(budget.model or 'MODEL')} --output verdicts.csv "
        f"{prices}",
        f"entropy-sentinel {step} --labels {labels} --judged verdicts.csv",
    ]
