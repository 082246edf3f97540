"""Run by tests of passes in a process of its own: responses of a demo model, the pass over them, and a killed one.

    python pass_probe.py FOLDER ITEMS FAMILY

Writes traces, `whole.parquet` and `resumed.parquet`, which was interrupted twice, below FOLDER, with one loaded engine.
"""

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.config.config import load_config, read_config
from entropy_sentinel.config.study import generation_settings, pass_settings
from entropy_sentinel.frames.benchmark import BENCHMARKS
from entropy_sentinel.stages import engine_pass, generation
from entropy_sentinel.stages.parts import Parts

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Probe:
    """Who answers what in which study, and what differs from its settings of the family and from its parts."""

    configs: tuple[str, ...]
    model: str
    benchmarks: tuple[str, ...]
    part_tokens: int
    settings: dict[str, Any] = field(default_factory=dict)


PROBES = {
    "forced_answer": Probe(
        ("demo/config.yaml",),
        "tiny-1m",
        ("averages", "percentages", "two-digit-multiplication"),
        256,
        {"answers": ["own", "reference", "none"]},
    ),
    "integers": Probe(("demo/config.yaml", "demo/fermi.yaml"), "tiny-fermi-integer", ("fermi-test",), 100),
}


def write_items(path: Path, benchmarks: tuple[str, ...], n: int) -> None:
    """`n` items of several benchmarks."""
    each = -(-n // len(benchmarks))
    files = [
        pl.read_ndjson(f"demo/benchmarks/{one}.jsonl").head(each).select("question", "answer") for one in benchmarks
    ]
    rows = pl.concat(files).head(n)
    ids = [f"a-{number:05d}" for number in range(n)]
    columns = {"item_id": ids, "question": rows["question"], "reference": rows["answer"].cast(pl.String)}
    BENCHMARKS.write(BENCHMARKS.frame({**columns, "duplicate_of": ids}), path, {})


def interrupted_after(n_parts: int) -> Any:
    """`Parts.append` that ends the job once it has written `n_parts` parts."""
    written, append = [], Parts.append

    def stopping(self: Parts, *arguments: Any) -> None:
        append(self, *arguments)
        written.append(1)
        if len(written) == n_parts:
            raise KeyboardInterrupt

    return stopping


def main(folder: Path, n: int, family: str) -> None:
    os.chdir(ROOT)
    probe = PROBES[family]
    config = load_config(read_config(["config.yaml", *probe.configs]))
    items, traces = folder / "items.parquet", folder / "study" / "generations" / probe.model / "a.parquet"
    write_items(items, probe.benchmarks, n)
    settings = pass_settings(config, family, probe.model, probe.benchmarks[0])
    settings["settings"] |= probe.settings
    engine = engine_pass._engine(settings["asked_with"], 1)
    generation.make_engine = engine_pass.make_engine = lambda *_: engine
    traces.parent.mkdir(parents=True)
    asked = generation_settings(config, probe.model, probe.benchmarks[0])
    generation.write_generations(str(items), asked, 1, str(traces))
    engine_pass.PART_TOKENS = probe.part_tokens
    for name, stops in {"whole": [], "resumed": [1, 2]}.items():
        output = folder / "study" / "passes" / family / probe.model / f"{name}.parquet"
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
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
