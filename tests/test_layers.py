"""The layers of the package: a module imports from lower layers or its own, and one module owns each outside world."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "workflow" / "entropy_sentinel"
LAYERS = ("contracts", "adapters", "computation", "stages", "presentation")
OWNERS = {
    "vllm": "adapters/vllm_engine.py",
    "datasets": "adapters/rows.py",
    "huggingface_hub": "adapters/hub.py",
    "litellm": "adapters/litellm_engine.py",
    "math_verify": "adapters/math_verify_judge.py",
}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


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


def test_every_module_is_in_a_layer() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in MODULES} == set(LAYERS)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_go_down(path: Path) -> None:
    relative = path.relative_to(ROOT)
    own = LAYERS.index(relative.parts[0])
    for name in imports(path):
        package, *rest = name.split(".")
        if package == "entropy_sentinel" and rest:
            assert LAYERS.index(rest[0]) <= own, f"{relative} imports {name}"
        assert package != "snakemake", f"{relative} knows of Snakemake"
        if package in OWNERS:
            assert relative.as_posix() == OWNERS[package], f"{relative} imports {package}"


def test_contracts_import_nothing_heavy() -> None:
    allowed = {"numpy", "polars", "pydantic", "yaml", "entropy_sentinel"} | set(sys.stdlib_module_names)
    for path in MODULES:
        if path.relative_to(ROOT).parts[0] == "contracts":
            assert {name.split(".")[0] for name in imports(path)} <= allowed, path


def test_rule_files_import_contracts_only() -> None:
    workflow = ROOT.parent
    for path in [workflow / "common.smk", *(workflow / "rules").glob("*.smk")]:
        for line in path.read_text().splitlines():
            if line.startswith(("import ", "from ")) and "entropy_sentinel" in line:
                assert line.startswith(("import entropy_sentinel", "from entropy_sentinel.contracts")), line


def test_scripts_only_unpack_call_and_write() -> None:
    for path in (ROOT.parent / "scripts").glob("*.py"):
        assert len(path.read_text().splitlines()) <= 25, path
        assert not any(isinstance(node, ast.FunctionDef) for node in ast.walk(ast.parse(path.read_text()))), path
