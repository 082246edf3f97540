"""A study of one model and one benchmark in a folder, made by the real stages; a test spoils what it is about."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from attack_cases import ROOT

from entropy_sentinel.study.config.config_loading import Config, load_config, read_config
from entropy_sentinel.study.config.generation_requests import benchmark_settings, generation_settings
from entropy_sentinel.study.config.label_requests import judge_settings, list_labels_files
from entropy_sentinel.study.config.study_paths import StudyLayout
from entropy_sentinel.study.stages.benchmark_stage import write_benchmark
from entropy_sentinel.study.stages.feature_stage import write_features
from entropy_sentinel.study.stages.generation_stage import write_generations
from entropy_sentinel.study.stages.label_stage import write_labels

MODEL, BENCHMARK, JUDGE = "theirs", "sums", "people"
SOURCE = {"source": "given", "source_logprobs_mode": "raw_logprobs"}


class Study:
    """Files below `folder`, named as in a study; `given/` has what comes from outside.

    The working directory must be the folder.
    """

    def __init__(self, folder: Path, n_items: int = 3, model: Mapping[str, Any] = SOURCE, **changes: Any) -> None:
        self.folder = folder
        rows = [{"q": f"{number} + 1?", "a": str(number + 1)} for number in range(n_items)]
        (folder / "given").mkdir(exist_ok=True)
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        over = {
            "study": "attacked",
            "models": {MODEL: dict(model)},
            "benchmarks": {BENCHMARK: {"path": "rows.jsonl", "question": ["{q}"], "reference": ["{a}"]}},
            "judges": {JUDGE: {"kind": "file", "path": "given/labels"}},
            **changes,
        }
        (folder / "study.yaml").write_text(yaml.safe_dump(over))
        self.config: Config = load_config(read_config([ROOT / "config.yaml", folder / "study.yaml"]))
        layout, names = StudyLayout(self.config.study), {"model": MODEL, "benchmark": BENCHMARK, "judge": JUDGE}
        self.items, self.generations = (path.format(**names) for path in (layout.items, layout.generations))
        self.features, self.labels = (path.format(**names) for path in (layout.features, layout.labels))
        self.observations = layout.observations.format(**names)
        self.given_traces = folder / "given" / f"{BENCHMARK}.parquet"
        self.given_labels = folder / "given" / "labels" / MODEL / f"{BENCHMARK}.parquet"

    def make_items(self) -> None:
        write_benchmark(benchmark_settings(self.config, BENCHMARK), self.items)

    def make_generations(self) -> None:
        write_generations(self.items, generation_settings(self.config, MODEL, BENCHMARK), 1, self.generations)

    def make_features(self) -> None:
        write_features(self.generations, {"trace_after": None, "vocabulary": None}, self.features)

    def make_labels(self, judge: str = JUDGE) -> None:
        settings, sources = judge_settings(self.config, judge), list_labels_files(self.config, judge, MODEL, BENCHMARK)
        write_labels(self.items, self.generations, settings, self.labels, sources)


def item_ids(n_items: int = 3) -> list[str]:
    return [f"{BENCHMARK}-{number:05d}" for number in range(n_items)]


def step(*first: float, rest: float | None = None) -> list[float]:
    """20 log-probabilities: those given, then `rest`; by default -0.5, -2, -3, ... -20, which add up to 0.82."""
    plain = [-0.5, *(-float(rank) for rank in range(2, 21))]
    return plain if not first else [*first, *([rest] * (20 - len(first)))]
