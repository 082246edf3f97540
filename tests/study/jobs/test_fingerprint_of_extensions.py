"""The identity of a job's code with extensions: whose edits rerun which jobs."""

from pathlib import Path

import pytest
from extended import extension, printed

pytestmark = pytest.mark.slow

# The folders whose hashes jobs depend on, by their module; then those that change with each edit.
CODE = """
import json
from pathlib import Path
from entropy_sentinel.study.jobs import code_fingerprint as module

def read():
    module._read_unit.cache_clear()
    return {{name: dict(line.split() for line in module.fingerprint_code(name)) for name in {modules!r}}}

shown = [read()]
for name, text in {edits!r}:
    before = read()
    Path(name).write_text(text)
    after = read()
    shown.append({{name: [one for one in after[name] if before[name].get(one) != after[name][one]] for name in after}})
shown[0] = {{name: [unit for unit in units if unit.startswith({prefix!r})] for name, units in shown[0].items()}}
print(json.dumps(shown))
"""
MATHS = "def share(rows):\n    # Of all rows.\n    return sum(rows) / len(rows)\n"
FILES = {
    "shared/__init__": "",
    "shared/maths": MATHS,
    "estimating/__init__": "def estimators():\n    from mine.estimating import nearest\n\n    return {}\n",
    "estimating/nearest": "def fit(name, rows):\n    from ..shared.maths import share\n",
    "judging/__init__": "def judges():\n    from . import web\n\n    return {}\n",
    "judging/web": "x = 1\n",
    "tables/__init__": "def analyses():\n    from .settings import Tables\n\n    return {}\n",
    "tables/settings": "class Tables:\n    pass\n",
    "tables/writing": "from entropy_sentinel.core import files\n\nfrom mine import shared\n",
}
JOBS = ["study.stages.estimate_stage", "study.stages.cost_stage", "study.stages.feature_stage", "mine.tables.writing"]


def mine(folder: Path, files: dict[str, str] = FILES) -> Path:
    """An extension with a package for each thing that it declares."""
    top = extension(folder / "mine", "")
    for name, text in files.items():
        (top / name).parent.mkdir(exist_ok=True)
        (top / f"{name}.py").write_text(text)
    return top


def units(folder: Path, modules: list[str], *edits: tuple[str, str], of: str = "mine") -> list[dict[str, list[str]]]:
    """For each module the folders of an extension that it depends on, and then the folders that each edit changes."""
    return printed(folder, CODE.format(modules=modules, edits=edits, prefix=of), folder / of)


def test_each_job_depends_on_the_folders_of_an_extension_that_it_runs(tmp_path: Path) -> None:
    mine(tmp_path)
    [found] = units(tmp_path, JOBS)
    assert found == {
        "study.stages.estimate_stage": ["mine/estimating", "mine/shared"],
        "study.stages.cost_stage": [],
        "study.stages.feature_stage": [],
        "mine.tables.writing": ["mine/shared", "mine/tables"],
    }


def test_an_edit_of_an_extension_changes_only_the_jobs_that_run_it(tmp_path: Path) -> None:
    mine(tmp_path)
    edits = {
        "estimating/nearest": FILES["estimating/nearest"] + "x = 1\n",
        "shared/maths": MATHS.replace("sum", "max"),
        "judging/web": "x = 2\n",
        "tables/writing": FILES["tables/writing"] + "x = 1\n",
        "tables/settings": "class Tables:\n    '''Only a text.'''\n",
    }
    _, *changed = units(tmp_path, JOBS, *((f"mine/{name}.py", text) for name, text in edits.items()))
    nothing = {name: [] for name in JOBS}
    estimates, tables = {"study.stages.estimate_stage": ["mine/estimating"]}, {"mine.tables.writing": ["mine/tables"]}
    shared = {name: ["mine/shared"] for name in ("study.stages.estimate_stage", "mine.tables.writing")}
    assert changed == [nothing | one for one in (estimates, shared, {}, tables, {})]


