"""A further paper is a folder: all else works without it, and a new one needs no other edit."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import recipes
import yaml
from workflow_runs import ROOT, Project

from entropy_sentinel.core.analysis import load_sections

# The paper's own study has no section for them.
FURTHER = sorted(load_sections().keys() - yaml.safe_load((ROOT / "config.yaml").read_text())["analyses"].keys())
# What is quick, and looks at all analyses and families, or at all pages and keys.
TESTS = ("test_schema.py", "test_comments.py", "test_passes.py", "test_site.py")


def without(analyses: list[str], folder: Path) -> Project:
    """A copy of the project without the folders of papers, and without studies elsewhere that run one of them."""
    project = Project(folder, [])
    for analysis in analyses:
        shutil.rmtree(folder / "papers" / analysis)
    for study in [path for room in ("demo", "examples") for path in (folder / room).rglob("*.yaml")]:
        run = yaml.safe_load(study.read_text()).get("run", {})
        if set(analyses) & set(run.get("analyses", ())):
            study.unlink()
    return project


def test_the_further_papers_are_known() -> None:
    assert {"ambiguity", "entropy_area", "intervals", "selection"} <= set(FURTHER)


@pytest.mark.long(minutes=2)
@pytest.mark.nightly
@pytest.mark.parametrize(
    "analyses",
    # Each alone also needs what another one imports of it; the linter's contracts know that, too.
    [FURTHER, *([analysis] for analysis in FURTHER)],
    ids=" ".join,
)
def test_all_else_works_without(analyses: list[str], tmp_path: Path) -> None:
    project = without(analyses, tmp_path)
    for config in ("config.yaml", "demo/config.yaml"):
        project.configs = [config]
        assert "accuracy_report" in project.planned()
    done = subprocess.run(
        # All tests are collected: none imports what is gone. Rewritten asserts would cost a third of that.
        [sys.executable, "-m", "pytest", "-q", "--assert=plain", "-p", "no:cacheprovider", "-k", " or ".join(TESTS)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "workflow")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.slow
def test_a_new_paper_is_a_folder(tmp_path: Path) -> None:
    """The recipe's analysis as a folder of `papers`, in a study that runs it."""
    project = Project(tmp_path, ["demo/config.yaml", "papers/lengths/study.yaml"])
    recipes.apply(tmp_path, "mine/lengths/")
    folder = (tmp_path / "mine" / "lengths").rename(tmp_path / "papers" / "lengths")
    for file in folder.iterdir():
        file.write_text(file.read_text().replace("mine.lengths", "papers.lengths"))
    study = {"study": "sixth", "run": {"analyses": ["lengths"]}, "analyses": {"lengths": {"long": 5}}}
    (tmp_path / "papers" / "lengths" / "study.yaml").write_text(yaml.safe_dump(study))
    planned = project.planned()
    assert planned["lengths_page"] == planned["feature"] / len(planned_benchmarks(project))
    assert "accuracy_report" not in planned


def planned_benchmarks(project: Project) -> list[str]:
    return yaml.safe_load((project.folder / "demo" / "config.yaml").read_text())["run"]["benchmarks"]
