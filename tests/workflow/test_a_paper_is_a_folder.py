"""A further paper is a folder: without it, its tests and its studies, all else works without another edit."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from workflow_runs import ROOT, Project

from entropy_sentinel.frames.analysis import sections

# The paper's own study has no section for them.
FURTHER = sorted(sections().keys() - yaml.safe_load((ROOT / "config.yaml").read_text())["analyses"].keys())
# What is quick, and looks at all analyses and families, or at all pages and keys.
TESTS = ("test_schema.py", "test_comments.py", "test_passes.py", "test_site.py")


def without(analyses: list[str], folder: Path) -> Project:
    """A copy of the project without the folders of analyses, their tests, and the studies that run one of them."""
    project = Project(folder, [])
    for place in ("workflow/entropy_sentinel/analyses", "tests/analyses"):
        for analysis in analyses:
            shutil.rmtree(folder / place / analysis)
    for study in [path for room in ("studies", "demo", "examples") for path in (folder / room).rglob("*.yaml")]:
        run = yaml.safe_load(study.read_text()).get("run", {})
        if set(analyses) & set(run.get("analyses", ())):
            study.unlink()
    return project


def test_the_further_papers_are_known() -> None:
    assert {"ambiguity", "entropy_area", "intervals", "selection"} <= set(FURTHER)


@pytest.mark.long(minutes=2)
@pytest.mark.parametrize(
    "analyses",
    # Each alone also needs what another one imports of it; the linter's contracts know that, too.
    [FURTHER, *(pytest.param([analysis], marks=pytest.mark.nightly) for analysis in FURTHER)],
    ids=" ".join,
)
def test_all_else_works_without(analyses: list[str], tmp_path: Path) -> None:
    project = without(analyses, tmp_path)
    for config in ("config.yaml", "demo/config.yaml"):
        project.configs = [config]
        assert "accuracy_report" in project.planned()
    done = subprocess.run(
        # All tests are collected: none imports what is gone.
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", " or ".join(TESTS), "tests"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "workflow")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
