"""What a change reruns: planned without a run, on files that are there in name only."""

import os
import shutil

import pytest
import yaml
from workflow_runs import Project

pytestmark = pytest.mark.slow

STUDY = {
    "study": "grown",
    "run": {"models": ["tiny-1m"], "groups": ["extremes"], "sizes": [], "analyses": ["accuracy", "selection"]},
    "estimation": {"keep": ["own"]},
    "analyses": {
        "accuracy": {"tables": ["2_by_model"], "figures": ["1_accuracies"], "labels": {"moved": "grown"}},
        "selection": {"strategies": ["random"], "tables": [], "figures": [], "labels": {"moved": "grown"}},
    },
}
CHANGES = {
    "longer": {
        "estimation": {"keep": ["own", "recommended"]},
        "analyses": {
            "accuracy": {"tables": ["2_by_model", "cut_off"]},
            "selection": {"strategies": ["random", "longest"]},
        },
    },
    "moved": {"study": "moved"},
    "warmer": {"study": "moved", "models": {"tiny-1m": {"sampling": {"temperature": 1}}}},
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A study whose files are empty, and all of which Snakemake takes for made."""
    folder = tmp_path_factory.mktemp("project")
    project = Project(folder, ["demo/config.yaml", "tests/workflow/tiny.yaml", "study.yaml"])
    for name, config in {"study": STUDY, **CHANGES}.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(config))
    for line in project.run("--summary").splitlines():
        if line.startswith("results/"):
            output = folder / line.split("\t")[0]
            output.parent.mkdir(parents=True, exist_ok=True)
            output.touch()
    project.run("--touch", "--forceall")
    return project


def test_what_a_list_gains_is_made(project: Project) -> None:
    tables = {"accuracy_tables": 1, "accuracy_report": 1}
    made = {"estimator": 1, "selection_choice": 1, "selection_report": 1}
    assert project.over("longer.yaml").planned() == made | tables


def test_results_that_were_moved_are_not_stale(project: Project) -> None:
    """Renamed, in a checkout whose files are all newer, and without Snakemake's own records."""
    results = project.folder / "results"
    (results / "grown").rename(results / "moved")
    shutil.rmtree(project.folder / ".snakemake")
    for path in (project.folder / "demo").rglob("*"):
        os.utime(path)
    output = project.over("moved.yaml").run("--dry-run")
    assert "Nothing to be done" in output
    assert output.count("results/moved: has files without metadata of Snakemake") == 1
    warmer = project.over("warmer.yaml").planned()
    assert "benchmark" not in warmer
    assert {"generation": 3, "label": 3, "feature": 3, "observation": 1}.items() <= warmer.items()
