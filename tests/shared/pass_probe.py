"""Run by test_forced_answer.py in a process of its own: responses of tiny-1m, the pass over them, and a killed one.

    python pass_probe.py FOLDER ITEMS

Writes traces, `whole.parquet` and `resumed.parquet`, which was interrupted twice, below FOLDER, with one loaded engine.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.config.config import load_config, read_config
from entropy_sentinel.config.study import generation_settings, pass_settings
from entropy_sentinel.frames.benchmark import BENCHMARKS
from entropy_sentinel.stages import engine_pass, generation
from entropy_sentinel.stages.parts import Parts

ROOT = Path(__file__).parents[2]
MODEL, BENCHMARKS_OF = "tiny-1m", ("averages", "percentages", "two-digit-multiplication")


def write_items(path: Path, n: int) -> None:
    """`n` items of several benchmarks."""
    rows = pl.concat(pl.read_ndjson(f"demo/benchmarks/{one}.jsonl").head(-(-n // 3)) for one in BENCHMARKS_OF).head(n)
    columns = {"item_id": rows["id"], "question": rows["question"], "reference": rows["answer"].cast(pl.String)}
    BENCHMARKS.write(BENCHMARKS.frame({**columns, "duplicate_of": rows["id"]}), path, {})


def interrupted_after(n_parts: int) -> Any:
    """`Parts.append` that ends the job once it has written `n_parts` parts."""
    written, append = [], Parts.append

    def stopping(self: Parts, *arguments: Any) -> None:
        append(self, *arguments)
        written.append(1)
        if len(written) == n_parts:
            raise KeyboardInterrupt

    return stopping


def main(folder: Path, n: int) -> None:
    os.chdir(ROOT)
    config = load_config(read_config(["config.yaml", "demo/config.yaml"]))
    items, traces = folder / "items.parquet", folder / "study" / "generations" / MODEL / "a.parquet"
    write_items(items, n)
    settings = pass_settings(config, "forced_answer", MODEL, "averages")
    settings["settings"]["answers"] = ["own", "reference", "none"]
    engine = engine_pass._engine(settings["asked_with"], 1)
    generation.make_engine = engine_pass.make_engine = lambda *_: engine
    traces.parent.mkdir(parents=True)
    generation.write_generations(str(items), generation_settings(config, MODEL, "averages"), 1, str(traces))
    engine_pass.PART_TOKENS = 256
    for name, stops in {"whole": [], "resumed": [1, 2]}.items():
        output = folder / "study" / "passes" / "forced_answer" / MODEL / f"{name}.parquet"
        output.parent.mkdir(parents=True, exist_ok=True)
        append = Parts.append
        for n_parts in [*stops, None]:
            Parts.append = interrupted_after(n_parts) if n_parts else append
            try:
                engine_pass.write_engine_pass(str(items), str(traces), settings, 1, str(output))
            except KeyboardInterrupt:
                Parts.append = append
                assert not output.exists()
        print(name, output)
    (folder / "told.json").write_text(json.dumps({"vocabulary": engine.vocabulary}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
