"""`entropy-sentinel monitor`."""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entropy_sentinel.commands.options import INCOMPLETE, Json, print_json, taking
from entropy_sentinel.commands.responses import Estimator
from entropy_sentinel.frames.options import Panel
from entropy_sentinel.monitor.settings import MonitorOptions
from entropy_sentinel.monitor.showing.catalogue import OUTPUTS, Output

if TYPE_CHECKING:
    from entropy_sentinel.monitor.result import Monitored

# Exit status where something is an alert, and where no slice has enough responses to be one; 4 goes before 5, and both
# before INCOMPLETE.
ERROR, ALERT, NOTHING = 1, 4, 5
# Responses to each alert on a page.
BEHIND = 5

Logs = Annotated[
    list[str],
    typer.Argument(
        metavar="LOGS",
        help="Logs, traces or features (.jsonl, .json, .parquet, .csv, .gz): files, folders, patterns, - for standard "
        "input; or --state files of parts of the logs.",
    ),
]
State = Annotated[
    Path | None,
    typer.Option(
        "--state",
        metavar="FILE",
        rich_help_panel=Panel.FILES,
        help="Keeps the sums of each log: what was read before counts, and is not read again.",
    ),
]


def _option(output: Output) -> inspect.Parameter:
    """The option of the command that an output has."""
    names = [f"--{output.name}", *([output.short] if output.short else [])]
    declared = typer.Option(
        *names, metavar=output.metavar, envvar=output.variable, rich_help_panel=Panel.FILES, help=output.meaning
    )
    annotation = Annotated[Path | None, declared] if output.is_file else Annotated[str | None, declared]
    return inspect.Parameter(output.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


@taking(MonitorOptions, *map(_option, OUTPUTS.values()), responses=BEHIND)
def command(estimator: Estimator, logs: Logs, state: State = None, json: Json = False, **options: Any) -> None:
    """Watch the accuracy of slices of production logs, without labels.

    Per slice, and per slice and window of time: responses, estimated accuracy with its interval, change since a
    reference, expected number of errors, and flags that say why a number is to be taken with care. Slices stand in the
    order of their expected errors: where to collect data first.

    Exit status: 0; 1 for an error; 3 where something in the logs could not be used, which is counted and shown; 4 for
    an alert; 5 where nothing could be said, for no slice has enough responses (4 goes before 1, 1 before 5, 5 before
    3). With windows, alerts are about the newest two, and about those before where the newest are thin.

    \b
    Every night, on all logs; what was read before is not read again:
      entropy-sentinel monitor mine.estimator logs --by metadata.route --window day \\
          --reference 2026-11-02..2026-11-08 --alert-on drop --state state --page slices.html
    """
    from entropy_sentinel.frames.printable import one_line
    from entropy_sentinel.monitor.running import monitor
    from entropy_sentinel.monitor.showing.outputs import as_json
    from entropy_sentinel.monitor.showing.terminal import parts
    from entropy_sentinel.report.terminal import show

    targets = {name: options.pop(name) for name in OUTPUTS}
    options["labels"] = options["labels"] or None
    sources = _checked(targets, estimator, logs, state, options["labels"])
    if targets["page"] is None:
        options["responses"] = 0
    result = monitor(estimator, sources, state=state, **options)
    if json:
        print_json(as_json(result))
    else:
        show(parts(result))
    show(map(one_line, result.problems.lines()), sys.stderr)
    failed = list(_failures(result, targets))
    show(failed, sys.stderr)
    quiet = ERROR if failed else NOTHING if result.silent else INCOMPLETE if result.incomplete else 0
    if status := ALERT if result.alerts else quiet:
        raise typer.Exit(status)


def _failures(result: "Monitored", targets: dict[str, Any]) -> Iterator[str]:
    """Write or send what was found to all targets; why one of them failed hides neither the others nor an alert."""
    from entropy_sentinel.frames.errors import EntropySentinelError
    from entropy_sentinel.frames.printable import one_line

    for name, target in targets.items():
        if target is not None:
            try:
                OUTPUTS[name].write(result, target)
            except (EntropySentinelError, OSError) as error:
                # A file names itself.
                yield one_line(f"{'' if OUTPUTS[name].is_file else f'--{name}: '}{type(error).__name__}: {error}")


def _checked(
    targets: dict[str, Any], estimator: Path, logs: list[str], state: Path | None, labels: Any
) -> list[str | Path]:
    """The files of the logs; what is to be written is none of those that are read, and its name says its form."""
    from entropy_sentinel.frames.files import check_outputs
    from entropy_sentinel.monitor.reading.inputs import sources
    from entropy_sentinel.verbs.inputs import files

    for name, target in targets.items():
        if target is not None:
            OUTPUTS[name].check(target)
    written = {f"--{name}": target for name, target in targets.items() if OUTPUTS[name].is_file}
    paths = [source for source in sources(logs, state) if isinstance(source, str | Path)]
    read = [estimator, *paths, *(files(labels) if labels else ()), *([] if state is None else [state])]
    check_outputs(written, read)
    return paths
