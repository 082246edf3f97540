"""Run by tests of passes in a separate process: responses of a demo model, and the pass over them, by one engine.

python pass_probe.py FOLDER FAMILY ITEMS  # writes traces and `whole.parquet` below FOLDER
"""

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config.generation_requests import generation_settings, pass_settings
from entropy_sentinel.study.config.study_config import Config
from entropy_sentinel.study.engines.engine_client import SharedEngine
from entropy_sentinel.study.engines.engine_run import EngineRun
from entropy_sentinel.study.stages import engine_pass, generation_stage

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
    "integers": Probe(("demo/config.yaml", "papers/intervals/demo.yaml"), "tiny-fermi-integer", ("fermi-test",), 100),
}


@dataclass(frozen=True)
class Asked:
    """One probe below a folder."""

    folder: Path
    family: str

    @property
    def probe(self) -> Probe:
        return PROBES[self.family]

    @property
    def config(self) -> Config:
        return load_config(read_config(["config.yaml", *self.probe.configs]))

    @property
    def settings(self) -> Any:
        """What the pass is made with."""
        result = pass_settings(self.config, self.family, self.probe.model, self.probe.benchmarks[0])
        result["settings"] |= self.probe.settings
        return result

    @property
    def files(self) -> tuple[Path, Path]:
        """Items and traces."""
        return self.folder / "items.parquet", self.folder / "study" / "generations" / self.probe.model / "a.parquet"

    def answer(self, n: int) -> None:
        """The responses to `n` items and the whole pass over them, by one engine."""
        items, traces = self.files
        write_items(items, self.probe.benchmarks, n)
        traces.parent.mkdir(parents=True)
        asked = generation_settings(self.config, self.probe.model, self.probe.benchmarks[0])
        generation_stage.write_generations(str(items), asked, 1, str(traces))
        engine_pass.PART_TOKENS = self.probe.part_tokens
        output = self.folder / "study" / "passes" / self.family / self.probe.model / "whole.parquet"
        output.parent.mkdir(parents=True, exist_ok=True)
        engine_pass.write_engine_pass(str(items), str(traces), self.settings, 1, str(output))
        (self.folder / "told.json").write_text(json.dumps({"vocabulary": SharedEngine(asked, 1).vocabulary}))


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


if __name__ == "__main__":
    os.chdir(ROOT)
    # Both jobs, and who asks for the vocabulary, share one engine: each start takes ten seconds.
    os.environ |= EngineRun.create(idle_s=60).announcement
    Asked(Path(sys.argv[1]), sys.argv[2]).answer(int(sys.argv[3]))
