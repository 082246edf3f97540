"""The look of figures, and writing them to files. Does not use pyplot, whose global state would outlive them."""

import base64
import io
import textwrap
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.typing import RcKeyType

from entropy_sentinel.core.whole_files import whole_file
from entropy_sentinel.rendering.exhibit_style import Style
from entropy_sentinel.rendering.html_pages import Exhibit, render_fragment
from entropy_sentinel.rendering.latex import format_float, join_latex, write_symbols

# Blue, orange and green of Okabe and Ito, distinguishable with all common colour blindness; markers differ as well.
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
# Labels are shown unchanged: `$` does not begin a formula. Fonts in PDFs are TrueType (42), as journals require.
_STYLE: dict[RcKeyType, Any] = {"text.parse_math": False, "pdf.fonttype": 42}
# Twice a browser's 96 pixels per inch.
_PNG_DPI = 192
# Points per inch; how much wider letters can be at a low resolution.
_POINTS, _WIDER = 72, 1.06


@dataclass(frozen=True)
class Drawing:
    """A figure and its caption; `narrow` replaces the figure on a page as narrow as a phone."""

    figure: Figure
    caption: str
    narrow: Figure | None = None


def apply_style(exhibit_style: Style | None = None) -> AbstractContextManager[None]:
    """A context manager that sets the figure style; draw and write figures inside `with apply_style():`."""
    settings: dict[Any, Any] = {**_STYLE, **(exhibit_style.settings if exhibit_style else {})}
    return rc_context(settings)


def new_figure(width: float, height: float, label: str) -> Figure:
    """A figure of this size in inches, with the study's label, if any, in its corner."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    text = wrap_text(label and f"Study: {label}", 7, 0.97 * width)
    figure.suptitle(text, x=0.99, ha="right", fontsize=7, color="0.4")
    return figure


def wrap_text(text: str, size: float, width: float) -> str:
    """The text, at this font size in points, with line breaks so that no line is wider than `width` in inches.

    Lines break at spaces; only a word that is wider than a line breaks within.
    """
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines += _wrap_paragraph(paragraph, size, width)
    return "\n".join(lines)


def _wrap_paragraph(text: str, size: float, width: float) -> list[str]:
    """The lines of one paragraph, at a font size in points: as few as fit in `width` inches, of about equal length."""
    fitting: list[str] = []
    for n_letters in range(len(text), 0, -1):
        lines = textwrap.wrap(text, n_letters, break_on_hyphens=False)
        if fitting and len(lines) > len(fitting):
            break
        if all(_text_width(line, size) <= width for line in lines):
            fitting = lines
    if not text:
        return [""]
    return fitting or list(text)  # a line for each letter if even one letter is too wide


def _text_width(text: str, size: float) -> float:
    """The width of a line of text in inches, at a font size in points and at any resolution."""
    width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)
    return _WIDER * float(width) / _POINTS


def message_figure(text: str, label: str) -> Figure:
    """A figure whose text says why there is nothing to draw."""
    figure = new_figure(5, 2, label)
    figure.text(0.5, 0.5, text, ha="center", va="center")
    return figure


def draw_empty(reason: str, label: str) -> Drawing:
    """A drawing whose text and caption say why there is nothing to draw."""
    figure = message_figure(reason, label)
    return Drawing(figure, f"{reason}.", narrow=figure)


def style_axes(axes: Axes, x: str = "", y: str = "", title: str = "", *, size: float = 9) -> None:
    """Remove the right and upper spines, and write the labels and the title that are given, in this size in points."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=size)
    for text, write in ((x, axes.set_xlabel), (y, axes.set_ylabel), (title, axes.set_title)):
        if text:
            write(text, fontsize=size)


def collect_legend(panels: Iterable[Axes]) -> dict[str, Artist]:
    """The legend entries of all panels without duplicates: handles by text."""
    artists: dict[str, Artist] = {}
    for axes in panels:
        handles, texts = axes.get_legend_handles_labels()
        artists |= dict(zip(texts, handles, strict=True))
    return artists


def encode_image(figure: Figure, name: str) -> str:
    """A figure as the data URL of an SVG; its bytes depend only on the figure and its name.

    It is a separate image because the ids inside several SVGs would clash in one page.
    """
    svg = io.BytesIO()
    with apply_style(), rc_context({"svg.hashsalt": name}):
        figure.savefig(svg, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(svg.getvalue()).decode("ascii")


def write_figure(exhibit: Exhibit, drawing: Drawing, folder: str | Path) -> None:
    """Write the figure to `folder`: .pdf, .png (192 dpi) and .html (a page's part, with the figure as SVG).

    The bytes depend only on the figure.
    """
    stem = Path(folder) / exhibit.file
    stem.parent.mkdir(parents=True, exist_ok=True)
    _write_pdf(drawing.figure, f"{stem}.pdf")
    with apply_style():
        drawing.figure.savefig(f"{stem}.png", dpi=_PNG_DPI)
    wide = encode_image(drawing.figure, exhibit.file)
    narrow = encode_image(drawing.narrow, exhibit.file) if drawing.narrow else None
    part = render_fragment("figure", exhibit, drawing.caption, wide, narrow)
    Path(f"{stem}.html").write_text(part, encoding="utf-8")


def _write_pdf(figure: Figure, path: str, exhibit_style: Style | None = None) -> None:
    with apply_style(exhibit_style):
        figure.savefig(path, metadata={"CreationDate": None})


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format of the file's suffix, without a date."""
    dates: dict[str, dict[str, Any]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with apply_style(), rc_context({"svg.hashsalt": path.stem}), whole_file(path) as partial:
        figure.savefig(partial, format=path.suffix[1:], dpi=_PNG_DPI, metadata=dates.get(path.suffix))


def write_paper_figure(exhibit: Exhibit, drawing: Drawing, exhibit_style: Style, folder: str | Path) -> None:
    """Write the figure for a paper to `folder`: .pdf, at its final size, and .tex, the float with its caption."""
    stem = Path(folder) / exhibit.file
    stem.parent.mkdir(parents=True, exist_ok=True)
    _write_pdf(drawing.figure, f"{stem}.pdf", exhibit_style)
    inches = drawing.figure.get_figwidth()
    is_wide = inches > exhibit_style.width(inches)  # wider than a column
    body = rf"\includegraphics{{{exhibit.file}.pdf}}"
    caption = join_latex(f"{exhibit.title}.", write_symbols(drawing.caption))
    Path(f"{stem}.tex").write_text(format_float("figure", body, caption, exhibit.name, is_wide=is_wide), "utf-8")
