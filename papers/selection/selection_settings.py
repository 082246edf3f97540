"""The options of `entropy-sentinel select`, and the config's section `analyses.selection`."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from entropy_sentinel.core.analysis import Analysis, StudyNames
from entropy_sentinel.core.option_classes import CliOption, Options, Panel
from entropy_sentinel.core.section_base import DISTINCT, Names, Seed, Text, Whole, check_names
from entropy_sentinel.rendering.exhibit_declarations import list_titles
from papers.selection import selection_exhibits
from papers.selection.selection_exhibits import STRATEGIES

Strategy = Literal["random", "longest", "pass-rate", "eas"]
# The pass that the strategy `eas` reads.
FORCED_ANSWER = "forced_answer"

_Size = Annotated[
    Whole,
    Field(ge=1, le=10**9, description="Number of items to select; all, if there are fewer candidates."),
    CliOption(Panel.SELECTION, "N", "-n"),
]
_Seed = Annotated[
    Seed,
    Field(description="Seed of the strategy random, and of the order of items with equal scores."),
    CliOption(Panel.SELECTION, "N"),
]
_Tries = Annotated[
    Whole,
    Field(ge=2, le=1000, description="Number of first responses to an item that its pass rate uses."),
    CliOption(Panel.SELECTION, "N"),
]
_Answer = Annotated[
    Literal["own", "reference"],
    Field(
        description="The answer whose entropy area is used: the response's own, which needs no label, or the reference "
        "as in the paper."
    ),
    CliOption(Panel.SELECTION),
]
_Solutions = Annotated[
    tuple[Text, ...],
    Field(
        description="Files of rows with columns question and solution, the answers to train on; by default "
        "the reference."
    ),
    CliOption(Panel.SELECTION, "FILE"),
]


class SelectOptions(Options):
    """The options of `select`."""

    strategy: Annotated[Strategy, CliOption(Panel.SELECTION, short="-s")] = Field(
        "eas", description="; ".join(f"{name}: {strategy.meaning}" for name, strategy in STRATEGIES.items())
    )
    size: _Size = 1000
    seed: _Seed = 42
    tries: _Tries = 4
    answer: _Answer = "own"
    solutions: _Solutions = ()


class Selection(Analysis):
    """Which items to train on: a file for each strategy, ready for a trainer, and how the selections differ.

    Items need a reference. Null is filled in from what is run.
    """

    PAGE = "{judge}/selection/report.html"
    TELLS = "which items to train on"
    TABLES, FIGURES = list_titles(selection_exhibits.TABLES), list_titles(selection_exhibits.FIGURES)

    judges: Names | None = Field(None, description="judges whose labels are used; null for all that are run")
    strategies: Annotated[list[str], DISTINCT] | None = Field(
        None,
        min_length=1,
        description="strategies; null for all that the study allows: pass-rate needs several samples per item, "
        "eas the family forced_answer in run.features",
    )
    size: _Size = 1000
    seed: _Seed = 42
    tries: _Tries = 4
    answer: _Answer = "own"
    solutions: _Solutions = ()

    @model_validator(mode="after")
    def _check_strategies(self) -> "Selection":
        """Refuse an unknown name in `strategies`."""
        check_names("strategy", self.strategies or [], STRATEGIES)
        return self

    def obstacle(self, studied: StudyNames) -> str | None:
        """Why the analysis is impossible with what is run; None if it is possible (`Analysis.obstacle`)."""
        return None if studied.labelled else "no benchmark that is run has references"

    def fitted(self, studied: StudyNames) -> tuple[Self, list[str]]:
        """The section with defaults from what is run, and a line for each name left out (`Analysis.fitted`)."""
        chosen_judges, lines = self.select_names(studied, {"judges": "judges"})
        # What the study lacks for a strategy, None if nothing.
        missing_data = {
            name: explain_missing_data(name, self.tries, studied.samples, studied.families) for name in STRATEGIES
        }
        for name in self.strategies or []:
            if missing_data[name]:
                raise ValueError(f"analyses.selection.strategies: {name} {missing_data[name]}")
        chosen = {
            "judges": chosen_judges["judges"] or studied.judges,
            "strategies": self.strategies or [name for name in STRATEGIES if missing_data[name] is None],
            **self.exhibits(),
        }
        return self.model_copy(update=chosen), lines


def explain_missing_data(strategy: str, tries: int, samples: int, families: Sequence[str]) -> str | None:
    """Say what a strategy needs that a study with these `samples` and `families` lacks, and what to set; else None."""
    if strategy == "pass-rate" and samples < tries:
        return f"needs {tries} responses to each item, got {samples}; set generation.samples: {tries}"
    if strategy == "eas" and FORCED_ANSWER not in families:
        return f"needs the pass that asks the model again; set run.features: [tokens, {FORCED_ANSWER}]"
    return None
