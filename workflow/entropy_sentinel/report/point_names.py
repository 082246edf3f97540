"""Names beside the points of a scatter plot, placed by adjustText so that they cover neither points nor each other."""

from collections.abc import Sequence

import numpy as np
from adjustText import adjust_text
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.transforms import Bbox

_HALO = (withStroke(linewidth=2, foreground="white"),)
_LINE = {"arrowstyle": "-", "color": "0.55", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 0, "zorder": 2}
# Half the width of a marker, and how far beside its point a name begins, in pixels.
_MARKER, _BESIDE = 7, 11
# A name this far from its point, in pixels, gets a line to it.
_APART = 14
# The same number of steps on every machine: a limit of time would move names with the machine's speed.
_STEPS = 1000


def name_points(axes: Axes, points: Sequence[tuple[float, float]], names: Sequence[str], size: float) -> None:
    """Write each name beside its point, on the side with more room, and move those that overlap up or down.

    `points` are in data coordinates, `size` is the font's in points. A name that ends up apart from its point gets a
    line to it. Limits of the axes and layout of the figure must be final.
    """
    if not names:
        return
    to_data, pixels = axes.transData.inverted(), axes.transData.transform(points)
    middle = np.mean(axes.get_window_extent().intervalx)
    texts = []
    for (x, y), name in zip(pixels, names, strict=True):
        side, beside = ("left", _BESIDE) if x < middle else ("right", -_BESIDE)
        place = to_data.transform((x + beside, y))
        texts.append(
            axes.text(*place, name, fontsize=size, ha=side, va="center", path_effects=_HALO, zorder=4)
        )
    x, y = np.transpose(points)
    _, lines = adjust_text(
        texts,
        objects=[Bbox(to_data.transform((point - _MARKER, point + _MARKER))) for point in pixels],
        target_x=x,
        target_y=y,
        avoid_self=False,
        ax=axes,
        only_move="y",
        iter_lim=_STEPS,
        min_arrow_len=_APART,
        arrowprops=_LINE,
    )
    for artist in (*texts, *lines):
        artist.set_in_layout(False)
