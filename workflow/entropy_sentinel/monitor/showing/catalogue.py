"""The catalogue of a monitor's outputs other than the terminal: files and other targets.

To add an output, add an entry here and the function that it names, which receives the result (`Monitored`) and the
target. The command has an option for each entry, and the workflow writes the `files` of each entry.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

_ROOM = "entropy_sentinel.monitor.showing"


@dataclass(frozen=True)
class Output:
    """An output of a monitor's result.

    `function` writes the result to a target: a path if `is_file`, else a text such as an address. `files` are the names
    of the targets in a workflow. `checks` names a function that refuses an invalid target before any log is read.
    `variable` is the environment variable that sets the target if the option is not given.
    """

    name: str
    meaning: str
    function: str
    files: tuple[str, ...] = ()
    metavar: str = "FILE"
    short: str | None = None
    is_file: bool = True
    checks: str | None = None
    variable: str | None = None

    @property
    def module(self) -> str:
        """Return the module of the function."""
        return self.function.rpartition(".")[0]

    @property
    def write(self) -> Callable[[Any, Any], None]:
        """Return the function, which takes the result and the target."""
        return _function(self.function)

    def check(self, target: Any) -> None:
        """Raise an EntropySentinelError for a target that the function would refuse."""
        if self.checks is not None:
            _function(self.checks)(target)


def _function(place: str) -> Callable[..., None]:
    module, _, name = place.rpartition(".")
    function: Callable[..., None] = getattr(import_module(module), name)
    return function


OUTPUTS: dict[str, Output] = {
    output.name: output
    for output in (
        Output(
            "output",
            "The rows: .csv, .parquet, or .json with alerts and provenance.",
            f"{_ROOM}.outputs.write_rows",
            ("rows.csv", "rows.parquet", "rows.json"),
            short="-o",
            checks=f"{_ROOM}.outputs.check_rows_path",
        ),
        Output(
            "metrics",
            "Prometheus text of the newest window, for the node exporter's textfile collector.",
            f"{_ROOM}.outputs.write_metrics",
            ("metrics.prom",),
        ),
        Output("alerts", "The alerts as JSON.", f"{_ROOM}.outputs.write_alerts", ("alerts.json",)),
        Output(
            "page",
            "A self-contained HTML page: alerts, the responses behind them, pictures and slices.",
            f"{_ROOM}.page.write_page",
            ("page.html",),
        ),
        Output(
            "webhook",
            "Post the alerts that are new, worse or over as JSON in the format of --alerts.",
            f"{_ROOM}.webhook.post_json",
            metavar="URL",
            is_file=False,
            checks=f"{_ROOM}.webhook.check_address",
            variable="ENTROPY_SENTINEL_WEBHOOK",
        ),
        Output(
            "slack",
            "Post the alerts that are new, worse or over as a message to Slack, or to another chat that accepts its "
            "format.",
            f"{_ROOM}.webhook.post_message",
            metavar="URL",
            is_file=False,
            checks=f"{_ROOM}.webhook.check_address",
            variable="ENTROPY_SENTINEL_SLACK",
        ),
    )
}
