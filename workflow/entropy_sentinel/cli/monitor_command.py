"""`entropy-sentinel monitor`."""

import inspect
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entropy_sentinel.cli.shared_arguments import (
    INCOMPLETE_STATUS,
    RESPONSES,
    Json,
    announce_work,
    print_json,
    take_options,
)
from entropy_sentinel.core.option_classes import Panel
from entropy_sentinel.monitor.monitor_options import MonitorOptions, is_event_file
from entropy_sentinel.monitor.showing.output_declaration import Output
from entropy_sentinel.monitor.showing.output_registry import OUTPUTS

if TYPE_CHECKING:
    from entropy_sentinel.monitor.monitor_result import Monitored

# Exit statuses: an error, an alert, no slice with enough responses.
ERROR, ALERT, NOTHING = 1, 4, 5
# If several apply, the first one. Documents repeat it (tests/docs/test_document_facts.py).
PRECEDENCE = (ALERT, ERROR, NOTHING, INCOMPLETE_STATUS)
# Default number of responses that the page shows for each alert; only the page shows single responses.
DEFAULT_PAGE_RESPONSES = 5

Logs = Annotated[
    list[str],
    typer.Argument(
        metavar="[ESTIMATOR...] LOGS",
        help="The estimator's file, or one for each of several models; without any, accuracies rest on --labels. Then: "
        f"{RESPONSES} Also --state files of parts of the logs.",
    ),
]
State = Annotated[
    Path | None,
    typer.Option(
        "--state",
        metavar="FILE",
        rich_help_panel=Panel.FILES,
        help="Keep the sums of each log in this file, so that each log is read once; with several estimators in a file "
        "for each, FILE.MODEL.",
    ),
]


