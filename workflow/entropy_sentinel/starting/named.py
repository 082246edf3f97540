"""Rows and models by names of their own, and the lines that say in a config what each model is."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from entropy_sentinel.engines.settings import gguf_instead_of_weights
from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.sources.settings import SOURCE_ENDS
from entropy_sentinel.starting.rows import Rows, free_name, name_of


def named_rows(found: Iterable[Rows], taken: Iterable[str]) -> dict[str, Rows]:
    """Rows by names of their own: none twice, and none that config.yaml has."""
    named: dict[str, Rows] = {}
    for rows in found:
        named[free_name(name_of(rows.path), [*taken, *named])] = rows
    return named


def named_models(asked: Iterable[str], benchmarks: Iterable[str], base: Mapping[str, Any]) -> dict[str, list[str]]:
    """The lines of each model's section by its name; `base` are config.yaml's models, which have none.

    `asked` are folders, ids of the hub, and names of config.yaml. Raises ConfigError for a folder that has neither
    weights nor traces of all benchmarks.
    """
    known = {model.get("id"): name for name, model in base.items()}
    named: dict[str, list[str]] = {}
    for one in asked:
        if one in known or one in base:
            named[known.get(one, one)] = []
            continue
        name = free_name(name_of(one).lower(), [*base, *named])
        named[name] = _model(one, list(benchmarks))
    return named


def _model(asked: str, benchmarks: Sequence[str]) -> list[str]:
    folder = Path(asked)
    if must := gguf_instead_of_weights(asked):
        raise ConfigError(f"--model {asked}: {must}")
    if not folder.is_dir():
        return [f"id: {scalar(asked)} # Hugging Face id; revision: pins a commit"]
    if (folder / "config.json").is_file():
        return [f"path: {scalar(asked)} # folder with weights"]
    missing = [name for name in benchmarks if not any((folder / f"{name}{end}").is_file() for end in SOURCE_ENDS)]
    if missing:
        raise ConfigError(
            f"--model {asked}: must be a folder with weights (config.json), or with traces of every benchmark; there "
            f"is no {missing[0]}.parquet and no {missing[0]}.jsonl"
        )
    return source_lines(asked)


def source_lines(folder: str) -> list[str]:
    """The section of a model whose traces were made elsewhere."""
    return [
        f"source: {scalar(folder)} # folder with traces made elsewhere, a file for each benchmark",
        "# What its log-probabilities are, where the files do not say so: those before temperature.",
        "source_logprobs_mode: raw_logprobs",
    ]


def scalar(text: str) -> str:
    """A text as YAML, for a key or a value: in quotes where YAML would read a number, a day, a switch or null."""
    (line,) = yaml.safe_dump([text], default_flow_style=True, allow_unicode=True, width=math.inf).splitlines()
    return line.removeprefix("[").removesuffix("]")
