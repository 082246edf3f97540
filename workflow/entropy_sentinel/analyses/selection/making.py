"""The selections of a model: its candidates, what each strategy takes of them, and the files for a trainer."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

import polars as pl

from entropy_sentinel.analyses.selection.candidates import CandidateFiles, read_candidates
from entropy_sentinel.analyses.selection.choosing import select
from entropy_sentinel.analyses.selection.frames import CANDIDATES, SELECTIONS
from entropy_sentinel.analyses.selection.training_file import read_solutions, write_training_file
from entropy_sentinel.engines.generation import PromptSettings


class SelectionSettings(TypedDict):
    """Settings of a model's selections."""

    size: int
    seed: int
    tries: int
    answer: str
    prompt: PromptSettings


class SelectionInputs(TypedDict):
    """Files of a model, one of each kind for each benchmark; `asked` is empty where no strategy reads it.

    `solutions` are those of all benchmarks together.
    """

    benchmarks: Sequence[str]
    generations: Sequence[str]
    labels: Sequence[str]
    asked: Sequence[str]
    solutions: Sequence[str]


def write_selections(
    files: SelectionInputs,
    model: str,
    settings: SelectionSettings,
    training_files: Mapping[str, str],
    candidates_output: str,
    selections_output: str,
) -> None:
    """Write the candidates, the selections, and a training file for each strategy, which `training_files` names."""
    asked: Sequence[str | None] = files["asked"] or [None] * len(files["benchmarks"])
    by_benchmark = map(CandidateFiles, files["benchmarks"], files["generations"], files["labels"], asked)
    candidates = read_candidates(model, by_benchmark, settings["tries"], settings["answer"])
    selected = [
        select(candidates, strategy, settings["size"], settings["seed"], settings["tries"], settings["answer"])
        for strategy in training_files
    ]
    solutions = read_solutions(files["solutions"])
    for one in selected:
        write_training_file(candidates, one.rows, settings["prompt"], solutions, training_files[one.strategy])
    CANDIDATES.write(candidates, candidates_output, {"model": model})
    notes = [note for one in selected for note in one.notes]
    SELECTIONS.write(pl.concat(one.rows for one in selected), selections_output, {"model": model, "notes": notes})