def _make_option(output: Output) -> inspect.Parameter:
    """The command's option for an output."""
    names = [f"--{output.name}"]
    if output.short:
        names.append(output.short)
    declared = typer.Option(
        *names, metavar=output.metavar, envvar=output.variable, rich_help_panel=Panel.FILES, help=output.meaning
    )
    annotation = Annotated[Path | None, declared] if output.is_file else Annotated[str | None, declared]
    return inspect.Parameter(output.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


@take_options(MonitorOptions, *map(_make_option, OUTPUTS.values()), responses=DEFAULT_PAGE_RESPONSES)
def command(logs: Logs, state: State = None, json: Json = False, **options: Any) -> None:
    """Watch the accuracy of slices of production logs, without labels, or from a few of them.

    Reports for each slice, and each slice in each window: responses, estimated accuracy with its interval, change since
    the reference, expected number of errors, and flags that warn about a number. Slices are sorted by expected errors:
    collect data for the first ones first.

    Exit status: 0; 1 for an error; 3 if something in the logs that this run read could not be used; 4 for an alert
    that is new or worse; 5 if no slice has enough responses. If several apply, the precedence is 4, 1, 5, 3. With
    --state, an alert is new until a run has reported it, and each log is read in one run; without, an alert is new if
    it began in the newest two windows.

    Traffic that is not watched is an alert, too, whenever any alert is requested.

    With several estimators, each estimates the responses of its own model, and the slices are labelled by model.

    Without an estimator, accuracies rest on --labels (and --judged), and logs need no log-probabilities. Drops between
    labels are then not seen.

    \b
    Every night, on all logs; each log is read once:
      entropy-sentinel monitor mine.estimator logs --by metadata.route --window day \\
          --reference 2026-11-02..2026-11-08 --alert-on drop --state state --page slices.html
    """
    from entropy_sentinel.core.printable import make_one_line
    from entropy_sentinel.estimators.estimator_file import is_estimator
    from entropy_sentinel.monitor.monitor_run import monitor_sources, record_alerts
    from entropy_sentinel.monitor.showing.monitor_terminal import make_parts
    from entropy_sentinel.monitor.showing.result_files import make_json
    from entropy_sentinel.rendering.terminal_text import print_parts

    targets = {name: options.pop(name) for name in OUTPUTS}
    for name in ("labels", "judged"):
        options[name] = options[name] or None
    estimators = [Path(path) for path in takewhile(is_estimator, logs)]
    inputs = [*_resolve_label_files(options["labels"]), *_resolve_label_files(options["judged"])]
    inputs += [path for path in (options["acknowledged"], state) if path is not None]
    inputs += [Path(entry) for entry in options["events"] if is_event_file(entry)]
    sources = _resolve_sources(targets, [*estimators, *inputs], logs[len(estimators) :])
    if targets["page"] is None:
        options["responses"] = 0
    all_windows = json or any(OUTPUTS[name].has_all_windows for name, target in targets.items() if target is not None)
    # None without an estimator; only several are a tuple, each of which estimates its own model.
    estimator = tuple(estimators) if len(estimators) > 1 else next(iter(estimators), None)
    with announce_work("reading the logs"):
        result = monitor_sources(
            estimator, sources, MonitorOptions.from_values(options), state, test_all_windows=all_windows
        )
    if json:
        print_json(make_json(result))
    else:
        print_parts(make_parts(result))
    print_parts(map(make_one_line, result.problems.lines()), sys.stderr)
    failed = list(_write_outputs(result, targets))
    print_parts(failed, sys.stderr)
    if not failed:
        record_alerts(result)
    status = _choose_status(result, has_failures=bool(failed))
    if status:
        raise typer.Exit(status)


def _choose_status(result: "Monitored", has_failures: bool) -> int:
    """The first exit status of PRECEDENCE that applies, or 0; `has_failures` says whether an output failed."""
    has_new_alerts, has_no_usable_slice = result.calling, result.silent
    applies = {
        ALERT: has_new_alerts,
        ERROR: has_failures,
        NOTHING: has_no_usable_slice,
        INCOMPLETE_STATUS: result.incomplete,
    }
    return next((status for status in PRECEDENCE if applies[status]), 0)


def _write_outputs(result: "Monitored", targets: dict[str, Any]) -> Iterator[str]:
    """Write or send the result to all targets; yield an error for each that failed, and continue with the next."""
    from entropy_sentinel.core.errors import EntropySentinelError
    from entropy_sentinel.core.extension_guard import ExtensionError, print_to_stderr
    from entropy_sentinel.core.printable import make_one_line
    from entropy_sentinel.core.registry_entries import is_built_in

    for name, target in targets.items():
        if target is not None:
            try:
                with print_to_stderr():
                    OUTPUTS[name].write(result, target)
            except ExtensionError as error:
                yield make_one_line(str(error))
            except (EntropySentinelError, OSError) as error:
                # Errors of the package about a file name the file.
                names_file = OUTPUTS[name].is_file and is_built_in("outputs", name)
                yield make_one_line(f"{'' if names_file else f'--{name}: '}{type(error).__name__}: {error}")


def _resolve_sources(targets: dict[str, Any], inputs: list[Path], logs: list[str]) -> list[Path]:
    """The log files that `logs` name; raise InputError without any, or for an output that is an input.

    `targets` are the outputs by name, None if not requested, whose paths are checked; `inputs` are the other files that
    are read.
    """
    from entropy_sentinel.core.errors import InputError
    from entropy_sentinel.core.whole_files import check_outputs
    from entropy_sentinel.monitor.reading.feature_stream import resolve_paths

    if not logs:
        raise InputError("LOGS: must name at least one file of responses, got only estimators")
    outputs = {}
    for name, target in targets.items():
        if target is not None:
            OUTPUTS[name].check(target)
            if OUTPUTS[name].is_file:
                outputs[f"--{name}"] = target
    paths = resolve_paths(logs)
    check_outputs(outputs, [*inputs, *paths])
    return paths


def _resolve_label_files(paths: list[str] | None) -> list[Path]:
    """The files of labels or verdicts, if the option was given."""
    from entropy_sentinel.api.label_reading import resolve_label_files

    return resolve_label_files(paths) if paths else []
