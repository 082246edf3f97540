"""The tables and figures of this analysis, the measures and entropies that it compares, and notes that they share."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypedDict

from entropy_sentinel.rendering.exhibit_declarations import ExhibitDeclaration, PrintedTable

# The paper's tables, as printed.
PUBLISHED_FOLDER = Path(__file__).with_name("published")

# All benchmarks of a model together.
ALL_BENCHMARKS = "*"

# The kinds of inserted answers, by their names in the pass; the paper's first.
ANSWERS: dict[str, str] = {"reference": "reference", "own": "own answer", "none": "no answer"}

# Measures of one response; those of the area exist once per kind of answer, such as `eas_own`.
AREA_MEASURES = ("eas", "mean_eas")
BASELINE_MEASURES = ("ppl", "n_tokens")
_TITLES = {"eas": "EAS", "mean_eas": "Mean EAS", "ppl": "Perplexity", "n_tokens": "Length"}

# How much the samples of an item vary, in bits.
TARGETS: dict[str, str] = {
    "answer_entropy": "answer entropy",
    "answer_entropy_readable": "answer entropy, readable answers only",
    "correctness_entropy": "correctness entropy",
}

TABLES: dict[str, PrintedTable] = {
    # The paper names its model and benchmark only in the section.
    "1_truncation": PrintedTable(
        "Probability outside the 20 most likely tokens",
        "papers.entropy_area.area_tables.table_1_truncation",
        ("gpqa-diamond",),
        ("deepseek-r1-distill-qwen-14b",),
    ),
    "2_correlation": PrintedTable(
        "Correlation with the variety of repeated samples",
        "papers.entropy_area.area_tables.table_2_correlation",
        ("aime", "gpqa-diamond"),
        ("deepseek-r1-distill-qwen-14b", "deepseek-r1-distill-llama-8b"),
    ),
    "ranges": PrintedTable("Items by answer entropy", "papers.entropy_area.area_tables.table_ranges"),
    "spread": PrintedTable("How much the score depends on the sample", "papers.entropy_area.area_tables.table_spread"),
}

FIGURES: dict[str, ExhibitDeclaration] = {
    "1_trajectory": ExhibitDeclaration(
        "A trajectory and its area", "papers.entropy_area.area_figures.figure_1_trajectory"
    ),
    # One for each model and benchmark, or benchmarks taken together.
    "2_correlations": ExhibitDeclaration(
        "Four measures against the answer entropy", "papers.entropy_area.area_figures.figure_2_correlations"
    ),
    # One for each model.
    "3_ranges": ExhibitDeclaration(
        "Responses of low, medium and high answer entropy", "papers.entropy_area.area_figures.figure_3_ranges"
    ),
}


def list_area_measures(answers: Sequence[str]) -> list[str]:
    """The measures of the entropy area by inserted answer (a key of ANSWERS): `eas_reference`, `mean_eas_reference`."""
    names = []
    for answer in answers:
        names += [f"{name}_{answer}" for name in AREA_MEASURES]
    return names


def list_measures(answers: Sequence[str]) -> list[str]:
    """All measures of a response that are compared, first those of the entropy area by inserted answer."""
    return [*list_area_measures(answers), *BASELINE_MEASURES]


def measure_title(measure: str) -> str:
    """A measure's title: `EAS (own answer)` for `eas_own`, `Perplexity`."""
    if measure in BASELINE_MEASURES:
        return _TITLES[measure]
    name, _, answer = measure.rpartition("_")
    return f"{_TITLES[name]} ({ANSWERS[answer]})"


def has_published_values(table: str, models: Iterable[str], sets: Iterable[str], answers: Iterable[str]) -> bool:
    """Whether the paper has values for a table of these models, benchmarks (`sets`) and inserted answers.

    The paper inserts only the reference.
    """
    return "reference" in answers and TABLES[table].is_comparable(models, sets)


class AreaExhibitSettings(TypedDict):
    """Settings of all exhibits and the page of this analysis.

    `sets` are benchmarks shown as one, by name; `answers` the kinds of inserted answers, and `answer` the kind shown by
    exhibits with only one.
    """

    label: str
    sets: dict[str, list[str]]
    answers: list[str]
    answer: str
    alpha: float


FIRST_NOTE = "Measures use one response to each item, the first sample; entropies use all its samples."
ENTROPY_NOTE = (
    "Answer entropy: over the answers that the judge considers different; samples without a readable answer are one "
    "answer. Correctness entropy: over correct or not; unreadable answers count as not correct."
)
INTERVAL_NOTE = "from, to: 95 % interval by bootstrap over items."


def answer_note(answers: Sequence[str]) -> str:
    """The note on which answers are inserted, keys of ANSWERS."""
    notes = {
        "reference": "reference: the benchmark's answer is inserted, as in the paper, which needs a label",
        "own": "own answer: the response's own final answer, which needs none",
        "none": "no answer: nothing after the brace",
    }
    return "; ".join(notes[answer] for answer in answers) + "."
