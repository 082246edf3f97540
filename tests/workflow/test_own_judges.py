"""A study whose benchmarks have judges of their own is planned: who labels what, served judges among them."""

from pathlib import Path

import pytest
import yaml
from workflow_runs import Project

OWN = {
    "study": "own",
    "run": {
        "models": ["tiny-1m"],
        "benchmarks": ["averages", "percentages", "mixed"],
        "groups": [],
        "sizes": [{"size": 1}],
    },
    "benchmarks": {"averages": {"judge": "choice", "options": ["answer", "question"], "reference_is": "text"}},
}


@pytest.mark.slow
def test_a_served_judge_labels_what_has_no_judge_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(OWN))
    project = Project(tmp_path, ["demo/config.yaml", "own.yaml"])
    counts = project.planned("--config", "limit=20", "--quiet", "rules")
    # Of math-verify all three, and of tiny-judge the one that has another judge; the other two are one job's.
    assert (counts["label"], counts["label_served"]) == (4, 1)
    alike = OWN | {"benchmarks": {name: {"judge": "choice"} for name in OWN["run"]["benchmarks"]}}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(alike))
    counts = project.planned("--config", "limit=20", "--quiet", "rules")
    # All labels are alike: judges are not compared, and tiny-judge starts no server.
    assert counts["label"] == 3
    assert not counts.keys() & {"label_served", "agreement_report"}
