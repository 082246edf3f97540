"""The tables and figures of this analysis, its methods, why an answer is not used, and notes that exhibits share."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict

from entropy_sentinel.rendering.exhibit_declarations import ExhibitDeclaration

# The paper's tables, as printed.
PUBLISHED_FOLDER = Path(__file__).with_name("published")

# The ways to adjust a stated interval.
ADJUSTMENTS: dict[str, str] = {
    "base": "As stated",
    "conformal": "Split conformal",
    "normalised": "Conformal, by the width",
    "mondrian": "Conformal, by group",
    "cqr": "Conformal quantile regression",
}

# The data that intervals are computed from, and what a study needs for each.
Source = Literal["stated", "repeats", "samples", "distribution"]


@dataclass(frozen=True)
class IntervalMethod:
    """A method for intervals: its title, the data that it needs, and a description."""

    title: str
    source: Source
    meaning: str


_MEANINGS: dict[str, str] = {
    "base": "the interval that the model states",
    "conformal": "both ends moved by the same number, the conformal quantile of the calibration half",
    "normalised": "conformal, with the number in units of the width of the model's own interval plus one",
    "mondrian": "conformal, with a separate number for each kind of question",
    "cqr": "quantile regression of the answer on both ends and signals of the response, then conformal",
}
METHODS: dict[str, IntervalMethod] = {
    name: IntervalMethod(title, "stated", _MEANINGS[name]) for name, title in ADJUSTMENTS.items()
}
METHODS |= {
    "tunnel": IntervalMethod(
        "Tunnel, repeated queries", "repeats", "quantiles of the ends that repeated queries state"
    ),
    "sampling": IntervalMethod("Sampling", "samples", "quantiles of sampled answers"),
    "temperature_search": IntervalMethod(
        "Sampling, T*", "samples", "quantiles of sampled answers at the temperature that the calibration half chooses"
    ),
    "self_consistency": IntervalMethod(
        "Self-consistency", "samples", "the smallest set of sampled answers that has the level, as an interval"
    ),
    "logprob": IntervalMethod(
        "Log-probabilities", "distribution", "the smallest set of likely answers that has the level, as an interval"
    ),
    "logprob_scaled": IntervalMethod(
        "Log-probabilities, T*", "distribution", "the same after one temperature that the calibration half chooses"
    ),
}

# Reasons why an answer is not used: it cannot be read, or (`too_far`) can be and is no power of ten. The first that
# applies is reported.
REASONS: dict[str, str] = {
    "refused": "refused",
    "cut_off": "cut off",
    "no_json": "no JSON",
    "keys": "other keys",
    "no_integers": "not integers",
    "reversed": "reversed",
    "too_far": "too far from 0",
    "no_integer": "not an integer alone",
}

# Halves of the questions: methods are fitted, and compared by cross-fitting, on the first, and judged on the second.
CALIBRATION, TEST = "calibration", "test"

# Sources of a distribution over integers.
BASES: dict[str, str] = {
    "whole": "complete integers, which the model was asked about token by token",
    "first_token": "first tokens that are integers, as in the paper",
    "sampled": "the integers that were sampled, each with the probability that the model gives it",
}

TABLES: dict[str, ExhibitDeclaration] = {
    "1_examples": ExhibitDeclaration(
        "Questions, answers and stated intervals", "papers.intervals.interval_tables.table_1_examples"
    ),
    "2_winkler": ExhibitDeclaration(
        "Winkler score by model, level and method", "papers.intervals.score_tables.table_2_winkler"
    ),
    "3_coverage": ExhibitDeclaration(
        "Coverage by log-probabilities", "papers.intervals.interval_tables.table_3_coverage"
    ),
    "parsing": ExhibitDeclaration("Answers that are used", "papers.intervals.interval_tables.table_parsing"),
    "differences": ExhibitDeclaration("What each method changes", "papers.intervals.score_tables.table_differences"),
    "reductions": ExhibitDeclaration(
        "How much conformal adjustment lowers the score", "papers.intervals.score_tables.table_reductions"
    ),
    "perception": ExhibitDeclaration("Perception size", "papers.intervals.interval_tables.table_perception"),
    "tunnel_index": ExhibitDeclaration("Tunnel index", "papers.intervals.interval_tables.table_tunnel_index"),
}

FIGURES: dict[str, ExhibitDeclaration] = {
    "1_calibration": ExhibitDeclaration(
        "Nominal and observed coverage of stated intervals", "papers.intervals.interval_figures.figure_1_calibration"
    ),
    "2_conformal": ExhibitDeclaration(
        "Coverage before and after conformal adjustment", "papers.intervals.interval_figures.figure_2_conformal"
    ),
    "3_tunnel": ExhibitDeclaration(
        "The part of the distribution that a query sees", "papers.intervals.interval_figures.figure_3_tunnel"
    ),
    "4_bounds": ExhibitDeclaration(
        "Distribution of the stated bounds, and convergence of their quantiles",
        "papers.intervals.interval_figures.figure_4_bounds",
    ),
    "5_open_models": ExhibitDeclaration(
        "Nominal and observed coverage of open models", "papers.intervals.interval_figures.figure_5_open_models"
    ),
    "6_answers": ExhibitDeclaration("True answers", "papers.intervals.interval_figures.figure_6_answers"),
}


def compute_alpha(level: float) -> float:
    """The probability outside an interval of `level` percent: 0.002 for 99.8, without cancellation error."""
    return round(1 - level / 100, 12)


def method_title(method: str) -> str:
    """A method's title, such as `Split conformal`."""
    return METHODS[method].title


def level_title(level: float) -> str:
    """A level as text, such as `99.8 %`."""
    return f"{level:g} %"


class IntervalsExhibitSettings(TypedDict):
    """The settings of all exhibits and the page: the study's label, and the models with open weights."""

    label: str
    open_models: list[str]


# Texts shown for the values of these columns.
VALUE_FORMATS: Mapping[str, Callable[[Any], str]] = {"level": level_title, "method": method_title}
SCORE_NOTE = (
    "Score: Winkler's, (U - L) + (2 / alpha) times the distance of the right answer from the interval, in powers of "
    "ten, alpha = 1 - level; lower is better. An infinite interval has an infinite score."
)
READ_NOTE = "Coverage is over the questions for which the method has an interval; the others do not count."
COMMON_NOTE = "Methods are compared on the same questions: those for which all of them have an interval."
WILSON_NOTE = "from, to: Wilson's 95 % interval."


def end_note(subject: str, temperature: float, end: str) -> str:
    """The note on a chosen temperature that is the `smallest` or `largest` candidate, which is `end`."""
    return f"{subject}: T* {temperature:g} is the {end} candidate; a better one may lie beyond it."


def method_note(methods: Iterable[str]) -> str:
    """The note on these methods: title and description of each."""
    return "; ".join(f"{method_title(name)}: {METHODS[name].meaning}" for name in methods) + "."
