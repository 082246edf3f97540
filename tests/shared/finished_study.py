"""A study of the demo's shape that counts as finished without a run: Snakemake accepts files that only exist."""

import compileall
import contextlib
from pathlib import Path
from typing import Any

import yaml
from workflow_runs import Project

from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config.generation_requests import benchmark_settings
from entropy_sentinel.study.config.study_paths import StudyLayout
from entropy_sentinel.study.stages.benchmark_stage import write_benchmark

MODELS, JUDGES = ["tiny-1m", "tiny-3m"], ["math-verify", "tiny-judge"]
BENCHMARKS = ["averages", "one-digit-addition", "percentages", "two-digit-multiplication"]
STUDY: dict[str, Any] = {
    "study": "finished",
    "run": {
        "models": MODELS,
        "benchmarks": BENCHMARKS,
        "judges": JUDGES,
        "groups": ["extremes", "words"],
        "sizes": [{"size": 1, "configurations": "default"}],
        "analyses": ["accuracy", "agreement", "rejection", "responses"],
    },
    "estimation": {"groups_per_job": 20, "keep": ["own", "recommended"]},
    "groups": {
        "extremes": {"benchmarks": ["one-digit-addition", "two-digit-multiplication"]},
        "words": {"benchmarks": ["averages", "percentages"]},
    },
    "analyses": {
        "accuracy": {
            "tables": ["validation", "estimates", "repeats", "1_auroc", "2_by_model"],
            "auroc_benchmarks": ["averages", "percentages"],
            "figure_benchmark": "averages",
        },
    },
}
CONFIGS = ["demo/config.yaml", "finished.yaml"]


def finish(folder: Path) -> Project:
    """A copy of the project in `folder` with the study; its items are real, all other files only exist."""
    project = Project(folder, CONFIGS)
    for name in ("workflow", "papers"):
        compileall.compile_dir(folder / name, quiet=2)
    (folder / "finished.yaml").write_text(yaml.safe_dump(STUDY))
    files = [line.split("\t")[0] for line in project.run("--summary").splitlines() if line.startswith("results/")]
    for name in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("made")
    with contextlib.chdir(folder):
        config = load_config(read_config(["config.yaml", *CONFIGS]))
        for benchmark in config.run.benchmarks:
            items = StudyLayout(config.study).items.format(benchmark=benchmark)
            write_benchmark(benchmark_settings(config, benchmark), items)
    project.run("--touch", "--forceall")
    return project
