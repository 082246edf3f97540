"""Draw the alert of the walk-through: the estimated accuracy of two routes in the reference week and in the next.

`make alert` writes the picture of README.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import entropy_sentinel as es
from entropy_sentinel.rendering.figure_style import BLUE, ORANGE, apply_style, new_figure, style_axes
from write_weeks import SHOWN, write

# A route without an alert, and the one with it.
ROUTES = ("practice", "homework")
REFERENCE = "2026-11-02..2026-11-08"
# The picture is legible on a telephone, where it is about 4.5 inches wide.
_SIZE, _DPI = (4.6, 2.5), 200


def main() -> None:
    """Read the file from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", type=Path)
    picture = parser.parse_args().picture
    with tempfile.TemporaryDirectory() as name, apply_style():
        drawn(monitored(Path(name))).savefig(picture, dpi=_DPI, metadata={"Software": None})


def monitored(folder: Path) -> Any:
    """The monitor's result on the two weeks of a log, which are written to `folder`."""
    write(folder, SHOWN)
    estimator = es.fit(
        folder / "logs" / "week-1.parquet",
        es.read_labels(folder / "labels.csv"),
        domain="metadata.topic",
        group="metadata.book",
    )
    return es.monitor(
        estimator,
        folder / "logs",
        by=["metadata.route"],
        window="week",
        reference=REFERENCE,
        alert_on=["drop"],
    )


def drawn(result: Any) -> Figure:
    """The figure, a panel for each route."""
    fallen = {alert["slice"]["metadata.route"]: alert["window"] for alert in result.alerts}
    figure = new_figure(*_SIZE, "")
    for axes, route in zip(figure.subplots(1, len(ROUTES), sharey=True), ROUTES, strict=True):
        _draw(axes, route, result.windows.filter(pl.col("metadata.route") == route).sort("window"), route in fallen)
    figure.axes[0].set_ylabel("Estimated accuracy", fontsize=10)
    return figure


def _draw(axes: Axes, route: str, rows: pl.DataFrame, has_alert: bool) -> None:
    """Draw a route's windows in their order; the newest is orange if it has an alert."""
    values, lower, upper = (rows[name].to_list() for name in ("estimated_accuracy", "lower", "upper"))
    axes.axvspan(-0.5, 0.5, color="0.93", linewidth=0, zorder=0)
    axes.plot(values, color="0.6", linewidth=1, zorder=1)
    for place, value in enumerate(values):
        color = ORANGE if has_alert and place == len(values) - 1 else BLUE
        ends = [[value - lower[place]], [upper[place] - value]]
        axes.errorbar([place], [value], yerr=ends, color=color, marker="o", markersize=6, capsize=3, linewidth=1.6)
        axes.annotate(f"{value:.2f}", (place, value), (7, 7), textcoords="offset points", fontsize=10)
    axes.set(xlim=(-0.5, len(values) - 0.3), ylim=(0, 1), yticks=[0, 0.5, 1])
    axes.set_xticks(range(len(values)), [f"week of\n{window.day} {window:%b}" for window in rows["window"]])
    style_axes(axes)
    axes.tick_params(labelsize=10)
    axes.set_title(
        f"{route}: {'alert' if has_alert else 'no alert'}", fontsize=10, color=ORANGE if has_alert else "black"
    )


if __name__ == "__main__":
    main()
