"""The package on its own: a wheel is built, installed into an empty environment and used there, without the workflow.

The environment sees the packages of this one, so that nothing is downloaded. What the package must not need is blocked.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "workflow" / "entropy_sentinel"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Packages of the extras, and what comes with them.
BLOCKED = ("vllm", "torch", "litellm", "tenacity", "datasets", "huggingface_hub", "snakemake", "matplotlib", "seaborn")
BLOCKED += ("pandas", "jinja2", "math_verify", "transformers", "tabulate")

NOTEBOOK = """
import entropy_sentinel as es
example = es.example()
features = es.read_features(example.traces)
estimator = es.fit(features, es.read_labels(example.labels), estimator="logistic-10d-balanced-isotonic")
print(es.estimate(estimator, features).height)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of a copy of the tree: building in the tree would leave files there, and take up old ones."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    shutil.copytree(PACKAGE, tree / "workflow" / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", tree, tree]
    subprocess.run(command, check=True)
    (built,) = tree.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of an environment with the wheel, beside the packages of this one."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    (site,) = folder.glob("lib/python*/site-packages")
    # A folder named here is looked through after the environment's own, and its .pth files are not followed.
    (site / "others.pth").write_text(sysconfig.get_paths()["purelib"])
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run(command, check=True)
    return python.parent


def run(environment: Path, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the environment in `folder`, where nothing of `BLOCKED` can be imported."""
    blocked = folder / "blocked"
    blocked.mkdir(exist_ok=True)
    for name in BLOCKED:
        (blocked / f"{name}.py").write_text("raise ImportError(f'{__name__} is blocked')")
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(blocked), "HOME": str(folder)}
    return subprocess.run(
        [environment / command[0], *command[1:]], cwd=folder, env=variables, capture_output=True, text=True
    )


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    tree = {f"{PACKAGE.name}/{path.relative_to(PACKAGE).as_posix()}" for path in PACKAGE.rglob("*") if path.is_file()}
    tree = {name for name in tree if "__pycache__" not in name}
    packed = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in packed if ".dist-info/" not in name} == tree
    assert any(name.endswith(".j2") for name in tree)
    assert any(name.endswith("LICENSE") for name in packed)


def test_it_is_the_wheel_that_is_imported(environment: Path, tmp_path: Path) -> None:
    done = run(environment, tmp_path, "python", "-c", "import entropy_sentinel; print(entropy_sentinel.__file__)")
    assert Path(done.stdout.strip()).is_relative_to(environment.parent), done.stderr


def test_the_command_works_without_the_extras(environment: Path, tmp_path: Path) -> None:
    helped = run(environment, tmp_path, "entropy-sentinel", "--help")
    assert (helped.returncode, helped.stderr) == (0, "")
    assert "Usage: entropy-sentinel" in helped.stdout
    shutil.copy(ROOT / "config.yaml", tmp_path)
    for name in ("plan", "progress", "schema"):
        done = run(environment, tmp_path, "entropy-sentinel", name)
        assert (done.returncode, done.stderr) == (0, ""), name


def test_a_notebook_works_without_the_extras(environment: Path, tmp_path: Path) -> None:
    done = run(environment, tmp_path, "python", "-c", NOTEBOOK)
    assert (done.returncode, done.stdout) == (0, "4\n"), done.stderr


def test_blocked_packages_are_blocked(environment: Path, tmp_path: Path) -> None:
    for name in ("pandas", "litellm"):
        assert f"{name} is blocked" in run(environment, tmp_path, "python", "-c", f"import {name}").stderr


def names(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}


def test_the_base_is_light_and_has_lower_bounds_alone() -> None:
    assert names(PROJECT["dependencies"]) == {
        *("polars", "numpy", "scipy", "scikit-learn", "imbalanced-learn", "threadpoolctl", "pydantic", "PyYAML"),
        *("typer", "rich", "skops", "numba", "pyarrow"),
    }
    extras = [requirement for extra in PROJECT["optional-dependencies"].values() for requirement in extra]
    for requirement in [*PROJECT["dependencies"], *extras]:
        assert requirement.startswith("entropy-sentinel[") or re.fullmatch(r"[\w-]+(\[\w+\])?>=[\d.]+", requirement)


def test_pinned_versions_are_within_the_bounds() -> None:
    from packaging.requirements import Requirement

    pinned = dict(re.findall(r"^([\w.-]+)(?:\[\w+\])?==([\w.]+)$", (ROOT / "envs" / "gpu.txt").read_text(), re.M))
    extras = [requirement for extra in PROJECT["optional-dependencies"].values() for requirement in extra]
    wanted = [Requirement(text) for text in [*PROJECT["dependencies"], *extras]]
    checked = [requirement.name for requirement in wanted if requirement.name in pinned]
    assert len(checked) > 15
    for requirement in wanted:
        if requirement.name in pinned:
            assert requirement.specifier.contains(pinned[requirement.name]), requirement
