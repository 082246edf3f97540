"""A selection as JSON Lines for a trainer: a chat, or prompt and completion, with where it is from and why."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.engines.generation import PromptSettings
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.files import whole_file
from entropy_sentinel.frames.response import ITEM
from entropy_sentinel.sources.rows import local_rows
from entropy_sentinel.stages.generation import asked

QUESTION, SOLUTION = "question", "solution"


def read_solutions(paths: Iterable[str]) -> dict[str, str]:
    """What the model is to answer, by question, from the columns `question` and `solution` of files of rows.

    Raises InputError for a row without them.
    """
    found = {}
    for path in paths:
        for number, row in enumerate(local_rows(path)):
            for name in (QUESTION, SOLUTION):
                if not isinstance(row.get(name), str):
                    raise InputError(f"{path}, row {number}: '{name}' must be text, was {row.get(name)!r}"[:300])
            found[row[QUESTION]] = row[SOLUTION]
    return found


def write_training_file(
    candidates: pl.DataFrame,
    selected: pl.DataFrame,
    prompt: PromptSettings,
    solutions: Mapping[str, str],
    path: str | Path,
) -> None:
    """Write a line for each row of `selected` (SELECTIONS), in their order, to `path`.

    `prompt` is what the model is asked with: what it is trained on is worded as what it is asked.
    """
    with whole_file(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as lines:
        for row in training_rows(candidates, selected, prompt, solutions):
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")


def training_rows(
    candidates: pl.DataFrame, selected: pl.DataFrame, prompt: PromptSettings, solutions: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """The rows of `write_training_file`.

    `messages` end with the question's solution as the assistant's, or with the reference where there are no `solutions`
    at all; under a prompt of plain text `prompt` and `completion` stand in their place. `scores` has all that
    strategies go by, null where it is not known. Raises InputError for a question without its solution.
    """
    known = selected.join(candidates.drop("model"), on=ITEM, how="left", maintain_order="left", validate="m:1")
    for row in known.iter_rows(named=True):
        if solutions and row["question"] not in solutions:
            raise InputError(
                f"solutions: there is none for item {row['item_id']}; a row's '{QUESTION}' must be {row['question']!r}"
            )
        said, target = asked(prompt, row["question"]), solutions.get(row["question"], row["reference"])
        yield {
            **(
                {"prompt": said, "completion": target}
                if isinstance(said, str)
                else {"messages": [*said, {"role": "assistant", "content": target}]}
            ),
            **{name: row[name] for name in ("question", "reference", "model", "benchmark", "item_id")},
            **{name: row[name] for name in ("strategy", "rank", "reason")},
            "scores": {name: row[name] for name in ("n_tokens", "passes", "pass_rate", "eas")},
        }
