"""What rules hand to jobs of analyses has the types that the jobs declare, which mypy cannot see in rules."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from fermi_answers import write_study
from workflow_runs import Project

# Pydantic reads no `typing.TypedDict` before Python 3.12. Lists and paths of inputs are Snakemake's own kinds.
PROGRAM = """
import typing
from importlib import import_module
from pathlib import Path

import typing_extensions
from pydantic import TypeAdapter

typing.TypedDict = typing_extensions.TypedDict
from snakemake.api import ConfigSettings, OutputSettings, ResourceSettings, SnakemakeApi

with SnakemakeApi(OutputSettings()) as api:
    configs = ConfigSettings(configfiles=[Path(path) for path in CONFIGS])
    resources = ResourceSettings(cores=1)
    planned = api.workflow(snakefile=Path("Snakefile"), config_settings=configs, resource_settings=resources)
    planned.dag().execute_workflow(executor="dryrun")
    for job in planned._workflow.dag.jobs:
        module, _, writer = WRITERS.get(job.rule.name, "").partition(":")
        if not module:
            continue
        hints = typing.get_type_hints(getattr(import_module("entropy_sentinel.analyses." + module), writer))
        given = dict(job.params.items())
        given["files"] = given.get("files") or {
            key: str(value) if isinstance(value, str) else list(map(str, value)) for key, value in job.input.items()
        }
        checked = [key for key in ("settings", "exhibits", "files") if key in hints]
        for key in checked:
            TypeAdapter(hints[key]).validate_python(given[key], strict=True)
        print("CHECKED", job.rule.name, *checked)
"""
WRITERS = {
    "accuracy_tables": "accuracy.tables.writing:write_tables",
    "accuracy_figures": "accuracy.figures.drawing:write_figures",
    "accuracy_report": "accuracy.showing.report:write_report",
    "rejection_measures": "rejection.measures:write_measures",
    "rejection_tables": "rejection.tables:write_tables",
    "rejection_figures": "rejection.figures:write_figures",
    "rejection_report": "rejection.report:write_report",
    "agreement_pairs": "agreement.pairs:write_pairs",
    "agreement_judged": "agreement.judged:write_judged",
    "agreement_tables": "agreement.tables:write_tables",
    "agreement_report": "agreement.report:write_report",
    "responses_page": "responses.page:write_page",
    "ambiguity_uncertainties": "ambiguity.uncertainties:write_uncertainties",
    "ambiguity_measures": "ambiguity.measures:write_measures",
    "ambiguity_tables": "ambiguity.tables:write_tables",
    "ambiguity_figures": "ambiguity.figures:write_figures",
    "ambiguity_report": "ambiguity.report:write_report",
    "entropy_area_answers": "entropy_area.answers:write_answers",
    "entropy_area_items": "entropy_area.items:write_items",
    "entropy_area_measures": "entropy_area.measures:write_measures",
    "entropy_area_tables": "entropy_area.tables:write_tables",
    "entropy_area_figures": "entropy_area.figures:write_figures",
    "entropy_area_report": "entropy_area.report:write_report",
    "intervals_beliefs": "intervals.beliefs:write_beliefs",
    "intervals_adjusted": "intervals.adjusted:write_adjusted",
    "intervals_scores": "intervals.scores:write_scores",
    "intervals_sets": "intervals.sets:write_sets",
    "intervals_tunnel_index": "intervals.tunnel_index:write_tunnel_index",
    "intervals_tables": "intervals.tables:write_tables",
    "intervals_figures": "intervals.figures:write_figures",
    "intervals_report": "intervals.report:write_report",
}


def checked(folder: Path, *configs: str) -> set[str]:
    """The rules of a study and what of theirs was checked: `rule settings files`."""
    done = subprocess.run(
        [sys.executable, "-c", f"WRITERS, CONFIGS = {WRITERS!r}, {configs!r}\n{PROGRAM}"],
        cwd=folder,
        env={"PYTHONPATH": str(folder / "workflow")} | os.environ,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return {line.partition(" ")[2] for line in done.stdout.splitlines() if line.startswith("CHECKED")}


@pytest.mark.slow
def test_rules_hand_over_what_jobs_declare(tmp_path: Path) -> None:
    project = Project(tmp_path, [])
    both = ("accuracy_tables", "accuracy_figures", "accuracy_report", "rejection_report")
    both += ("agreement_tables", "agreement_report", "responses_page")
    assert checked(project.folder, "demo/config.yaml") == {f"{rule} settings files" for rule in both} | {
        "rejection_measures settings",
        "rejection_tables settings",
        "rejection_figures settings exhibits files",
        "agreement_pairs files",
        "agreement_judged files",
    }
    assert checked(project.folder, "demo/config.yaml", "demo/entropy-area.yaml") == {
        "entropy_area_answers settings",
        "entropy_area_items files",
        "entropy_area_measures settings",
        "entropy_area_tables settings files",
        "entropy_area_figures settings exhibits files",
        "entropy_area_report settings files",
    }
    (project.folder / "toy.yaml").write_text(yaml.safe_dump(write_study(project.folder, 6)))
    both = ("adjusted", "tunnel_index", "tables", "figures", "report")
    assert checked(project.folder, "toy.yaml") == {f"intervals_{rule} settings files" for rule in both} | {
        "intervals_beliefs files",
        "intervals_scores settings",
        "intervals_sets files",
    }
    assert checked(project.folder, "demo/config.yaml", "demo/ambiguity.yaml") == {
        *(f"ambiguity_{rule} settings files" for rule in ("uncertainties", "measures", "tables", "report")),
        "ambiguity_figures settings exhibits files",
    }
