"""A selection as JSON Lines for a trainer: a chat, or prompt and completion, with where it is from and why."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.engines.generation import PromptSettings
from entropy_sentinel.frames.files import whole_file
from entropy_sentinel.frames.response import ITEM
from entropy_sentinel.stages.generation import asked


def write_training_file(
    candidates: pl.DataFrame, selected: pl.DataFrame, prompt: PromptSettings, path: str | Path
) -> None:
    """Write a line for each row of `selected` (SELECTIONS), in their order, to `path`.

    `prompt` is what the model is asked with: what it is trained on is worded as what it is asked.
    """
    with whole_file(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as lines:
        for row in training_rows(candidates, selected, prompt):
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")


def training_rows(candidates: pl.DataFrame, selected: pl.DataFrame, prompt: PromptSettings) -> Iterator[dict[str, Any]]:
    """The rows of `write_training_file`.

    `messages` end with the reference as the assistant's; under a prompt of plain text `prompt` and `completion` stand
    in their place. `scores` has all that strategies go by, null where it is not known.
    """
    known = selected.join(candidates.drop("model"), on=ITEM, how="left", maintain_order="left", validate="m:1")
    for row in known.iter_rows(named=True):
        said = asked(prompt, row["question"])
        yield {
            **(
                {"prompt": said, "completion": row["reference"]}
                if isinstance(said, str)
                else {"messages": [*said, {"role": "assistant", "content": row["reference"]}]}
            ),
            **{name: row[name] for name in ("question", "reference", "model", "benchmark", "item_id")},
            **{name: row[name] for name in ("strategy", "rank", "reason")},
            "scores": {name: row[name] for name in ("n_tokens", "passes", "pass_rate", "eas")},
        }
