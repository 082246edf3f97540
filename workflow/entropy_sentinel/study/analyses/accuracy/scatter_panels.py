"""Figures of estimated against true accuracy, with a panel for each model."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from typing import Any, NamedTuple

from matplotlib import rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from entropy_sentinel.formatting.text_format import format_number
from entropy_sentinel.rendering.exhibit_style import Style
from entropy_sentinel.rendering.figure_style import (
    BLUE,
    GREEN,
    ORANGE,
    Drawing,
    collect_legend,
    draw_empty,
    new_figure,
    wrap_text,
)
from entropy_sentinel.study.analyses.accuracy.exhibit_inputs import AccuracyFigureInputs
from entropy_sentinel.study.analyses.accuracy.headline import Headline, build_headlines
from entropy_sentinel.study.analyses.accuracy.measuring.study_validation import LEVEL, DomainResult, ModelValidation
from entropy_sentinel.study.analyses.accuracy.point_names import name_points
from entropy_sentinel.study.analyses.display_names import ROLES, TrainingGroup, find_training_group

EDGE: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.6, "zorder": 3}
# The margin below zero on both axes, that above the largest value as a share of it, and the axes' smallest end.
BELOW, BEYOND, NEAREST_END = 0.05, 0.09, 0.4
# Domains without labels have no true accuracy: they are in a grey strip left of zero, at its middle.
STRIP, UNLABELLED_X, STRIP_END = -0.12, -0.07, -0.02
# Width of a panel on a narrow page, in inches: its text stays readable on a phone.
_NARROW = 4.0
# In inches: what a panel has beside its title, and a figure beside its legend; the height of a legend of one row.
_BESIDE_TITLE, _BESIDE_LEGEND, _LEGEND = 0.5, 0.2, 0.5


@dataclass(frozen=True)
class ModelPanel:
    """One model's panel: its title, a function that draws its points, and the points (true, estimated) by their names.

    `bars` are the bars that names must not cover: their position and both ends.
    """

    title: str
    draw: Callable[[Axes], None]
    points: Mapping[str, tuple[float, float]]
    bars: Sequence[tuple[float, float, float]] = ()


def draw_panels(panels: Sequence[ModelPanel], legend_title: str, style: Style, caption: str) -> Drawing:
    """Draw at least one panel: up to three in a row, or one below another on a narrow page.

    Only figures with titles and legends of their own have a narrow form.
    """
    columns = min(3, len(panels))
    if style.widths:
        # A figure that has to fit a page has as many rows as columns at most.
        columns = max(columns, math.ceil(math.sqrt(len(panels))))
    preferred_width = 3.8
    if len(panels) == 1:
        preferred_width = 5.4
    elif columns == 2:
        preferred_width = 4.4
    width = style.width(preferred_width * columns, of_text=columns > 1) / columns
    wide = _draw_figure(panels, legend_title, style, columns, width)
    narrow = _draw_figure(panels, legend_title, style, 1, _NARROW) if style.annotated else None
    return Drawing(wide, caption, narrow=narrow)


def _draw_figure(panels: Sequence[ModelPanel], legend_title: str, style: Style, columns: int, width: float) -> Figure:
    """Draw panels of this width in inches, `columns` in a row."""
    rows = math.ceil(len(panels) / columns)
    height = (width + style.points(0.2)) * rows + style.points(0.7)
    figure = new_figure(width * columns, height, style.label)
    figure.set_dpi(figure.dpi / style.scale)  # places of names are in pixels
    all_axes = figure.subplots(rows, columns, squeeze=False).flatten()
    for axes in all_axes[len(panels) :]:
        axes.remove()
    start, end, has_strip = _find_limits(panels)
    for axes, panel in zip(all_axes, panels, strict=False):
        _draw_frame(axes, panel, start, end, has_strip=has_strip, style=style)
        size = style.points(10)
        axes.set_title(wrap_text(panel.title, size, width - style.points(_BESIDE_TITLE)), fontsize=size)
    # The lowest panel of each column has the label of x, the first one of each row that of y.
    for axes in all_axes[len(panels) - columns : len(panels)]:
        axes.set_xlabel("True accuracy")
    for axes in all_axes[::columns]:
        axes.set_ylabel("Estimated accuracy")
    legend = _draw_legend(figure, collect_legend(all_axes[: len(panels)]), legend_title, style, narrow=width == _NARROW)
    # `height` has room for a legend of one row.
    missing_height = max(0.0, legend.get_window_extent().height / figure.dpi - style.points(_LEGEND))
    figure.set_figheight(style.height(height + missing_height))
    figure.draw_without_rendering()  # settles the layout, which the places of the names depend on
    for axes, panel in zip(all_axes, panels, strict=False):
        size = style.points(9 if columns == 1 else 7.5)
        name_points(axes, list(panel.points.values()), list(panel.points), size, panel.bars)
    return figure


def _draw_legend(figure: Figure, entries: Mapping[str, Artist], title: str, style: Style, *, narrow: bool) -> Legend:
    """Write the legend below the panels, in fewer columns than preferred if the figure has no room for these."""
    room = figure.get_figwidth() - _BESIDE_LEGEND
    legend_style: dict[str, Any] = {"loc": "outside lower center", "frameon": False, "fontsize": style.points(9)}
    legend_style["title"] = wrap_text(style.title(title), rcParams["font.size"], room) or None
    for columns in range(_count_legend_columns(len(entries), narrow), 0, -1):
        legend = figure.legend(list(entries.values()), list(entries), ncols=columns, alignment="center", **legend_style)
        if columns == 1 or legend.get_window_extent().width / figure.dpi <= room:
            break
        legend.remove()
    legend.get_title().set_multialignment("center")
    return legend


def _count_legend_columns(n_entries: int, narrow: bool) -> int:
    """The preferred number of columns of a legend."""
    if narrow:
        return 1 if n_entries <= 4 else 2
    if n_entries > 4:
        return 4
    return 3 if n_entries == 3 else 2


def _find_limits(panels: Sequence[ModelPanel]) -> tuple[float, float, bool]:
    """The common lower and upper limit of all panels' axes, and whether a domain has no true accuracy.

    The lower limit is zero or the lower end of a bar below zero; the upper one is the multiple of 0.1 at or above all
    values, between NEAREST_END and 1.
    """
    xs, ys, ends = [], [], []
    for panel in panels:
        for x, y in panel.points.values():
            xs.append(x)
            ys.append(y)
        for x, lower, upper in panel.bars:
            xs.append(x)
            ends += [lower, upper]
    lower_limit = min([0.0, *ends])
    # Rounded first, as 10 * 0.7 is slightly more than 7.
    tenths = math.ceil(round(10 * max(xs + ys + ends, default=1.0), 6))
    upper_limit = min(1.0, max(NEAREST_END, tenths / 10))
    has_unlabelled = UNLABELLED_X in xs
    return lower_limit, upper_limit, has_unlabelled


def _draw_frame(axes: Axes, panel: ModelPanel, start: float, end: float, has_strip: bool, style: Style) -> None:
    """Draw a panel with its diagonal, for accuracies from `start` to `end`.

    With `has_strip`, it has a grey strip at the left, for domains without labels.
    """
    axes.plot([0, end], [0, end], color="0.5", linestyle="--", linewidth=1, label="estimated = true", zorder=1)
    panel.draw(axes)
    limits = (start - BELOW, end * (1 + BEYOND))
    axes.set(xlim=limits, ylim=limits, aspect="equal")
    ticks = [tick for tick in axes.get_yticks() if 0 <= tick <= limits[1]]
    axes.set(xticks=ticks, yticks=ticks)
    if has_strip:
        axes.axvspan(STRIP, STRIP_END, color="0.94", linewidth=0, zorder=0)
        axes.set_xlim(STRIP, limits[1])
    axes.grid(color="0.92", linewidth=0.8)
    axes.tick_params(labelsize=style.points(8))
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_zorder(5)  # names have a white background, which must not cover the frame


# Training domains are drawn first and larger, so that one under an unseen domain still shows.
_ROLE_STYLES: dict[str, dict[str, Any]] = {
    "training": {"color": ORANGE, "marker": "s", "s": 80},
    "held_out": {"color": BLUE, "marker": "o", "s": 34},
}


def figure_1_accuracies(inputs: AccuracyFigureInputs) -> Drawing:
    """Draw estimated against true accuracy of each domain, for `figure_model` and the group `headline_group`."""
    group = find_training_group(inputs.groups, inputs.headline_group)
    headlines = build_headlines(inputs.estimates, inputs.sweep, group)
    # One result, or none if the group's estimates lack the model.
    model_headlines = [headline for headline in headlines if headline.model == inputs.figure_model]
    return _draw_headlines(model_headlines, group, inputs.style)


def figure_3_accuracies_by_model(inputs: AccuracyFigureInputs) -> Drawing:
    """Draw estimated against true accuracy of each domain, for the group `headline_group`, a panel for every model."""
    group = find_training_group(inputs.groups, inputs.headline_group)
    return _draw_headlines(build_headlines(inputs.estimates, inputs.sweep, group), group, inputs.style)


def _draw_headlines(headlines: Sequence[Headline], group: TrainingGroup, style: Style) -> Drawing:
    """Draw a panel for each headline, which is the training group's result for one model."""
    if not headlines:
        return draw_empty("No results for this training group", style.label)
    panels = []
    for headline in headlines:
        title = _write_title(headline, is_single=len(headlines) == 1, style=style)
        draw = partial(_draw_points, headline=headline, style=style)
        panels.append(ModelPanel(title, draw, _list_named_points(headline, style)))
    trained = f"Estimator trained on {', '.join(map(style.benchmark, group.group_id.split('+')))}"
    caption = _write_caption(headlines)
    if not style.annotated:
        # The caption says what titles and legend do not.
        caption = f"{trained}. {caption}"
        if len(headlines) == 1:
            caption = f"{style.model(headlines[0].model)}: {_describe_errors(headlines[0])}. {caption}"
    return draw_panels(panels, trained, style, caption)


