"""The outputs that this package has, declared in this folder's `__init__.py`."""

from pathlib import Path
from typing import TYPE_CHECKING

from entropy_sentinel.monitor.showing.output_declaration import Output

if TYPE_CHECKING:
    from entropy_sentinel.monitor.monitor_result import Monitored


def _write_rows(result: "Monitored", path: Path) -> None:
    from entropy_sentinel.monitor.showing.result_files import write_rows

    write_rows(result, path)


def _check_rows_path(path: Path) -> None:
    from entropy_sentinel.monitor.showing.result_files import check_rows_path

    check_rows_path(path)


def _write_metrics(result: "Monitored", path: Path) -> None:
    from entropy_sentinel.monitor.showing.result_files import write_metrics

    write_metrics(result, path)


def _write_alerts(result: "Monitored", path: Path) -> None:
    from entropy_sentinel.monitor.showing.result_files import write_alerts

    write_alerts(result, path)


def _write_slices_to_ask(result: "Monitored", path: Path) -> None:
    from entropy_sentinel.monitor.showing.slices_to_ask import write_slices_to_ask

    write_slices_to_ask(result, path)


def _check_ask_path(path: Path) -> None:
    from entropy_sentinel.monitor.showing.slices_to_ask import check_ask_path

    check_ask_path(path)


def _write_page(result: "Monitored", path: Path) -> None:
    from entropy_sentinel.monitor.showing.monitor_page import write_page

    write_page(result, path)


def _post_json(result: "Monitored", address: str) -> None:
    from entropy_sentinel.monitor.showing.webhook import post_json

    post_json(result, address)


def _post_message(result: "Monitored", address: str) -> None:
    from entropy_sentinel.monitor.showing.webhook import post_message

    post_message(result, address)


def _check_address(address: str) -> None:
    from entropy_sentinel.monitor.showing.webhook import check_address

    check_address(address)


OUTPUTS: dict[str, Output] = {
    output.name: output
    for output in (
        Output(
            "output",
            "The rows: .csv, .parquet, or .json with alerts and provenance.",
            _write_rows,
            ("rows.csv", "rows.parquet", "rows.json"),
            short="-o",
            check=_check_rows_path,
        ),
        Output(
            "metrics",
            "Prometheus text of the newest window, for the node exporter's textfile collector.",
            _write_metrics,
            ("metrics.prom",),
            has_all_windows=False,
        ),
        Output("alerts", "The alerts as JSON.", _write_alerts, ("alerts.json",), has_all_windows=False),
        Output(
            "ask",
            "The slices to ask a second opinion about, for `sample --slices` (.csv): new ones, those unlike all "
            "labelled domains, and those that dropped, until enough was asked.",
            _write_slices_to_ask,
            check=_check_ask_path,
            has_all_windows=False,
        ),
        Output(
            "page",
            "A self-contained HTML page: alerts, the responses behind them, pictures and slices.",
            _write_page,
            ("page.html",),
            has_all_windows=False,
        ),
        Output(
            "webhook",
            "Post the alerts that are new, worse or over as JSON in the format of --alerts.",
            _post_json,
            metavar="URL",
            is_file=False,
            check=_check_address,
            variable="ENTROPY_SENTINEL_WEBHOOK",
            has_all_windows=False,
        ),
        Output(
            "slack",
            "Post the alerts that are new, worse or over as a message to Slack, or to another chat that accepts its "
            "format.",
            _post_message,
            metavar="URL",
            is_file=False,
            check=_check_address,
            variable="ENTROPY_SENTINEL_SLACK",
            has_all_windows=False,
        ),
    )
}
