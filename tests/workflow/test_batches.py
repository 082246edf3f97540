"""Jobs of several training groups make the files that jobs of one group make."""

import shutil
from pathlib import Path

import polars as pl
import pytest
import yaml
from workflow_runs import Project

pytestmark = pytest.mark.long

STUDY = {
    "study": "batches",
    "run": {
        "models": ["given"],
        "judges": ["math-verify"],
        "benchmarks": ["averages", "one-digit-addition", "two-digit-multiplication"],
        "groups": ["extremes"],
        "sizes": [{"size": 1, "configurations": "default"}],
        "analyses": ["accuracy"],
    },
    "estimation": {
        "trees": 5,
        "max_depth": [3],
        "min_samples_split": [2],
        "estimators": ["group-accuracy", "atc-max"],
        "keep": ["own"],
        "groups_per_job": 1,
    },
    "models": {"given": {"source": "tests/data/tiny/traces", "source_logprobs_mode": "raw_logprobs"}},
    "groups": {"extremes": {"benchmarks": ["one-digit-addition", "two-digit-multiplication"]}},
}
TOGETHER = {"estimation": {"groups_per_job": 3}}


FILES = ("estimates/**/*.parquet", "scores/**/*.parquet")


def made(folder: Path) -> dict[str, pl.DataFrame]:
    """The estimates and scores of a study, by their place in it."""
    return {str(file.relative_to(folder)): pl.read_parquet(file) for kind in FILES for file in folder.glob(kind)}


def test_batches_make_the_same_files_and_one_job_remakes_what_is_missing(tmp_path: Path) -> None:
    project = Project(tmp_path, ["demo/config.yaml", "apart.yaml"])
    for name, study in {"apart": STUDY, "together": TOGETHER}.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(study))
    project.run("estimates", "estimators")
    results = tmp_path / "results" / "batches"
    apart = made(results)
    assert len(apart) == 5
    together = project.over("together.yaml")
    shutil.rmtree(results / "estimates")
    shutil.rmtree(results / "scores")
    # The named group by itself, then the three of one benchmark.
    jobs = {"estimate_0": 1, "estimate_1": 1, "estimator_0": 1, "estimates": 1, "estimators": 1}
    assert together.planned("estimates", "estimators") == jobs
    assert "5 of 5 steps (100%) done" in together.run("estimates", "estimators")
    batched = made(results)
    assert apart.keys() == batched.keys()
    assert all(apart[name].equals(batched[name]) for name in apart)
    assert together.planned("estimates", "estimators") == {}
    (results / "estimates/math-verify/given/averages.parquet").unlink()
    assert together.planned("estimates", "estimators") == {"estimate_1": 1, "estimates": 1}
