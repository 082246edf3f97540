"""The figures of the catalogue, from the items of all models and single trajectories of the pass."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

import polars as pl

from entropy_sentinel.analyses.entropy_area.catalogue import measures, range_of
from entropy_sentinel.analyses.entropy_area.figures_of_items import figure_2_correlations
from entropy_sentinel.analyses.entropy_area.figures_of_trajectories import figure_1_trajectory, figure_3_ranges
from entropy_sentinel.analyses.entropy_area.frames import CORRELATIONS, ITEMS
from entropy_sentinel.analyses.entropy_area.headings import AreaShown
from entropy_sentinel.analyses.entropy_area.measures import of_set
from entropy_sentinel.analyses.entropy_area.trajectories import by_range, median_item, trajectory, with_options
from entropy_sentinel.analyses.inputs import read_several
from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.report.figures import Drawing, style, write_figure
from entropy_sentinel.report.pages import Exhibit


class FigureFiles(TypedDict):
    """Files of the figures: items of each model, correlations of all, and the pass of each model and benchmark."""

    by_item: Sequence[str]
    correlations: str
    passes: Sequence[str]


class FigureSettings(AreaShown):
    """Settings of the figures: also the benchmark of Figures 1 and 3, null for the first with options."""

    figure_benchmark: str | None


class DrawnFigure(TypedDict):
    """A figure to make: its name in the catalogue, its title, its model, and the set of benchmarks if it is of one."""

    figure: str
    title: str
    model: str
    benchmark: str | None


def write_figures(
    files: FigureFiles,
    settings: FigureSettings,
    exhibits: Mapping[str, DrawnFigure],
    models: Sequence[str],
    folder: str,
) -> None:
    """Write the figures, by the names of their files, to `folder`."""
    source = _Source(files, settings, models)
    for name, what in exhibits.items():
        with style():
            drawing = source.draw(what)
        write_figure(Exhibit("figure", name, what["title"]), drawing, folder)


class _Source:
    """What the figures are drawn from."""

    def __init__(self, files: FigureFiles, settings: FigureSettings, models: Sequence[str]) -> None:
        self.items = read_several(ITEMS, files["by_item"], {"model": models})
        self.correlations = CORRELATIONS.read(files["correlations"])
        self.settings, self.score = settings, f"eas_{settings['answer']}"
        self.passes: dict[str, dict[str, str]] = {}
        for path in files["passes"]:
            origin = read_provenance(path)
            self.passes.setdefault(origin["model"], {})[origin["benchmark"]] = path

    def draw(self, what: DrawnFigure) -> Drawing:
        settings, model = self.settings, what["model"]
        if what["figure"] == "2_correlations":
            name = str(what["benchmark"])
            own, answers = of_set(self.items, model, settings["sets"][name]), settings["answers"]
            return figure_2_correlations(
                own, self.correlations, measures(answers), settings["answer"], model, name, settings["label"]
            )
        benchmark = self._benchmark(model)
        own = of_set(self.items, model, [benchmark])
        path, answer = self.passes[model][benchmark], settings["answer"]
        if what["figure"] == "1_trajectory":
            item = median_item(own, self.score)
            shown = trajectory(path, item, answer) if item else None
            return figure_1_trajectory(shown, model, benchmark, answer, settings["label"])
        chosen = by_range(own, self.score)
        shown_by_range = {name: trajectory(path, item, answer) if item else None for name, item in chosen.items()}
        counts = dict.fromkeys(chosen, 0) | _counts(own)
        alpha, label = settings["alpha"], settings["label"]
        return figure_3_ranges(shown_by_range, counts, model, benchmark, answer, alpha, label)

    def _benchmark(self, model: str) -> str:
        """That of the settings, or the first with options, or else the first."""
        if self.settings["figure_benchmark"]:
            return self.settings["figure_benchmark"]
        passes = self.passes[model]
        return next(iter(with_options(passes)), next(iter(passes)))


def _counts(items: pl.DataFrame) -> dict[str, int]:
    ranges = [range_of(entropy) for entropy in items["answer_entropy"]]
    return {name: ranges.count(name) for name in ranges}
