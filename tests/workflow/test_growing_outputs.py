"""What is added to a list of outputs is made: without a run, on files that are there in name only."""

from pathlib import Path

import pytest
import yaml
from workflow_runs import Project

pytestmark = pytest.mark.slow

STUDY = {
    "study": "grown",
    "run": {"models": ["tiny-1m"], "groups": ["extremes"], "sizes": [], "analyses": ["accuracy", "selection"]},
    "estimation": {"keep": ["own"]},
    "analyses": {
        "accuracy": {"tables": ["2_by_model"], "figures": ["1_accuracies"]},
        "selection": {"strategies": ["random"], "tables": [], "figures": []},
    },
}
LONGER = {
    "estimation": {"keep": ["own", "recommended"]},
    "analyses": {
        "accuracy": {"tables": ["2_by_model", "cut_off"]},
        "selection": {"strategies": ["random", "longest"]},
    },
}


def test_what_a_list_gains_is_made(tmp_path: Path) -> None:
    project = Project(tmp_path, ["demo/config.yaml", "tests/workflow/tiny.yaml", "study.yaml"])
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(STUDY))
    (tmp_path / "longer.yaml").write_text(yaml.safe_dump(LONGER))
    for line in project.run("--summary").splitlines():
        if line.startswith("results/"):
            output = tmp_path / line.split("\t")[0]
            output.parent.mkdir(parents=True, exist_ok=True)
            output.touch()
    project.run("--touch")
    assert project.planned() == {}
    tables = {"accuracy_tables": 1, "accuracy_report": 1}
    assert (
        project.over("longer.yaml").planned() == {"estimator": 1, "selection_choice": 1, "selection_report": 1} | tables
    )
