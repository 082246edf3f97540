"""The rooms of the package: imports go down, and one module owns each outside world."""

import ast
import re
import sys
from pathlib import Path

import pytest

from entropy_sentinel.commands.main import COMMANDS

ROOT = Path(__file__).parents[1] / "workflow" / "entropy_sentinel"
FLOORS = {
    "frames": 0,
    "sources": 1,
    "chat": 1,
    "capturing": 1,
    "features": 1,
    "signals": 1,
    "statistics": 1,
    "report": 1,
    "engines": 2,
    "judges": 2,
    "grouping": 2,
    "estimators": 2,
    "config": 3,
    "jobs": 3,
    "stages": 4,
    "analyses": 5,
    "verbs": 5,
    "monitor": 5,
    "planning": 5,
    "auditing": 5,
    "starting": 5,
    "commands": 6,
}
# What a plan needs: all of these rooms, modules of these names in any room, and a few more. A plan must not wait.
LIGHT_ROOMS, LIGHT_NAMES = ("frames", "config", "jobs"), ("settings", "catalogue")
LIGHT_MODULES = (
    "engines/cpu.py",
    "engines/devices.py",
    "engines/generation.py",
    "engines/generation.py",
    "engines/run.py",
    "engines/run.py",
    "engines/settings.py",
    "monitor/partitions.py",
)
OWNERS = {
    "vllm": "engines/vllm.py",
    "datasets": "sources/rows.py",
    "huggingface_hub": "sources/hub.py",
    "litellm": "chat/sending.py capturing/litellm.py",
    "math_verify": "judges/expressions.py",
    "prometheus_client": "monitor/showing/outputs.py",
    "transformers": "grouping/encoders.py",
    "torch": "grouping/encoders.py",
}
# PyArrow is imported where Parquet is read by the batch only, and in functions.
LIGHT = {"numpy", "polars", "pyarrow", "pydantic", "yaml", "psutil", "entropy_sentinel"} | set(sys.stdlib_module_names)
MODULES = sorted(path for path in ROOT.rglob("*.py") if path.parent != ROOT)


def imports(path: Path) -> set[str]:
    """Dotted names that a file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module)
    return names


def is_light(path: Path) -> bool:
    """Whether planning may import a module, given as its path below the package."""
    return path.parts[0] in LIGHT_ROOMS or path.stem in LIGHT_NAMES or path.as_posix() in LIGHT_MODULES


def floor(path: Path) -> int:
    """The floor of a module, given as its path below the package.

    A family of signals stands with the stages: one may ask an engine or a judge. Only analyses import it by name. A
    subcommand in the folder of an analysis stands with the other commands.
    """
    if path.with_suffix("") == Path("analyses/settings"):
        return FLOORS["config"]
    if path.parts[0] == "signals" and len(path.parts) > 2:
        return FLOORS["stages"]
    return FLOORS["commands" if path.name.startswith("command_") else path.parts[0]]


def test_every_module_is_in_a_room() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in MODULES} == set(FLOORS)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_go_down(path: Path) -> None:
    relative = path.relative_to(ROOT)
    for name in imports(path):
        package, *rest = name.split(".")
        if package == "entropy_sentinel" and rest:
            assert floor(Path(*rest)) <= floor(relative), f"{relative} imports {name}"
        assert package != "snakemake", f"{relative} knows of Snakemake"
        if package in OWNERS:
            assert relative.as_posix() in OWNERS[package].split(), f"{relative} imports {package}"


def test_the_ground_floor_and_what_plans_import_nothing_heavy() -> None:
    for path in MODULES:
        relative = path.relative_to(ROOT)
        if is_light(relative):
            assert {name.split(".")[0] for name in imports(path)} <= LIGHT, path


def test_only_its_own_folder_and_commands_know_an_analysis_by_name() -> None:
    own = "|".join(sorted(path.parent.name for path in (ROOT / "analyses").glob("*/__init__.py")))
    assert "accuracy" in own
    for path in MODULES:
        if path.relative_to(ROOT).parts[0] not in ("analyses", "commands"):
            named = [name for name in imports(path) if re.match(rf"entropy_sentinel\.analyses\.({own})\b", name)]
            assert named == [], path
    rules = [ROOT.parent / "common.smk", *ROOT.parent.glob("rules/*.smk"), ROOT.parents[1] / "Snakefile"]
    for path in rules:
        found = re.findall(rf"\b(?:{own})_|analyses[./](?:{own})\b|{own.upper()}", path.read_text())
        assert found == [], path


def test_commands_hold_commands_only() -> None:
    """Modules have functions of subcommands, beside what starts these and the options that they share."""
    assert {path for path in (ROOT / "commands").iterdir() if path.is_dir() and path.name != "__pycache__"} == set()
    own = {place.split(".")[2] for place in COMMANDS.values() if place.startswith("entropy_sentinel.commands.")}
    assert {path.stem for path in (ROOT / "commands").glob("*.py")} == {"__init__", "main", "options", *own}


def test_rule_files_import_what_plans_only() -> None:
    for path in [ROOT.parent / "common.smk", *ROOT.parent.rglob("*.smk")]:
        for line in path.read_text().splitlines():
            if found := re.match(r"from entropy_sentinel\.(\S+) import (\w*)", line):
                module = Path(*found[1].split("."))
                # The module itself, or what a room gives.
                module = module / found[2] if (ROOT / module).is_dir() else module
                assert is_light(module.with_suffix(".py")), line
            else:
                assert not re.match(r"(import|from) entropy_sentinel\b(?!$)", line), line


def test_scripts_only_unpack_call_and_write() -> None:
    for path in ROOT.parent.rglob("scripts/*.py"):
        assert len(path.read_text().splitlines()) <= 25, path
        assert not any(isinstance(node, ast.FunctionDef) for node in ast.walk(ast.parse(path.read_text()))), path
