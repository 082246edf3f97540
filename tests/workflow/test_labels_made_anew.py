"""Which labels are made anew when a judge's rules or a benchmark's tolerance change, and which stay."""

from pathlib import Path

import pytest
import yaml
from test_imported_study import BENCHMARKS, STUDY, write_given
from workflow_runs import Project

from entropy_sentinel.judges.settings import MathVerify

pytestmark = pytest.mark.long

TWO_JUDGES = STUDY | {
    "run": {"models": ["theirs"], "judges": ["math-verify", "people"]},
    "judges": STUDY["judges"] | {"math-verify": {"kind": "math-verify"}},
}


def test_only_what_depends_on_it_is_labelled_again(tmp_path: Path) -> None:
    project = Project(tmp_path, ["demo/config.yaml", "tests/workflow/tiny.yaml", "two.yaml"])
    (tmp_path / "two.yaml").write_text(yaml.safe_dump(TWO_JUDGES))
    write_given(tmp_path / "given")
    project.run("--until", "label")
    assert project.planned("--until", "label") == {}
    # Other rules of math-verify: its labels, and neither those of people, the items nor the traces.
    version, now = "VERSION: ClassVar[int] = ", MathVerify.VERSION
    undo = project.edit("workflow/entropy_sentinel/judges/settings.py", f"{version}{now}", f"{version}{now + 10}")
    assert project.planned("--until", "label")["label"] == len(BENCHMARKS)
    assert not {"generation", "benchmark"} & set(project.planned("--until", "label"))
    undo()
    assert project.planned("--until", "label") == {}
    # A tolerance of one benchmark: the labels of math-verify on it.
    (tmp_path / "tolerance.yaml").write_text(
        yaml.safe_dump({"benchmarks": {"percentages": {"tolerance": {"relative": 0.05}}}})
    )
    planned = project.over("tolerance.yaml").planned("--until", "label")
    assert planned["label"] == 1
    assert not {"generation", "benchmark"} & set(planned)
