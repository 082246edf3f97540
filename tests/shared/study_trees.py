"""A study of two models on two benchmarks, and a made-up tree of its results."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from studies import PAPER, without_api_judges

from entropy_sentinel.study.config.config_loading import Config
from entropy_sentinel.study.planning.file_plan import plan_files

NOW = 1_800_000_000.0


MODELS, BENCHMARKS = ("qwen3-4b", "qwen3-8b"), ("gsm8k", "svamp")


def small_study(
    benchmarks: Sequence[str] = BENCHMARKS, models: Sequence[str] = MODELS, **changes: Any
) -> dict[str, Any]:
    """The raw config: two models, 100 items of each benchmark, a training group per benchmark."""
    raw = without_api_judges(PAPER) | {"limit": 100} | changes
    raw["run"] |= {"models": list(models), "benchmarks": list(benchmarks), "groups": ["extremes"]}
    raw["run"]["sizes"] = [{"size": 1}]
    raw["groups"]["extremes"] = {"benchmarks": ["gsm8k"]}
    raw["analyses"] = {}
    return raw


def make(path: str | Path, age_s: float, columns: Mapping[str, Sequence[Any]] | int = 1) -> None:
    """A file that was last changed so many seconds before NOW; `columns`, or so many rows."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".parquet":
        frame = pl.DataFrame({"item_id": ["x"] * columns} if isinstance(columns, int) else dict(columns))
        frame.write_parquet(file)
    else:
        file.write_text("made")
    os.utime(file, (NOW - age_s, NOW - age_s))


def make_all(config: Config, age_s: float = 5000) -> None:
    """Every file of the study, each stage a minute after the one before it."""
    groups = plan_files(config).axes["group_id"]
    pairs = [(model, group) for model in config.run.models for group in groups]
    held = {
        "generations": {"n_tokens": [200] * 100},
        "observations": {"benchmark": config.run.benchmarks},
        "sweep": {"model": [model for model, _ in pairs], "group": [group for _, group in pairs]},
    }
    for number, (stage, paths) in enumerate(plan_files(config).stages.items()):
        for path in paths:
            make(path, age_s - 60 * number, held.get(stage, 1))
