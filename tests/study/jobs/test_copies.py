"""A copy of the package that jobs would import in place of the tree's is refused before anything runs."""

import shutil
from pathlib import Path

import pytest
from workflow_runs import ROOT, Project

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("project"), ["demo/config.yaml", "tests/workflow/tiny.yaml"])


def dry_run(project: Project) -> tuple[int, str]:
    process = project.start("--dry-run", "--quiet", "rules")
    output, _ = process.communicate(timeout=120)
    return process.returncode, output


def test_a_package_installed_elsewhere_is_refused(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PYTHONPATH stands for what is installed: both come before the tree in a job."""
    shutil.copytree(ROOT / "workflow" / "entropy_sentinel", tmp_path / "entropy_sentinel")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    status, output = dry_run(project)
    assert status == 1
    tree = project.folder / "workflow" / "entropy_sentinel"
    assert f"entropy_sentinel must be imported from {tree}, jobs would find it in {tmp_path}/entropy_sentinel" in output


def test_an_editable_installation_of_this_tree_is_accepted(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pip install -e` puts the folder `workflow` on the path; a link to it is that one. The first on it wins."""
    (tmp_path / "linked").symlink_to(project.folder / "workflow")
    shutil.copytree(ROOT / "workflow" / "entropy_sentinel", tmp_path / "entropy_sentinel")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'linked'}:{tmp_path}")
    status, output = dry_run(project)
    assert status == 0, output