def test_comments_rules_and_texts_of_an_extension_change_nothing(tmp_path: Path) -> None:
    top = mine(tmp_path)
    (top / "tables" / "rules.smk").write_text("rule a:\n")
    edits = [("shared/maths.py", MATHS.replace("all", "these")), ("tables/rules.smk", "rule b:\n")]
    _, *changed = units(tmp_path, JOBS, *((f"mine/{name}", text) for name, text in edits))
    assert changed == [{name: [] for name in JOBS}] * 2


def test_templates_of_an_extension_count(tmp_path: Path) -> None:
    (mine(tmp_path) / "tables" / "report.html.j2").write_text("<p>")
    _, changed = units(tmp_path, ["mine.tables"], ("mine/tables/report.html.j2", "<b>"))
    assert changed == {"mine.tables": ["mine/tables"]}


@pytest.mark.parametrize(
    "statement",
    [
        "from ..shared import maths",
        "from ..shared.maths import share",
        "from .. import shared",
        "from mine import shared",
        "import mine.shared.maths as m",
        "def f():\n    def g():\n        from mine.shared import maths",
        "from mine.shared.maths import *",
    ],
)
def test_imports_of_any_form_are_followed(tmp_path: Path, statement: str) -> None:
    mine(tmp_path, FILES | {"tables/writing": f"{statement}\n"})
    [found] = units(tmp_path, ["mine.tables.writing"])
    assert found["mine.tables.writing"] == ["mine/shared", "mine/tables"]


def test_imports_that_no_extension_has_are_left_out(tmp_path: Path) -> None:
    statements = "import numpy.linalg, minehunter\nfrom mine.compiled import f\nfrom mine.shared.maths import absent\n"
    # More names than one byte counts.
    many = "".join(f"x{number} = y{number}\n" for number in range(300))
    mine(tmp_path, FILES | {"tables/writing": f"{many}{statements}"})
    [found] = units(tmp_path, ["mine.tables.writing"])
    assert found["mine.tables.writing"] == ["mine/shared", "mine/tables"]


def test_a_name_in_the_package_is_no_import_of_an_extension(tmp_path: Path) -> None:
    """An extension may have the name of a variable of the package's."""
    extension(tmp_path / "rows", "def judges():\n    return {}\n", other="x = 1\n")
    [found] = units(tmp_path, ["study.stages.estimate_stage", "rows.other"], of="rows")
    assert found == {"study.stages.estimate_stage": [], "rows.other": ["rows"]}


@pytest.mark.parametrize("kind", ["features", "estimators", "judges", "models", "formats", "prompts", "analyses"])
def test_a_flat_extension_counts_by_what_it_declares(tmp_path: Path, kind: str) -> None:
    """Code of features runs in all jobs with features, code of estimators in those with estimators."""
    extension(tmp_path / "mine", f"def {kind}():\n    return {{}}\n", code="x = 1\n")
    [found] = units(tmp_path, ["study.stages.feature_stage", "study.stages.estimate_stage", "study.stages.cost_stage"])
    expected = {
        "features": ("study.stages.feature_stage", "study.stages.estimate_stage"),
        "estimators": ("study.stages.estimate_stage",),
    }
    assert [name for name, folders in found.items() if folders] == [*expected.get(kind, ())]


def test_modules_and_packages_of_packages_are_units(tmp_path: Path) -> None:
    inner = tmp_path / "us" / "mine" / "deep"
    inner.mkdir(parents=True)
    (inner.parent / "__init__.py").write_text("def estimators():\n    from us.mine.deep import code\n\n    return {}\n")
    (inner / "__init__.py").write_text("")
    (inner / "code.py").write_text("from .. import other\n")
    (tmp_path / "alone.py").write_text("def estimators():\n    import alone\n\n    return {}\n")
    code = CODE.format(
        modules=["study.stages.estimate_stage", "us.mine.deep.code", "alone"], edits=[], prefix=("us", "alone")
    )
    environment = "import sys, os\nsys.path.append('.')\nos.environ['ENTROPY_SENTINEL_EXTENSIONS'] = 'us.mine:alone'\n"
    [found] = printed(tmp_path, environment + code)
    both = ["us/mine", "us/mine/deep"]
    assert found == {"study.stages.estimate_stage": ["alone", *both], "us.mine.deep.code": both, "alone": ["alone"]}
