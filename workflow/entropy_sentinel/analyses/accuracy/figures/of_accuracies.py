"""Figures 1 and 3: estimated against true accuracy by domain, a panel per model."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl
from matplotlib.axes import Axes

from entropy_sentinel.analyses.accuracy.figures.panels import EDGE, LOW, Panel, panels_drawing
from entropy_sentinel.analyses.accuracy.showing.headline import Headline, headlines
from entropy_sentinel.analyses.headings import ROLES, Groups, TrainingGroup, training_group
from entropy_sentinel.frames.numbers import number
from entropy_sentinel.report.figures import BLUE, GREEN, ORANGE, Drawing, nothing

# Training domains are drawn first and larger, so that one under an unseen domain still shows.
_ROLE_STYLES: dict[str, dict[str, Any]] = {
    "training": {"color": ORANGE, "marker": "s", "s": 80},
    "held_out": {"color": BLUE, "marker": "o", "s": 34},
}


def figure_1_accuracies(
    estimates: pl.DataFrame, sweep: pl.DataFrame, groups: Groups, headline_group: str, figure_model: str, label: str
) -> Drawing:
    """Estimated against true accuracy by domain, one model."""
    group = training_group(groups, headline_group)
    found = [one for one in headlines(estimates, sweep, group) if one.model == figure_model]
    return _drawing(found, group, label)


def figure_3_accuracies_by_model(
    estimates: pl.DataFrame, sweep: pl.DataFrame, groups: Groups, headline_group: str, label: str
) -> Drawing:
    """Estimated against true accuracy by domain, a panel for every model."""
    group = training_group(groups, headline_group)
    return _drawing(headlines(estimates, sweep, group), group, label)


def _drawing(found: Sequence[Headline], group: TrainingGroup, label: str) -> Drawing:
    if not found:
        return nothing("No results for this training group", label)
    panels = [Panel(_title(one), partial(_draw, headline=one), _named(one)) for one in found]
    return panels_drawing(panels, f"Estimator trained on {group.benchmarks}", label, _caption(found))


def _title(headline: Headline) -> str:
    score = headline.scores.get("held_out")
    if score is None or score.aee is None:
        return f"{headline.model}\nno estimate of an unseen domain with labels"
    rho = "" if score.headline_rho is None else f", rho {number(score.headline_rho)}"
    return f"{headline.model}\nAEE {number(score.aee)}{rho} on unseen domains"


def _draw(axes: Axes, headline: Headline) -> None:
    for role, style in _ROLE_STYLES.items():
        points = [_point(row) for row in headline.domains if row["role"] == role and row["error"] is not None]
        if points:
            x, y = zip(*points, strict=True)
            axes.scatter(x, y, label=f"{ROLES[role]} domain", **EDGE, **style)
    if marks := _marks(headline):
        look: dict[str, Any] = {"color": GREEN, "marker": ">", "s": 60, "clip_on": False}
        axes.scatter(*zip(*marks.values(), strict=True), label="domain without labels: its estimate", **EDGE | look)


def _named(headline: Headline) -> dict[str, tuple[float, float]]:
    named = {row["benchmark"]: _point(row) for row in headline.domains if row["error"] is not None}
    return named | _marks(headline)


def _point(row: dict[str, float]) -> tuple[float, float]:
    return row["true_accuracy"], row["estimated_on_labelled"]


def _marks(headline: Headline) -> dict[str, tuple[float, float]]:
    """Domains without labels have an estimate and no true accuracy: they stand on the axis of the estimates."""
    shown = {row["benchmark"]: row["estimated_accuracy"] for row in headline.unlabelled}
    return {name: (LOW, estimated) for name, estimated in shown.items() if estimated is not None}


def _caption(found: Sequence[Headline]) -> str:
    marked = any(_marks(headline) for headline in found)
    return (
        "Benchmarks used for training (orange squares, by their test split) and unseen domains (blue circles). "
        "On the dashed line the estimate is exact."
        + (" Green triangles on the left: estimates of domains without labels." if marked else "")
    )
