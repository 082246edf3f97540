"""Run by test_forced_answer.py in processes of their own: responses of tiny-1m, the pass over them, and a killed one.

    python pass_probe.py FOLDER ITEMS          # writes traces and `whole.parquet` below FOLDER
    python pass_probe.py FOLDER resume [PARTS] # `resumed.parquet`; kills itself after so many parts of this run

Each process has one engine of its own.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import polars as pl
from killed_pass import kill_after

from entropy_sentinel.config.config import load_config, read_config
from entropy_sentinel.config.study import generation_settings, pass_settings
from entropy_sentinel.frames.benchmark import BENCHMARKS
from entropy_sentinel.stages import engine_pass, generation

ROOT = Path(__file__).parents[2]
MODEL, BENCHMARKS_OF = "tiny-1m", ("averages", "percentages", "two-digit-multiplication")


def write_items(path: Path, n: int) -> None:
    """`n` items of several benchmarks."""
    rows = pl.concat(pl.read_ndjson(f"demo/benchmarks/{one}.jsonl").head(-(-n // 3)) for one in BENCHMARKS_OF).head(n)
    columns = {"item_id": rows["id"], "question": rows["question"], "reference": rows["answer"].cast(pl.String)}
    BENCHMARKS.write(BENCHMARKS.frame({**columns, "duplicate_of": rows["id"]}), path, {})


def settings() -> Any:
    """What the pass is made with."""
    config = load_config(read_config(["config.yaml", "demo/config.yaml"]))
    found = pass_settings(config, "forced_answer", MODEL, "averages")
    found["settings"]["answers"] = ["own", "reference", "none"]
    return found


def ask(folder: Path, name: str) -> None:
    """The pass over the traces of FOLDER, in small parts."""
    engine_pass.PART_TOKENS = 256
    output = folder / "study" / "passes" / "forced_answer" / MODEL / f"{name}.parquet"
    output.parent.mkdir(parents=True, exist_ok=True)
    engine_pass.write_engine_pass(*map(str, files(folder)), settings(), 1, str(output))


def files(folder: Path) -> tuple[Path, Path]:
    """Items and traces."""
    return folder / "items.parquet", folder / "study" / "generations" / MODEL / "a.parquet"


def main(folder: Path, n: int) -> None:
    items, traces = files(folder)
    write_items(items, n)
    engine = engine_pass._engine(settings()["asked_with"], 1)
    generation.make_engine = engine_pass.make_engine = lambda *_: engine
    traces.parent.mkdir(parents=True)
    config = load_config(read_config(["config.yaml", "demo/config.yaml"]))
    generation.write_generations(str(items), generation_settings(config, MODEL, "averages"), 1, str(traces))
    ask(folder, "whole")
    (folder / "told.json").write_text(json.dumps({"vocabulary": engine.vocabulary}))


if __name__ == "__main__":
    os.chdir(ROOT)
    if sys.argv[2] == "resume":
        for parts in sys.argv[3:]:
            kill_after(int(parts))
        ask(Path(sys.argv[1]), "resumed")
    else:
        main(Path(sys.argv[1]), int(sys.argv[2]))
