"""Which folders of code the jobs depend on: a computation depends on no engine, server or judge.

A folder more means jobs more after an edit in it: read docs/reruns.md before you add one here.
"""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "workflow" / "entropy_sentinel"
RULES = [*ROOT.glob("workflow/rules/*.smk"), *PACKAGE.rglob("*.smk"), *ROOT.glob("papers/**/*.smk")]
# What computes needs none of these; nor does an import inside a function make it need one.
JUDGES = {"llm_client", "llm_client/spending", "judges", "study/items", "logs", "hub"}
ASKS = {"study/engines", *JUDGES}
SERVES = {f"study/{room}" for room in ("config", "jobs", "planning", "init", "cli", "auditing")}
SERVES |= {"cli", "api", "capture"}
SERVES |= {"monitor", *(f"monitor/{path.parent.name}" for path in PACKAGE.glob("monitor/*/__init__.py"))}
LOOKS = {"rendering"}
# What a job needs of these, with the reason.
NEEDED = {
    "study.stages.cost_stage": {"llm_client/spending"},  # sums the ledger
    "study.analyses.responses.response_page": {"hub", *LOOKS},  # texts of tokens, by the tokenizer
    "papers.ambiguity": {"study/items", "hub", "logs", *LOOKS},  # answers and counts from people's files
    # Compares answers with the judge, and with all that judges import.
    "papers.entropy_area.classes.answer_classes": JUDGES | LOOKS,
    # Writes a file to train on, with the prompts of generation.
    "papers.selection": ASKS | LOOKS | {"study/config", "study/jobs"},
    # Reads final answers as judges do, and with all that judges import.
    "study.signal_families.semantics": JUDGES,
    "papers.ambiguity.signal_families.sar": {"study/items", "hub", "logs"},  # weights of a cross-encoder
}
# Exhibits: an analysis has them outside `measuring`, papers have them beside what computes.
SHOWS = re.compile(r"study\.analyses\.\w+\.(?!measuring)\w+|papers\.\w+\.\w+")
PROGRAM = """
import json, sys
from entropy_sentinel.study.jobs.code_fingerprint import fingerprint_code
from entropy_sentinel.signal_families.signal_registry import FAMILIES, TOKENS, module_of

families = [module_of(family) for family in FAMILIES if family != TOKENS]
print(json.dumps({name: [line.split()[0] for line in fingerprint_code(name)] for name in [*sys.argv[1:], *families]}))
"""


def modules() -> set[str]:
    """The modules of the functions that rules call."""
    found = re.findall(r'calls\(\s*"([\w.]+)\.\w+"', "\n".join(map(Path.read_text, RULES)))
    return set(found) - {"study.stages.signal_stage"}  # with the module of a family


@cache
def reached() -> dict[str, set[str]]:
    """The folders that each of these depends on, and each family of signals, with the papers."""
    import json

    environment = os.environ | {"ENTROPY_SENTINEL_EXTENSIONS": str(ROOT / "papers")}
    command = [sys.executable, "-c", PROGRAM, *modules()]
    folders = json.loads(subprocess.check_output(command, env=environment, cwd=ROOT / "workflow", text=True))
    return {name.removeprefix("entropy_sentinel."): set(places) for name, places in folders.items()}


def needed(module: str) -> set[str]:
    """What a job may need of all that is forbidden."""
    parts = module.split(".")
    names = [".".join(parts[:length]) for length in range(1, len(parts) + 1)]
    allowed = set().union(*(NEEDED.get(name, set()) for name in names))
    return allowed | LOOKS if SHOWS.match(module) else allowed


def test_no_computation_depends_on_what_asks_serves_or_shows() -> None:
    assert len(reached()) > 30
    crossing = {name: (folders & (ASKS | SERVES | LOOKS)) - needed(name) for name, folders in reached().items()}
    assert {name: folders for name, folders in crossing.items() if folders} == {}


def test_each_exception_is_needed() -> None:
    for name, allowed in NEEDED.items():
        found = [folders for module, folders in reached().items() if f"{module}.".startswith(f"{name}.")]
        assert allowed <= set().union(*found), name


def test_what_asks_a_model_again_computes_nothing_for_others() -> None:
    """No hash counts a folder `requery`, so only the function that declares its pass imports from it."""
    files = [path for root in (PACKAGE, ROOT / "papers") for path in root.rglob("*.py") if "tests" not in path.parts]
    texts = {path: path.read_text() for path in files}
    folders = [path.parent for path in files if path.match("requery/__init__.py")]
    assert len(folders) == 4
    for folder in folders:
        name = ".".join(folder.relative_to(PACKAGE.parent if PACKAGE in folder.parents else ROOT).parts)
        (family,) = folder.parent.glob("*_family.py")
        importing = [path for path, text in texts.items() if name in text and folder not in path.parents]
        declares = rf"def _\w+\(\) -> ModuleType:\n(?:    \"{{3}}.*\"{{3}}\n)?    from {name} import \w+\n"
        assert (importing, bool(re.search(declares, texts[family])), texts[family].count(name)) == ([family], True, 1)


def test_each_formula_is_where_its_users_are() -> None:
    """Any edit in `statistics` fits all estimators again: what only monitors use is in `statistics/monitoring`."""
    studies = [
        ROOT / "papers",
        *(
            PACKAGE / room
            for room in ("estimators", "signal_families", "study/analyses", "study/signal_families", "study/stages")
        ),
    ]
    studies = [path for folder in studies for path in folder.rglob("*.py") if "tests" not in path.parts]
    text = "\n".join(path.read_text() for path in [*studies, *PACKAGE.glob("statistics/*.py")])
    modules = {path.stem for path in PACKAGE.glob("statistics/*.py")} - {"__init__"}
    imported = {name for name in modules if f"from entropy_sentinel.statistics.{name} import" in text}
    assert (modules, "from entropy_sentinel.statistics.monitoring" in text) == (imported, False)


@pytest.mark.parametrize(
    ("module", "folders"),
    [
        ("study.stages.feature_stage", {"features", "schemas", "study/stages/feature_stage.py"}),
        (
            "study.stages.observation_stage",
            {"features", "schemas", "signal_families", "statistics", "study/stages/observation_stage.py"},
        ),
        ("study.stages.cost_stage", {"llm_client/spending", "schemas", "study/stages/cost_stage.py"}),
        (
            "study.analyses.agreement.measuring.judge_pairs",
            {"study/analyses", "study/analyses/agreement/measuring", "schemas", "statistics"},
        ),
        ("study.signal_families.forced_answer", {"schemas", "study/signal_families/forced_answer"}),
    ],
)
def test_folders_of_a_job(module: str, folders: set[str]) -> None:
    """Written down from what the job computes; `core` decides no value and is in none."""
    assert reached()[module] == folders
