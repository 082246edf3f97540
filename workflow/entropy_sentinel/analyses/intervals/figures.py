"""The figures of the catalogue, from scores of all models, right answers, and a simulation."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

import numpy as np

from entropy_sentinel.analyses import figures
from entropy_sentinel.analyses.intervals import figures_of_coverage, figures_of_theory
from entropy_sentinel.analyses.intervals.frames import SCORES
from entropy_sentinel.analyses.intervals.headings import IntervalsShown
from entropy_sentinel.analyses.intervals.questions import exponents
from entropy_sentinel.frames.benchmark import BENCHMARKS


class FigureFiles(TypedDict):
    """Files of the figures: items of both halves, scores of all models."""

    benchmarks: Sequence[str]
    scores: str


def write_figures(files: FigureFiles, settings: IntervalsShown, titles: Mapping[str, str], folder: str) -> None:
    """Write the figures of these names and titles to `folder`."""
    answers = [one for path in files["benchmarks"] for one in exponents(BENCHMARKS.read(path)).values()]
    inputs = {**settings, "scores": SCORES.read(files["scores"]), "answers": np.array(answers)}
    figures.write_figures(titles, [figures_of_coverage, figures_of_theory], inputs, folder)
