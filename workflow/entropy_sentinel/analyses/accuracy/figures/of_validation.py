"""The picture of the validation: what the recommended estimator makes of each labelled domain without its labels."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from entropy_sentinel.analyses.accuracy.figures.panels import EDGE, LOW, Panel, panels_drawing
from entropy_sentinel.analyses.accuracy.showing.verdicts import LEVEL, Domain, ModelValidation
from entropy_sentinel.frames.numbers import number
from entropy_sentinel.report.figures import BLUE, GREEN, Drawing, nothing

_LABELLED: dict[str, Any] = {"color": BLUE, "marker": "o", "s": 34}
_UNLABELLED: dict[str, Any] = {"color": GREEN, "marker": ">", "s": 60, "clip_on": False}
# Above names, which lie on white.
_BAR: dict[str, Any] = {"fmt": "none", "elinewidth": 1, "capsize": 2, "alpha": 0.6, "zorder": 6}
_POINT = EDGE | {"zorder": 7}


def figure_validation(validations: Sequence[ModelValidation], label: str) -> Drawing:
    """Estimated against true accuracy of each domain by the recommended estimator that has not seen its labels.

    Domains without labels stand on the axis of the estimates; bars are intervals. A model of which no domain was left
    out has no panel: there is no truth to compare its estimates with.
    """
    shown = [one for one in validations if _known(one.left_out)]
    if not shown:
        return nothing("No labelled domain was left out and estimated", label)
    panels = [Panel(_title(one), partial(_draw, validation=one), _points(one), _bars(one)) for one in shown]
    return panels_drawing(panels, "The recommended estimator, without a domain's labels", label, _caption(shown))


def _title(validation: ModelValidation) -> str:
    rho = "" if validation.headline_rho is None else f", rho {number(validation.headline_rho)}"
    return f"{validation.model}: {validation.verdict}\nAEE {number(validation.recommended.aee)}{rho}"


def _draw(axes: Axes, validation: ModelValidation) -> None:
    for domains, look, what in (
        (validation.left_out, _LABELLED, "labelled domain, left out"),
        (validation.unlabelled, _UNLABELLED, "domain without labels: its estimate"),
    ):
        known = _known(domains)
        if not known:
            continue
        x, y = zip(*((one.x, one.y) for one in known), strict=True)
        ends = [[one.y - one.lower for one in known], [one.upper - one.y for one in known]]
        axes.errorbar(x, y, yerr=ends, ecolor=look["color"], clip_on=False, **_BAR)
        axes.scatter(x, y, label=what, **_POINT | look)


def _points(validation: ModelValidation) -> dict[str, tuple[float, float]]:
    return {one.domain: (one.x, one.y) for one in _known((*validation.left_out, *validation.unlabelled))}


def _bars(validation: ModelValidation) -> list[tuple[float, float, float]]:
    return [(one.x, one.lower, one.upper) for one in _known((*validation.left_out, *validation.unlabelled))]


class _Point(NamedTuple):
    """An estimated domain: its true accuracy or the left edge, its estimate and the ends of its interval."""

    domain: str
    x: float
    y: float
    lower: float
    upper: float


def _known(domains: Iterable[Domain]) -> list[_Point]:
    return [
        _Point(one.domain, LOW if one.true is None else one.true, one.estimated, one.lower, one.upper)
        for one in domains
        if one.estimated is not None and one.lower is not None and one.upper is not None
    ]


def _caption(shown: Sequence[ModelValidation]) -> str:
    marked = any(one.unlabelled for one in shown)
    return (
        "Each labelled domain (blue circles) as estimated by the recommended method fitted on the other ones. On the "
        f"dashed line the estimate is exact; bars are intervals at {LEVEL:.0%}."
        + (" Green triangles on the left: domains without labels." if marked else "")
    )
