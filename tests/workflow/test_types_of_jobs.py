"""What rules hand to jobs of analyses has the types that the jobs declare, which mypy cannot see in rules.

And each of their exhibits is in Snakemake's report, under the title that the analysis declares.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from workflow_runs import Project

from entropy_sentinel.core.analysis import load_sections

# Pydantic reads no `typing.TypedDict` before Python 3.12. Lists and paths of inputs are Snakemake's own kinds.
PROGRAM = """
import json
import typing
from pathlib import Path

import typing_extensions
from pydantic import TypeAdapter

typing.TypedDict = typing_extensions.TypedDict
from snakemake.api import ConfigSettings, OutputSettings, ResourceSettings, SnakemakeApi

from entropy_sentinel.core import extensions



def check(job):
    module, _, name = job.params.get("call", "").rpartition(".")
    if not module.startswith(("study.analyses.", "papers.")):
        return
    hints = typing.get_type_hints(getattr(extensions.import_by_name(module), name))
    files = {key: str(value) if isinstance(value, str) else list(map(str, value)) for key, value in job.input.items()}
    given = {"files": files} | dict(job.wildcards.items()) | files | dict(job.params.items())
    for key, hint in hints.items():
        if key in given:
            TypeAdapter(hint).validate_python(given[key], strict=True)
    print("CHECKED", job.rule.name)
    for file in job.output:
        shown = file.flags.get("report")
        about = shown and [shown.category, shown.subcategory, shown.labels["Exhibit"]]
        print("OUTPUT", json.dumps([job.rule.name, str(file), about]))


for paths in STUDIES:
    with SnakemakeApi(OutputSettings()) as api:
        configs = ConfigSettings(configfiles=[Path(path) for path in paths])
        resources = ResourceSettings(cores=1)
        planned = api.workflow(snakefile=Path("Snakefile"), config_settings=configs, resource_settings=resources)
        planned.dag().execute_workflow(executor="dryrun")
        for job in planned._workflow.dag.jobs:
            check(job)
"""
# Rules of each analysis, and the study that has them.
CHECKED = {
    ("demo/config.yaml",): {"accuracy_tables", "agreement_pairs", "rejection_measures", "responses_page"},
    ("demo/config.yaml", "papers/entropy_area/demo.yaml"): {"entropy_area_figures"},
    ("demo/config.yaml", "papers/ambiguity/demo.yaml"): {"ambiguity_aligned"},
    ("papers/intervals/example/study.yaml",): {"intervals_adjusted"},
}
# What the report shows of the outputs of every analysis, whatever their rules are called.
REPORTED = re.compile(r"/tables/table_.*\.(html|csv)|/figures/figure_.*\.png|/(report|tiny-[13]m)\.html|/summary\.txt")


@pytest.mark.slow
def test_rules_hand_over_what_jobs_declare(tmp_path: Path) -> None:
    folder = Project(tmp_path, []).folder
    # A study whose paper is deleted is gone, too.
    studies = {paths: rules for paths, rules in CHECKED.items() if (folder / paths[-1]).exists()}
    done = subprocess.run(
        [sys.executable, "-c", f"STUDIES = {list(studies)!r}\n{PROGRAM}"],
        cwd=folder,
        env={"PYTHONPATH": str(folder / "workflow")} | os.environ,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    checked = {line.partition(" ")[2] for line in done.stdout.splitlines() if line.startswith("CHECKED")}
    assert set.union(*studies.values()) <= checked
    lines = [line.partition(" ")[2] for line in done.stdout.splitlines() if line.startswith("OUTPUT")]
    titles = {title for cls in load_sections().values() for title in (*cls.TABLES.values(), *cls.FIGURES.values())}
    categories = set()
    for rule, file, about in map(json.loads, lines):
        is_exhibit = REPORTED.search(file) is not None and "_published" not in file
        assert (about is not None) == is_exhibit, file
        if about:
            category, subcategory, title = about
            categories.add(category)
            assert rule.startswith(category.lower().replace(" ", "_"))
            assert subcategory == ("Tables" if "/tables/" in file else "Figures" if "/figures/" in file else "Pages")
            named = re.sub(r"^(Table|Figure) \d+: ", "", title)
            assert subcategory == "Pages" or any(named == one or named.startswith(f"{one}, ") for one in titles), title
    assert {"Accuracy", "Agreement", "Rejection", "Responses"} <= categories
    assert {name.partition("_")[0] for names in studies.values() for name in names} == {
        category.partition(" ")[0].lower() for category in categories
    }
