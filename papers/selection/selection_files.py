"""Make a model's candidates, each strategy's selection from them, and the files for a trainer.

A training file is JSON Lines: a chat, or prompt and completion, with its source and the reason for its selection.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.printable import describe_json
from entropy_sentinel.core.whole_files import whole_file
from entropy_sentinel.schemas.response_schema import ITEM
from entropy_sentinel.study.engines.generation_section import PromptSettings
from entropy_sentinel.study.items.benchmark_rows import read_local_rows
from entropy_sentinel.study.stages.generation_stage import fill_prompt
from papers.selection.selection_frames import CANDIDATES, SELECTIONS
from papers.selection.selection_strategies import CandidateFiles, read_candidates, select_items

QUESTION, SOLUTION = "question", "solution"


def read_solutions(paths: Iterable[str]) -> dict[str, str]:
    """Read the answers to train on, by question, from the columns `question` and `solution` of files of rows.

    Raises InputError for a row without them.
    """
    solutions = {}
    for path in paths:
        for number, row in enumerate(read_local_rows(path)):
            for name in (QUESTION, SOLUTION):
                if not isinstance(row.get(name), str):
                    raise InputError(
                        f"{path}, row {number}: '{name}' must be text, got {describe_json(row.get(name))}"[:300]
                    )
            solutions[row[QUESTION]] = row[SOLUTION]
    return solutions


def write_training_file(
    candidates: pl.DataFrame,
    selected: pl.DataFrame,
    prompt: PromptSettings,
    solutions: Mapping[str, str],
    path: str | Path,
) -> None:
    """Write a line for each row of `selected` (SELECTIONS), in their order, to `path`.

    `candidates` (CANDIDATES) have the questions and references, `solutions` by question the answers to train on, if not
    the references. `prompt` is the prompt used in the study, so that training uses the same wording as evaluation.
    """
    with whole_file(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as lines:
        for row in make_training_rows(candidates, selected, prompt, solutions):
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")


def make_training_rows(
    candidates: pl.DataFrame, selected: pl.DataFrame, prompt: PromptSettings, solutions: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield a row of a training file for each row of `selected` (SELECTIONS); `candidates` is of contract CANDIDATES.

    `messages` is a chat that ends with the question's solution as the assistant's message, or with the reference if
    `solutions`, by question, is empty. A plain-text prompt gives `prompt` and `completion` instead. `scores` has the
    scores of all strategies, null if unknown. Raises InputError for a question without a solution.
    """
    selected_items = selected.join(candidates.drop("model"), on=ITEM, how="left", maintain_order="left", validate="m:1")
    for row in selected_items.iter_rows(named=True):
        if solutions and row["question"] not in solutions:
            raise InputError(
                f"solutions: no row for item {row['item_id']}; add one whose '{QUESTION}' is {row['question']!r}"
            )
        filled_prompt = fill_prompt(prompt, row["question"])
        target = solutions.get(row["question"], row["reference"])
        training_row: dict[str, Any] = {"prompt": filled_prompt, "completion": target}
        if not isinstance(filled_prompt, str):
            training_row = {"messages": [*filled_prompt, {"role": "assistant", "content": target}]}
        for name in ("question", "reference", "model", "benchmark", "item_id", "strategy", "rank", "reason"):
            training_row[name] = row[name]
        training_row["scores"] = {name: row[name] for name in ("n_tokens", "passes", "pass_rate", "eas")}
        yield training_row


class SelectionSettings(TypedDict):
    """Settings of a model's selections."""

    size: int
    seed: int
    tries: int
    answer: str
    prompt: PromptSettings


def write_selections(
    benchmarks: Sequence[str],
    generations: Sequence[str],
    labels: Sequence[str],
    asked: Sequence[str],
    solutions: Sequence[str],
    model: str,
    settings: SelectionSettings,
    training_files: Mapping[str, str],
    candidates_output: str,
    selections_output: str,
) -> None:
    """Write a model's candidates and selections, and a training file for each strategy in `training_files`.

    `benchmarks`, `generations`, `labels` and `asked` (FORCED_ANSWERS, from which the EAS is read) are files of the same
    benchmarks in the same order; `asked` is empty if no strategy needs it. `solutions` are files for `read_solutions`.
    """
    passes: Sequence[str | None] = asked or [None] * len(benchmarks)
    by_benchmark = map(CandidateFiles, benchmarks, generations, labels, passes)
    candidates = read_candidates(model, by_benchmark, settings["tries"], settings["answer"])
    solution_by_question = read_solutions(solutions)
    frames: list[pl.DataFrame] = []
    notes: list[str] = []
    for strategy, path in training_files.items():
        selection = select_items(
            candidates,
            strategy,
            size=settings["size"],
            seed=settings["seed"],
            tries=settings["tries"],
            answer=settings["answer"],
        )
        write_training_file(candidates, selection.rows, settings["prompt"], solution_by_question, path)
        frames.append(selection.rows)
        notes += selection.notes
    CANDIDATES.write(candidates, candidates_output, {"model": model})
    SELECTIONS.write(pl.concat(frames), selections_output, {"model": model, "notes": notes})
