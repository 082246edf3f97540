"""The style of exhibits: what tables and figures ask for sizes, fonts and displayed names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# A column and the text of a two-column article, in inches: those of the ACL and of IEEE are as wide, or nearly. And the
# height that leaves room on a page for a caption.
COLUMN, TEXT, TALLEST = 3.3, 6.8, 6.3


@dataclass(frozen=True)
class Style:
    """How exhibits look; the default is that of the report's pages.

    Figures are as large as they ask for; or in inches at most `tallest`, and as wide as one of `widths`: a column's and
    the text's. `scale` applies to all sizes in points. Without `annotated`, nothing stands inside a figure that its
    caption can say: no title, no label of the study. `models` and `benchmarks` are displayed names; a missing one is
    the name in the config.
    """

    label: str = ""
    widths: tuple[float, float] | None = None
    tallest: float | None = None
    scale: float = 1.0
    annotated: bool = True
    # Settings of matplotlib besides those of all figures.
    settings: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    benchmarks: Mapping[str, str] = field(default_factory=dict)

    def points(self, size: float) -> float:
        """A font's size, or that of a marker or a line, in points."""
        return self.scale * size

    def area(self, size: float) -> float:
        """A marker's area in square points."""
        return self.scale**2 * size

    def width(self, inches: float, *, of_text: bool = False) -> float:
        """A figure's width in inches: this one, or a column's; or the text's, for figures with columns."""
        if self.widths is None:
            return inches
        return self.widths[1] if of_text else self.widths[0]

    def height(self, inches: float) -> float:
        """A figure's height in inches: this one, or the largest."""
        return inches if self.tallest is None else min(inches, self.tallest)

    def title(self, text: str) -> str:
        """A title that stands inside a figure; empty if the caption says it."""
        return text if self.annotated else ""

    def model(self, name: str) -> str:
        """The displayed name of a model."""
        return self.models.get(name, name)

    def benchmark(self, name: str) -> str:
        """The displayed name of a benchmark."""
        return self.benchmarks.get(name, name)


# Sizes of 9 points become 7, which a column of 3.3 inches has room for, and which is still readable.
_PAPER_SCALE = 0.78
# STIX looks like Times; characters that it lacks come from DejaVu. Both come with matplotlib.
_PAPER_SETTINGS = {
    "font.family": ["STIXGeneral", "DejaVu Serif", "DejaVu Sans"],
    "font.size": 10 * _PAPER_SCALE,
    "axes.linewidth": 0.6,
    **{f"{axis}tick.major.{key}": value for axis in "xy" for key, value in (("size", 2.5), ("width", 0.6), ("pad", 2))},
}


def paper_style(models: Mapping[str, str], benchmarks: Mapping[str, str]) -> Style:
    """The style of a two-column paper, with these displayed names."""
    return Style(
        widths=(COLUMN, TEXT),
        tallest=TALLEST,
        scale=_PAPER_SCALE,
        annotated=False,
        settings=_PAPER_SETTINGS,
        models=models,
        benchmarks=benchmarks,
    )
