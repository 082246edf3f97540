"""What import-linter (pyproject.toml) cannot say of the rooms: that all stand on a floor, and what rules name."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from made.rooms import floors

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "workflow" / "entropy_sentinel"
PAPERS = ROOT / "papers"
RULES = [ROOT / "workflow" / "common.smk", *ROOT.glob("workflow/rules/*.smk"), ROOT / "Snakefile"]
# What takes long to import, or is not there on a host that only plans.
HEAVY = {"vllm", "torch", "transformers", "datasets", "huggingface_hub", "litellm", "math_verify", "sympy"}
HEAVY |= {"sklearn", "scipy", "numba", "imblearn", "pandas", "matplotlib", "seaborn", "prometheus_client", "jinja2"}


def test_every_room_is_on_a_floor() -> None:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    on_floors = set(re.findall(r"entropy_sentinel\.(\w+)", " ".join(linter["contracts"][0]["layers"])))
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert on_floors == rooms
    named = {contract["name"]: contract for contract in linter["contracts"]}
    outside = named["Two wings: nothing outside study/ imports study/"]["source_modules"]
    assert {name.partition(".")[2] for name in outside} == rooms - {"study"}
    within = re.findall(r"\w+", " ".join(named["Imports within a study go down"]["layers"]))
    assert set(within) == {path.parent.name for path in PACKAGE.glob("study/*/__init__.py")}


@pytest.mark.parametrize("room", [*floors(), "study"])
def test_a_room_says_in_its_docstring_what_may_import_it(room: str) -> None:
    """The rooms of the next floor are named; a stranger reads there where a new thing goes."""
    doc = ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text())) or ""
    importers = re.search(r"[Mm]ay be imported by: (.+?)(?:[.;]|, except|, and not)", doc)
    assert importers, f"{room}/__init__.py: end with the line 'May be imported by: ROOMS'"
    if room in ("cli", "study", "study/cli"):  # above them is no floor of their wing
        return
    named = {f"study/{name}" if "study/" in room else name for name in re.findall(r"`([\w/]+)`", importers[1])}
    floor = floors()
    assert {name for name in floor if floor[name] == floor[room] + 1} <= named
    assert all(floor[name] > floor[room] for name in named - {"signal_families"})  # `signal_families` is on two floors


def test_rules_name_no_analysis_but_their_own() -> None:
    places = [*PACKAGE.glob("study/analyses/*/__init__.py"), *PAPERS.glob("*/__init__.py")]
    own = "|".join(sorted(path.parent.name for path in places))
    assert "accuracy" in own
    for path in RULES:
        named = re.findall(rf"\b(?:{own})_|analyses[./](?:{own})\b|{own.upper()}", path.read_text())
        assert named == [], path


def test_what_a_plan_imports_is_light() -> None:
    """Every job on a cluster plans as well, so a plan must not wait for imports."""
    files = [*RULES, *PACKAGE.rglob("*.smk"), *PAPERS.rglob("*.smk")]
    imports = re.findall(
        r"^(?:from entropy_sentinel\S* import (?:\(.*?\)|[^\n]+))", "\n".join(map(Path.read_text, files)), re.M | re.S
    )
    assert len(imports) > 15
    program = [
        *imports,
        "from entropy_sentinel.study.config.config_loading import load_config, read_config",
        "load_config(read_config(['config.yaml']))",
        "import sys",
        "print(*{name.partition('.')[0] for name in sys.modules})",
    ]
    printed = subprocess.check_output([sys.executable, "-c", "\n".join(program)], cwd=ROOT, text=True)
    assert set(printed.split()) & HEAVY == set()


def test_fit_and_monitor_import_nothing_that_only_a_study_needs() -> None:
    """Of `study/` they see the declarations of its signals, which an estimator may use."""
    program = """
import sys
import entropy_sentinel as es
es._verb("fit"), es._verb("monitor")
modules = {name: one for name, one in sys.modules.items() if name.startswith("entropy_sentinel.")}
print(*(name for name, one in modules.items() if not hasattr(one, "__path__")))
"""
    printed = subprocess.check_output([sys.executable, "-c", program], cwd=ROOT, text=True).split()
    study = {name.removeprefix("entropy_sentinel.study.") for name in printed if ".study." in name}
    declarations = {
        "signal_families.forced_answer.forced_answer_family",
        "signal_families.forced_answer.forced_answer_frames",
        "signal_families.semantics.semantics_family",
    }
    assert study == declarations | {"semantic_clustering.backend_settings"}
    assert 150 < len(printed) < 230
