"""`entropy-sentinel monitor`."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from entropy_sentinel.commands.features import INCOMPLETE, After, Mode
from entropy_sentinel.commands.options import TopK
from entropy_sentinel.monitor.settings import ALERTS, POOLED, TIME, WINDOWS

# Exit status where something is an alert, and where no slice has enough responses to be one; 4 goes before 5, and both
# before INCOMPLETE.
ALERT, NOTHING = 4, 5

Window = StrEnum("Window", list(WINDOWS))
Kind = StrEnum("Kind", {name: name for name in ALERTS})

_SLICES, _ALERTS, _FILES, _READING = "Slices and windows", "Alerts", "Files that are written", "How logs are read"

Estimator = Annotated[Path, typer.Argument(metavar="ESTIMATOR", help="A file that `fit` or a study has written.")]
Logs = Annotated[
    list[str],
    typer.Argument(
        metavar="LOGS",
        help="Logs, traces or features (.jsonl, .json, .parquet, .csv, .gz): files, folders, patterns, - for standard "
        "input; or --state folders of parts of the logs.",
    ),
]
By = Annotated[
    list[str],
    typer.Option(
        "--by",
        "-b",
        metavar="COLUMN",
        rich_help_panel=_SLICES,
        help="A column whose values make slices, as metadata.route. Repeat it to combine. Default: all responses are "
        "one slice.",
    ),
]
WindowOption = Annotated[
    Window | None,
    typer.Option("--window", "-w", rich_help_panel=_SLICES, help="Also cut the time: in UTC, weeks from Monday."),
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="COLUMN",
        rich_help_panel=_SLICES,
        help=f"The column of the time: ISO 8601, or seconds or milliseconds since 1970. Default: '{TIME}', which logs "
        "of servers have.",
    ),
]
Reference = Annotated[
    str | None,
    typer.Option(
        "--reference",
        metavar="FIRST..LAST",
        rich_help_panel=_SLICES,
        help="Days that later ones are compared with, as 2026-11-01..2026-11-07, or ..2026-11-07 for all up to then.",
    ),
]
Level = Annotated[
    float, typer.Option("--level", metavar="SHARE", rich_help_panel=_SLICES, help="Level of the intervals.")
]
Few = Annotated[
    int,
    typer.Option(
        "--min-responses", min=1, rich_help_panel=_SLICES, help="With fewer, a slice is flagged and is no alert."
    ),
]
Pool = Annotated[
    int,
    typer.Option(
        "--pool-windows",
        min=1,
        metavar="N",
        rich_help_panel=_SLICES,
        help="Where the newest window of a slice has fewer, so many windows at most count together; 1 for none.",
    ),
]
Most = Annotated[
    int,
    typer.Option("--max-slices", min=1, rich_help_panel=_SLICES, help="Slices that are kept; smaller ones are pooled."),
]
Below = Annotated[
    float | None,
    typer.Option("--fail-below", metavar="ACCURACY", rich_help_panel=_ALERTS, help="An estimate below it is an alert."),
]
On = Annotated[
    list[Kind],
    typer.Option(
        "--alert-on",
        rich_help_panel=_ALERTS,
        help="What else is an alert: a drop since the reference, a slice outside the estimator's support, one with "
        "many responses that are cut off, one that had enough responses once and has no more. Repeat it for more.",
    ),
]
Drop = Annotated[
    float,
    typer.Option("--least-drop", metavar="SHARE", rich_help_panel=_ALERTS, help="A smaller fall is no drop."),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        rich_help_panel=_FILES,
        help="The rows: .csv, .parquet, or .json with alerts and provenance.",
    ),
]
Metrics = Annotated[
    Path | None,
    typer.Option(
        "--metrics", metavar="FILE", rich_help_panel=_FILES, help="OpenMetrics text, for Prometheus: the newest window."
    ),
]
AlertsFile = Annotated[
    Path | None, typer.Option("--alerts", metavar="FILE", rich_help_panel=_FILES, help="The alerts as JSON.")
]
Page = Annotated[
    Path | None,
    typer.Option(
        "--page",
        metavar="FILE",
        rich_help_panel=_FILES,
        help="An HTML page with pictures, in one file: alerts, the responses behind them, slices.",
    ),
]
Behind = Annotated[
    int,
    typer.Option(
        "--responses",
        min=0,
        metavar="N",
        rich_help_panel=_FILES,
        help="Responses to each alert that the page shows, with their texts; 0 for none.",
    ),
]
LabelFiles = Annotated[
    list[str],
    typer.Option(
        "--labels",
        "-l",
        metavar="FILE",
        rich_help_panel=_READING,
        help="Labels of some responses, as `sample` asks for them: .csv, .jsonl or .parquet with item_id, label and "
        "weight.",
    ),
]
AtRandom = Annotated[
    bool,
    typer.Option(
        "--labels-at-random",
        rich_help_panel=_READING,
        help="All responses were as likely to be labelled: the labels need no weight.",
    ),
]
State = Annotated[
    Path | None,
    typer.Option(
        "--state",
        metavar="FOLDER",
        rich_help_panel=_FILES,
        help="Where the sums of each file are kept: what was read before counts, and is not read again.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", rich_help_panel=_READING, help="The model, where the log does not say it."),
]
AnyModel = Annotated[
    bool,
    typer.Option(
        "--any-model",
        rich_help_panel=_READING,
        help="Take responses of another model too. Without it they are counted and left out.",
    ),
]
AnyLogprobs = Annotated[
    bool,
    typer.Option(
        "--any-logprobs",
        rich_help_panel=_READING,
        help="Take responses with another number or kind of log-probabilities too.",
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", rich_help_panel=_READING, help="Stop at the first response that cannot be used.")
]


def command(
    estimator: Estimator,
    logs: Logs,
    by: By = (),
    window: WindowOption = None,
    time: Time = None,
    reference: Reference = None,
    level: Level = 0.9,
    min_responses: Few = 30,
    pool_windows: Pool = POOLED,
    max_slices: Most = 1000,
    fail_below: Below = None,
    alert_on: On = (),
    least_drop: Drop = 0.02,
    output: Output = None,
    metrics: Metrics = None,
    alerts: AlertsFile = None,
    page: Page = None,
    responses: Behind = 5,
    state: State = None,
    labels: LabelFiles = (),
    labels_at_random: AtRandom = False,
    top_k: TopK = None,
    logprobs_mode: Mode = None,
    trace_after: After = None,
    model: Model = None,
    any_model: AnyModel = False,
    any_logprobs: AnyLogprobs = False,
    strict: Strict = False,
) -> None:
    """Watch the accuracy of slices of production logs, without labels.

    Per slice, and per slice and window of time: responses, estimated accuracy with its interval, change since a
    reference, expected number of errors, and flags that say why a number is to be taken with care. Slices stand in the
    order of their expected errors: where to collect data first.

    Exit status: 0; 1 for an error; 3 where something in the logs could not be used, which is counted and shown; 4 for
    an alert; 5 where nothing could be said, for no slice has enough responses (4 goes before 5, 5 before 3). With
    windows, alerts are about the newest two, and about those before where the newest are thin.
    """
    from entropy_sentinel.frames.outputs import check_outputs
    from entropy_sentinel.frames.printable import one_line
    from entropy_sentinel.monitor.reading.opening import sources
    from entropy_sentinel.monitor.running import monitor
    from entropy_sentinel.monitor.showing.outputs import check_rows_path, write_alerts, write_metrics, write_rows
    from entropy_sentinel.monitor.showing.page import write_page
    from entropy_sentinel.monitor.showing.terminal import parts
    from entropy_sentinel.report.terminal import show
    from entropy_sentinel.verbs.files import files

    if output is not None:
        check_rows_path(output)
    outputs = {"--output": output, "--metrics": metrics, "--alerts": alerts, "--page": page}
    check_outputs(outputs, [estimator, *sources(logs), *files(labels), *([] if state is None else [state])])
    found = monitor(
        estimator,
        logs,
        by,
        window=window,
        time=time,
        reference=reference,
        level=level,
        labels=labels or None,
        labels_at_random=labels_at_random,
        state=state,
        fail_below=fail_below,
        alert_on=alert_on,
        least_drop=least_drop,
        min_responses=min_responses,
        pool_windows=pool_windows,
        max_slices=max_slices,
        responses=responses if page is not None else 0,
        top_k=top_k,
        logprobs_mode=logprobs_mode,
        trace_after=trace_after,
        model=model,
        any_model=any_model,
        any_logprobs=any_logprobs,
        strict=strict,
    )
    for path, write in ((output, write_rows), (metrics, write_metrics), (alerts, write_alerts), (page, write_page)):
        if path is not None:
            write(found, path)
    show(parts(found))
    show(map(one_line, found.problems.lines()), sys.stderr)
    if found.alerts:
        raise typer.Exit(ALERT)
    if found.silent:
        raise typer.Exit(NOTHING)
    if found.incomplete:
        raise typer.Exit(INCOMPLETE)
