"""Figures 2 and 5: what p* is like."""

import numpy as np
import polars as pl

from entropy_sentinel.analyses.ambiguity.headings import AmbiguityShown
from entropy_sentinel.report.figures import BLUE, Drawing, message, new_figure, plain

_BINS = 25


def figure_2_p_star(p_stars: pl.DataFrame, settings: AmbiguityShown, label: str) -> Drawing:
    """Histograms of H(p*), a panel for each benchmark."""
    return _histograms(
        p_stars.filter(source=settings["source"]),
        "entropy",
        "H(p*), nats",
        label,
        "Entropy of p* over the items of each benchmark: their aleatoric uncertainty. An item with one answer has 0.",
        ["benchmark"],
    )


def figure_5_divergence(p_stars: pl.DataFrame, settings: AmbiguityShown, label: str) -> Drawing:
    """Histograms of the divergence between sources, a panel for each benchmark and source."""
    return _histograms(
        p_stars.drop_nulls("divergence"),
        "divergence",
        "Jensen-Shannon, nats",
        label,
        f"Jensen-Shannon divergence of the p* of each source from that of {settings['source']}, over the items that "
        "both have. log 2 = 0.69 is the largest.",
        ["benchmark", "source"],
    )


def _histograms(rows: pl.DataFrame, value: str, title: str, label: str, caption: str, by: list[str]) -> Drawing:
    groups = list(rows.group_by(by, maintain_order=True))
    if not groups:
        said = "This study has one source of p*."
        return Drawing(message(said, label), said)
    figure = new_figure(min(3.2 * len(groups) + 0.6, 12), 2.8, label)
    panels = np.atleast_1d(figure.subplots(1, len(groups), sharex=True))
    edges = np.linspace(0, max(float(rows[value].to_numpy().max()), 0.1), _BINS + 1)
    for axes, (which, own) in zip(panels, groups, strict=True):
        plain(axes)
        axes.hist(own[value].to_numpy(), bins=edges, color=BLUE)
        axes.set_title(f"{', '.join(map(str, which))}: {len(own)} items", fontsize=9)
        axes.set_xlabel(title, fontsize=9)
    panels[0].set_ylabel("items", fontsize=9)
    return Drawing(figure, caption)
