"""Jobs of several training groups make the files that jobs of one group make."""

import polars as pl
import pytest
import yaml
from workflow_runs import Project

pytestmark = pytest.mark.long

STUDY = {
    "study": "apart",
    "run": {
        "models": ["given"],
        "judges": ["math-verify"],
        "benchmarks": ["averages", "one-digit-addition", "two-digit-multiplication"],
        "groups": ["extremes"],
        "sizes": [{"size": 1, "configurations": "default"}, {"size": "all-but-one", "configurations": "default"}],
        "analyses": ["accuracy"],
    },
    "estimation": {
        "trees": 5,
        "max_depth": [3],
        "min_samples_split": [2],
        "hidden_layers": [[5]],
        "keep": ["own"],
        "groups_per_job": 1,
    },
    "models": {"given": {"source": "tests/data/tiny/traces", "source_logprobs_mode": "raw_logprobs"}},
    "groups": {"extremes": {"benchmarks": ["one-digit-addition", "two-digit-multiplication"]}},
}
TOGETHER = {"study": "together", "estimation": {"groups_per_job": 3}}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("batches"), ["demo/config.yaml", "apart.yaml"])
    for study in (STUDY, TOGETHER):
        (project.folder / f"{study['study']}.yaml").write_text(yaml.safe_dump(study))
    return project


def made(project: Project, study: str) -> dict[str, pl.DataFrame]:
    """The estimates and scores of a study, by their place in it."""
    results = project.folder / "results" / study
    files = [*results.glob("estimates/**/*.parquet"), *results.glob("scores/**/*.parquet")]
    return {str(file.relative_to(results)): pl.read_parquet(file) for file in files}


def test_batches_make_the_same_files_and_one_job_remakes_what_is_missing(project: Project) -> None:
    project.run("estimates", "estimators")
    together = project.over("together.yaml")
    planned = together.planned("estimates", "estimators")
    # The named group by itself, then the three of one benchmark, then the two others that leave one out.
    assert {rule: n for rule, n in planned.items() if rule.startswith("estimat")} == {
        "estimate_0": 1,
        "estimate_1": 1,
        "estimate_2": 1,
        "estimator_0": 1,
        "estimates": 1,
        "estimators": 1,
    }
    assert "(100% of " in together.run("estimates", "estimators")
    apart, batched = made(project, "apart"), made(project, "together")
    assert len(apart) == 7
    assert apart.keys() == batched.keys()
    assert all(apart[name].equals(batched[name]) for name in apart)
    assert together.planned("estimates", "estimators") == {}
    (project.folder / "results/together/estimates/math-verify/given/averages.parquet").unlink()
    assert together.planned("estimates", "estimators") == {"estimate_1": 1, "estimates": 1}
