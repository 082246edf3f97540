"""Figure 1: what the entropy of p says of the epistemic uncertainty where there is one answer, and where not."""

import math

import numpy as np
from matplotlib.axes import Axes
from scipy.special import entr

from entropy_sentinel.analyses.ambiguity.entropy_bounds import (
    alpha_delta,
    gamma_delta,
    least_uncertainty,
    most_uncertainty,
)
from entropy_sentinel.report.figures import BLUE, GREEN, ORANGE, Drawing, new_figure, plain

# Entropies of the two lines in the triangles, in nats.
_LOW, _HIGH = 0.35, 0.95
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(3) / 2]])
_CLASSES = (2, 3, 5, 10)
_STEPS = 200


def figure_1_bounds(label: str) -> Drawing:
    """The simplex of three classes with one answer and with several, and the bounds by the entropy."""
    figure = new_figure(11, 3.6, label)
    one, several, bounds = figure.subplots(1, 3)
    for axes, title in ((one, "One answer (AU = 0)"), (several, "Several answers (AU > 0)")):
        _simplex(axes)
        axes.set_title(title, fontsize=9)
    one.scatter(*_CORNERS.T, s=40, color=BLUE, zorder=3, label="where p* can be")
    for share, name, colour in (
        (gamma_delta(_LOW), "\u03b3", GREEN),
        (alpha_delta(_HIGH, 3), "\u03b1", ORANGE),
    ):
        # The first class has this probability, the others the same one: on the line down from its corner.
        place = np.array([share, (1 - share) / 2, (1 - share) / 2]) @ _CORNERS
        one.annotate(
            f"{name} = {share:.2f}", place, fontsize=8, color=colour, textcoords="offset points", xytext=(4, 3)
        )
    several.fill(*_CORNERS.T, color=BLUE, alpha=0.25, zorder=0, label="where p* can be")
    for axes in (one, several):
        axes.legend(fontsize=7, frameon=False, loc="upper left")
    _bounds(bounds)
    return Drawing(
        figure,
        "Left and middle: distributions over three classes, with the lines of entropy "
        f"{_LOW} (green) and {_HIGH} nats (orange). With one answer p* is a corner: inside the orange line p is far "
        "from all of them (Theorem 1), and beyond the green one near one of them, which is the right one for a model "
        "that is seldom confidently wrong (Theorem 2). With several, p* can be anywhere, and the entropy of p "
        "says nothing of how far it is (Proposition 1). Right: the least epistemic uncertainty of Theorem 1 by the "
        "entropy, for K classes, and that of Theorem 2, which an item stays below where the likeliest class is right; "
        "for two classes they are the same.",
    )


def _simplex(axes: Axes) -> None:
    steps = np.linspace(0, 1, _STEPS)
    first, second = np.meshgrid(steps, steps)
    third = 1 - first - second
    p = np.stack([first, second, third], axis=-1)
    entropy = np.where(third < -1e-9, np.nan, entr(np.clip(p, 0, 1)).sum(axis=-1))
    x, y = np.moveaxis(p @ _CORNERS, -1, 0)
    axes.contour(x, y, entropy, levels=[_LOW, _HIGH], colors=[GREEN, ORANGE], linewidths=1.4)
    axes.plot(*np.vstack([_CORNERS, _CORNERS[:1]]).T, color="0.3", linewidth=1)
    axes.set_aspect("equal")
    axes.set_xlim(-0.08, 1.08)
    axes.set_ylim(-0.08, 1.12)
    axes.axis("off")


def _bounds(axes: Axes) -> None:
    plain(axes)
    for n_classes, shade in zip(_CLASSES, np.linspace(0.35, 1, len(_CLASSES)), strict=True):
        entropies = np.linspace(0, math.log(n_classes), _STEPS)
        least = [least_uncertainty(delta, n_classes) for delta in entropies]
        axes.plot(entropies, least, color=ORANGE, alpha=shade, label=f"at least, K = {n_classes}")
    entropies = np.linspace(0, math.log(2), _STEPS)
    axes.plot(
        entropies, [most_uncertainty(delta) for delta in entropies], color=GREEN, linestyle="--", label="Theorem 2"
    )
    axes.set_xlabel("H(p), nats", fontsize=9)
    axes.set_ylabel("epistemic uncertainty, nats", fontsize=9)
    axes.set_title("Bounds with one answer", fontsize=9)
    axes.legend(fontsize=7, frameon=False)
