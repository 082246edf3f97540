"""What exhibits of this analysis are told, and notes that stand below several of them."""

from collections.abc import Sequence
from typing import TypedDict

from entropy_sentinel.analyses.entropy_area.catalogue import ANSWERS, EVERY


class AreaShown(TypedDict):
    """What all exhibits and the page are told.

    `sets` are benchmarks that are shown as one, by name; `answers` the kinds of answers that were put in, of which
    `answer` is shown where one is.
    """

    label: str
    sets: dict[str, list[str]]
    answers: list[str]
    answer: str
    alpha: float


FIRST_NOTE = "Measures are of one response to each item, the first sample; entropies are of all its samples."
ENTROPY_NOTE = (
    "Answer entropy: over the answers that the judge takes for different; samples without a readable answer are one "
    "answer. Correctness entropy: over being correct or not, where what cannot be read is not correct."
)
INTERVAL_NOTE = "from, to: 95 % interval by bootstrap over items."


def answer_note(answers: Sequence[str]) -> str:
    """What the kinds of answers are."""
    said = {
        "reference": "reference: the benchmark's answer is put in, as in the paper, which needs a label",
        "own": "own answer: the response's own final answer, which needs none",
        "none": "no answer: nothing after the brace",
    }
    return "; ".join(said[one] for one in answers) + "."


def benchmark_title(name: str) -> str:
    """A set of benchmarks as it is shown."""
    return "all" if name == EVERY else name


def answer_title(answer: str) -> str:
    """A kind of answer as it is shown."""
    return ANSWERS[answer]