def _write_title(headline: Headline, is_single: bool, style: Style) -> str:
    """A panel's title: the model's name, and its errors if the style has titles of its own.

    Without these, a single panel has no title, because the caption names the model.
    """
    name = style.model(headline.model)
    if style.annotated:
        return f"{name}\n{_describe_errors(headline)}"
    return "" if is_single else name


def _describe_errors(headline: Headline) -> str:
    """`AEE 0.071, rho 0.93 on unseen domains`."""
    score = headline.scores.get("held_out")
    if score is None or score.aee is None:
        return "no estimate of an unseen domain with labels"
    rho = "" if score.headline_rho is None else f", rho {format_number(score.headline_rho)}"
    return f"AEE {format_number(score.aee)}{rho} on unseen domains"


def _draw_points(axes: Axes, headline: Headline, style: Style) -> None:
    """Draw true and estimated accuracy of a model's domains by role, and the estimates of unlabelled ones."""
    for role, marker_style in _ROLE_STYLES.items():
        points = [_get_point(row) for row in headline.domains if row["role"] == role and row["error"] is not None]
        if points:
            x, y = zip(*points, strict=True)
            axes.scatter(x, y, label=f"{ROLES[role]} domain", **_scale_marker(EDGE | marker_style, style))
    unlabelled_points = _list_unlabelled_points(headline)
    if unlabelled_points:
        x, y = zip(*unlabelled_points.values(), strict=True)
        axes.scatter(
            x, y, label="domain without labels: its estimate", **_scale_marker(EDGE | _UNLABELLED_STYLE, style)
        )


