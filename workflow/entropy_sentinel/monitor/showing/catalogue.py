"""What is made of a monitor's findings, beside what the terminal shows: files, and whatever else they can go to.

Adding one is an entry here and the function that it names, which gets what was found (`Monitored`) and the target. The
command has an option for each entry, and a workflow makes `files`, where there are any.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

_ROOM = "entropy_sentinel.monitor.showing"


@dataclass(frozen=True)
class Output:
    """One thing that findings can be made into.

    `function` writes them to a target: a path, where `is_file`, else any text, as an address. `files` are the names
    that a workflow gives to the targets.
    """

    name: str
    meaning: str
    function: str
    files: tuple[str, ...] = ()
    metavar: str = "FILE"
    short: str | None = None
    is_file: bool = True

    @property
    def module(self) -> str:
        """The module of the function."""
        return self.function.rpartition(".")[0]

    @property
    def write(self) -> Callable[[Any, Any], None]:
        """The function: of what was found, and the target."""
        function: Callable[[Any, Any], None] = getattr(import_module(self.module), self.function.rpartition(".")[-1])
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
            "An HTML page with pictures, in one file: alerts, the responses behind them, slices.",
            f"{_ROOM}.page.write_page",
            ("page.html",),
        ),
    )
}