def _scale_marker(marker_style: Mapping[str, Any], style: Style) -> dict[str, Any]:
    """The keywords of `Axes.scatter` with the marker's area, `s`, in the style's scale."""
    return {**marker_style, "s": style.area(marker_style["s"])}


def _list_named_points(headline: Headline, style: Style) -> dict[str, tuple[float, float]]:
    """The points of all domains with an estimate, (true, estimated), by the displayed names of the benchmarks."""
    points = {row["benchmark"]: _get_point(row) for row in headline.domains if row["error"] is not None}
    points |= _list_unlabelled_points(headline)
    return {style.benchmark(name): point for name, point in points.items()}


def _get_point(row: dict[str, float]) -> tuple[float, float]:
    """True and estimated accuracy of a labelled domain, from its row of ESTIMATES."""
    return row["true_accuracy"], row["estimated_on_labelled"]


def _list_unlabelled_points(headline: Headline) -> dict[str, tuple[float, float]]:
    """The points of unlabelled domains by benchmark: their place in the grey strip, and their estimate."""
    points = {}
    for row in headline.unlabelled:
        if row["estimated_accuracy"] is not None:
            points[row["benchmark"]] = (UNLABELLED_X, row["estimated_accuracy"])
    return points


def _write_caption(headlines: Sequence[Headline]) -> str:
    """The caption of a figure with a panel for each headline."""
    has_unlabelled = any(_list_unlabelled_points(headline) for headline in headlines)
    return (
        "Benchmarks used for training (orange squares, by their test split) and unseen domains (blue circles). "
        "On the dashed line the estimate is exact."
        + (" Green triangles in the grey strip: estimates of domains without labels." if has_unlabelled else "")
    )


_LABELLED_STYLE: dict[str, Any] = {"color": BLUE, "marker": "o", "s": 34}
# For the kinds of each benchmark, which are too many to name.
_COLOURS = (BLUE, ORANGE, GREEN, "#CC79A7", "0.35", "#56B4E9", "#B8860B")
_BENCHMARK_STYLES = [
    {"color": color, "marker": marker, "s": 40} for color, marker in zip(_COLOURS, "os^DvpP", strict=True)
]
_UNLABELLED_STYLE: dict[str, Any] = {"color": GREEN, "marker": ">", "s": 60}
# Drawn above names, which have a white background.
_BAR: dict[str, Any] = {"fmt": "none", "elinewidth": 1, "capsize": 2, "alpha": 0.6, "zorder": 6}
_POINT = EDGE | {"zorder": 7}


def figure_validation(inputs: AccuracyFigureInputs) -> Drawing:
    """Draw estimated against true accuracy of each domain, by the recommended estimator without the domain's labels.

    Unlabelled domains are in a strip left of zero; bars are intervals. Kinds of a benchmark share a colour and a
    marker, and have no names. A model without a held-out domain has no panel, because its estimates cannot be compared
    with a true accuracy.
    """
    validations = [validation for validation in inputs.validations if _list_estimated(validation.left_out)]
    if not validations:
        return draw_empty("No labelled domain was held out and estimated", inputs.style.label)
    panels = []
    for validation in validations:
        draw = partial(_draw_validation, validation=validation)
        panels.append(
            ModelPanel(_write_heading(validation), draw, _list_validation_points(validation), _list_bars(validation))
        )
    return draw_panels(
        panels,
        "The recommended estimator, without a domain's labels",
        inputs.style,
        _write_validation_caption(validations),
    )


def _write_heading(validation: ModelValidation) -> str:
    """A panel's title: model, verdict and errors, and those on whole benchmarks left out if these have kinds."""
    rho = "" if validation.headline_rho is None else f", rho {format_number(validation.headline_rho)}"
    first = f"{validation.model}: {validation.verdict}\nAEE {format_number(validation.recommended.aee)}{rho}"
    groups = validation.new_groups
    if groups is None:
        return first
    return f"{first}\nanother benchmark: {groups.verdict}, AEE {format_number(groups.aee)}"


def _draw_validation(axes: Axes, validation: ModelValidation) -> None:
    """Draw the domains of one model with their intervals, the unlabelled ones in the grey strip."""
    unlabelled = (validation.unlabelled, _UNLABELLED_STYLE, "domain without labels: its estimate")
    for domains, marker_style, label in (*_group_labelled(validation), unlabelled):
        points = _list_estimated(domains)
        if not points:
            continue
        x = [point.x for point in points]
        y = [point.y for point in points]
        lower_lengths = [point.y - point.lower for point in points]
        upper_lengths = [point.upper - point.y for point in points]
        axes.errorbar(x, y, yerr=[lower_lengths, upper_lengths], ecolor=marker_style["color"], clip_on=False, **_BAR)
        axes.scatter(x, y, label=label, **_POINT | marker_style)


def _group_labelled(validation: ModelValidation) -> Iterator[tuple[Sequence[DomainResult], dict[str, Any], str]]:
    """Yield labelled domains that look alike, the style of their marker, and their name in the legend.

    If the domains are kinds of a benchmark's questions, those of each benchmark look alike, else all.
    """
    if validation.new_groups is None:
        yield validation.left_out, _LABELLED_STYLE, "labelled domain, left out"
        return
    benchmark_by_domain = {domain.domain: str(domain.group) for domain in validation.new_groups.domains}
    benchmarks = sorted(set(benchmark_by_domain.values()))
    for benchmark, marker_style in zip(benchmarks, cycle(_BENCHMARK_STYLES), strict=False):
        domains = [domain for domain in validation.left_out if benchmark_by_domain[domain.domain] == benchmark]
        yield domains, marker_style, benchmark


def _list_validation_points(validation: ModelValidation) -> dict[str, tuple[float, float]]:
    """The points that get a name, (true, estimated) by domain; kinds of a benchmark are too many to name."""
    labelled = () if validation.new_groups else validation.left_out
    return {point.domain: (point.x, point.y) for point in _list_estimated((*labelled, *validation.unlabelled))}


def _list_bars(validation: ModelValidation) -> list[tuple[float, float, float]]:
    """The intervals of the domains: position (true accuracy), lower and upper end."""
    return [
        (point.x, point.lower, point.upper) for point in _list_estimated((*validation.left_out, *validation.unlabelled))
    ]


class _Point(NamedTuple):
    """An estimated domain: its true accuracy or a place in the strip, its estimate and the ends of its interval."""

    domain: str
    x: float
    y: float
    lower: float
    upper: float


def _list_estimated(domains: Iterable[DomainResult]) -> list[_Point]:
    """The domains with an estimate and its interval, as points; one without labels is in the grey strip."""
    points = []
    for domain in domains:
        if domain.estimated is not None and domain.lower is not None and domain.upper is not None:
            x = UNLABELLED_X if domain.true is None else domain.true
            points.append(_Point(domain.domain, x, domain.estimated, domain.lower, domain.upper))
    return points


def _write_validation_caption(validations: Sequence[ModelValidation]) -> str:
    """The caption of a figure with a panel for each model's validation."""
    has_unlabelled = any(validation.unlabelled for validation in validations)
    has_kinds = any(validation.new_groups for validation in validations)
    each = "Each kind of question of a benchmark" if has_kinds else "Each labelled domain (blue circles)"
    return (
        f"{each} as estimated by the recommended method fitted on the others. On the "
        f"dashed line the estimate is exact; bars are intervals at {LEVEL:.0%}."
        + (" Green triangles in the grey strip: domains without labels." if has_unlabelled else "")
    )
